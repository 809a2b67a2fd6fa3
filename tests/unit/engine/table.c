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
	make_tables(KR_core_hsa_executable_iterate_agent_symbols, 48); /* ends right before it */
	assert_false(kr_table_attach(&api.root));
	for (size_t i = 0; i < KR_AMD_SLOTS + 8; i++)
		assert_ptr_equal(api.amd.table.slot[i], (void *)(0xa000 + i));
	make_tables(KR_CORE_SLOTS, 48);
	api.amd.table.slot[KR_amd_hsa_amd_memory_async_copy] = NULL; /* there, but empty */
	assert_false(kr_table_attach(&api.root));
	make_tables(KR_core_hsa_executable_iterate_agent_symbols, 48);
	assert_false(kr_table_attach(&api.root));
	for (size_t i = 0; i < KR_CORE_SLOTS + 8; i++)
		assert_ptr_equal(api.core.table.slot[i], (void *)(0xc000 + i));
}

/* The AMD table of every runtime: how many slots, and where three of them lie. */
static const struct {
	unsigned slots;
	int get_mask, on_engine, get_info;
} layouts[] = {
	{48, 47, -1, -1}, /* 4.5 to 5.4 */
	{51, 50, -1, -1}, /* 5.5: three in the middle */
	{55, 52, 16, -1}, /* 5.6, 5.7: two more in the middle */
	{67, 52, 16, -1}, /* 6.0 */
	{68, 52, 16, -1}, /* 6.1 */
	{70, 52, 16, 68}, /* 6.2 */
	{71, 52, 16, 68}, /* 6.3 */
	{77, 52, 16, 68}, /* between 6.3 and 7 */
	{82, 52, 16, 68}, /* 7 */
	{86, 52, 16, 68}, /* one that has grown since */
};

static void
follows_the_layout_of_every_runtime(void **state)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		unsigned n = layouts[i].slots;

		make_tables(KR_CORE_SLOTS, n);
		assert_int_equal(kr_amd_slot_index(KR_amd_hsa_amd_queue_cu_get_mask, n), layouts[i].get_mask);
		assert_int_equal(kr_amd_slot_index(KR_amd_hsa_amd_memory_async_copy_on_engine, n), layouts[i].on_engine);
		assert_int_equal(kr_amd_slot_index(KR_amd_hsa_amd_queue_get_info, n), layouts[i].get_info);
		assert_true(kr_table_attach(&api.root));
		assert_ptr_equal(api.amd.table.slot[layouts[i].get_mask], (void *)kr_hook_hsa_amd_queue_cu_get_mask);
		assert_ptr_equal((void *)kr_next.hsa_amd_queue_cu_get_mask, (void *)(0xa000 + (uintptr_t)layouts[i].get_mask));
		if (layouts[i].on_engine < 0)
			assert_null(kr_next.hsa_amd_memory_async_copy_on_engine);
		else
			assert_ptr_equal(api.amd.table.slot[16], (void *)kr_hook_hsa_amd_memory_async_copy_on_engine);
		if (layouts[i].get_info < 0)
			assert_null(kr_next.hsa_amd_queue_get_info);
		else
			assert_ptr_equal(api.amd.table.slot[68], (void *)kr_hook_hsa_amd_queue_get_info);
		/* Nothing beyond the table's size. */
		for (size_t k = n; k < KR_AMD_SLOTS + 8; k++)
			assert_ptr_equal(api.amd.table.slot[k], (void *)(0xa000 + k));
		kr_table_detach();
		for (size_t k = 0; k < KR_AMD_SLOTS + 8; k++)
			assert_ptr_equal(api.amd.table.slot[k], (void *)(0xa000 + k));
	}
}

/* Where each function that only newer runtimes have is, and from which size on. */
static const struct {
	const char *name;
	unsigned since, place;
} newer[] = {
	{"hsa_amd_memory_async_copy_on_engine", 55, 16},
	{"hsa_amd_vmem_handle_create", 67, 57},
	{"hsa_amd_vmem_handle_release", 67, 58},
	{"hsa_amd_vmem_map", 67, 59},
	{"hsa_amd_vmem_unmap", 67, 60},
	{"hsa_amd_vmem_set_access", 67, 61},
	{"hsa_amd_vmem_import_shareable_handle", 67, 64},
	{"hsa_amd_vmem_retain_alloc_handle", 67, 65},
	{"hsa_amd_queue_get_info", 70, 68},
	{"hsa_amd_counted_queue_acquire", 77, 76},
	{"hsa_amd_counted_queue_release", 78, 77},
	{"hsa_amd_memory_async_batch_copy", 79, 78},
};

static void
expect_newer(unsigned slots, const char *name, void *next, void *hook)
{
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		if (strcmp(newer[i].name, name) != 0)
			continue;
		for (size_t k = 0; k < slots; k++)
			assert_int_equal(api.amd.table.slot[k] == hook, slots >= newer[i].since && k == newer[i].place);
		assert_ptr_equal(next, slots >= newer[i].since ? (void *)(uintptr_t)(0xa000 + newer[i].place) : NULL);
		return;
	}
	fail_msg("%s has no row here", name);
}

static void
finds_what_only_newer_runtimes_have(void **state)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		make_tables(KR_CORE_SLOTS, layouts[i].slots);
		assert_true(kr_table_attach(&api.root));
#define HOOK(table, name)
#define NEED(table, name)
#define NEWER(table, name) expect_newer(layouts[i].slots, #name, (void *)kr_next.name, (void *)kr_hook_##name);
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
		kr_table_detach();
	}
}

static void
refuses_a_layout_that_nobody_knows(void **state)
{
	static const unsigned slots[] = {0, 20, 47, 49, 52, 60, 69};

	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		make_tables(KR_CORE_SLOTS, slots[i]);
		assert_false(kr_table_attach(&api.root));
		for (size_t k = 0; k < KR_CORE_SLOTS + 8; k++)
			assert_ptr_equal(api.core.table.slot[k], (void *)(0xc000 + k));
	}
}

/* ROCm 6 and later number the root 3 and the tables 2. */
static void
takes_the_versions_that_go_together(void **state)
{
	make_tables(KR_CORE_SLOTS, 67);
	api.root.version.major_id = 3;
	api.core.table.version.major_id = api.amd.table.version.major_id = 2;
	assert_true(kr_table_attach(&api.root));
	kr_table_detach();
	api.amd.table.version.major_id = 1;
	assert_false(kr_table_attach(&api.root));
	make_tables(KR_CORE_SLOTS, 67);
	api.root.version.major_id = 3;
	assert_false(kr_table_attach(&api.root));
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
		cmocka_unit_test(follows_the_layout_of_every_runtime),
		cmocka_unit_test(finds_what_only_newer_runtimes_have),
		cmocka_unit_test(refuses_a_layout_that_nobody_knows),
		cmocka_unit_test(takes_the_versions_that_go_together),
		cmocka_unit_test(refuses_another_major_version),
		cmocka_unit_test(leaves_a_slot_that_someone_patched_after_us),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
