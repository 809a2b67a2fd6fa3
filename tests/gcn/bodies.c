/* SPDX-License-Identifier: MIT */
/* The same C on both machines: every body over edge values and random words, bit for bit. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bodies.h"
#include "elf_kernel.h"

#define COUNT 1500 /* not a multiple of the group: the last one is partial */

static struct code_object *code;
static u32 in_a[COUNT], in_b[COUNT];
static u64 out[COUNT];

static const u32 edge[] = {
	0, 1, 2, 3, 7, 31, 32, 63, 255, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0x80000001,
	0xfffffffe, 0xffffffff, 0x3f800000, 0xbf800000, 0x3f800001, 0x7f800000, 0xff800000, 0x7f7fffff,
	0x00800000, 0x007fffff, 0x00000001, 0x3ff00000, 0x7fe00000, 0x000fffff, 0x00100000, 0x4b000000,
	0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000, 0x40490fdb,
};
#define EDGES (sizeof(edge) / sizeof(edge[0]))

static void fill_inputs(void)
{
	u64 s = 88172645463325252u;

	for (u32 i = 0; i < COUNT; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		in_a[i] = i < EDGES * EDGES ? edge[i / EDGES] : (u32)s;
		in_b[i] = i < EDGES * EDGES ? edge[i % EDGES] : (u32)(s >> 32);
	}
}

static void launch(const char *name)
{
	struct {
		u64 out, a, b;
		u32 n;
	} arg = { (u64)(uintptr_t)out, (u64)(uintptr_t)in_a, (u64)(uintptr_t)in_b, COUNT };
	struct gcn_launch l;
	struct gcn_fault f;

	assert_true(code_kernel(code, name, &arg, &l));
	for (int k = 0; k < 3; k++)
		l.grid_size[k] = l.workgroup_size[k] = 1;
	l.grid_size[0] = COUNT;
	l.workgroup_size[0] = 256;
	memset(out, 0, sizeof(out));
	if (code_run(&l, &f) != GCN_DONE)
		fail_msg("%s: %s", name, f.text);
}

#define X(name, expr) \
static void test_##name(void **state) \
{ \
	(void)state; \
	launch("k_" #name); \
	for (u32 i = 0; i < COUNT; i++) { \
		u32 a = in_a[i], b = in_b[i]; \
		u64 want = (expr); \
		if (out[i] != want) \
			fail_msg(#name "(%08x, %08x) = %016llx, host %016llx", a, b, \
			         (unsigned long long)out[i], (unsigned long long)want); \
	} \
}
BODIES(X)
#undef X

static void test_reduce(void **state)
{
	(void)state;
	launch("k_reduce");
	for (u32 g = 0; g * 256 < COUNT; g++) {
		u32 sum = 0;

		for (u32 i = g * 256; i < COUNT && i < g * 256 + 256; i++)
			sum += in_a[i];
		assert_int_equal(out[g], sum);
	}
}

static void test_atomics(void **state)
{
	u32 add = 0, x = 0, max = 0;
	s32 min = 0;
	u64 sum = 0, or = 0;

	(void)state;
	launch("k_atomics");
	for (u32 i = 0; i < COUNT; i++) {
		add += in_a[i];
		x ^= in_a[i];
		max = in_a[i] > max ? in_a[i] : max;
		min = (s32)in_a[i] < min ? (s32)in_a[i] : min;
		sum += both(in_a[i], in_b[i]);
		or |= both(in_a[i], in_b[i]);
	}
	assert_int_equal((u32)out[0], add);
	assert_int_equal((u32)(out[0] >> 32), x);
	assert_int_equal((u32)out[1], max);
	assert_int_equal((s32)(out[1] >> 32), min);
	assert_int_equal(out[2], sum);
	assert_int_equal(out[3], or);
}

int main(int argc, char **argv)
{
#define X(name, expr) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = {
		BODIES(X)
		cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_atomics),
	};

	if (argc != 2)
		return 2;
	fill_inputs();
	code = code_load(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
