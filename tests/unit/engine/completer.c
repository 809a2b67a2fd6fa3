/* SPDX-License-Identifier: MIT */
/* Completions of dispatches that run once while this program, the tool, wants a record of each. */
#include "replay_tool.h"

#include <unistd.h>

#define LONG_NS 20000000000u

static hsa_queue_t *
queue_of(uint32_t size)
{
	hsa_queue_t *q = NULL;

	assert_int_equal(kr_hook_hsa_queue_create(STAND_IN_GPU, size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q),
			 HSA_STATUS_SUCCESS);
	return q;
}

static bool
comes(hsa_signal_t signal)
{
	return kr_next.hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, LONG_NS,
						 HSA_WAIT_STATE_BLOCKED) < 1;
}

/* More dispatches than can be waited for at once stand behind a dependency, which the application resolves only
 * when another queue's dispatch has completed. */
static void
a_queues_backlog_keeps_no_other_queue_waiting(void **state)
{
	enum { BACKLOG = 200 };
	hsa_queue_t *blocked = queue_of(256);
	hsa_signal_t dep = stand_in_signal(1), last = stand_in_signal(1);
	uint32_t *counted = device_alloc(64);
	union kr_packet barrier = {0};

	want_passes = 1;
	barrier.barrier.dep_signal[0] = dep;
	__atomic_fetch_add(&((amd_queue_t *)blocked)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	kr_packet_publish(blocked->base_address, &barrier, kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
	for (int i = 0; i < BACKLOG; i++)
		stand_in_dispatch(blocked, bump, counted, i == BACKLOG - 1 ? last : (hsa_signal_t){0});
	assert_int_equal(*counted, 0);

	stand_in_dispatch(queue, bump, cell, done);
	assert_true(comes(done));
	assert_int_equal(*cell, 101);
	assert_int_equal(*counted, 0);

	kr_hook_hsa_signal_store_screlease(dep, 0);
	assert_true(comes(last));
	assert_int_equal(*counted, BACKLOG);
	kr_hook_hsa_queue_destroy(blocked);
	kr_next.hsa_signal_destroy(dep);
	kr_next.hsa_signal_destroy(last);
	kr_hook_hsa_amd_memory_pool_free(counted);
}

/* The same with more such queues than can be waited for at once. */
static void
many_queues_backlogs_keep_no_other_queue_waiting(void **state)
{
	enum { QUEUES = 80 };
	hsa_queue_t *blocked[QUEUES];
	hsa_signal_t dep = stand_in_signal(1), all = stand_in_signal(QUEUES);
	uint32_t *counted = device_alloc(64 * QUEUES);
	union kr_packet barrier = {0};

	want_passes = 1;
	barrier.barrier.dep_signal[0] = dep;
	for (int i = 0; i < QUEUES; i++) {
		blocked[i] = queue_of(64);
		__atomic_fetch_add(&((amd_queue_t *)blocked[i])->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
		kr_packet_publish(blocked[i]->base_address, &barrier, kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
		stand_in_dispatch(blocked[i], bump, &counted[16 * i], all);
	}
	stand_in_dispatch(queue, bump, cell, done);
	assert_true(comes(done));
	kr_hook_hsa_signal_store_screlease(dep, 0);
	assert_true(comes(all));
	for (int i = 0; i < QUEUES; i++) {
		assert_int_equal(counted[16 * i], 1);
		kr_hook_hsa_queue_destroy(blocked[i]);
	}
	kr_next.hsa_signal_destroy(dep);
	kr_next.hsa_signal_destroy(all);
	kr_hook_hsa_amd_memory_pool_free(counted);
}

/* A record takes long: until the next dispatch has completed, and a while after that. */
static void
hold(void)
{
	kr_next.hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 300000000, HSA_WAIT_STATE_BLOCKED);
	usleep(20000);
}

static void
a_replayed_dispatch_does_not_complete_before_the_one_in_front(void **state)
{
	hsa_signal_t first = stand_in_signal(1);

	in_record = hold;
	want_passes = 1;
	stand_in_dispatch(queue, bump, cell, first);
	want_passes = 3;
	stand_in_dispatch(queue, bump, cell, done);
	assert_true(comes(done));
	assert_int_equal(kr_next.hsa_signal_load_scacquire(first), 0);
	assert_int_equal(*cell, 102);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	kr_next.hsa_signal_destroy(first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY_TEST(a_queues_backlog_keeps_no_other_queue_waiting),
		REPLAY_TEST(many_queues_backlogs_keep_no_other_queue_waiting),
		REPLAY_TEST(a_replayed_dispatch_does_not_complete_before_the_one_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
