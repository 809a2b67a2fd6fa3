/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"

static struct kr_agent *gpu;
static struct kr_snapshot *s;

static int
setup(void **state)
{
	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	gpu = kr_agents_init() ? kr_agent_find(STAND_IN_GPU) : NULL;
	s = kr_snapshot_of(gpu);
	return s == NULL;
}

static void
restores_every_byte_of_random_footprints(void **state)
{
	kreplay_phase_stats_t stats;
	unsigned seed = getenv("KR_SEED") ? (unsigned)atoi(getenv("KR_SEED")) : 20260101;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 60; round++) {
		unsigned n = 1 + (unsigned)rand() % 20;
		unsigned char *at[20], *copy[20];
		size_t size[20], bytes = 0;

		for (unsigned i = 0; i < n; i++) {
			size[i] = 1 + (size_t)rand() % (i == 0 ? 300000 : 5000);
			bytes += size[i];
			at[i] = device_alloc(size[i]);
			copy[i] = malloc(size[i]);
			for (size_t k = 0; k < size[i]; k++)
				copy[i][k] = at[i][k] = (unsigned char)rand();
		}
		assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
		assert_int_equal(stats.regions, n);
		assert_int_equal(stats.bytes, bytes);
		for (int pass = 0; pass < 3; pass++) {
			for (unsigned i = 0; i < n; i++)
				for (size_t k = (size_t)rand() % 100; k < size[i]; k += 1 + (size_t)rand() % 1000)
					at[i][k] ^= (unsigned char)(1 + rand() % 255);
			kr_snapshot_restore(s, "test", &stats);
			assert_int_equal(stats.bytes, bytes);
			for (unsigned i = 0; i < n; i++)
				assert_memory_equal(at[i], copy[i], size[i]);
		}
		kr_snapshot_close(s);
		for (unsigned i = 0; i < n; i++) {
			kr_hook_hsa_amd_memory_pool_free(at[i]);
			free(copy[i]);
		}
	}
}

static void
an_empty_footprint_needs_no_copy(void **state)
{
	kreplay_phase_stats_t stats;

	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(stand_in.copy.calls, 0);
}

static void
the_buffer_is_kept(void **state)
{
	kreplay_phase_stats_t stats;
	void *p = device_alloc(100000);
	unsigned before;

	kr_snapshot_take(s, &stats);
	before = stand_in.pool_allocate.calls;
	for (int i = 0; i < 10; i++)
		assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	assert_int_equal(stand_in.pool_allocate.calls, before);
	kr_hook_hsa_amd_memory_pool_free(p);
	kr_snapshot_destroy(gpu);
	assert_int_equal(stand_in.live_allocations, 0);
	assert_int_equal(stand_in.live_signals, 0);
}

/* Scenario 3: freed, and its address given to someone else. */
static void
a_new_life_of_an_address_is_not_overwritten(void **state)
{
	kreplay_phase_stats_t stats;
	char *p = device_alloc(64);

	memset(p, 'a', 64);
	kr_snapshot_take(s, &stats);
	kr_tracker_remove(p);
	kr_tracker_add(p, 64, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	memset(p, 'b', 64);
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(stats.regions, 0);
	assert_int_equal(p[0], 'b');
	kr_hook_hsa_amd_memory_pool_free(p);
}

/* Scenario 10: a restore that fails at the k-th copy cannot be repaired. */
static void
a_failed_restore_aborts_with_a_diagnosis(void **state)
{
	void *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = device_alloc(64);
	for (unsigned k = 1; k <= 3; k++) {
		char text[1024] = "";
		int out[2], status = 0;
		ssize_t n;
		pid_t child;

		assert_int_equal(pipe(out), 0);
		child = fork();
		if (child == 0) {
			kreplay_phase_stats_t stats;

			dup2(out[1], 2);
			kr_snapshot_take(s, &stats);
			stand_in.copy = (struct stand_in_point){.fail_at = k};
			signal(SIGABRT, SIG_DFL);
			kr_snapshot_restore(s, "my_kernel", &stats);
			_exit(0);
		}
		close(out[1]);
		n = read(out[0], text, sizeof(text) - 1);
		close(out[0]);
		waitpid(child, &status, 0);
		assert_true(n > 0);
		assert_non_null(strstr(text, "my_kernel"));
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	for (int i = 0; i < 3; i++)
		kr_hook_hsa_amd_memory_pool_free(p[i]);
}

static void
over_the_budget_nothing_moves(void **state)
{
	kreplay_phase_stats_t stats;
	void *p = device_alloc(2u << 20);

	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_OVER_BUDGET);
	assert_int_equal(stand_in.copy.calls, 0);
	kr_hook_hsa_amd_memory_pool_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(restores_every_byte_of_random_footprints, setup),
		cmocka_unit_test_setup(an_empty_footprint_needs_no_copy, setup),
		cmocka_unit_test_setup(the_buffer_is_kept, setup),
		cmocka_unit_test_setup(a_new_life_of_an_address_is_not_overwritten, setup),
		cmocka_unit_test_setup(a_failed_restore_aborts_with_a_diagnosis, setup),
		cmocka_unit_test_setup(over_the_budget_nothing_moves, setup),
	};

	setenv("KREPLAY_BUDGET", "1M", 1);
	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
