/* SPDX-License-Identifier: MIT */
/*
 * Local toggles on a loop of five passes (contract 2: toggles): `records` has KERNEL_DISPATCH and is masked in
 * passes 1 and 2; `asleep` has it too and is globally stopped; `watcher` sees PASS of the same dispatches.
 */
#include "tool.h"

static kreplay_context_id_t driver, records, asleep, watcher;
static kreplay_kernel_replay_context_cb_t start, stop; /* kept beyond their time, to be refused */

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	say("in pass_count %d\n", stop ? (int)stop(records) : -1);
	return 5;
}

static int go_on(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t user_data)
{
	if (pass == 0)
		say("in continue %d\n", stop(records));
	return 1;
}

static int is_active(kreplay_context_id_t context)
{
	int active = -1;

	kreplay_context_is_active(context, &active);
	return active;
}

static void enter_pass(const replay_data *payload)
{
	kreplay_context_id_t unknown = { 987654321 };

	start = payload->replay_start_context;
	stop = payload->replay_stop_context;
	switch (payload->current_pass) {
	case 0:
		say("unknown %d\n", stop(unknown));
		say("asleep %d active %d\n", start(asleep), is_active(asleep));
		break;
	case 1:
		say("stop %d active %d\n", stop(records), is_active(records));
		say("stop watcher %d\n", stop(watcher));
		break;
	case 3:
		say("start %d active %d\n", start(records), is_active(records));
		say("stop driver %d\n", stop(driver));
		break;
	case 4: /* left so: the next dispatch must not know of it */
		say("stop %d active %d\n", stop(records), is_active(records));
		break;
	}
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	replay_data *payload = record.payload;
	int entering = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;

	switch (record.operation) {
	case KREPLAY_KERNEL_REPLAY_CONFIG:
		say("config %s\n", entering ? "enter" : "exit");
		if (!entering) {
			say("in config exit %d\n", start(records));
			break;
		}
		payload->replay_pass_count = pass_count;
		payload->replay_continue = go_on;
		break;
	case KREPLAY_KERNEL_REPLAY_PASS:
		say("pass %llu %s\n", (unsigned long long)payload->current_pass, entering ? "enter" : "exit");
		if (entering)
			enter_pass(payload);
		else if (payload->current_pass == 0)
			say("in pass exit %d\n", stop(records));
		break;
	}
}

static void on_watch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const replay_data *payload = record.payload;

	say("watcher %llu %s\n", (unsigned long long)payload->current_pass,
	    record.phase == KREPLAY_CALLBACK_PHASE_ENTER ? "enter" : "exit");
}

static void on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const dispatch_data *payload = record.payload;

	say("%s %llu\n", record.context_id.handle == records.handle ? "records" : "ASLEEP",
	    (unsigned long long)payload->replay_pass);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t complete[] = { KREPLAY_KERNEL_DISPATCH_COMPLETE };
	static const kreplay_tracing_operation_t both[] = { KREPLAY_KERNEL_REPLAY_CONFIG, KREPLAY_KERNEL_REPLAY_PASS };

	driver = make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, both, 2, on_replay, 1);
	watcher = make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, both + 1, 1, on_watch, 1);
	records = make_context(KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, complete, 1, on_dispatch, 1);
	asleep = make_context(KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, complete, 1, on_dispatch, 0);
	return 0;
}

TOOL("toggles", "E2E_LOG", initialize, NULL)
