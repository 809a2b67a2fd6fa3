/* SPDX-License-Identifier: MIT */
/* Work-groups on several threads share decoded code, which is dropped under their feet meanwhile;
 * two groups on one thread pass a spin lock to and fro. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "elf_kernel.h"

static struct code_object *code;
static const char *path;

static void *worker(void *arg)
{
	static const char *const names[] = { "k_mul", "k_udiv64", "k_loop", "k_fdiv", "k_fib", "k_reduce" };
	uint32_t a[512], b[512];
	uint64_t out[512], first[512];
	struct {
		uint64_t *out;
		uint32_t *a, *b;
		uint32_t n;
	} k = { out, a, b, 512 };
	struct gcn_launch l;
	struct gcn_fault f;

	for (uint32_t i = 0; i < 512; i++) {
		a[i] = i * 2654435761u;
		b[i] = i * 40503u + 1;
	}
	for (int n = 0; n < 60; n++) {
		if (!code_kernel(code, names[n % 6], &k, &l))
			return (void *)names[n % 6];
		l.grid_size[0] = 512;
		l.workgroup_size[0] = 256;
		for (int d = 1; d < 3; d++)
			l.grid_size[d] = l.workgroup_size[d] = 1;
		for (int again = 0; again < 2; again++) {
			for (int i = 0; i < 512; i++)
				out[i] = 0;
			if (code_run(&l, &f) != GCN_DONE)
				return (void *)names[n % 6];
			for (int i = 0; i < 512; i++) {
				if (again && out[i] != first[i])
					return (void *)names[n % 6];
				first[i] = out[i];
			}
		}
		if (arg && n % 7 == 0) /* other code is loaded and unloaded */
			code_unload(code_load(path));
		if (arg)
			gcn_program_invalidate(l.entry, 4);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t t[4];

	(void)state;
	for (int k = 0; k < 4; k++)
		assert_int_equal(pthread_create(&t[k], NULL, worker, k == 0 ? &t : NULL), 0);
	for (int k = 0; k < 4; k++) {
		void *r;

		pthread_join(t[k], &r);
		if (r)
			fail_msg("%s", (const char *)r);
	}
}

/* s_load flag; until flag == own id; store other id; end. One wave each. */
static void test_spin(void **state)
{
	static const uint32_t text[] = {
		0x7e000280,             /* v_mov_b32 v0, 0 */
		0xdc508000, 0x01000000, /* loop: global_load_dword v1, v0, s[0:1] */
		0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
		0x7e040501,             /* v_readfirstlane_b32 s2, v1 */
		0xbf060402,             /* s_cmp_eq_u32 s2, s4 (own number) */
		0xbf84fffa,             /* s_cbranch_scc0 loop */
		0x81038104,             /* s_add_i32 s3, s4, 1 */
		0x7e040203,             /* v_mov_b32 v2, s3 */
		0xdc708000, 0x00000200, /* global_store_dword v0, v2, s[0:1] */
		0xbf810000,             /* s_endpgm */
	};
	static volatile uint32_t flag;
	uint64_t at = (uint64_t)(uintptr_t)&flag;
	struct gcn_launch l = {
		.isa = GCN_GFX90A, .grid_size = { 64 * 4, 1, 1 }, .workgroup_size = { 64, 1, 1 },
		.entry = (uint64_t)(uintptr_t)text, .vgpr_count = 8, .sgpr_count = 16, .user_sgpr_count = 4,
		.user_sgpr = { (uint32_t)at, (uint32_t)(at >> 32) }, .sgpr_workgroup_id = { true },
		.sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1,
		.lds_aperture = (uint64_t)1 << 48, .private_aperture = (uint64_t)2 << 48,
	};
	struct gcn_wg *wg[4];
	struct gcn_fault f;
	bool done[4] = { false };
	int left = 4;

	(void)state;
	for (uint32_t k = 0; k < 4; k++) {
		const uint32_t id[3] = { k, 0, 0 };

		wg[k] = gcn_wg_create();
		assert_true(gcn_wg_start(wg[k], &l, id, &f));
	}
	for (int turn = 0; left && turn < 1000; turn++) {
		int k = 3 - turn % 4; /* the one that must come first is asked last */
		enum gcn_status r = done[k] ? GCN_DONE : gcn_wg_run(wg[k], 50, &f);

		if (r == GCN_FAULT)
			fail_msg("%s", f.text);
		if (r == GCN_DONE && !done[k]) {
			done[k] = true;
			left--;
		}
	}
	assert_int_equal(left, 0);
	assert_int_equal(flag, 4);
	for (int k = 0; k < 4; k++)
		gcn_wg_destroy(wg[k]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_spin),
	};

	if (argc != 2)
		return 2;
	path = argv[1];
	code = code_load(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
