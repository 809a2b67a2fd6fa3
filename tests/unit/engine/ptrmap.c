/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/ptrmap.h"

/* Maps of the process's whole life, as the engine's are. */
static void
finds_what_was_put(void **state)
{
	static struct kr_ptrmap map;
	static int values[5000];

	assert_null(kr_ptrmap_get(&map, 42));
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(kr_ptrmap_put(&map, 0x7f0000000000u + i * 64, &values[i]));
	for (uint64_t i = 0; i < 5000; i++)
		assert_ptr_equal(kr_ptrmap_get(&map, 0x7f0000000000u + i * 64), &values[i]);
	assert_null(kr_ptrmap_get(&map, 0x7f0000000000u + 5000 * 64));
}

static void
forgets_what_was_removed_and_takes_it_again(void **state)
{
	static struct kr_ptrmap map;
	int a, b;

	for (int round = 0; round < 10000; round++) {
		uint64_t key = 0x1000u + (uint64_t)round * 8;

		assert_true(kr_ptrmap_put(&map, key, &a));
		assert_ptr_equal(kr_ptrmap_get(&map, key), &a);
		kr_ptrmap_remove(&map, key);
		assert_null(kr_ptrmap_get(&map, key));
		assert_true(kr_ptrmap_put(&map, 8, round & 1 ? (void *)&a : &b));
		assert_ptr_equal(kr_ptrmap_get(&map, 8), round & 1 ? (void *)&a : &b);
	}
	kr_ptrmap_remove(&map, 77777); /* never there */
}

/* A program that makes and destroys queues, or loads and unloads kernels, for days. (Under a sanitizer nothing is
 * counted.) */
static void
what_comes_and_goes_costs_no_more_memory(void **state)
{
	static struct kr_ptrmap map;
	static int values[100];
	size_t before = 0;

	for (uint64_t round = 0; round < 200000; round++) {
		if (round == 1000)
			before = mallinfo2().uordblks;
		assert_true(kr_ptrmap_put(&map, 0x7f0000000000u + round * 64, &values[round % 100]));
		if (round >= 100)
			kr_ptrmap_remove(&map, 0x7f0000000000u + (round - 100) * 64);
	}
	assert_true(mallinfo2().uordblks <= before);
	for (uint64_t round = 200000 - 100; round < 200000; round++)
		assert_ptr_equal(kr_ptrmap_get(&map, 0x7f0000000000u + round * 64), &values[round % 100]);
}

static struct kr_ptrmap shared;
static int kept[64];
static _Atomic bool over;

static void *
read_kept(void *misses)
{
	for (uint64_t i = 0; !atomic_load(&over); i++) {
		*(uint64_t *)misses += kr_ptrmap_get(&shared, 0x1000 + i % 64 * 8) != &kept[i % 64];
		*(uint64_t *)misses += kr_ptrmap_get(&shared, 7) != NULL; /* never there */
	}
	return NULL;
}

/* Without a lock: whatever else comes and goes, and when the table is swept, and when it grows. */
static void
readers_always_find_what_stays(void **state)
{
	uint64_t misses[2] = {0};
	pthread_t reader[2];
	int passing;

	for (uint64_t i = 0; i < 64; i++)
		assert_true(kr_ptrmap_put(&shared, 0x1000 + i * 8, &kept[i]));
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&reader[i], NULL, read_kept, &misses[i]), 0);
	for (uint64_t round = 0; round < 300000; round++) {
		assert_true(kr_ptrmap_put(&shared, 0x100000 + round * 8, &passing));
		if (round % 1000 != 0)
			kr_ptrmap_remove(&shared, 0x100000 + round * 8);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(reader[i], NULL);
		assert_int_equal(misses[i], 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(forgets_what_was_removed_and_takes_it_again),
		cmocka_unit_test(what_comes_and_goes_costs_no_more_memory),
		cmocka_unit_test(readers_always_find_what_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
