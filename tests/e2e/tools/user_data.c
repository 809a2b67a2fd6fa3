/* SPDX-License-Identifier: MIT */
/* Writes to user_data everywhere and says what arrives where (contract 2: user_data). */
#include "tool.h"

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	say("pass_count %llu\n", (unsigned long long)user_data.value);
	return 3;
}

static int go_on(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t user_data)
{
	say("continue %llu %llu\n", (unsigned long long)pass, (unsigned long long)user_data.value);
	return 1;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	static const char *names[] = { "none", "config", "pass", "snapshot", "restore" };
	replay_data *payload = record.payload;
	int entering = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;

	say("%s %s %llu\n", names[record.operation], entering ? "enter" : "exit", (unsigned long long)user_data->value);
	if (record.operation == KREPLAY_KERNEL_REPLAY_CONFIG && entering) {
		payload->replay_pass_count = pass_count;
		payload->replay_continue = go_on;
	}
	user_data->value = record.operation * 100u + payload->current_pass * 10u + (entering ? 1u : 2u);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, on_replay, 1);
	return 0;
}

TOOL("user_data", "E2E_LOG", initialize, NULL)
