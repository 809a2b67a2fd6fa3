/* SPDX-License-Identifier: MIT */
/* The SPEC grammar, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/softgpu/core/options.h"

static bool parse(const char *text, struct sg_options *options)
{
	char reason[160] = "";
	bool good = sg_options_parse(text, options, reason, sizeof(reason));

	/* A refusal says why, in one line. */
	assert_true(good || (reason[0] && !strchr(reason, '\n')));
	return good;
}

static void defaults(void **state)
{
	struct sg_options o;

	(void)state;
	assert_true(parse(NULL, &o));
	assert_int_equal(o.gpu_count, 1);
	assert_string_equal(o.gpus[0]->name, "gfx90a");
	assert_int_equal(o.doorbell_type, 2);
	assert_true(parse("", &o));
	assert_int_equal(o.gpu_count, 1);
}

static void good(void **state)
{
	struct sg_options o;

	(void)state;
	assert_true(parse("gfx90a:2,gfx906,vram=8G,private-vram,doorbell=1,threads=3,cus=4", &o));
	assert_int_equal(o.gpu_count, 3);
	assert_string_equal(o.gpus[1]->name, "gfx90a");
	assert_string_equal(o.gpus[2]->name, "gfx906");
	assert_true(o.vram_bytes == 8ull << 30);
	assert_true(o.private_vram);
	assert_int_equal(o.doorbell_type, 1);
	assert_int_equal(o.threads, 3);
	assert_int_equal(o.compute_units, 4);
	assert_true(parse("vram=16777216", &o));
	assert_true(o.vram_bytes == 16777216);
	assert_true(parse("gfx900:16", &o));
	assert_int_equal(o.gpu_count, 16);
	assert_true(parse("seed=18446744073709551615", &o));
	assert_true(o.seed == UINT64_MAX);
	assert_true(parse("gfx90a:4,vram=8G", &o));
	assert_int_equal(o.gpu_count, 4);
	assert_false(o.reorder);
	assert_int_equal(o.delay_us, 0);
	assert_true(parse("reorder,delay", &o));
	assert_true(o.reorder);
	assert_int_equal(o.delay_us, 200);
	assert_true(parse("delay=5,inject=hang:7,inject=alloc:4294967295", &o));
	assert_int_equal(o.delay_us, 5);
	assert_int_equal(o.inject[SG_INJECT_HANG], 7);
	assert_int_equal(o.inject[SG_INJECT_ALLOC], UINT32_MAX);
	assert_int_equal(o.inject[SG_INJECT_COPY], 0);
}

static void bad(void **state)
{
	static const char *const specs[] = {
		"gfx90", "gfx90ab", "gfx90a:0", "gfx90a:17", "gfx90a:16,gfx906", "gfx90a:x",
		"gfx90a:", "gfx90a,", ",gfx90a", ",", "gfx90a,,vram=1G", "vram", "vram=", "vram=1Q",
		"vram=1GG", "vram=-1", "vram=0", "vram=99999999999999999999", "vram=18000000T",
		"vram=20000001", "doorbell=0", "doorbell=3", "doorbell=2 ", " doorbell=2",
		"private-vram=1", "threads=0", "threads=1,threads=1", "cus=105", "gfx906,cus=61",
		"delay=0", "delay=", "delay=1000001", "delay,delay=3", "reorder=1", "inject", "inject=",
		"inject=alloc", "inject=alloc:", "inject=alloc:0", "inject=alloc:x", "inject=all:1",
		"inject=alloc:4294967296", "inject=hang:1,inject=hang:2", "inject=:1", "random-order",
		"nonsense", "GFX90A", "gfx90a=2",
	};
	struct sg_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		if (parse(specs[i], &o)) {
			print_error("accepted: '%s'\n", specs[i]);
			fail();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
