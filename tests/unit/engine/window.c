/* SPDX-License-Identifier: MIT */
/* Windows on the stand-in runtime, with this program as the tool. */
#include "replay_tool.h"

#include "core/code.h"
#include "core/log.h"

static void
an_in_place_kernel_counts_once(void **state)
{
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(stand_in.executed, 5);
	assert_int_equal(saw.config_enter, 1);
	assert_int_equal(saw.config_exit, 1);
	assert_int_equal(saw.pass_enter, 5);
	assert_int_equal(saw.pass_exit, 5);
	assert_int_equal(saw.snapshot, 1);
	assert_int_equal(saw.restore, 4);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(saw.passes, 5);
	assert_int_equal(saw.snapshot_bytes, 1024);
	assert_int_equal(saw.restored_bytes, 4 * 1024);
	assert_int_equal(saw.changed_bytes, 1); /* 100 -> 101: one byte differs */
	assert_int_equal(saw.records, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(saw.record_pass[i], i);
	assert_int_equal(saw.thread_mismatches, 0);
	/* Times of the last pass, on the application's own signal. */
	assert_true(kr_signal_amd(done)->start_ts > 0);
	assert_true(kr_signal_amd(done)->end_ts >= kr_signal_amd(done)->start_ts);
	assert_int_equal(kr_hook_hsa_queue_load_read_index_relaxed(queue), 1);
}

/* contract 2: count 1: once, no snapshot, no PASS */
static void
one_pass_is_the_ordinary_path(void **state)
{
	want_passes = 1;
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(stand_in.executed, 1);
	assert_int_equal(stand_in.copy.calls, 0);
	assert_int_equal(saw.pass_enter, 0);
	assert_int_equal(saw.config_exit, 1);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_ONCE);
}

/* Scenario 4. */
static void
each_of_three_dispatches_under_one_doorbell_is_replayed(void **state)
{
	uint64_t index = 0;

	stand_in_write(queue, bump, cell, (hsa_signal_t){0});
	stand_in_write(queue, bump, cell, (hsa_signal_t){0});
	index = stand_in_write(queue, bump, cell, done);
	kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	wait_done();
	assert_int_equal(*cell, 103);
	assert_int_equal(stand_in.executed, 15);
	assert_int_equal(saw.config_exit, 3);
}

/* Scenario 14: the doorbell of barrier(dep) + dispatch, then the same thread stores dep. */
static void
who_rings_and_then_satisfies_its_dependency_gets_its_thread_back(void **state)
{
	hsa_signal_t dep = stand_in_signal(1);
	uint64_t index = __atomic_fetch_add(&((amd_queue_t *)queue)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	union kr_packet barrier = {0};

	barrier.barrier.dep_signal[0] = dep;
	kr_packet_publish((union kr_packet *)queue->base_address + index, &barrier,
			  kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
	stand_in_dispatch(queue, bump, cell, done);
	assert_int_equal(*cell, 100);
	kr_hook_hsa_signal_store_screlease(dep, 0);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_true(saw.flags & KREPLAY_FLAG_OTHER_THREAD);
	kr_next.hsa_signal_destroy(dep);
}

/* Scenario 15: queue 2 is parked at a barrier that waits for the very dispatch. */
static void
a_parked_sibling_counts_as_drained(void **state)
{
	hsa_queue_t *second = NULL;
	union kr_packet barrier = {0};
	hsa_signal_t second_done = stand_in_signal(1);

	kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &second);
	barrier.barrier.dep_signal[0] = done;
	barrier.barrier.completion_signal = second_done;
	__atomic_fetch_add(&((amd_queue_t *)second)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	kr_packet_publish(second->base_address, &barrier, kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
	kr_hook_hsa_signal_store_screlease(second->doorbell_signal, 0);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(*cell, 101);
	kr_next.hsa_signal_wait_scacquire(second_done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	kr_hook_hsa_queue_destroy(second);
	kr_next.hsa_signal_destroy(second_done);
}

/* contract 2: what a callback dispatches on the very queue runs unreplayed */
/* Scenario 28. */
static void
a_callback_that_dispatches_runs_unreplayed(void **state)
{
	nested_queue = queue;
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.config_enter, 1);
	assert_int_equal(stand_in.executed, 10);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_true(saw.flags & KREPLAY_FLAG_REENTRANT);
}

/* contract 6: unsupported packet: it runs once, which is where its error comes from */
static void
a_packet_that_no_queue_runs_is_declined(void **state)
{
	static const struct {
		size_t offset, size;
	} cleared[] = {
		{offsetof(hsa_kernel_dispatch_packet_t, grid_size_x), 4},
		{offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x), 2},
	};

	for (unsigned i = 0; i < sizeof(cleared) / sizeof(*cleared); i++) {
		uint64_t index = stand_in_write(queue, bump, cell, (hsa_signal_t){0});
		char *packet = (char *)((hsa_kernel_dispatch_packet_t *)queue->base_address + index);

		memset(packet + cleared[i].offset, 0, cleared[i].size);
		kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
		assert_int_equal(saw.config_exit, i + 1);
		assert_int_equal(saw.outcome, KREPLAY_OUTCOME_DECLINED);
		assert_int_equal(saw.decline, KREPLAY_DECLINE_UNSUPPORTED_PACKET);
	}
	assert_int_equal(saw.snapshot, 0);
	assert_int_equal(saw.pass_enter, 0);
}

/* contract 4: what is in an inactive queue never runs, so it is neither waited for nor replayed. */
static void
an_inactive_queue_is_at_rest(void **state)
{
	hsa_queue_t *second = NULL;
	uint64_t began = kr_now_ns();

	kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &second);
	stand_in_dispatch(second, bump, cell, (hsa_signal_t){0});
	assert_int_equal(*cell, 101);
	stand_in.quiet_inactivation = true;
	assert_int_equal(kr_hook_hsa_queue_inactivate(second), 0);
	stand_in_dispatch(second, bump, cell, (hsa_signal_t){0});
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_DECLINED);
	assert_int_equal(saw.decline, KREPLAY_DECLINE_SHUTTING_DOWN);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 102);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(saw.config_exit, 3);
	assert_true(kr_now_ns() - began < 1000000000);
	kr_hook_hsa_queue_destroy(second);
}

/* Scenario 2: freed from a PASS callback, inside the window. */
static void
what_a_callback_frees_is_never_written_again(void **state)
{
	free_in_pass = device_alloc(64);
	stand_in_dispatch(queue, bump, cell, done); /* a write after free would show under ASan */
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.restored_bytes, 4 * 1024);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
}

static void
out_of_scope_memory_is_counted_and_left_alone(void **state)
{
	void *host = NULL;
	uint32_t *fine = NULL;

	kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_HOST_POOL}, 300, 0, &host);
	kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_FINE_POOL}, 200, 0, (void **)&fine);
	stand_in_dispatch(queue, bump, fine, done);
	wait_done();
	assert_int_equal(*fine, 5); /* not undone between passes, and said so */
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 300);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_FINE_GRAINED], 200);
	kr_hook_hsa_amd_memory_pool_free(host);
	kr_hook_hsa_amd_memory_pool_free(fine);
}

/* Scenario 10, snapshot side: the k-th copy fails. */
static void
a_copy_that_fails_declines(void **state)
{
	void *more[3];

	for (int i = 0; i < 3; i++)
		more[i] = device_alloc(100);
	for (unsigned k = 1; k <= 4; k++) {
		kr_next.hsa_signal_store_relaxed(done, 1);
		stand_in.copy = (struct stand_in_point){.fail_at = k};
		stand_in_dispatch(queue, bump, cell, done);
		wait_done();
		assert_int_equal(*cell, 100 + k);
		assert_int_equal(saw.outcome, KREPLAY_OUTCOME_DECLINED);
		assert_int_equal(saw.decline, KREPLAY_DECLINE_COPY_FAILED);
		assert_int_equal(saw.config_exit, k);
		assert_int_equal(saw.pass_enter, 0);
	}
	for (int i = 0; i < 3; i++)
		kr_hook_hsa_amd_memory_pool_free(more[i]);
}

/* Scenario 11: the k-th allocation of ours fails, or all from then on: the
 * snapshot goes where there is room, or the dispatch is declined; the
 * application never notices. */
static void
an_allocation_that_fails_is_not_noticed(void **state)
{
	uint32_t expected = 100;

	for (unsigned k = 1; k <= 6; k++)
		for (int all = 0; all < 2; all++) {
			uint32_t *large = device_alloc((size_t)k << 20); /* more than what is retained */

			kr_next.hsa_signal_store_relaxed(done, 1);
			stand_in.pool_allocate = (struct stand_in_point){.fail_at = k, .fail_on = all};
			stand_in_dispatch(queue, bump, cell, done);
			wait_done();
			stand_in.pool_allocate = (struct stand_in_point){0};
			assert_true(saw.outcome == KREPLAY_OUTCOME_REPLAYED ||
				    (saw.outcome == KREPLAY_OUTCOME_DECLINED &&
				     saw.decline == KREPLAY_DECLINE_OUT_OF_MEMORY));
			assert_int_equal(*cell, ++expected);
			assert_int_equal(*large, 0);
			kr_hook_hsa_amd_memory_pool_free(large);
		}
}

static void
unknown_variables_decline(void **state)
{
	stand_in.image_size = 0;
	kr_code_loaded((hsa_executable_t){9});
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.decline, KREPLAY_DECLINE_VARIABLES_UNKNOWN);
	kr_code_destroyed((hsa_executable_t){9});
}

static void
a_window_costs_no_signal(void **state)
{
	unsigned before;

	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	before = stand_in.live_signals;
	for (int i = 0; i < 50; i++) {
		kr_next.hsa_signal_store_relaxed(done, 1);
		stand_in_dispatch(queue, bump, cell, done);
		wait_done();
	}
	assert_int_equal(stand_in.live_signals, before);
	assert_int_equal(*cell, 151);
}

static void *
own_queue(void *arg)
{
	uint32_t *mine = device_alloc(256);
	hsa_queue_t *q = NULL;
	hsa_signal_t s = stand_in_signal(1);

	kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q);
	for (int i = 0; i < 100; i++) {
		kr_next.hsa_signal_store_relaxed(s, 1);
		stand_in_dispatch(q, bump, mine, s);
		kr_next.hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	}
	assert_int_equal(*mine, 100);
	kr_hook_hsa_queue_destroy(q);
	kr_next.hsa_signal_destroy(s);
	kr_hook_hsa_amd_memory_pool_free(mine);
	return NULL;
}

/* Windows of several queues of one agent take turns and lose nothing. */
static void
threads_with_queues_of_their_own(void **state)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, own_queue, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY_TEST(an_in_place_kernel_counts_once),
		REPLAY_TEST(one_pass_is_the_ordinary_path),
		REPLAY_TEST(each_of_three_dispatches_under_one_doorbell_is_replayed),
		REPLAY_TEST(who_rings_and_then_satisfies_its_dependency_gets_its_thread_back),
		REPLAY_TEST(a_parked_sibling_counts_as_drained),
		REPLAY_TEST(a_callback_that_dispatches_runs_unreplayed),
		REPLAY_TEST(a_packet_that_no_queue_runs_is_declined),
		REPLAY_TEST(an_inactive_queue_is_at_rest),
		REPLAY_TEST(what_a_callback_frees_is_never_written_again),
		REPLAY_TEST(out_of_scope_memory_is_counted_and_left_alone),
		REPLAY_TEST(a_copy_that_fails_declines),
		REPLAY_TEST(an_allocation_that_fails_is_not_noticed),
		REPLAY_TEST(unknown_variables_decline),
		REPLAY_TEST(a_window_costs_no_signal),
		REPLAY_TEST(threads_with_queues_of_their_own),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
