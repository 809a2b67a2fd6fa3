/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/tracker.h"
#include "kreplay/kreplay.h"

static struct kr_agent *gpu;

static int
setup(void **state)
{
	stand_in_reset();
	kr_tracker_clear();
	assert_true(kr_agents_init());
	gpu = kr_agent_find(STAND_IN_GPU);
	return gpu == NULL;
}

/* contract 5: out: fine-grained and executable memory, counted by class */
static void
classifies_by_pool(void **state)
{
	static const struct {
		uint64_t pool;
		int class;
	} rows[] = {
		{STAND_IN_HOST_POOL, KREPLAY_LEFT_OUT_HOST},
		{STAND_IN_KERNARG_POOL, KREPLAY_LEFT_OUT_KERNARG},
		{STAND_IN_FINE_POOL, KREPLAY_LEFT_OUT_FINE_GRAINED},
	};
	struct kr_scope scope;

	for (size_t i = 0; i < 3; i++)
		kr_tracker_add((void *)(uintptr_t)(0x10000 * (i + 1)), 100 * (i + 1), rows[i].pool, 0, KREPLAY_REGION_POOL);
	kr_tracker_add((void *)0x100000, 7, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_add((void *)0x200000, 9, STAND_IN_DEVICE_POOL, 1u << 2, KREPLAY_REGION_POOL); /* executable */
	kr_tracker_add((void *)0x300000, 11, STAND_IN_DEVICE_POOL2, 0, KREPLAY_REGION_POOL);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 1);
	assert_int_equal(scope.bytes, 7);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(scope.left_out[rows[i].class], 100 * (i + 1));
	assert_int_equal(scope.left_out[KREPLAY_LEFT_OUT_EXECUTABLE], 9);
	for (uintptr_t base = 0x10000; base <= 0x300000; base += 0x10000)
		kr_tracker_remove((void *)base);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 0);
	assert_int_equal(scope.bytes, 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(scope.left_out[i], 0);
}

static void
finds_the_allocation_of_any_inner_address(void **state)
{
	struct kr_allocation a;

	kr_tracker_add((void *)0x1000, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_add((void *)0x1100, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	assert_false(kr_tracker_find((void *)0xfff, &a));
	assert_true(kr_tracker_find((void *)0x10ff, &a));
	assert_int_equal(a.base, 0x1000);
	assert_true(kr_tracker_find((void *)0x1100, &a));
	assert_int_equal(a.base, 0x1100);
	assert_false(kr_tracker_find((void *)0x1200, &a));
	kr_tracker_remove((void *)0x1010); /* not a base: nothing happens */
	assert_true(kr_tracker_find((void *)0x1010, &a));
}

static void
an_address_has_a_new_life_after_a_free(void **state)
{
	struct kr_allocation first, second;

	kr_tracker_add((void *)0x1000, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_find((void *)0x1000, &first);
	assert_true(kr_tracker_alive(0x1000, first.generation));
	kr_tracker_remove((void *)0x1000);
	assert_false(kr_tracker_alive(0x1000, first.generation));
	kr_tracker_add((void *)0x1000, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_find((void *)0x1000, &second);
	assert_false(kr_tracker_alive(0x1000, first.generation));
	assert_true(kr_tracker_alive(0x1000, second.generation));
}

static void
what_overlaps_was_freed_behind_our_back(void **state)
{
	struct kr_scope scope;

	kr_tracker_add((void *)0x1000, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_add((void *)0x1100, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_add((void *)0x1080, 0x100, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 1);
	assert_int_equal(scope.bytes, 0x100);
}

/* What has not been looked at yet may have been freed behind our back as well: the last life counts, and ends them all. */
static void
the_last_life_of_an_address_counts(void **state)
{
	struct kr_allocation a;
	struct kr_scope scope;

	kr_tracker_add((void *)0x9000, 0x10, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	for (size_t size = 0x100; size <= 0x200; size += 0x100) {
		kr_tracker_add((void *)0x1000, size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
		kr_tracker_add((void *)0x2000, size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	}
	assert_true(kr_tracker_take((void *)0x9000, &a)); /* the others stay in their order */
	assert_int_equal(a.size, 0x10);
	assert_true(kr_tracker_take((void *)0x2000, &a));
	assert_int_equal(a.size, 0x200);
	assert_false(kr_tracker_take((void *)0x2000, &a));
	assert_true(kr_tracker_find((void *)0x1000, &a));
	assert_int_equal(a.size, 0x200);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 1);
	assert_int_equal(scope.bytes, 0x200);
	kr_tracker_add((void *)0x1000, 0x300, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	kr_tracker_remove((void *)0x1000); /* the new one and the one that was known */
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 0);
	assert_int_equal(scope.bytes, 0);
}

/* Random lives against a plain list, with look-ups at every kind of address. */
static void
agrees_with_a_plain_list(void **state)
{
	struct {
		uintptr_t base;
		size_t size;
	} model[300] = {{0}};
	unsigned seed = getenv("KR_SEED") ? (unsigned)atoi(getenv("KR_SEED")) : 20260202;
	struct kr_scope scope;
	uint64_t bytes = 0;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int step = 0; step < 60000; step++) {
		unsigned i = (unsigned)rand() % 300;
		struct kr_allocation a;

		if (model[i].size != 0) {
			uintptr_t inside = model[i].base + (size_t)rand() % model[i].size;

			if (step % 7 == 0) {
				assert_true(kr_tracker_find((void *)inside, &a));
				assert_int_equal(a.base, model[i].base);
				assert_int_equal(a.size, model[i].size);
				assert_false(kr_tracker_find((void *)(model[i].base + model[i].size), &a));
				assert_true(kr_tracker_find((void *)model[i].base, &a));
			}
			kr_tracker_remove((void *)model[i].base);
			bytes -= model[i].size;
			model[i].size = 0;
			if (step % 5 == 0)
				assert_false(kr_tracker_find((void *)inside, &a));
		} else {
			model[i].base = 0x100000u + i * 0x10000u;
			model[i].size = 1 + (size_t)rand() % 0xfff0;
			bytes += model[i].size;
			kr_tracker_add((void *)model[i].base, model[i].size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
		}
		if (step % 1000 == 0) {
			kr_tracker_scope(gpu, &scope);
			assert_int_equal(scope.bytes, bytes);
		}
	}
	assert_true(kr_tracker_complete());
}

/* Each thread in addresses of its own, while this one asks for sums and for what holds an address. */

static _Atomic unsigned at_work;

static void *
come_and_go(void *arg)
{
	uintptr_t first = (uintptr_t)arg;
	unsigned seed = (unsigned)(first >> 32);
	bool live[64] = {false};

	for (int i = 0; i < 500000; i++) {
		unsigned n = (unsigned)rand_r(&seed) % 64;
		void *base = (void *)(first + n * 0x1000);
		struct kr_allocation a;

		if (live[n]) {
			assert_true(kr_tracker_take(base, &a));
			assert_int_equal(a.size, 0x1000);
		} else {
			kr_tracker_add(base, 0x1000, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
		}
		live[n] = !live[n];
	}
	for (unsigned n = 0; n < 64; n++)
		if (live[n])
			kr_tracker_remove((void *)(first + n * 0x1000));
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static void
threads_come_and_go_at_once(void **state)
{
	pthread_t thread[4];
	struct kr_scope scope;
	struct kr_allocation a;

	atomic_store(&at_work, 4);
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, (void *)((i + 1) << 32)), 0);
	while (atomic_load(&at_work) > 0) {
		kr_tracker_scope(gpu, &scope);
		assert_true(scope.regions <= 4 * 64);
		assert_int_equal(scope.bytes, scope.regions * 0x1000);
		if (kr_tracker_find((void *)(((uintptr_t)1 << 32) + 0x2123), &a))
			assert_int_equal(a.base, ((uintptr_t)1 << 32) + 0x2000);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.regions, 0);
	assert_true(kr_tracker_complete());
}

static void
follows_the_hooks(void **state)
{
	struct kr_scope scope;
	void *pool = device_alloc(1000), *region = NULL;

	assert_int_equal(kr_hook_hsa_memory_allocate((hsa_region_t){STAND_IN_DEVICE_POOL}, 500, &region), 0);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.bytes, 1500);
	kr_hook_hsa_amd_memory_pool_free(pool);
	kr_hook_hsa_memory_free(region);
	kr_tracker_scope(gpu, &scope);
	assert_int_equal(scope.bytes, 0);
	assert_int_equal(stand_in.live_allocations, 0);
}

/* Host memory that the agents see at another address than the host. */

static void *
seen_by_agents(const void *host)
{
	return (void *)((uintptr_t)host ^ UINT64_C(0x400000000000));
}

static hsa_status_t
lock_elsewhere(void *host, size_t size, hsa_agent_t *agents, int n, void **agent_ptr)
{
	*agent_ptr = seen_by_agents(host);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
info_of_locked(const void *ptr, hsa_amd_pointer_info_t *info, void *(*alloc)(size_t), uint32_t *count, hsa_agent_t **agents)
{
	info->type = HSA_EXT_POINTER_TYPE_LOCKED;
	info->hostBaseAddress = (void *)(uintptr_t)ptr;
	info->agentBaseAddress = seen_by_agents(ptr);
	return HSA_STATUS_SUCCESS;
}

static void
forgets_what_is_unlocked(void **state)
{
	char memory[100], *seen = NULL;
	struct kr_scope before, with, after;

	kr_next.hsa_amd_memory_lock = lock_elsewhere;
	kr_next.hsa_amd_pointer_info = info_of_locked;
	kr_tracker_scope(gpu, &before);
	assert_int_equal(kr_hook_hsa_amd_memory_lock(memory, sizeof(memory), NULL, 0, (void **)&seen), HSA_STATUS_SUCCESS);
	assert_ptr_equal(seen, seen_by_agents(memory));
	kr_tracker_scope(gpu, &with);
	assert_int_equal(with.left_out[KREPLAY_LEFT_OUT_HOST], before.left_out[KREPLAY_LEFT_OUT_HOST] + sizeof(memory));
	kr_hook_hsa_amd_memory_unlock(memory);
	kr_tracker_scope(gpu, &after);
	assert_int_equal(after.left_out[KREPLAY_LEFT_OUT_HOST], before.left_out[KREPLAY_LEFT_OUT_HOST]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(forgets_what_is_unlocked, setup),
		cmocka_unit_test_setup(classifies_by_pool, setup),
		cmocka_unit_test_setup(finds_the_allocation_of_any_inner_address, setup),
		cmocka_unit_test_setup(an_address_has_a_new_life_after_a_free, setup),
		cmocka_unit_test_setup(what_overlaps_was_freed_behind_our_back, setup),
		cmocka_unit_test_setup(the_last_life_of_an_address_counts, setup),
		cmocka_unit_test_setup(agrees_with_a_plain_list, setup),
		cmocka_unit_test_setup(threads_come_and_go_at_once, setup),
		cmocka_unit_test_setup(follows_the_hooks, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
