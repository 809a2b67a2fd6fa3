/* SPDX-License-Identifier: MIT */
/*
 * timing: when each phase of a window was. A span for every snapshot, pass and restore goes into the report as it ends, so
 * a program that is killed has its timeline up to then. The lengths of the kernels themselves are the engine's records;
 * the report makes the statistics from both.
 */
#include "common.h"

static _Thread_local kreplay_timestamp_t entered;

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const kreplay_callback_tracing_kernel_replay_data_t *payload = record.payload;
	static const char *const names[] = {
		[KREPLAY_KERNEL_REPLAY_PASS] = "pass",
		[KREPLAY_KERNEL_REPLAY_SNAPSHOT] = "snapshot",
		[KREPLAY_KERNEL_REPLAY_RESTORE] = "restore",
	};
	kreplay_report_note_t note = {
		.size = sizeof note,
		.topic = "timing",
		.kernel_id = payload->dispatch_info.kernel_id,
		.dispatch_id = payload->dispatch_info.dispatch_id,
		.pass = record.operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT ? KREPLAY_NO_PASS : payload->current_pass,
		.text = names[record.operation],
		.start_timestamp = entered,
	};

	(void)user_data;
	(void)data;
	/* the phases of one window follow each other on one thread, and none is inside another */
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		kreplay_get_timestamp(&entered);
		return;
	}
	kreplay_get_timestamp(&note.end_timestamp);
	write_note(&note);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operations[] = {
		KREPLAY_KERNEL_REPLAY_SNAPSHOT,
		KREPLAY_KERNEL_REPLAY_PASS,
		KREPLAY_KERNEL_REPLAY_RESTORE,
	};

	(void)finalize_func;
	return observe("timing", operations, 3, on_replay, data);
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, NULL, NULL };

	(void)priority;
	client_id->name = "timing";
	return version_fits("timing", version, runtime_version) ? &result : NULL;
}
