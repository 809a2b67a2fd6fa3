/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "options/parse.h"
#include "options/ranges.h"

static void check(const char *text, const char *expected)
{
	struct kr_ranges ranges = { 0 };
	char error[256] = "";
	char got[16] = "";

	assert_true(kr_ranges_parse(&ranges, text, error, sizeof(error)));
	for (unsigned i = 0; i <= 12; i++)
		got[i] = kr_ranges_contain(&ranges, i) ? 'x' : '.';
	assert_string_equal(got, expected);
	kr_ranges_finish(&ranges);
}

static void forms(void **state)
{
	/*           0123456789ab c */
	check("3", "...x.........");
	check("2-5", "..xxxx.......");
	check("7-", ".......xxxxxx");
	check("-4", ".xxxx........");
	check("1", ".x...........");
	check("9,2-3,5", "..xx.x...x...");
	check("2-5,4-8", "..xxxxxxx....");
	check("2-5,6-8", "..xxxxxxx....");
	check("2-8,3-4", "..xxxxxxx....");
	check("8-,10-11", "........xxxxx");
	check("1-,3", ".xxxxxxxxxxxx");
	check("0003", "...x.........");
	check("18446744073709551615", ".............");
}

static void open_end(void **state)
{
	struct kr_ranges ranges = { 0 };
	char error[256];

	assert_true(kr_ranges_parse(&ranges, "18446744073709551615,7-,3", error, sizeof(error)));
	assert_int_equal(ranges.count, 2);
	assert_true(kr_ranges_contain(&ranges, UINT64_MAX));
	assert_true(kr_ranges_contain(&ranges, 3));
	assert_false(kr_ranges_contain(&ranges, 4));
	kr_ranges_finish(&ranges);
}

static void nothing_given_is_everything(void **state)
{
	const struct kr_ranges ranges = { 0 };

	assert_true(kr_ranges_contain(&ranges, 1));
	assert_true(kr_ranges_contain(&ranges, UINT64_MAX));
}

static void bad_lists(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		",",
		"1,",
		",1",
		"1,,2",
		"0",
		"0-3",
		"5-2",
		"a",
		"1a",
		"1-a",
		" 1",
		"1 ",
		"1 -2",
		"+1",
		"1--2",
		"--3",
		"1-2-3",
		"18446744073709551616",
		"1-18446744073709551616",
		"0x10",
		"1.5",
		"1;2",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kr_ranges ranges = { 0 };
		char error[256] = "";

		assert_false(kr_ranges_parse(&ranges, bad[i], error, sizeof(error)));
		assert_non_null(strstr(error, "not a list of dispatches"));
		assert_null(ranges.items);
	}
}

static void numbers(void **state)
{
	uint64_t value = 42;

	assert_true(kr_parse_u64("0", &value) && value == 0);
	assert_true(kr_parse_u64("18446744073709551615", &value) && value == UINT64_MAX);
	value = 42;
	assert_false(kr_parse_u64("18446744073709551616", &value));
	assert_false(kr_parse_u64("", &value));
	assert_false(kr_parse_u64("-1", &value));
	assert_false(kr_parse_u64("+1", &value));
	assert_false(kr_parse_u64(" 1", &value));
	assert_false(kr_parse_u64("1 ", &value));
	assert_false(kr_parse_u64("1e3", &value));
	assert_int_equal(value, 42);
}

static void sizes(void **state)
{
	uint64_t value = 42;

	assert_true(kr_parse_size("512", &value) && value == 512);
	assert_true(kr_parse_size("4k", &value) && value == 4096);
	assert_true(kr_parse_size("4K", &value) && value == 4096);
	assert_true(kr_parse_size("4KiB", &value) && value == 4096);
	assert_true(kr_parse_size("4KB", &value) && value == 4096);
	assert_true(kr_parse_size("3M", &value) && value == 3 << 20);
	assert_true(kr_parse_size("2G", &value) && value == UINT64_C(2) << 30);
	assert_true(kr_parse_size("1T", &value) && value == UINT64_C(1) << 40);
	assert_true(kr_parse_size("16777215T", &value) && value == UINT64_C(16777215) << 40);
	value = 42;
	assert_false(kr_parse_size("16777216T", &value));
	assert_false(kr_parse_size("K", &value));
	assert_false(kr_parse_size("4KK", &value));
	assert_false(kr_parse_size("4iB", &value));
	assert_false(kr_parse_size("4Ki", &value));
	assert_false(kr_parse_size("4 K", &value));
	assert_false(kr_parse_size("-4K", &value));
	assert_false(kr_parse_size("4X", &value));
	assert_int_equal(value, 42);
}

static void budgets(void **state)
{
	struct kr_budget budget = { 0 };

	assert_true(kr_parse_budget("80%", &budget));
	assert_int_equal(budget.percent, 80);
	assert_int_equal(kr_budget_bytes(budget, 1000), 800);
	assert_int_equal(kr_budget_bytes(budget, 199), 159);
	assert_true(kr_parse_budget("100%", &budget));
	assert_true(kr_budget_bytes(budget, UINT64_MAX) == UINT64_MAX);
	assert_true(kr_parse_budget("1M", &budget));
	assert_int_equal(budget.percent, 0);
	assert_int_equal(kr_budget_bytes(budget, 5), 1 << 20);
	assert_false(kr_parse_budget("0", &budget));
	assert_false(kr_parse_budget("0%", &budget));
	assert_false(kr_parse_budget("101%", &budget));
	assert_false(kr_parse_budget("%", &budget));
	assert_false(kr_parse_budget("80%%", &budget));
	assert_false(kr_parse_budget("half", &budget));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(open_end),
		cmocka_unit_test(nothing_given_is_everything),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(budgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
