/* SPDX-License-Identifier: MIT */
/* What a snapshot keeps between windows, and when it gives it back. */
#include "engine_test.h"

#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "stand_in_kernels.h"

static struct kr_agent *gpu;
static struct kr_snapshot *s;

static int
setup(void **state)
{
	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	stand_in.isa = STAND_IN_ISA;
	stand_in.kernel_named = stand_in_snapshot_kernel;
	gpu = kr_agents_init() ? kr_agent_find(STAND_IN_GPU) : NULL;
	s = kr_snapshot_of(gpu);
	return s == NULL;
}

static int
teardown(void **state)
{
	kr_snapshot_destroy(gpu);
	assert_int_equal(stand_in.live_allocations, 0);
	return 0;
}

static void
take_and_close(void)
{
	kreplay_phase_stats_t stats;

	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	kr_snapshot_close(s);
}

static void
a_second_window_allocates_nothing(void **state)
{
	void *p[40];
	unsigned before;

	for (int i = 0; i < 40; i++)
		p[i] = device_alloc(10000);
	take_and_close();
	before = stand_in.pool_allocate.calls;
	for (int i = 0; i < 5; i++)
		take_and_close();
	assert_int_equal(stand_in.pool_allocate.calls, before);
	for (int i = 0; i < 40; i++)
		kr_hook_hsa_amd_memory_pool_free(p[i]);
}

/* The application's allocation does not fail because of us. */
static void
memory_is_given_back_when_it_runs_short(void **state)
{
	void *a, *b = NULL;

	stand_in.device_room = 40u << 20;
	a = device_alloc(16u << 20);
	take_and_close(); /* another 16 MiB and a little */
	b = device_alloc(20u << 20);
	assert_non_null(b);
	/* And what comes after finds its way. */
	take_and_close();
	kr_hook_hsa_amd_memory_pool_free(a);
	kr_hook_hsa_amd_memory_pool_free(b);
}

static void
too_much_for_the_device_fails_as_ever(void **state)
{
	void *a, *b = NULL;

	stand_in.device_room = 40u << 20;
	a = device_alloc(16u << 20);
	take_and_close();
	assert_int_equal(kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_DEVICE_POOL}, 30u << 20, 0, &b),
			 HSA_STATUS_ERROR_OUT_OF_RESOURCES);
	kr_hook_hsa_amd_memory_pool_free(a);
}

/* A callback that allocates while its window is open cannot have the memory. */
static void
an_open_snapshot_is_not_given_back(void **state)
{
	kreplay_phase_stats_t stats;
	unsigned char *a;

	stand_in.device_room = 40u << 20;
	a = device_alloc(16u << 20);
	a[5] = 1;
	assert_true(kr_agent_write_lock(gpu, 0));
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	assert_false(kr_snapshot_yield(gpu));
	a[5] = 2;
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(a[5], 1);
	kr_snapshot_close(s);
	kr_agent_write_unlock(gpu);
	assert_true(kr_snapshot_yield(gpu));
	assert_false(kr_snapshot_yield(gpu));
	kr_hook_hsa_amd_memory_pool_free(a);
}

static void
an_idle_snapshot_is_given_back(void **state)
{
	void *p = device_alloc(100000);
	unsigned live = stand_in.live_allocations;

	take_and_close();
	assert_true(stand_in.live_allocations > live);
	assert_int_equal(kr_snapshot_release_idle(3600u * 1000000000ull), 0);
	assert_true(stand_in.live_allocations > live);
	assert_int_equal(kr_snapshot_release_idle(0), 1);
	assert_in_range(stand_in.live_allocations, live, live + 1); /* the kernels' arguments */
	assert_int_equal(kr_snapshot_release_idle(0), 0);
	take_and_close();
	kr_hook_hsa_amd_memory_pool_free(p);
}

static void
peaks_are_counted(void **state)
{
	uint64_t host, device;
	void *p = device_alloc(3u << 20);

	take_and_close();
	kr_snapshot_peaks(&host, &device);
	assert_true(device >= 3u << 20);
	assert_true(host > 0); /* the work list */
	kr_hook_hsa_amd_memory_pool_free(p);
}

static void
freed_in_the_window_is_left_alone(void **state)
{
	kreplay_phase_stats_t stats;
	char *p = device_alloc(70000), *q = device_alloc(300);

	memset(p, 'a', 70000);
	memset(q, 'a', 300);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	kr_tracker_remove(p);
	kr_tracker_add(p, 70000, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	memset(p, 'b', 70000);
	memset(q, 'b', 300);
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(stats.regions, 1);
	assert_int_equal(p[69999], 'b');
	assert_int_equal(q[299], 'a');
	kr_snapshot_restore(s, "test", &stats);
	kr_snapshot_close(s);
	/* In the next window it is in scope like anything else. */
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	memset(p, 'c', 70000);
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(p[0], 'b');
	kr_snapshot_close(s);
	kr_hook_hsa_amd_memory_pool_free(p);
	kr_hook_hsa_amd_memory_pool_free(q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_second_window_allocates_nothing),
		TEST(memory_is_given_back_when_it_runs_short),
		TEST(too_much_for_the_device_fails_as_ever),
		TEST(an_open_snapshot_is_not_given_back),
		TEST(an_idle_snapshot_is_given_back),
		TEST(peaks_are_counted),
		TEST(freed_in_the_window_is_left_alone),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
