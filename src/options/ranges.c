/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads digits at *at, if any; false when the number does not fit. */
static bool read_bound(const char **at, uint64_t *out, bool *given)
{
	uint64_t value = 0;

	*given = false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
			return false;
		*given = true;
	}
	*out = value;
	return true;
}

/* One element of the list; leaves *at behind it. */
static bool read_range(const char **at, struct kr_range *out)
{
	bool has_first, has_last;

	if (!read_bound(at, &out->first, &has_first))
		return false;
	if (**at == '-') {
		(*at)++;
		if (!read_bound(at, &out->last, &has_last) || (!has_first && !has_last))
			return false;
		if (!has_first)
			out->first = 1;
		if (!has_last)
			out->last = UINT64_MAX;
	} else {
		if (!has_first)
			return false;
		out->last = out->first;
	}
	return (**at == '\0' || **at == ',') && out->first >= 1 && out->first <= out->last;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct kr_range *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

static size_t merge(struct kr_range *items, size_t count)
{
	size_t kept = 0;

	qsort(items, count, sizeof(*items), compare_ranges);
	for (size_t i = 1; i < count; i++) {
		/* touching ranges become one; mind the open end */
		if (items[kept].last == UINT64_MAX || items[i].first <= items[kept].last + 1) {
			if (items[i].last > items[kept].last)
				items[kept].last = items[i].last;
		} else {
			items[++kept] = items[i];
		}
	}
	return kept + 1;
}

bool kr_ranges_parse(struct kr_ranges *out, const char *text, char *error, size_t error_size)
{
	struct kr_range *items;
	size_t room = 1, count = 0;
	const char *at = text;

	for (const char *c = text; *c; c++)
		room += *c == ',';
	items = calloc(room, sizeof(*items));
	if (!items) {
		snprintf(error, error_size, "no memory for the list of dispatches");
		return false;
	}
	for (;;) {
		if (!read_range(&at, &items[count])) {
			snprintf(error, error_size,
				 "'%s' is not a list of dispatches such as 3,5-8,20- (counted from "
				 "1)",
				 text);
			free(items);
			return false;
		}
		count++;
		if (*at == '\0')
			break;
		at++;
	}
	out->count = merge(items, count);
	out->items = items;
	return true;
}

bool kr_ranges_contain(const struct kr_ranges *ranges, uint64_t number)
{
	size_t low = 0, high = ranges->count;

	if (ranges->count == 0)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (number > ranges->items[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->count && number >= ranges->items[low].first;
}

void kr_ranges_finish(struct kr_ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct kr_ranges){ 0 };
}
