/* SPDX-License-Identifier: MIT */
/* The SPEC grammar, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/softgpu/core/options.h"

static bool parse(const char *text, struct sg_options *options)
{
	char reason[160] = "";
	bool good = sg_options_parse(text, options, reason, sizeof(reason));

	/* A refusal says why. */
	assert_true(good || reason[0]);
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

/* Every key with every value that is none of its kind, and twice; the reason names the item. */
static void bad_values(void **state)
{
	static const struct {
		const char *key, *good;
		bool size, alone; /* has a size; may stand without a value */
	} keys[] = {
		{"vram", "1G", true, false}, {"cus", "4", false, false}, {"threads", "2", false, false},
		{"doorbell", "1", false, false}, {"private-vram", NULL, false, true}, {"reorder", NULL, false, true},
		{"delay", "5", false, true}, {"seed", "0", false, false},
		{"inject", "alloc:3", false, false}, {"inject", "copy:3", false, false},
		{"inject", "queue:3", false, false}, {"inject", "hang:3", false, false},
	};
	static const char *const values[] = {
		"", "-1", "+1", "-0", "x", "1x", " 1", "1 ", "0x10", "1.5", "1e3", "\n", "1\n", "K", "1KK", "1k", "=1", "=",
		":", "18446744073709551616", "99999999999999999999999999999999999999999999", "18446744073709551615G",
	};
	char spec[200], reason[160];
	struct sg_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *good = keys[i].good ? keys[i].good : "", *equals = keys[i].good ? "=" : "";
		size_t kind = strlen(good) > 2 && strchr(good, ':') ? (size_t)(strchr(good, ':') - good) + 1 : 0;

		snprintf(spec, sizeof(spec), "gfx90a,%s%s%s", keys[i].key, equals, good);
		assert_true(parse(spec, &o));
		snprintf(spec, sizeof(spec), "%s%s%s,gfx90a,%s%s%s", keys[i].key, equals, good, keys[i].key, equals,
		         good);
		assert_false(parse(spec, &o));
		assert_int_equal(parse(keys[i].key, &o), keys[i].alone);
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			snprintf(spec, sizeof(spec), "%s=%.*s%s", keys[i].key, (int)kind, good, values[k]);
			if (sg_options_parse(spec, &o, reason, sizeof(reason)))
				fail_msg("accepted: '%s'", spec);
			if (!strstr(reason, keys[i].key))
				fail_msg("'%s' for '%s'", reason, spec);
		}
	}
}

/* What is as large as it may be is taken, and one more is not. */
static void limits(void **state)
{
	static const char *const good[] = {
		"vram=16M", "vram=1T", "cus=1", "cus=104", "threads=1", "threads=1024", "delay=1", "delay=1000000",
		"inject=hang:4294967295", "gfx90a:16", "gfx90a:8,gfx906:8",
	};
	static const char *const bad[] = {
		"vram=16773120", "vram=1099511631872", "vram=2T", "cus=0", "cus=105", "threads=1025", "delay=1000001",
		"inject=hang:4294967296", "gfx90a:8,gfx906:9", "gfx90a:18446744073709551617", "gfx90a:4294967297",
	};
	struct sg_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!parse(good[i], &o))
			fail_msg("refused: '%s'", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &o))
			fail_msg("accepted: '%s'", bad[i]);
	}
}

/* Longer than any line: cut, not written beyond. */
static void very_long(void **state)
{
	char *spec = malloc(1 << 20);
	struct sg_options o;

	(void)state;
	memset(spec, 'x', (1 << 20) - 1);
	spec[(1 << 20) - 1] = 0;
	assert_false(parse(spec, &o));
	memcpy(spec, "gfx", 3);
	assert_false(parse(spec, &o));
	memcpy(spec, "vram=", 5);
	assert_false(parse(spec, &o));
	memset(spec, ',', (1 << 20) - 1);
	assert_false(parse(spec, &o));
	free(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(limits),
		cmocka_unit_test(very_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
