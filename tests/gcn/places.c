/* SPDX-License-Identifier: MIT */
/* Where accesses go: the window of device memory, the apertures' ends, addresses that are none, and whose fault it is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "inst.h"

#define PAGE 4096u
#define LDS_BYTES 256u
#define PRIVATE_BYTES 16u
#define LDS_APERTURE ((uint64_t)1 << 48)
#define PRIVATE_APERTURE ((uint64_t)2 << 48)

/* v[2:3] = s[0:1], v5 = s2, v4 = -1; then the words of a case. */
static const uint32_t prologue[] = { 0x7e040200, 0x7e060201, 0x7e0a0202, 0x7e0802c1 };
#define END 0xbf810000u
#define TO_V4 0x7e080204u, END /* v_mov_b32 v4, s4 */

static const uint32_t global_load[] = { 0xdc508000, 0x047f0002, END };
static const uint32_t global_store[] = { 0xdc708000, 0x007f0502, END };
static const uint32_t global_add[] = { 0xdd098000, 0x047f0502, END };
static const uint32_t flat_load[] = { 0xdc500000, 0x04000002, END };
static const uint32_t flat_load_8[] = { 0xdc500008, 0x04000002, END };
static const uint32_t flat_load_x2[] = { 0xdc540000, 0x06000002, 0x7e080306, END }; /* and v_mov_b32 v4, v6 */
static const uint32_t flat_store[] = { 0xdc700000, 0x00000502, END };
static const uint32_t flat_add[] = { 0xdd090000, 0x04000502, END };
static const uint32_t scalar_load[] = { 0xc0020100, 0, TO_V4 };
static const uint32_t scalar_store[] = { 0xc0420080, 0, END };
static const uint32_t scalar_add[] = { 0xc20b0080, 0, END };
static const uint32_t buffer_load[] = { 0xe0500000, 0x80000400, END };
static const uint32_t buffer_store[] = { 0xe0700000, 0x80000500, END };
static const uint32_t jump[] = { 0xbe801d00, END }; /* s_setpc_b64 s[0:1] */

static struct gcn_wg *wg;
static uint32_t *code;
static struct gcn_fault fault;

/* Runs a case with its address in s[0:1]; buffers reach 64 bytes from there. */
static enum gcn_status run_at(uint64_t entry, uint64_t address, uint32_t data)
{
	static struct gcn_launch l;
	const uint32_t id[3] = { 0, 0, 0 };

	l = (struct gcn_launch){
		.isa = GCN_GFX90A, .grid_size = { 64, 1, 1 }, .workgroup_size = { 64, 1, 1 }, .entry = entry,
		.vgpr_count = 16, .sgpr_count = 16, .user_sgpr_count = 4, .mode = 0x3f0,
		.user_sgpr = { (uint32_t)address, (uint32_t)(address >> 32), data, 0x27000 },
		.sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1, .kernel_name = "places",
		.lds_bytes = LDS_BYTES, .private_bytes = PRIVATE_BYTES,
		.lds_aperture = LDS_APERTURE, .private_aperture = PRIVATE_APERTURE,
	};
	memset(&fault, 0, sizeof(fault));
	gcn_program_invalidate(entry, PAGE);
	assert_true(gcn_wg_start(wg, &l, id, &fault));
	wg->wave[0]->s[SGPR_EXEC] = 1 << 3; /* one lane, so that atomics happen once */
	wg->wave[0]->s[SGPR_EXEC + 1] = 0;
	memset(wg->lds, 0x5a, LDS_BYTES + 4);
	return gcn_wg_run(wg, 1000, &fault);
}

static void put(uint32_t *to, const uint32_t *words)
{
	memcpy(to, prologue, sizeof(prologue));
	to += sizeof(prologue) / 4;
	do
		*to++ = *words;
	while (*words++ != END);
}

static enum gcn_status run(const uint32_t *words, uint64_t address, uint32_t data)
{
	put(code, words);
	return run_at((uint64_t)(uintptr_t)code, address, data);
}

static uint32_t loaded(void)
{
	return wg->wave[0]->v[4][3];
}

static int setup(void **state)
{
	(void)state;
	wg = gcn_wg_create();
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return wg && code != MAP_FAILED ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	gcn_set_window(0, 0, 0);
	gcn_wg_destroy(wg);
	return munmap(code, PAGE);
}

/* Three pages that only the device may touch, of which it has two, and a page of the host's right behind. */
static void test_window(void **state)
{
	int fd = memfd_create("places", 0);
	uint8_t *device = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *host = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uint64_t)(uintptr_t)device, end = base + 3 * PAGE;
	uint32_t *mine, *behind = (uint32_t *)(void *)(device + 3 * PAGE);

	(void)state;
	gcn_catch_faults(); /* cmocka put its own handlers there */
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	assert_ptr_equal(mmap(host, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), host);
	assert_int_equal(mprotect(behind, PAGE, PROT_READ | PROT_WRITE), 0);
	mine = (uint32_t *)(void *)host;
	mine[0] = 11;
	mine[2 * PAGE / 4 - 1] = 22;
	behind[0] = 33;
	gcn_set_window(base, 3 * PAGE, (uint64_t)(uintptr_t)host - base);

	static const uint32_t *const loads[] = { global_load, flat_load, scalar_load, buffer_load };
	static const uint32_t *const stores[] = { global_store, flat_store, scalar_store, buffer_store };
	static const uint32_t *const adds[] = { global_add, flat_add, scalar_add };

	for (int k = 0; k < 4; k++) {
		assert_int_equal(run(loads[k], base, 64), GCN_DONE);
		assert_int_equal(loaded(), 11);
		assert_int_equal(run(loads[k], base + 2 * PAGE - 4, 64), GCN_DONE);
		assert_int_equal(loaded(), 22);
		assert_int_equal(run(loads[k], end, 64), GCN_DONE); /* not the window's any more */
		assert_int_equal(loaded(), 33);
		/* What is not there is named as the device knows it. */
		assert_int_equal(run(loads[k], base + 2 * PAGE + 8, 64), GCN_FAULT);
		assert_int_equal(fault.kind, GCN_FAULT_MEMORY);
		assert_int_equal(fault.address, base + 2 * PAGE + 8);
		assert_int_equal(run(stores[k], base + 64, 100u + (uint32_t)k), GCN_DONE);
		assert_int_equal(mine[16], 100 + k);
	}
	for (int k = 0; k < 3; k++) {
		mine[5] = 40;
		assert_int_equal(run(adds[k], base + 20, 2), GCN_DONE);
		assert_int_equal(mine[5], 42);
	}
	/* Code runs from there too. */
	put(mine, global_load);
	assert_int_equal(run_at(base, base + 2 * PAGE - 4, 0), GCN_DONE);
	assert_int_equal(loaded(), 22);
	gcn_set_window(base, 3 * PAGE, 0); /* the host sees the same addresses: no window */
	assert_int_equal(run(global_load, base, 0), GCN_FAULT);
	assert_int_equal(fault.address, base);
	close(fd);
	munmap(device, 4 * PAGE);
	munmap(host, 3 * PAGE);
}

/* LDS reads 0 and drops writes beyond its end; scratch is a fault there. */
static void test_apertures(void **state)
{
	const struct {
		const uint32_t *words;
		uint64_t at;
		uint32_t want; /* what v4 is then */
		int fault;
	} cases[] = {
		{ flat_load, LDS_APERTURE, 0x5a5a5a5a, 0 },
		{ flat_load, LDS_APERTURE | (LDS_BYTES - 4), 0x5a5a5a5a, 0 },
		{ flat_load, LDS_APERTURE | (LDS_BYTES - 3), 0, 0 },
		{ flat_load, LDS_APERTURE | LDS_BYTES, 0, 0 },
		{ flat_load, LDS_APERTURE | 0xfffffffc, 0, 0 },
		{ flat_load_8, LDS_APERTURE | 0xfffffffc, 0, 0 }, /* does not come round to 4 */
		{ flat_load_x2, LDS_APERTURE | (LDS_BYTES - 4), 0, 0 },
		{ flat_add, LDS_APERTURE | (LDS_BYTES - 4), 0x5a5a5a5a, 0 },
		{ flat_add, LDS_APERTURE | LDS_BYTES, 0, 0 },
		{ flat_store, LDS_APERTURE | LDS_BYTES, 0xffffffff, 0 },
		{ flat_store, PRIVATE_APERTURE | (PRIVATE_BYTES - 4), 0xffffffff, 0 },
		{ flat_load, PRIVATE_APERTURE | (PRIVATE_BYTES - 4), 77, 0 }, /* what that stored */
		{ flat_load, PRIVATE_APERTURE | PRIVATE_BYTES, 0, 1 },
		{ flat_load, PRIVATE_APERTURE | (PRIVATE_BYTES - 2), 0, 1 },
		{ flat_load_x2, PRIVATE_APERTURE | (PRIVATE_BYTES - 4), 0, 1 },
		{ flat_load_8, PRIVATE_APERTURE | 0xfffffffc, 0, 1 },
		{ flat_store, PRIVATE_APERTURE | 0x80000000, 0, 1 },
		{ flat_add, PRIVATE_APERTURE | PRIVATE_BYTES, 0, 1 },
	};

	(void)state;
	gcn_catch_faults();
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		enum gcn_status r = run(cases[k].words, cases[k].at, 77);

		if (r != (cases[k].fault ? GCN_FAULT : GCN_DONE))
			fail_msg("case %zu: status %d, %s", k, (int)r, fault.text);
		if (r == GCN_FAULT)
			assert_int_equal(fault.kind, GCN_FAULT_SCRATCH);
		else if (loaded() != cases[k].want)
			fail_msg("case %zu: 0x%x", k, loaded());
		for (unsigned int b = LDS_BYTES; b < LDS_BYTES + 4; b++)
			assert_int_equal(wg->lds[b], 0x5a);
	}
}

/* A processor says of these only that they are none; the card tells 48 bits. */
static void test_no_address(void **state)
{
	static const uint32_t *const all[] = { global_load, global_store, global_add, flat_load, flat_store, flat_add,
		scalar_load, scalar_store, scalar_add, jump };
	static const uint64_t wild[] = { 0x1234567890abcdec, 0x8000000000001000, 0x0003000000002000, 0xffff8000000000f0 };

	(void)state;
	gcn_catch_faults();
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (size_t n = 0; n < sizeof(wild) / sizeof(wild[0]); n++) {
			uint64_t want = wild[n] & 0xffffffffffff;

			assert_int_equal(run(all[k], wild[n], 0), GCN_FAULT);
			assert_int_equal(fault.kind, GCN_FAULT_MEMORY);
			if (fault.address != want)
				fail_msg("case %zu: %llx, not %llx", k, (unsigned long long)fault.address,
				         (unsigned long long)want);
			assert_non_null(strstr(fault.text, "places+0x"));
		}
	/* A buffer's base has 48 bits. */
	assert_int_equal(run(buffer_load, 0xfffffffffff0, 64), GCN_FAULT);
	assert_int_equal(fault.kind, GCN_FAULT_MEMORY);
}

static sigjmp_buf theirs;
static volatile sig_atomic_t caught;

static void their_handler(int sig)
{
	(void)sig;
	caught++;
	siglongjmp(theirs, 1);
}

/* A handler that the process puts over ours gets the faults of the process and none of a wave, at once. */
static void test_handlers(void **state)
{
	volatile uint32_t *nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction own = { .sa_handler = their_handler, .sa_flags = SA_NODEFER }, before;

	(void)state;
	gcn_catch_faults();
	sigaction(SIGSEGV, NULL, &before);
	for (int n = 0; n < 5; n++) {
		assert_int_equal(run(global_load, 8, 0), GCN_FAULT);
		assert_int_equal(fault.address, 8);
		sigaction(SIGSEGV, &own, NULL);
		gcn_catch_faults();
		assert_int_equal(run(global_load, 16, 0), GCN_FAULT);
		assert_int_equal(fault.address, 16);
		assert_int_equal(caught, n);
		if (!sigsetjmp(theirs, 1))
			(void)*nothing;
		assert_int_equal(caught, n + 1);
	}
	sigaction(SIGSEGV, &before, NULL);
	munmap((void *)(uintptr_t)nothing, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_apertures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_handlers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
