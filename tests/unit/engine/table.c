/* SPDX-License-Identifier: MIT */
#include "engine_test.h"

#include "core/log.h"
#include "core/table.h"

static struct {
	struct kr_root_table root;
	union {
		struct kr_api_table table;
		void *room[2 + KR_CORE_SLOTS + 8];
	} core;
	union {
		struct kr_api_table table;
		void *room[2 + KR_AMD_SLOTS + 8];
	} amd;
} api;

/* Tables whose every slot has a value of its own, `core` and `amd` slots long. */
static void
make_tables(size_t core, size_t amd)
{
	memset(&api, 0, sizeof(api));
	api.root.version.major_id = 1;
	api.root.core = &api.core.table;
	api.root.amd = &api.amd.table;
	api.core.table.version.major_id = api.amd.table.version.major_id = 1;
	api.core.table.version.minor_id = (uint32_t)(16 + core * sizeof(void *));
	api.amd.table.version.minor_id = (uint32_t)(16 + amd * sizeof(void *));
	for (size_t i = 0; i < KR_CORE_SLOTS + 8; i++)
		api.core.table.slot[i] = (void *)(0xc000 + i);
	for (size_t i = 0; i < KR_AMD_SLOTS + 8; i++)
		api.amd.table.slot[i] = (void *)(0xa000 + i);
}

static void
attaches_and_detaches(void **state)
{
	unsigned hooked = 0;

	make_tables(KR_CORE_SLOTS, KR_AMD_SLOTS);
	assert_true(kr_table_attach(&api.root));
	assert_ptr_equal((void *)kr_next.hsa_queue_create, (void *)(uintptr_t)(0xc000 + KR_core_hsa_queue_create));
	assert_ptr_equal(api.core.table.slot[KR_core_hsa_queue_create], (void *)kr_hook_hsa_queue_create);
	assert_ptr_equal((void *)kr_next.hsa_soft_queue_create, (void *)(uintptr_t)(0xc000 + KR_core_hsa_soft_queue_create));
	assert_ptr_equal(api.core.table.slot[KR_core_hsa_soft_queue_create],
			 (void *)(uintptr_t)(0xc000 + KR_core_hsa_soft_queue_create));
	for (size_t i = 0; i < KR_CORE_SLOTS; i++)
		hooked += api.core.table.slot[i] != (void *)(0xc000 + i);
	assert_true(hooked > 30);
	kr_table_detach();
	for (size_t i = 0; i < KR_CORE_SLOTS + 8; i++)
		assert_ptr_equal(api.core.table.slot[i], (void *)(0xc000 + i));
	for (size_t i = 0; i < KR_AMD_SLOTS + 8; i++)
		assert_ptr_equal(api.amd.table.slot[i], (void *)(0xa000 + i));
}

static void
touches_nothing_when_a_slot_is_missing(void **state)
{
	make_tables(KR_CORE_SLOTS, KR_amd_hsa_amd_memory_async_copy); /* ends right before it */
	assert_false(kr_table_attach(&api.root));
	for (size_t i = 0; i < KR_CORE_SLOTS + 8; i++)
		assert_ptr_equal(api.core.table.slot[i], (void *)(0xc000 + i));
}

static void
refuses_another_major_version(void **state)
{
	make_tables(KR_CORE_SLOTS, KR_AMD_SLOTS);
	api.core.table.version.major_id = 2;
	assert_false(kr_table_attach(&api.root));
	assert_ptr_equal(api.core.table.slot[0], (void *)0xc000);
	assert_false(kr_table_attach(NULL));
}

static void
leaves_a_slot_that_someone_patched_after_us(void **state)
{
	void *theirs = (void *)0x1234;

	make_tables(KR_CORE_SLOTS, KR_AMD_SLOTS);
	assert_true(kr_table_attach(&api.root));
	api.core.table.slot[KR_core_hsa_queue_create] = theirs;
	kr_table_detach();
	assert_ptr_equal(api.core.table.slot[KR_core_hsa_queue_create], theirs);
	assert_ptr_equal(api.core.table.slot[KR_core_hsa_queue_destroy],
			 (void *)(uintptr_t)(0xc000 + KR_core_hsa_queue_destroy));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attaches_and_detaches),
		cmocka_unit_test(touches_nothing_when_a_slot_is_missing),
		cmocka_unit_test(refuses_another_major_version),
		cmocka_unit_test(leaves_a_slot_that_someone_patched_after_us),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
