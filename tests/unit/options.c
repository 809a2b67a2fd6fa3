/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "options/options.h"

/* An environment: NAME VALUE pairs. */
static const char *pairs[16];

static char *get(const char *name)
{
	for (size_t i = 0; pairs[i]; i += 2) {
		if (strcmp(pairs[i], name) == 0)
			return (char *)pairs[i + 1];
	}
	return NULL;
}

static char error[640];

static bool parse(struct kr_options *options, const char *name, const char *value)
{
	memset(pairs, 0, sizeof(pairs));
	pairs[0] = name;
	pairs[1] = value;
	return kr_options_parse(options, get, error, sizeof(error));
}

static void table_is_indexed_by_id(void **state)
{
	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		const struct kr_option *row = &kr_option_table[i];

		assert_int_equal(row->id, i);
		assert_int_equal(strncmp(row->env, "KREPLAY_", 8), 0);
		/* a flag has what --help prints; and no two rows share a name */
		if (row->flag && row->type != KR_TYPE_SWITCH)
			assert_non_null(row->metavar);
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(row->env, kr_option_table[j].env);
			assert_true(!row->letter || row->letter != kr_option_table[j].letter);
		}
	}
}

/* The default that --help prints is the one that holds. */
static void defaults_agree_with_table(void **state)
{
	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		struct kr_options given, plain;

		if (!kr_option_table[i].fallback)
			continue;
		kr_options_init(&given);
		kr_options_init(&plain);
		assert_true(kr_option_set(&given, (enum kr_option_id)i, kr_option_table[i].fallback,
					  error, sizeof(error)));
		given.passes_set = false;
		assert_memory_equal(&given, &plain, sizeof(given));
		kr_options_finish(&given);
		kr_options_finish(&plain);
	}
}

static void nothing_set(void **state)
{
	struct kr_options options;

	assert_true(parse(&options, NULL, NULL));
	assert_true(options.valid);
	assert_false(options.active);
	assert_int_equal(options.passes, 3);
	assert_false(options.passes_set);
	assert_int_equal(options.kernel_count, 0);
	assert_int_equal(options.dispatches.count, 0);
	assert_null(options.tool);
	assert_null(options.output);
	assert_null(options.journal);
	assert_int_equal(options.drain_timeout_s, 60);
	assert_int_equal(options.budget.percent, 80);
	assert_int_equal(options.log_level, 1);
	assert_false(options.test_no_restore);
	kr_options_finish(&options);
}

static void what_makes_active(void **state)
{
	static const struct {
		const char *name, *value;
		bool active;
	} cases[] = {
		{ "KREPLAY_PASSES", "5", true },
		{ "KREPLAY_KERNEL", "gemm", true },
		{ "KREPLAY_DISPATCH", "2-", true },
		{ "KREPLAY_TOOL", "/a.so:/b.so", true },
		{ "KREPLAY_OUTPUT", "/o.json", true },
		{ "KREPLAY_JOURNAL", "/proc/1/fd/3", true },
		{ "KREPLAY_LOG", "debug", false },
		{ "KREPLAY_BUDGET", "1G", false },
		{ "KREPLAY_DRAIN_TIMEOUT", "5", false },
		{ "KREPLAY_DOOR", "tools-lib", false },
		{ "KREPLAY_SOFTGPU", "", false },
		{ "KREPLAY_TEST_NO_RESTORE", "1", false },
		{ "KREPLAY_PASSES", "", false },
		{ "KREPLAY_KERNEL", "", false },
		{ "KREPLAY_ELSE", "x", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kr_options options;

		assert_true(parse(&options, cases[i].name, cases[i].value));
		assert_int_equal(options.active, cases[i].active);
		kr_options_finish(&options);
	}
}

static void values(void **state)
{
	struct kr_options options;

	assert_true(parse(&options, "KREPLAY_PASSES", "18446744073709551615"));
	assert_true(options.passes == UINT64_MAX && options.passes_set);
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_KERNEL", "^gemm_[0-9]+$\n\nsoft|max"));
	assert_int_equal(options.kernel_count, 2);
	assert_string_equal(options.kernels[0], "^gemm_[0-9]+$");
	assert_string_equal(options.kernels[1], "soft|max");
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_LOG", "debug"));
	assert_int_equal(options.log_level, 3);
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_LOG", "error,window=info,wait=debug"));
	assert_int_equal(options.log_level, 0);
	assert_string_equal(options.log_topics[0].name, "window");
	assert_int_equal(options.log_topics[0].level, 2);
	assert_string_equal(options.log_topics[1].name, "wait");
	assert_int_equal(options.log_topics[1].level, 3);
	assert_string_equal(options.log_topics[2].name, "");
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_DOOR", "tools-lib"));
	assert_int_equal(options.door, KR_DOOR_TOOLS_LIB);
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_SOFTGPU", ""));
	assert_true(options.softgpu);
	assert_string_equal(options.softgpu_spec, "");
	kr_options_finish(&options);
	assert_true(parse(&options, "KREPLAY_TEST_NO_RESTORE", "1"));
	assert_true(options.test_no_restore);
	kr_options_finish(&options);
}

static void output_becomes_absolute(void **state)
{
	struct kr_options options;
	char *folder = getcwd(NULL, 0), *expected;

	assert_true(asprintf(&expected, "%s/%s", folder, "out/r.json") > 0);
	assert_true(parse(&options, "KREPLAY_OUTPUT", "out/r.json"));
	assert_string_equal(options.output, expected);
	kr_options_finish(&options);
	free(folder);
	free(expected);
}

static void bad_values(void **state)
{
	static const struct {
		const char *name, *value, *message;
	} cases[] = {
		{ "KREPLAY_PASSES", "many",
		  "KREPLAY_PASSES: 'many' is not a number of passes (1 or more)" },
		{ "KREPLAY_PASSES", "0",
		  "KREPLAY_PASSES: '0' is not a number of passes (1 or more)" },
		{ "KREPLAY_PASSES", "-1",
		  "KREPLAY_PASSES: '-1' is not a number of passes (1 or more)" },
		{ "KREPLAY_PASSES", "3 ",
		  "KREPLAY_PASSES: '3 ' is not a number of passes (1 or more)" },
		{ "KREPLAY_KERNEL", "a\n(b", "KREPLAY_KERNEL: '(b' is not a regular expression: " },
		{ "KREPLAY_KERNEL", "\n", "KREPLAY_KERNEL: an empty regular expression" },
		{ "KREPLAY_DISPATCH", "5-2",
		  "KREPLAY_DISPATCH: '5-2' is not a list of dispatches" },
		{ "KREPLAY_DOOR", "window",
		  "KREPLAY_DOOR: 'window' is not a door (preload or tools-lib)" },
		{ "KREPLAY_LOG", "loud", "KREPLAY_LOG: 'loud' is not a level" },
		{ "KREPLAY_LOG", "warn,window=loud", "KREPLAY_LOG: 'loud' is not a level" },
		{ "KREPLAY_LOG", "warn,", "KREPLAY_LOG: '' is not a level" },
		{ "KREPLAY_LOG", "=info", "KREPLAY_LOG: '=info' is not TOPIC=LEVEL" },
		{ "KREPLAY_BUDGET", "half", "KREPLAY_BUDGET: 'half' is neither a size" },
		{ "KREPLAY_DRAIN_TIMEOUT", "0",
		  "KREPLAY_DRAIN_TIMEOUT: '0' is not a number of seconds" },
		{ "KREPLAY_DRAIN_TIMEOUT", "90000",
		  "KREPLAY_DRAIN_TIMEOUT: '90000' is not a number of seconds" },
		{ "KREPLAY_TEST_NO_RESTORE", "yes",
		  "KREPLAY_TEST_NO_RESTORE: 'yes' is neither 0 nor 1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kr_options options;

		assert_false(parse(&options, cases[i].name, cases[i].value));
		assert_false(options.valid);
		assert_false(options.active);
		error[strlen(cases[i].message)] = '\0';
		assert_string_equal(error, cases[i].message);
		kr_options_finish(&options);
	}
}

static void bad_value_keeps_the_old(void **state)
{
	struct kr_options options;

	kr_options_init(&options);
	assert_true(kr_option_set(&options, KR_OPTION_KERNEL, "a", error, sizeof(error)));
	assert_true(kr_option_set(&options, KR_OPTION_DISPATCH, "4", error, sizeof(error)));
	assert_false(kr_option_set(&options, KR_OPTION_KERNEL, "b\n[", error, sizeof(error)));
	assert_false(kr_option_set(&options, KR_OPTION_DISPATCH, "x", error, sizeof(error)));
	assert_false(kr_option_set(&options, KR_OPTION_TOOL, "", error, sizeof(error)));
	assert_int_equal(options.kernel_count, 1);
	assert_string_equal(options.kernels[0], "a");
	assert_true(kr_ranges_contain(&options.dispatches, 4));
	assert_false(kr_ranges_contain(&options.dispatches, 5));
	/* and a good one replaces it */
	assert_true(kr_option_set(&options, KR_OPTION_KERNEL, "c", error, sizeof(error)));
	assert_string_equal(options.kernels[0], "c");
	kr_options_finish(&options);
}

/* A preloaded library's bad variable: one line on standard error, inert. */
static void process_options_say_once(void **state)
{
	char text[1024] = "";
	int ends[2], status;
	pid_t child;
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		setenv("KREPLAY_PASSES", "a\nb", 1);
		_exit(kr_options_get()->active || kr_options_get()->valid ? 1 : 0);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	got = read(ends[0], text, sizeof(text) - 1);
	assert_true(got > 0);
	assert_string_equal(text, "kreplay: KREPLAY_PASSES: 'a?b' is not a number of passes (1 or "
				  "more); nothing is replayed\n");
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_indexed_by_id),
		cmocka_unit_test(defaults_agree_with_table),
		cmocka_unit_test(nothing_set),
		cmocka_unit_test(what_makes_active),
		cmocka_unit_test(values),
		cmocka_unit_test(output_becomes_absolute),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(bad_value_keeps_the_old),
		cmocka_unit_test(process_options_say_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
