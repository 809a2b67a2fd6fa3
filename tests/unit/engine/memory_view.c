/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include <pthread.h>

#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"

static struct kr_snapshot *s;
static const kreplay_memory_view_t *view;
static unsigned char *a, *b;
#define LARGE (9u << 20) /* more than two chunks of the view */

static int
setup(void **state)
{
	kreplay_phase_stats_t stats;

	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	assert_true(kr_agents_init());
	s = kr_snapshot_of(kr_agent_find(STAND_IN_GPU));
	a = device_alloc(1000);
	b = device_alloc(LARGE);
	assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
	view = kr_snapshot_view(s);
	return 0;
}

static int
teardown(void **state)
{
	kr_snapshot_close(s);
	kr_hook_hsa_amd_memory_pool_free(a);
	kr_hook_hsa_amd_memory_pool_free(b);
	return 0;
}

struct ranges {
	unsigned count, stop_at;
	kreplay_memory_range_t range[64];
};

static int
note(const kreplay_memory_range_t *range, void *data)
{
	struct ranges *r = data;

	r->range[r->count++ % 64] = *range;
	return r->count == r->stop_at;
}

static int
count_region(const kreplay_memory_region_t *region, void *data)
{
	(*(unsigned *)data)++;
	return 0;
}

static void
changes_are_exact_and_merged(void **state)
{
	struct ranges r = {0};
	uint64_t base = (uint64_t)(uintptr_t)b;

	assert_int_equal(view->iterate_changes(view, note, &r), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(r.count, 0);
	b[0] = 1;
	memset(b + 4090, 7, 20);                /* over a block border */
	memset(b + (4u << 20) - 3, 7, 6);       /* over a chunk border */
	b[LARGE - 1] = 9;
	a[500] = 0; /* written with what it had */
	assert_int_equal(view->iterate_changes(view, note, &r), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(r.count, 4);
	assert_int_equal(r.range[0].address, base);
	assert_int_equal(r.range[0].bytes, 1);
	assert_int_equal(r.range[1].address, base + 4090);
	assert_int_equal(r.range[1].bytes, 20);
	assert_int_equal(r.range[2].address, base + (4u << 20) - 3);
	assert_int_equal(r.range[2].bytes, 6);
	assert_int_equal(r.range[3].address, base + LARGE - 1);
	r = (struct ranges){.stop_at = 2};
	view->iterate_changes(view, note, &r);
	assert_int_equal(r.count, 2);
}

static void
reads_now_and_then(void **state)
{
	unsigned char now[32], then[32];
	uint64_t at = (uint64_t)(uintptr_t)a + 10;

	memset(a + 10, 5, 32);
	assert_int_equal(view->read_current(view, at, now, 32), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(view->read_snapshot(view, at, then, 32), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(now[31], 5);
	assert_int_equal(then[31], 0);
	assert_int_equal(view->read_current(view, at, now, 1000), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(view->read_snapshot(view, 16, then, 1), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(view->read_current(view, at, NULL, 1), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(view->iterate_regions(view, NULL, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(view->iterate_regions(NULL, NULL, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
}

static void
hashes_tell_contents_apart(void **state)
{
	uint64_t h[4][2], region = (uint64_t)(uintptr_t)b;

	view->hash_region(view, region, h[0]);
	view->hash_region(view, region, h[1]);
	assert_memory_equal(h[0], h[1], 16);
	b[LARGE - 1] ^= 1;
	view->hash_region(view, region, h[2]);
	assert_memory_not_equal(h[0], h[2], 16);
	b[LARGE - 1] ^= 1;
	b[0] ^= 1;
	view->hash_region(view, region, h[3]);
	assert_memory_not_equal(h[2], h[3], 16);
	assert_int_equal(view->hash_region(view, region + 1, h[0]), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
}

static void *
try_elsewhere(void *arg)
{
	unsigned n = 0;

	*(kreplay_status_t *)arg = view->iterate_regions(view, count_region, &n);
	return NULL;
}

static void
is_for_the_windows_thread_while_it_is_open(void **state)
{
	kreplay_status_t status = KREPLAY_STATUS_SUCCESS;
	pthread_t thread;
	unsigned n = 0;

	assert_int_equal(view->iterate_regions(view, count_region, &n), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(n, 2);
	pthread_create(&thread, NULL, try_elsewhere, &status);
	pthread_join(thread, NULL);
	assert_int_equal(status, KREPLAY_STATUS_ERROR_NOT_AVAILABLE);
	kr_snapshot_close(s);
	assert_int_equal(view->iterate_regions(view, count_region, &n), KREPLAY_STATUS_ERROR_NOT_AVAILABLE);
}

static void
a_failed_copy_is_said(void **state)
{
	struct ranges r = {0};

	stand_in.copy = (struct stand_in_point){.fail_at = 2};
	assert_int_equal(view->iterate_changes(view, note, &r), KREPLAY_STATUS_ERROR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(changes_are_exact_and_merged),
		TEST(reads_now_and_then),
		TEST(hashes_tell_contents_apart),
		TEST(is_for_the_windows_thread_while_it_is_open),
		TEST(a_failed_copy_is_said),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
