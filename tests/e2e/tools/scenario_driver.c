/* SPDX-License-Identifier: MIT */
/* The driver that the program itself directs: asks scenario_passes how often a dispatch is to run and tells
 * scenario_callback of every callback. E2E_LOG: a line for each dispatch that was declined. */
#include "tool.h"

#include <dlfcn.h>

static uint64_t (*passes)(const kreplay_kernel_dispatch_info_t *info);
static void (*callback)(int operation, int phase, const replay_data *payload);

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return user_data.value;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	replay_data *payload = record.payload;

	if (record.operation == KREPLAY_KERNEL_REPLAY_CONFIG && record.phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		user_data->value = passes(&payload->dispatch_info);
		if (user_data->value)
			payload->replay_pass_count = pass_count;
	}
	callback(record.operation, record.phase, payload);
	if (record.operation == KREPLAY_KERNEL_REPLAY_CONFIG && record.phase == KREPLAY_CALLBACK_PHASE_EXIT &&
	    payload->outcome == KREPLAY_OUTCOME_DECLINED)
		say("dispatch %llu declined: %s, %llu passes\n", (unsigned long long)payload->dispatch_info.dispatch_id,
		    kreplay_decline_name(payload->decline), (unsigned long long)payload->passes_run);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	void *first = dlsym(RTLD_DEFAULT, "scenario_passes"), *second = dlsym(RTLD_DEFAULT, "scenario_callback");

	if (!first || !second)
		return 1;
	memcpy(&passes, &first, sizeof(passes));
	memcpy(&callback, &second, sizeof(callback));
	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, on_replay, 1);
	return 0;
}

TOOL("scenario_driver", "E2E_LOG", initialize, NULL)
