/* SPDX-License-Identifier: MIT */
/* --scope kernargs saves what the arguments point into, and --verify-scope sees the rest being written. */
#include "engine_test.h"

#include <unistd.h>

#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "stand_in_kernels.h"

static struct kr_agent *gpu;
static struct kr_snapshot *s;
static char *a, *b, *c;
static uint64_t *block; /* arguments */

static int
setup(void **state)
{
	void *p = NULL;

	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	stand_in.isa = STAND_IN_ISA;
	stand_in.kernel_named = stand_in_snapshot_kernel;
	gpu = kr_agents_init() ? kr_agent_find(STAND_IN_GPU) : NULL;
	s = kr_snapshot_of(gpu);
	a = device_alloc(100000);
	b = device_alloc(70000);
	c = device_alloc(300);
	assert_int_equal(kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_KERNARG_POOL}, 64, 0, &p),
			 HSA_STATUS_SUCCESS);
	block = p;
	block[1] = (uint64_t)(uintptr_t)a + 5000; /* into the middle */
	block[3] = (uint64_t)(uintptr_t)c + 299;
	return 0;
}

static int
teardown(void **state)
{
	kr_hook_hsa_amd_memory_pool_free(a);
	kr_hook_hsa_amd_memory_pool_free(b);
	kr_hook_hsa_amd_memory_pool_free(c);
	kr_hook_hsa_amd_memory_pool_free(block);
	kr_snapshot_destroy(gpu);
	return 0;
}

/* What is said on standard error from here to there. */
static int kept, said[2];

static void
listen(void)
{
	assert_int_equal(pipe(said), 0);
	kept = dup(2);
	dup2(said[1], 2);
}

static bool
heard(const char *words)
{
	char text[4096] = "";
	ssize_t n;

	dup2(kept, 2);
	close(kept);
	close(said[1]);
	n = read(said[0], text, sizeof(text) - 1);
	close(said[0]);
	return n > 0 && strstr(text, words) != NULL;
}

static void
arguments_say_what_is_saved(void **state)
{
	kreplay_phase_stats_t stats;

	kr_snapshot_arguments(s, "good", block, 64);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	assert_int_equal(stats.regions, 2);
	assert_int_equal(stats.bytes, 100300);
	listen();
	a[99999] = c[0] = 1;
	kr_snapshot_restore(s, "good", &stats);
	assert_int_equal(a[99999] + c[0], 0);
	assert_int_equal(stats.regions, 2);
	a[0] = 1;
	kr_snapshot_close(s);
	assert_false(heard("wrote"));
}

static void
a_write_elsewhere_is_reported(void **state)
{
	kreplay_phase_stats_t stats;

	kr_snapshot_arguments(s, "bad", block, 64);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	listen();
	b[69999] = 1;
	kr_snapshot_restore(s, "bad", &stats);
	assert_int_equal(b[69999], 1); /* not saved, so not restored */
	kr_snapshot_close(s);
	assert_true(heard("bad wrote memory that none of its arguments points into"));
}

static void
the_last_pass_is_looked_at_too(void **state)
{
	kreplay_phase_stats_t stats;

	kr_snapshot_arguments(s, "late", block, 64);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	listen();
	kr_snapshot_restore(s, "late", &stats);
	b[0] = 1;
	kr_snapshot_close(s);
	assert_true(heard("late wrote"));
}

/* On the device or nowhere known: it cannot be read, and everything is saved. */
static void
arguments_that_cannot_be_read(void **state)
{
	kreplay_phase_stats_t stats;

	listen();
	kr_snapshot_arguments(s, "unread", b, 64);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	kr_snapshot_close(s);
	assert_int_equal(stats.regions, 3);
	assert_true(heard("cannot be read"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(arguments_say_what_is_saved),
		TEST(a_write_elsewhere_is_reported),
		TEST(the_last_pass_is_looked_at_too),
		TEST(arguments_that_cannot_be_read),
	};

	setenv("KREPLAY_SCOPE", "kernargs", 1);
	setenv("KREPLAY_VERIFY_SCOPE", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
