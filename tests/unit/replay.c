/* SPDX-License-Identifier: MIT */
/* The loop, driven by scripted tools over a window whose memory is one number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/contexts.h"
#include "core/replay.h"
#include "replay_stubs.h"

/* --- the window --- */

static struct {
	int memory, saved;
	kreplay_decline_t snapshot_fails;
	uint64_t fails_at; /* pass */
	kreplay_decline_t run_fails;
	bool reentered;
} window;

static kreplay_memory_view_t view = { .size = sizeof view };

/* --- what happened, as words --- */

static char events[8192];

static void event(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void event(const char *format, ...)
{
	size_t used = strlen(events);
	va_list arguments;

	if (used && used + 1 < sizeof events)
		events[used++] = ' ', events[used] = 0;
	va_start(arguments, format);
	vsnprintf(events + used, sizeof events - used, format, arguments);
	va_end(arguments);
}

static kreplay_decline_t op_snapshot(void *w, kreplay_phase_stats_t *stats)
{
	event("snapshot");
	assert_ptr_equal(w, &window);
	stats->regions = 1;
	stats->bytes = 4;
	stats->tier = KREPLAY_TIER_PINNED;
	window.saved = window.memory;
	return window.snapshot_fails;
}

static kreplay_decline_t op_run(void *w, uint64_t pass, struct kr_pass_times *times)
{
	assert_ptr_equal(w, &window);
	event("run%d", (int)pass);
	bool fails = window.run_fails && pass == window.fails_at;
	if (!fails || window.run_fails == KREPLAY_DECLINE_STUCK_PASS || window.run_fails == KREPLAY_DECLINE_PASS_FAILED) {
		window.memory++;
		times->start_ns = 100 * (pass + 1);
		times->end_ns = times->start_ns + 7;
	}
	return fails ? window.run_fails : KREPLAY_DECLINE_NONE;
}

static void op_restore(void *w, kreplay_phase_stats_t *stats)
{
	assert_ptr_equal(w, &window);
	event("restore");
	window.memory = window.saved;
	stats->regions = 1;
	stats->bytes = 4;
	stats->dirty_bytes = 2;
	stats->tier = KREPLAY_TIER_PINNED;
}

static const kreplay_memory_view_t *op_memory(void *w)
{
	assert_ptr_equal(w, &window);
	return &view;
}

static bool op_reentered(void *w)
{
	assert_ptr_equal(w, &window);
	return window.reentered;
}

static const struct kr_window_ops ops = { op_snapshot, op_run, op_restore, op_memory, op_reentered };

/* --- the driver --- */

typedef kreplay_callback_tracing_kernel_replay_data_t payload_t;

static struct {
	bool sets_count, sets_continue;
	uint64_t count;
	uint64_t stop_after; /* pass after which replay_continue says no; UINT64_MAX never */
	/* what PASS EXIT of pass `replace_at` makes of replay_continue */
	uint64_t replace_at;
	kreplay_kernel_replay_continue_cb_t replacement;
	bool replaces;
	void (*in_config_enter)(payload_t *p);
	void (*in_pass_enter)(payload_t *p);
	void (*in_pass_exit)(payload_t *p);
} script;

static kreplay_context_id_t driver, observer, records;
static kreplay_kernel_replay_context_cb_t kept_start, kept_stop;
static payload_t last_config_exit, last_snapshot_exit, last_restore_exit;
static kreplay_user_data_t config_exit_data;
static unsigned config_enters, config_exits;

/* Everywhere but in PASS ENTER: a pointer that the tool has kept does nothing. */
static void check_disarmed(void)
{
	if (!kept_stop)
		return;
	assert_int_equal(kept_stop(records), KREPLAY_STATUS_ERROR_CONTEXT_ERROR);
	assert_int_equal(kept_start(records), KREPLAY_STATUS_ERROR_CONTEXT_ERROR);
}

static uint64_t count_upcall(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t data)
{
	assert_int_equal(info.size, 72);
	assert_int_equal(info.dispatch_id, 42);
	assert_int_equal(data.value, 100);
	check_disarmed();
	event("n");
	return script.count;
}

static int continue_upcall(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t data)
{
	assert_int_equal(info.dispatch_id, 42);
	assert_int_equal(total, script.count);
	assert_int_equal(data.value, 100 + 10 * (pass + 1) + 1); /* ENTER and EXIT of this pass have written */
	check_disarmed();
	event("q%d", (int)pass);
	return pass < script.stop_after;
}

static int never(kreplay_kernel_dispatch_info_t info, uint64_t pass, uint64_t total, kreplay_user_data_t data)
{
	(void)info;
	(void)total;
	(void)data;
	event("never%d", (int)pass);
	return 0;
}

static void config(payload_t *p, kreplay_callback_phase_t phase, kreplay_user_data_t *data)
{
	assert_null(p->replay_start_context);
	assert_null(p->replay_stop_context);
	if (phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		event("cE");
		config_enters++;
		assert_int_equal(p->size, sizeof *p);
		assert_null(p->replay_pass_count);
		assert_null(p->replay_continue);
		assert_null(p->memory);
		assert_int_equal(data->value, 0);
		assert_int_equal(p->outcome, KREPLAY_OUTCOME_NONE);
		data->value = 100;
		p->replay_pass_count = script.sets_count ? count_upcall : NULL;
		p->replay_continue = script.sets_continue ? continue_upcall : NULL;
		assert_int_equal(p->requests, 0);
		p->requests = KREPLAY_REQUEST_DECLINE_VISIBLE;
		if (script.in_config_enter)
			script.in_config_enter(p);
	} else {
		event("cX");
		config_exits++;
		assert_int_equal(p->requests, 0);
		last_config_exit = *p;
		config_exit_data = *data;
	}
}

static void pass(payload_t *p, kreplay_callback_phase_t phase, kreplay_user_data_t *data)
{
	assert_null(p->replay_pass_count);
	assert_ptr_equal(p->memory, &view);
	assert_int_equal(p->total_passes, script.count);
	if (phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		event("p%dE", (int)p->current_pass);
		assert_null(p->replay_continue);
		assert_non_null(p->replay_start_context);
		assert_non_null(p->replay_stop_context);
		kept_start = p->replay_start_context;
		kept_stop = p->replay_stop_context;
		assert_int_equal(data->value, 100);
		data->value += 10 * (p->current_pass + 1);
		if (script.in_pass_enter)
			script.in_pass_enter(p);
		return;
	}
	event("p%dX", (int)p->current_pass);
	assert_null(p->replay_start_context);
	assert_null(p->replay_stop_context);
	assert_true(p->replay_continue == (script.sets_continue ? continue_upcall : NULL));
	assert_int_equal(data->value, 100 + 10 * (p->current_pass + 1));
	data->value++;
	if (script.replaces && p->current_pass == script.replace_at)
		p->replay_continue = script.replacement;
	if (script.in_pass_exit)
		script.in_pass_exit(p);
}

static void drive(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	payload_t *p = record.payload;
	bool enter = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;

	assert_ptr_equal(args, &script);
	assert_int_equal(record.kind, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY);
	assert_int_equal(record.context_id.handle, driver.handle);
	assert_int_equal(record.thread_id, 9);
	assert_int_equal(record.correlation_id.internal, 8);
	if (!enter || record.operation != KREPLAY_KERNEL_REPLAY_PASS)
		check_disarmed();
	switch (record.operation) {
	case KREPLAY_KERNEL_REPLAY_CONFIG:
		config(p, record.phase, data);
		break;
	case KREPLAY_KERNEL_REPLAY_PASS:
		pass(p, record.phase, data);
		break;
	case KREPLAY_KERNEL_REPLAY_SNAPSHOT:
		event(enter ? "sE" : "sX");
		assert_int_equal(data->value, enter ? 100 : 101);
		data->value = 101;
		if (!enter)
			last_snapshot_exit = *p;
		break;
	case KREPLAY_KERNEL_REPLAY_RESTORE:
		event(enter ? "r%dE" : "r%dX", (int)p->current_pass);
		assert_int_equal(data->value, 100);
		if (!enter)
			last_restore_exit = *p;
		break;
	default:
		fail();
	}
}

static bool observer_talks, records_talk;

static void observe(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	payload_t *p = record.payload;

	(void)args;
	check_disarmed();
	assert_null(p->replay_start_context);
	assert_true(data->value == (record.phase == KREPLAY_CALLBACK_PHASE_ENTER ? 0u : 5u));
	data->value = 5;
	p->replay_continue = never; /* an observer decides nothing */
	p->replay_pass_count = count_upcall;
	if (observer_talks)
		event("o%d%s%d", record.operation, record.phase == KREPLAY_CALLBACK_PHASE_ENTER ? "E" : "X",
		      (int)p->current_pass);
}

static void dispatch_record(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	kreplay_callback_tracing_kernel_dispatch_data_t *p = record.payload;

	(void)args;
	check_disarmed();
	assert_int_equal(record.kind, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH);
	assert_int_equal(p->size, sizeof *p);
	assert_int_equal(p->dispatch_info.dispatch_id, 42);
	if (record.operation == KREPLAY_KERNEL_DISPATCH_ENQUEUE) {
		assert_int_equal(p->end_timestamp, 0);
		data->value = 1000 + p->replay_pass;
	} else {
		assert_int_equal(record.phase, KREPLAY_CALLBACK_PHASE_NONE);
		assert_int_equal(data->value, 1000 + p->replay_pass);
	}
	if (!records_talk)
		return;
	if (record.operation == KREPLAY_KERNEL_DISPATCH_ENQUEUE)
		event("d%d/%d%s", (int)p->replay_pass, (int)p->total_passes,
		      record.phase == KREPLAY_CALLBACK_PHASE_ENTER ? "E" : "X");
	else
		event("d%d/%d:%d-%d", (int)p->replay_pass, (int)p->total_passes, (int)p->start_timestamp,
		      (int)p->end_timestamp);
}

/* --- fixture --- */

static void subscribe(kreplay_context_id_t *context, kreplay_callback_tracing_kind_t kind,
		      const kreplay_tracing_operation_t *operations, size_t count, kreplay_callback_tracing_cb_t callback)
{
	assert_int_equal(kreplay_create_context(context), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_configure_callback_tracing_service(*context, kind, operations, count, callback, &script),
			 KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_start_context(*context), KREPLAY_STATUS_SUCCESS);
}

static int setup(void **state)
{
	static const kreplay_tracing_operation_t watched[] = { KREPLAY_KERNEL_REPLAY_PASS, KREPLAY_KERNEL_REPLAY_RESTORE,
							       KREPLAY_KERNEL_REPLAY_SNAPSHOT };

	(void)state;
	kr_contexts_reset();
	stub_reset();
	kept_start = kept_stop = NULL;
	memset(&script, 0, sizeof script);
	memset(&window, 0, sizeof window);
	script.sets_count = true;
	script.stop_after = UINT64_MAX;
	window.memory = 40;
	observer_talks = records_talk = false;
	config_enters = config_exits = 0;
	memset(&last_config_exit, 0, sizeof last_config_exit);
	kr_contexts_open(1);
	subscribe(&driver, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, drive);
	kr_contexts_open(2);
	subscribe(&observer, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, watched, 3, observe);
	subscribe(&records, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL, 0, dispatch_record);
	kr_contexts_close();
	kr_contexts_lock();
	return 0;
}

static const struct kr_dispatch dispatch = {
	.info = { .size = 72, .dispatch_id = 42, .kernel_id = 1, .agent_id = { 77 } },
	.thread_id = 9,
	.correlation_id = 8,
	.name = "gemm(float*)",
};

static struct kr_pass_times last;

/* One dispatch as the engine would treat it; the final value of memory is checked to be that of one execution. */
static void go(void)
{
	struct kr_replay r;
	bool forward = true;
	int before = window.memory;

	events[0] = 0;
	last = (struct kr_pass_times){ 0, 0 };
	assert_true(kr_replay_wanted());
	if (kr_replay_begin(&r, &dispatch) == KR_RUN_WINDOW) {
		assert_int_equal(r.requests, KREPLAY_REQUEST_DECLINE_VISIBLE);
		forward = !kr_replay_window(&r, &ops, &window, &last);
	}
	if (forward) {
		event("forward");
		window.memory++;
	}
	kr_replay_end(&r);
	kr_replay_end(&r);
	assert_int_equal(window.memory, before + 1);
	assert_int_equal(config_exits, config_enters);
}

static void expect(const char *what, kreplay_outcome_t outcome, kreplay_decline_t decline, uint64_t passes)
{
	bool left_alone = outcome == KREPLAY_OUTCOME_ONCE && !script.sets_count && !script.sets_continue;

	assert_string_equal(events, what);
	assert_int_equal(last_config_exit.outcome, outcome);
	assert_int_equal(last_config_exit.decline, decline);
	assert_int_equal(last_config_exit.passes_run, passes);
	assert_int_equal(config_exit_data.value, 100);
	/* of a dispatch that is left alone the report hears nothing */
	assert_int_equal(stub_last_outcome, left_alone ? KREPLAY_OUTCOME_NONE : outcome);
}

/* --- the table of pass counts --- */

static void test_not_set(void **state)
{
	(void)state;
	script.sets_count = false;
	go();
	expect("cE cX forward", KREPLAY_OUTCOME_ONCE, KREPLAY_DECLINE_NONE, 0);
	assert_int_equal(stub_warnings, 0);
	assert_null(last_config_exit.memory);
}

static void test_continue_alone(void **state)
{
	(void)state;
	script.sets_count = false;
	script.sets_continue = true;
	go();
	expect("cE forward cX", KREPLAY_OUTCOME_ONCE, KREPLAY_DECLINE_NONE, 0);
	assert_int_equal(stub_warnings, 1);
}

static void test_one(void **state)
{
	(void)state;
	script.count = 1;
	script.sets_continue = true;
	go();
	expect("cE n forward cX", KREPLAY_OUTCOME_ONCE, KREPLAY_DECLINE_NONE, 0);
}

static void test_zero_without_continue(void **state)
{
	(void)state;
	go();
	expect("cE n forward cX", KREPLAY_OUTCOME_DECLINED, KREPLAY_DECLINE_BAD_PASS_COUNT, 0);
	assert_true(stub_warnings >= 1);
}

static void test_zero_with_continue(void **state)
{
	(void)state;
	script.sets_continue = true;
	script.stop_after = 2;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X q0 r0E restore r0X p1E run1 p1X q1 r1E restore r1X p2E run2 p2X q2 cX",
	       KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 3);
	assert_int_equal(last_config_exit.total_passes, 0);
}

static void test_fixed(void **state)
{
	(void)state;
	script.count = 3;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X r1E restore r1X p2E run2 p2X cX",
	       KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 3);
	assert_int_equal(last.start_ns, 300);
	assert_int_equal(last.end_ns, 307);
	assert_int_equal(stub_executions, 3);
	assert_int_equal(stub_windows, 1);
	assert_int_equal(last_config_exit.restore.dirty_bytes, 4);
	assert_int_equal(last_restore_exit.restore.dirty_bytes, 2);
	assert_int_equal(last_config_exit.snapshot.bytes, 4);
	assert_int_equal(last_snapshot_exit.snapshot.bytes, 4);
	assert_int_equal(last_config_exit.restore.tier, KREPLAY_TIER_PINNED);
	assert_ptr_equal(last_config_exit.memory, &view);
	assert_true(last_config_exit.window_ns > 0);
}

/* contract 2: continue sees 0..N-2 of a fixed count */
static void test_fixed_is_never_asked_after_the_last(void **state)
{
	(void)state;
	script.count = 3;
	script.sets_continue = true;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X q0 r0E restore r0X p1E run1 p1X q1 r1E restore r1X p2E run2 p2X cX",
	       KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 3);
}

static void test_fixed_left_early(void **state)
{
	(void)state;
	script.count = 5;
	script.sets_continue = true;
	script.stop_after = 0;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X q0 cX", KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 1);
}

/* contract 2: nonsense: huge counts */
static void test_huge_count(void **state)
{
	(void)state;
	script.count = UINT64_MAX;
	script.sets_continue = true;
	go();
	expect("cE n forward cX", KREPLAY_OUTCOME_DECLINED, KREPLAY_DECLINE_BAD_PASS_COUNT, 0);
	assert_true(stub_warnings >= 1);
}

/* --- replay_continue replaced in PASS EXIT --- */

static void test_replaced_by_no(void **state)
{
	(void)state;
	script.count = 4;
	script.sets_continue = true;
	script.replaces = true;
	script.replace_at = 1;
	script.replacement = never;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X q0 r0E restore r0X p1E run1 p1X never1 cX", KREPLAY_OUTCOME_REPLAYED,
	       KREPLAY_DECLINE_NONE, 2);
}

/* contract 2: a replaced replay_continue holds for this pass alone */
static void test_replaced_for_one_decision_only(void **state)
{
	(void)state;
	script.count = 3;
	script.sets_continue = true;
	script.stop_after = 0; /* would stop after pass 0, but is not asked there */
	script.replaces = true;
	script.replace_at = 0;
	script.replacement = NULL;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X q1 cX", KREPLAY_OUTCOME_REPLAYED,
	       KREPLAY_DECLINE_NONE, 2);
}

static void test_set_in_pass_exit_without_default(void **state)
{
	(void)state;
	script.count = 3;
	script.replaces = true;
	script.replace_at = 0;
	script.replacement = never;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X never0 cX", KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 1);
}

/* --- declines --- */

static void test_snapshot_fails(void **state)
{
	(void)state;
	script.count = 3;
	for (int why = KREPLAY_DECLINE_OUT_OF_MEMORY; why < KREPLAY_DECLINE_LAST; why++) {
		window.snapshot_fails = (kreplay_decline_t)why;
		go();
		expect("cE n sE snapshot sX forward cX", KREPLAY_OUTCOME_DECLINED, (kreplay_decline_t)why, 0);
		assert_int_equal(last_snapshot_exit.decline, why);
		assert_null(last_snapshot_exit.memory);
		assert_null(last_config_exit.memory);
	}
}

static void test_pass_fails(void **state)
{
	(void)state;
	script.count = 3;
	for (int why = KREPLAY_DECLINE_OUT_OF_MEMORY; why < KREPLAY_DECLINE_LAST; why++) {
		bool ran = why == KREPLAY_DECLINE_STUCK_PASS || why == KREPLAY_DECLINE_PASS_FAILED;

		window.run_fails = (kreplay_decline_t)why;
		window.fails_at = 0;
		go();
		expect(ran ? "cE n sE snapshot sX p0E run0 p0X cX" : "cE n sE snapshot sX p0E run0 p0X forward cX",
		       KREPLAY_OUTCOME_DECLINED, (kreplay_decline_t)why, ran);
		assert_ptr_equal(last_config_exit.memory, ran ? &view : NULL);
		window.fails_at = 1;
		go();
		expect(ran ? "cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X cX"
			   : "cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X forward cX",
		       KREPLAY_OUTCOME_DECLINED, (kreplay_decline_t)why, 1 + ran);
	}
}

/* contract 2: CONFIG EXIT exactly once for each CONFIG ENTER, on declines too; contract 6: unsupported packet and
 * every other reason, whoever gives it */
static void test_window_cannot_open(void **state)
{
	struct kr_replay r;

	(void)state;
	script.count = 3;
	for (int why = KREPLAY_DECLINE_OUT_OF_MEMORY; why < KREPLAY_DECLINE_LAST; why++) {
		events[0] = 0;
		assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_WINDOW);
		kr_replay_decline(&r, (kreplay_decline_t)why);
		kr_replay_end(&r);
		kr_replay_end(&r);
		expect("cE n cX", KREPLAY_OUTCOME_DECLINED, (kreplay_decline_t)why, 0);
	}
	assert_int_equal(config_exits, config_enters);
	/* Nobody says anything. */
	events[0] = 0;
	assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_WINDOW);
	kr_replay_end(&r);
	expect("cE n cX", KREPLAY_OUTCOME_DECLINED, KREPLAY_DECLINE_SHUTTING_DOWN, 0);
}

/* contract 6: re-entrancy */
static void test_reentrant(void **state)
{
	(void)state;
	script.count = 2;
	window.reentered = true;
	go();
	assert_int_equal(last_config_exit.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(last_config_exit.flags & KREPLAY_FLAG_REENTRANT, KREPLAY_FLAG_REENTRANT);
}

static void test_stopped_in_the_middle(void **state)
{
	(void)state;
	script.count = 2;
	script.in_pass_enter = NULL;
	script.in_pass_exit = NULL;
	go();
	assert_int_equal(kreplay_stop_context(driver), KREPLAY_STATUS_SUCCESS);
	assert_false(kr_replay_wanted());
	struct kr_replay r;
	assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_ONCE);
	kr_replay_end(&r);
	assert_int_equal(config_exits, 1);
}

static void stop_driver(payload_t *p)
{
	if (p->current_pass == 0)
		assert_int_equal(kreplay_stop_context(driver), KREPLAY_STATUS_SUCCESS);
}

static void test_driver_stopped_by_itself(void **state)
{
	(void)state;
	script.count = 2;
	script.in_pass_enter = stop_driver;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X cX", KREPLAY_OUTCOME_REPLAYED,
	       KREPLAY_DECLINE_NONE, 2);
}

static void end_driver(payload_t *p)
{
	if (p->current_pass == 0)
		assert_true(kr_contexts_retire(kr_contexts_of(1), 100));
}

static void test_tool_ends_inside(void **state)
{
	struct kr_replay r;

	(void)state;
	script.count = 5;
	script.in_pass_exit = end_driver;
	events[0] = 0;
	assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_WINDOW);
	assert_true(kr_replay_window(&r, &ops, &window, &last));
	kr_replay_end(&r);
	/* The loop comes to its end, and the tool hears no more, as it wanted. */
	assert_string_equal(events, "cE n sE snapshot sX p0E run0 p0X");
	assert_int_equal(r.outcome, KREPLAY_OUTCOME_DECLINED);
	assert_int_equal(r.decline, KREPLAY_DECLINE_SHUTTING_DOWN);
	assert_int_equal(window.memory, 41);
}

/* A tool that asks for its end has no callback after it: neither CONFIG EXIT nor the question for the count. */
static void test_tool_ends_in_config_enter(void **state)
{
	(void)state;
	for (int sets_count = 0; sets_count < 2; sets_count++) {
		struct kr_replay r;

		setup(NULL);
		script.sets_count = sets_count;
		script.in_config_enter = end_driver;
		events[0] = 0;
		assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_ONCE);
		kr_replay_end(&r);
		assert_string_equal(events, "cE");
		assert_int_equal(r.outcome, KREPLAY_OUTCOME_ONCE);
		assert_false(kr_replay_wanted());
	}
}

/* --- records and observers --- */

static void test_records(void **state)
{
	kreplay_user_data_t data;

	(void)state;
	script.count = 2;
	records_talk = true;
	go();
	assert_string_equal(events, "cE n sE snapshot sX p0E d0/2E d0/2X run0 d0/2:100-107 p0X r0E restore r0X "
				    "p1E d1/2E d1/2X run1 d1/2:200-207 p1X cX");
	events[0] = 0;
	kr_dispatch_enter(&dispatch, 0, 1, &data);
	kr_dispatch_complete(&dispatch, 0, 1, 5, 6, &data);
	kr_dispatch_complete(&dispatch, 0, 1, 5, 6, &data);
	assert_string_equal(events, "d0/1E d0/1X d0/1:5-6");
	/* Records come in pairs, whatever is stopped between. */
	events[0] = 0;
	kr_dispatch_enter(&dispatch, 0, 1, &data);
	kreplay_stop_context(records);
	assert_false(kr_dispatch_wanted());
	kr_dispatch_complete(&dispatch, 0, 1, 5, 6, &data);
	kr_dispatch_enter(&dispatch, 0, 1, &data);
	kreplay_start_context(records);
	kr_dispatch_complete(&dispatch, 0, 1, 5, 6, &data);
	assert_string_equal(events, "d0/1E d0/1X d0/1:5-6");
}

static void test_observer(void **state)
{
	(void)state;
	script.count = 2;
	observer_talks = true;
	go();
	assert_string_equal(events, "cE n sE o3E0 snapshot o3X0 sX p0E o2E0 run0 o2X0 p0X r0E o4E0 restore o4X0 r0X "
				    "p1E o2E1 run1 o2X1 p1X cX");
}

/* --- toggles --- */

static void toggle_records(payload_t *p)
{
	if (p->current_pass == 1) {
		assert_int_equal(p->replay_stop_context(records), KREPLAY_STATUS_SUCCESS);
		assert_int_equal(p->replay_stop_context(observer), KREPLAY_STATUS_SUCCESS);
	}
	if (p->current_pass == 3) {
		assert_int_equal(p->replay_start_context(records), KREPLAY_STATUS_SUCCESS);
		assert_int_equal(p->replay_start_context(observer), KREPLAY_STATUS_SUCCESS);
	}
}

static void test_toggles_are_sticky_and_local(void **state)
{
	int active;

	(void)state;
	script.count = 4;
	script.in_pass_enter = toggle_records;
	records_talk = observer_talks = true;
	go();
	assert_string_equal(events, "cE n sE o3E0 snapshot o3X0 sX "
				    "p0E o2E0 d0/4E d0/4X run0 d0/4:100-107 o2X0 p0X r0E o4E0 restore o4X0 r0X "
				    "p1E run1 p1X r1E restore r1X "
				    "p2E run2 p2X r2E restore r2X "
				    "p3E o2E3 d3/4E d3/4X run3 d3/4:400-407 o2X3 p3X cX");
	assert_int_equal(kreplay_context_is_active(records, &active), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(active, 1);
	/* Masked to the end of one loop: the next begins afresh. */
	script.count = 3;
	go();
	script.in_pass_enter = NULL;
	script.count = 2;
	records_talk = true;
	observer_talks = false;
	go();
	assert_string_equal(events, "cE n sE snapshot sX p0E d0/2E d0/2X run0 d0/2:100-107 p0X r0E restore r0X "
				    "p1E d1/2E d1/2X run1 d1/2:200-207 p1X cX");
}

static void toggle_itself(payload_t *p)
{
	assert_int_equal(p->replay_stop_context(driver), KREPLAY_STATUS_SUCCESS);
}

static void test_driver_toggles_itself(void **state)
{
	(void)state;
	script.count = 2;
	script.in_pass_enter = toggle_itself;
	go();
	expect("cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X cX", KREPLAY_OUTCOME_REPLAYED,
	       KREPLAY_DECLINE_NONE, 2);
}

static void refused(payload_t *p)
{
	(void)p;
	check_disarmed();
}

static void nonsense(payload_t *p)
{
	kreplay_context_id_t unknown = { 63 }, null = { 0 }, huge = { UINT64_MAX };
	unsigned before = stub_warnings;

	assert_int_equal(p->replay_stop_context(unknown), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(p->replay_stop_context(null), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(p->replay_start_context(huge), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_true(stub_warnings > before);
}

/* contract 2: toggles outside PASS ENTER: CONTEXT_ERROR, nothing recorded */
static void test_toggles_refused(void **state)
{
	(void)state;
	script.count = 2;
	script.in_pass_exit = refused;
	script.in_pass_enter = nonsense;
	records_talk = true;
	go();
	assert_string_equal(events, "cE n sE snapshot sX p0E d0/2E d0/2X run0 d0/2:100-107 p0X r0E restore r0X "
				    "p1E d1/2E d1/2X run1 d1/2:200-207 p1X cX");
	assert_int_equal(kept_stop(records), KREPLAY_STATUS_ERROR_CONTEXT_ERROR);
}

static void wake(payload_t *p)
{
	assert_int_equal(p->replay_start_context(records), KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED);
}

/* contract 2: a local start cannot wake a context that is stopped */
static void test_toggle_cannot_wake(void **state)
{
	int active = 1;

	(void)state;
	script.count = 2;
	script.in_pass_enter = wake;
	records_talk = true;
	kreplay_stop_context(records);
	go();
	expect("cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X cX", KREPLAY_OUTCOME_REPLAYED,
	       KREPLAY_DECLINE_NONE, 2);
	kreplay_context_is_active(records, &active);
	assert_int_equal(active, 0);
}

/* A dispatch that a callback makes is no part of the loop: it does not see what is masked, and toggles nothing. */
static void nested(payload_t *p)
{
	kreplay_user_data_t data;
	size_t before = strlen(events);

	assert_int_equal(p->replay_stop_context(records), KREPLAY_STATUS_SUCCESS);
	kr_dispatch_enter(&dispatch, 0, 1, &data);
	kr_dispatch_complete(&dispatch, 0, 1, 1, 2, &data);
	assert_string_equal(events + before, " d0/1E d0/1X d0/1:1-2");
	events[before] = 0;
	assert_int_equal(p->replay_stop_context(records), KREPLAY_STATUS_SUCCESS);
}

static void test_nested_dispatch(void **state)
{
	(void)state;
	script.count = 2;
	script.in_pass_enter = nested;
	records_talk = true;
	go();
	assert_string_equal(events, "cE n sE snapshot sX p0E run0 p0X r0E restore r0X p1E run1 p1X cX");
}

/* A second context of the driver's tool: it shares user_data, and may toggle and decide like the first. */
static void sibling_callback(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	payload_t *p = record.payload;

	(void)args;
	assert_int_equal(record.operation, KREPLAY_KERNEL_REPLAY_PASS);
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		event("s%dE", (int)p->current_pass);
		/* The driver has had it first. */
		assert_int_equal(data->value, 100 + 10 * (p->current_pass + 1));
		assert_int_equal(p->replay_stop_context(records), KREPLAY_STATUS_SUCCESS);
	} else {
		event("s%dX", (int)p->current_pass);
		p->replay_continue = script.sets_continue ? continue_upcall : NULL;
	}
}

static void test_sibling_context(void **state)
{
	static const kreplay_tracing_operation_t operation = KREPLAY_KERNEL_REPLAY_PASS;
	kreplay_context_id_t sibling;

	(void)state;
	kr_contexts_reset();
	kr_contexts_open(1);
	subscribe(&driver, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, drive);
	subscribe(&sibling, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, &operation, 1, sibling_callback);
	kr_contexts_open(2);
	subscribe(&records, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL, 0, dispatch_record);
	kr_contexts_lock();
	script.count = 2;
	records_talk = true;
	go();
	expect("cE n sE snapshot sX p0E s0E run0 s0X p0X r0E restore r0X p1E s1E run1 s1X p1X cX",
	       KREPLAY_OUTCOME_REPLAYED, KREPLAY_DECLINE_NONE, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_not_set, setup),
		cmocka_unit_test_setup(test_continue_alone, setup),
		cmocka_unit_test_setup(test_one, setup),
		cmocka_unit_test_setup(test_zero_without_continue, setup),
		cmocka_unit_test_setup(test_zero_with_continue, setup),
		cmocka_unit_test_setup(test_fixed, setup),
		cmocka_unit_test_setup(test_fixed_is_never_asked_after_the_last, setup),
		cmocka_unit_test_setup(test_fixed_left_early, setup),
		cmocka_unit_test_setup(test_huge_count, setup),
		cmocka_unit_test_setup(test_replaced_by_no, setup),
		cmocka_unit_test_setup(test_replaced_for_one_decision_only, setup),
		cmocka_unit_test_setup(test_set_in_pass_exit_without_default, setup),
		cmocka_unit_test_setup(test_snapshot_fails, setup),
		cmocka_unit_test_setup(test_pass_fails, setup),
		cmocka_unit_test_setup(test_window_cannot_open, setup),
		cmocka_unit_test_setup(test_reentrant, setup),
		cmocka_unit_test_setup(test_stopped_in_the_middle, setup),
		cmocka_unit_test_setup(test_driver_stopped_by_itself, setup),
		cmocka_unit_test_setup(test_tool_ends_inside, setup),
		cmocka_unit_test_setup(test_tool_ends_in_config_enter, setup),
		cmocka_unit_test_setup(test_records, setup),
		cmocka_unit_test_setup(test_observer, setup),
		cmocka_unit_test_setup(test_toggles_are_sticky_and_local, setup),
		cmocka_unit_test_setup(test_driver_toggles_itself, setup),
		cmocka_unit_test_setup(test_toggles_refused, setup),
		cmocka_unit_test_setup(test_toggle_cannot_wake, setup),
		cmocka_unit_test_setup(test_nested_dispatch, setup),
		cmocka_unit_test_setup(test_sibling_context, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
