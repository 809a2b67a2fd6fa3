/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include "core/ptrmap.h"

static void
finds_what_was_put(void **state)
{
	static int values[5000];
	struct kr_ptrmap map = {0};

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
	struct kr_ptrmap map = {0};
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(forgets_what_was_removed_and_takes_it_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
