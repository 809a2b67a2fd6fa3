/* SPDX-License-Identifier: MIT */
/* Options and ranges of any text: one option alone, then all of them as an environment. */
#include "fuzz.h"

#include "options/options.h"
#include "options/parse.h"
#include "options/ranges.h"

/* glibc's own regcomp takes memory without bound for nested repetitions: what is not ours is kept small. */
static bool is_tame(const char *pattern)
{
	return strlen(pattern) <= 24 && !strchr(pattern, '{') && !strstr(pattern, "((");
}

static void check_ranges(const char *text)
{
	struct kr_ranges ranges = { 0 };
	char error[256];

	if (!kr_ranges_parse(&ranges, text, error, sizeof(error))) {
		FUZZ_CHECK(error[0] != '\0' && memchr(error, '\0', sizeof(error)));
		FUZZ_CHECK(ranges.items == NULL && ranges.count == 0);
		return;
	}
	for (size_t i = 0; i < ranges.count; i++) {
		const struct kr_range *one = &ranges.items[i];

		FUZZ_CHECK(one->first >= 1 && one->first <= one->last);
		/* sorted, and merged where they touch */
		FUZZ_CHECK(i == 0 || (one[-1].last != UINT64_MAX && one[-1].last + 1 < one->first));
		FUZZ_CHECK(kr_ranges_contain(&ranges, one->first) && kr_ranges_contain(&ranges, one->last));
		FUZZ_CHECK(one->first == 1 || (i == 0 || one[-1].last != one->first - 1
						   ? !kr_ranges_contain(&ranges, one->first - 1) : true));
		FUZZ_CHECK(one->last == UINT64_MAX || !kr_ranges_contain(&ranges, one->last + 1));
	}
	kr_ranges_finish(&ranges);
}

static void check_numbers(const char *text)
{
	struct kr_budget budget = { 0 };
	uint64_t value = 0;
	char again[32];

	if (kr_parse_u64(text, &value)) {
		const char *digits = text + strspn(text, "0");

		snprintf(again, sizeof(again), "%llu", (unsigned long long)value);
		FUZZ_CHECK(strcmp(again, *digits ? digits : "0") == 0);
	}
	kr_parse_size(text, &value);
	if (kr_parse_budget(text, &budget)) {
		FUZZ_CHECK((budget.bytes == 0) != (budget.percent == 0) && budget.percent <= 100);
		FUZZ_CHECK(!budget.percent || kr_budget_bytes(budget, UINT64_MAX) > 0);
	}
}

static void check_option(enum kr_option_id id, const char *text)
{
	struct kr_options options;
	char error[512];

	if (kr_option_table[id].type == KR_TYPE_PATTERNS && !is_tame(text))
		return;
	kr_options_init(&options);
	FUZZ_CHECK(options.valid);
	memset(error, 0x55, sizeof(error));
	if (!kr_option_set(&options, id, text, error, sizeof(error)))
		FUZZ_CHECK(memchr(error, '\0', sizeof(error)) && error[0] != '\0');
	kr_options_finish(&options);
}

/* The environment: the n-th line is the value of the n-th option that a bit of the mask names. */
static const char *values[KR_OPTION_COUNT];

static char *get(const char *name)
{
	for (int i = 0; i < KR_OPTION_COUNT; i++)
		if (strcmp(kr_option_table[i].env, name) == 0)
			return (char *)(uintptr_t)values[i];
	return NULL;
}

static void check_environment(uint32_t mask, char *text)
{
	struct kr_options options;
	char error[1024], *rest = text;
	bool good;

	memset(values, 0, sizeof(values));
	for (int i = 0; i < KR_OPTION_COUNT && rest; i++) {
		char *value;

		if (!(mask >> (i % 32) & 1))
			continue;
		value = strsep(&rest, "\x01");
		if (kr_option_table[i].type != KR_TYPE_PATTERNS || is_tame(value))
			values[i] = value;
	}
	good = kr_options_parse(&options, get, error, sizeof(error));
	FUZZ_CHECK(good == options.valid && (good || !options.active));
	if (!good)
		FUZZ_CHECK(memchr(error, '\0', sizeof(error)) && error[0] != '\0' && !strchr(error, '\n'));
	kr_options_finish(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, data + size };
	uint8_t what = fuzz_byte(&b);
	uint32_t mask = what == 255 ? (uint32_t)fuzz_number(&b, 4) : 0;
	char *text = fuzz_string(b.at, (size_t)(b.end - b.at));

	if (what == 255) {
		check_environment(mask, text);
	} else if (what % (KR_OPTION_COUNT + 1) < KR_OPTION_COUNT) {
		check_option((enum kr_option_id)(what % (KR_OPTION_COUNT + 1)), text);
	} else {
		check_ranges(text);
		check_numbers(text);
	}
	free(text);
	return 0;
}
