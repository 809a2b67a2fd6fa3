/* SPDX-License-Identifier: MIT */
/*
 * Writes one line for each callback and upcall, with what the contract says of it.
 *
 * As a driver (recorder.so):
 *	E2E_COUNT	what replay_pass_count returns; "none": it is not set
 *	E2E_LAST	replay_continue says no after this pass; not set: there is none
 *	E2E_SWITCH	PASS EXIT of this pass writes a replay_continue that says no
 *	E2E_THREADS	a line says which thread the window runs on
 *	E2E_LOG		where the lines go
 * As an observer (observer.so, built with OBSERVER): everything but CONFIG, to E2E_OBSERVER_LOG.
 */
#include "tool.h"

#include <sys/syscall.h>

#ifdef OBSERVER
#define LOG_VARIABLE "E2E_OBSERVER_LOG"
#define NAME "observer"
#define FIRST KREPLAY_KERNEL_REPLAY_SNAPSHOT
#else
#define LOG_VARIABLE "E2E_LOG"
#define NAME "recorder"
#define FIRST KREPLAY_KERNEL_REPLAY_CONFIG
#endif

/* Of the dispatch at hand; one window at a time is all that these tests have. */
static uint64_t window_thread, ringing_thread, correlation;

static const char *op_name(int operation)
{
	static const char *names[] = { "NONE", "CONFIG", "PASS", "SNAPSHOT", "RESTORE" };

	return names[operation];
}

static const char *phase_name(int phase)
{
	return phase == KREPLAY_CALLBACK_PHASE_ENTER ? "ENTER" :
	       phase == KREPLAY_CALLBACK_PHASE_EXIT  ? "EXIT" :
							"-";
}

/* What must hold of every record; a word at the end of the line when it does not. */
static const char *judge(const kreplay_callback_tracing_record_t *record)
{
	/* CONFIG ENTER comes before it is known who runs the window */
	if (window_thread && (uint64_t)syscall(SYS_gettid) != window_thread)
		return " OTHER-THREAD";
	if (record->thread_id != ringing_thread)
		return " OTHER-RINGING-THREAD";
	if (record->correlation_id.internal != correlation)
		return " OTHER-CORRELATION";
	return "";
}

#ifndef OBSERVER

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	say("pass_count id=%llu\n", (unsigned long long)info.dispatch_id);
	return number("E2E_COUNT", 3);
}

static int go_on(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t user_data)
{
	int answer = pass < number("E2E_LAST", UINT64_MAX);

	say("continue pass=%llu total=%llu answer=%d%s\n", (unsigned long long)pass, (unsigned long long)total, answer,
	    (uint64_t)syscall(SYS_gettid) == window_thread ? "" : " OTHER-THREAD");
	return answer;
}

static int stop_now(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t user_data)
{
	say("other continue pass=%llu total=%llu answer=0\n", (unsigned long long)pass, (unsigned long long)total);
	return 0;
}

static void decide(const kreplay_callback_tracing_record_t *record, replay_data *payload)
{
	const char *count = getenv("E2E_COUNT");

	if (record->operation == KREPLAY_KERNEL_REPLAY_CONFIG && record->phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		if (!count || strcmp(count, "none") != 0)
			payload->replay_pass_count = pass_count;
		if (getenv("E2E_LAST"))
			payload->replay_continue = go_on;
	}
	if (record->operation == KREPLAY_KERNEL_REPLAY_PASS && record->phase == KREPLAY_CALLBACK_PHASE_EXIT &&
	    payload->current_pass == number("E2E_SWITCH", UINT64_MAX))
		payload->replay_continue = stop_now;
}

#else

static uint64_t thousand(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return 1000;
}

/* Nobody may listen to an observer. */
static void decide(const kreplay_callback_tracing_record_t *record, replay_data *payload)
{
	payload->replay_pass_count = thousand;
	payload->total_passes = payload->current_pass = 1000;
	payload->outcome = KREPLAY_OUTCOME_DECLINED;
}

#endif

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	replay_data *payload = record.payload;

	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER && record.operation == FIRST) {
		window_thread = 0;
		ringing_thread = record.thread_id;
		correlation = record.correlation_id.internal;
	}
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER && record.operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT) {
		window_thread = (uint64_t)syscall(SYS_gettid);
		if (getenv("E2E_THREADS"))
			say("window on %s\n", window_thread == ringing_thread ? "the ringing thread" : "another thread");
	}
	say("%s %s id=%llu pass=%llu total=%llu count=%d continue=%d start=%d stop=%d outcome=%d decline=%s run=%llu "
	    "memory=%d%s\n",
	    op_name(record.operation), phase_name(record.phase), (unsigned long long)payload->dispatch_info.dispatch_id,
	    (unsigned long long)payload->current_pass, (unsigned long long)payload->total_passes,
	    payload->replay_pass_count != NULL, payload->replay_continue != NULL, payload->replay_start_context != NULL,
	    payload->replay_stop_context != NULL, payload->outcome, kreplay_decline_name(payload->decline),
	    (unsigned long long)payload->passes_run, payload->memory != NULL, judge(&record));
	decide(&record, payload);
}

static void on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const dispatch_data *payload = record.payload;
	static const char *names[] = { "none", "enqueue", "complete" };
	const char *times = "";

	if (record.operation == KREPLAY_KERNEL_DISPATCH_COMPLETE)
		times = payload->start_timestamp == 0 || payload->start_timestamp > payload->end_timestamp ?
				" BAD-TIMES" :
				" times";
	say("%s %s id=%llu pass=%llu total=%llu%s%s\n", names[record.operation], phase_name(record.phase),
	    (unsigned long long)payload->dispatch_info.dispatch_id, (unsigned long long)payload->replay_pass,
	    (unsigned long long)payload->total_passes, times,
	    /* of a dispatch that runs once COMPLETE comes on a thread of ours */
	    payload->total_passes == 1 ? "" : judge(&record));
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
#ifdef OBSERVER
	static const kreplay_tracing_operation_t operations[] = { KREPLAY_KERNEL_REPLAY_PASS,
								   KREPLAY_KERNEL_REPLAY_SNAPSHOT,
								   KREPLAY_KERNEL_REPLAY_RESTORE };

	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, operations, 3, on_replay, 1);
	(void)on_dispatch;
#else
	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, on_replay, 1);
	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL, 0, on_dispatch, 1);
#endif
	return 0;
}

static void finalize(void *data)
{
	say("finalize\n");
}

TOOL(NAME, LOG_VARIABLE, initialize, finalize)
