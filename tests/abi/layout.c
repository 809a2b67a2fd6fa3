/* SPDX-License-Identifier: MIT */
/* Compiled under each standard of C and, as layout.cpp, of C++: the header alone comes first. */
#include <kreplay/kreplay.h>

#include "layout.h"

/* The types of the tool's functions, by value where the header says so. */
static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return info.dispatch_id + user_data.value;
}

static int go_on(kreplay_kernel_dispatch_info_t info, uint64_t current_pass, uint64_t total_passes,
		 kreplay_user_data_t user_data)
{
	return info.dispatch_id + current_pass + total_passes + user_data.value == 0;
}

static kreplay_status_t toggle(kreplay_context_id_t context_id)
{
	return context_id.handle ? KREPLAY_STATUS_SUCCESS : KREPLAY_STATUS_ERROR_CONTEXT_ERROR;
}

static void callback(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *callback_data)
{
	kreplay_callback_tracing_kernel_replay_data_t *payload =
		(kreplay_callback_tracing_kernel_replay_data_t *)record.payload;

	user_data->ptr = callback_data;
	payload->replay_pass_count = pass_count;
	payload->replay_continue = go_on;
	payload->replay_start_context = toggle;
	payload->replay_stop_context = toggle;
}

int main(void)
{
	kreplay_callback_tracing_cb_t function = callback;
	kreplay_callback_tracing_kernel_replay_data_t payload;
	kreplay_callback_tracing_record_t record;
	kreplay_user_data_t user_data;
	kreplay_kernel_dispatch_info_t info;

	record.payload = &payload;
	function(record, &user_data, NULL);
	info.dispatch_id = 40;
	user_data.value = 2;
	return payload.replay_pass_count(info, user_data) == 42 ? 0 : 1;
}
