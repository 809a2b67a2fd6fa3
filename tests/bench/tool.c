/* SPDX-License-Identifier: MIT */
/*
 * The benchmark's tool. It drives the replay: dispatches of the kernel `touch` are run BENCH_PASSES
 * times, all others are left alone; without BENCH_PASSES every dispatch is. What a window
 * cost is left for the program, see window.h. With BENCH_STOPPED the tool never starts its context.
 */
#include <kreplay/kreplay.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "window.h"

static uint64_t passes;
static struct bench_window *window;

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	(void)info;
	(void)user_data;
	return passes;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	kreplay_callback_tracing_kernel_replay_data_t *payload = record.payload;
	const char *name;

	(void)user_data;
	(void)data;
	if (passes == 0 || record.operation != KREPLAY_KERNEL_REPLAY_CONFIG)
		return;
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		if (kreplay_query_kernel_name(payload->dispatch_info.kernel_id, 0, &name, NULL) ==
			    KREPLAY_STATUS_SUCCESS &&
		    strcmp(name, "touch") == 0)
			payload->replay_pass_count = pass_count;
		return;
	}
	if (window == NULL || payload->outcome == KREPLAY_OUTCOME_ONCE)
		return;
	window->windows++;
	window->passes = payload->outcome == KREPLAY_OUTCOME_REPLAYED ? payload->passes_run : 0;
	window->snapshot_ns = payload->snapshot.ns;
	window->restore_ns = payload->restore.ns;
	window->link_bytes = payload->snapshot.host_link_bytes + payload->restore.host_link_bytes;
	window->tier = payload->snapshot.tier;
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	kreplay_context_id_t context;

	(void)finalize_func;
	(void)data;
	if (kreplay_create_context(&context) != KREPLAY_STATUS_SUCCESS ||
	    kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0,
						       on_replay, NULL) != KREPLAY_STATUS_SUCCESS)
		return -1;
	if (getenv("BENCH_STOPPED") == NULL && kreplay_start_context(context) != KREPLAY_STATUS_SUCCESS)
		return -1;
	return 0;
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, NULL, NULL };
	const char *wanted = getenv("BENCH_PASSES"), *address = getenv(BENCH_WINDOW_VARIABLE);

	(void)version;
	(void)runtime_version;
	(void)priority;
	client_id->name = "bench";
	passes = wanted != NULL ? strtoull(wanted, NULL, 10) : 0;
	window = address != NULL ? (struct bench_window *)(uintptr_t)strtoull(address, NULL, 16) : NULL;
	return &result;
}
