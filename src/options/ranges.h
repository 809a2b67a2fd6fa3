/* SPDX-License-Identifier: MIT */
/* Sets of 1-based ordinals as people write them: "3", "2-5", "7-", "-4", and comma lists of those.
 */
#ifndef KR_OPTIONS_RANGES_H
#define KR_OPTIONS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kr_range {
	uint64_t first; /* >= 1 */
	uint64_t last;  /* inclusive; UINT64_MAX: open */
};

/* Sorted and merged. No items: no restriction, everything is in. */
struct kr_ranges {
	struct kr_range *items;
	size_t count;
};

/* False: `error` holds a message without a prefix, and *out is untouched. */
bool kr_ranges_parse(struct kr_ranges *out, const char *text, char *error, size_t error_size);
bool kr_ranges_contain(const struct kr_ranges *ranges, uint64_t number);
void kr_ranges_finish(struct kr_ranges *ranges);

#endif
