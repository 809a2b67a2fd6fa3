/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <string.h>

/* Reads the digits at the front; returns what follows them, NULL when there are none or they do not
 * fit. */
static const char *read_digits(const char *text, uint64_t *out)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return NULL;
	}
	if (at == text)
		return NULL;
	*out = value;
	return at;
}

bool kr_parse_u64(const char *text, uint64_t *out)
{
	uint64_t value;
	const char *rest = read_digits(text, &value);

	if (!rest || *rest != '\0')
		return false;
	*out = value;
	return true;
}

static bool suffix_shift(char letter, unsigned *shift)
{
	static const char letters[] = "kmgt";
	const char *found;

	if (letter >= 'A' && letter <= 'Z')
		letter = (char)(letter - 'A' + 'a');
	found = letter ? strchr(letters, letter) : NULL;
	if (!found)
		return false;
	*shift = 10 * (unsigned)(found - letters + 1);
	return true;
}

bool kr_parse_size(const char *text, uint64_t *out)
{
	uint64_t value;
	unsigned shift = 0;
	const char *rest = read_digits(text, &value);

	if (!rest)
		return false;
	if (suffix_shift(*rest, &shift)) {
		rest++;
		if (*rest == 'i' && rest[1] == 'B')
			rest++;
	}
	if (*rest == 'B')
		rest++;
	if (*rest != '\0' || value > UINT64_MAX >> shift)
		return false;
	*out = value << shift;
	return true;
}

bool kr_parse_budget(const char *text, struct kr_budget *out)
{
	uint64_t value;
	const char *rest = read_digits(text, &value);

	if (rest && strcmp(rest, "%") == 0) {
		if (value < 1 || value > 100)
			return false;
		*out = (struct kr_budget){ .percent = (unsigned)value };
		return true;
	}
	if (!kr_parse_size(text, &value) || value == 0)
		return false;
	*out = (struct kr_budget){ .bytes = value };
	return true;
}
