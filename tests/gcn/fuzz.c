/* SPDX-License-Identifier: MIT */
/* The table is sound; the decoder survives anything; running garbage ends in a fault, not a crash. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "inst.h"

static uint64_t seed = 88172645463325252u;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static void test_table(void **state)
{
	(void)state;
	assert_string_equal(gcn_table_check(), "");
}

static void test_decode(void **state)
{
	(void)state;
	for (int n = 0; n < 300000; n++) {
		uint32_t w[4] = { rnd(), rnd(), rnd(), 0 };
		struct gcn_consts *consts = NULL;
		struct gcn_inst in;
		unsigned int size = gcn_decode(&in, (enum gcn_isa)(n % 3), 0x1000, w, &consts);

		gcn_consts_free(consts);
		assert_true(size == 4 || size == 8 || size == 12);
		assert_non_null(in.fn);
		for (int k = 0; k < 3; k++) {
			assert_true(in.s[k].idx < 512);
			assert_true(in.s[k].kind != OP_SGPR || in.s[k].idx < 140);
		}
		assert_true(in.dst < 512 && in.sdst < 128);
	}
}

/* Vector ALU words only, so that no wild address is written. */
static void test_run(void **state)
{
	uint32_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gcn_launch l = {
		.isa = GCN_GFX90A, .grid_size = { 64, 1, 1 }, .workgroup_size = { 64, 1, 1 },
		.entry = (uint64_t)(uintptr_t)code, .vgpr_count = 512, .accum_offset = 256, .sgpr_count = 104,
		.mode = 0x2f0, .sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1,
		.lds_aperture = (uint64_t)1 << 48, .private_aperture = (uint64_t)2 << 48,
	};
	const uint32_t id[3] = { 0, 0, 0 };
	struct gcn_wg *wg = gcn_wg_create();
	struct gcn_fault f;

	(void)state;
	gcn_catch_faults();
	for (int n = 0; n < 20000; n++) {
		uint32_t w[4] = { rnd() & 0x7fffffff, rnd(), 0, 0 };
		struct gcn_consts *consts = NULL;
		struct gcn_inst in;
		unsigned int size;

		if (n & 1)
			w[0] = (w[0] & 0x03ffffff) | 0xd0000000;
		size = gcn_decode(&in, GCN_GFX90A, 0x1000, w, &consts);
		gcn_consts_free(consts);
		memcpy(code, w, 12);
		code[size / 4] = 0xbf810000;
		gcn_program_invalidate(l.entry, 8192);
		assert_true(gcn_wg_start(wg, &l, id, &f));
		if (gcn_wg_run(wg, 10, &f) == GCN_FAULT)
			if (f.kind != GCN_FAULT_ILLEGAL || strlen(f.text) <= 10)
				fail_msg("%08x %08x: kind %d, %s", w[0], w[1], (int)f.kind, f.text);
	}
	gcn_wg_destroy(wg);
	munmap(code, 8192);
}

/* Running off the end of what is mapped, and a wild load. */
static void test_faults(void **state)
{
	uint32_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gcn_launch l = {
		.isa = GCN_GFX90A, .grid_size = { 64, 1, 1 }, .workgroup_size = { 64, 1, 1 },
		.entry = (uint64_t)(uintptr_t)code + 4096 - 16, .vgpr_count = 8, .sgpr_count = 104,
		.sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1, .kernel_name = "wild",
		.lds_aperture = (uint64_t)1 << 48, .private_aperture = (uint64_t)2 << 48,
	};
	const uint32_t id[3] = { 0, 0, 0 };
	struct gcn_wg *wg = gcn_wg_create();
	struct gcn_fault f;

	(void)state;
	gcn_catch_faults(); /* cmocka's own came between */
	munmap(code + 1024, 4096);
	for (int k = 1020; k < 1024; k++)
		code[k] = 0xbf800000;
	assert_true(gcn_wg_start(wg, &l, id, &f));
	assert_int_equal(gcn_wg_run(wg, 100, &f), GCN_FAULT);
	assert_int_equal(f.kind, GCN_FAULT_MEMORY);
	code[1020] = 0xdc508000; /* global_load_dword v0, v[0:1], off: address 0..63 */
	code[1021] = 0x007f0000;
	code[1022] = 0xbf810000;
	gcn_program_invalidate(l.entry, 16);
	assert_true(gcn_wg_start(wg, &l, id, &f));
	assert_int_equal(gcn_wg_run(wg, 100, &f), GCN_FAULT);
	assert_int_equal(f.kind, GCN_FAULT_MEMORY);
	assert_int_equal(f.address, 0);
	assert_int_equal(f.pc, l.entry);
	assert_non_null(strstr(f.text, "wild+0x0"));
	gcn_wg_destroy(wg);
	munmap(code, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
