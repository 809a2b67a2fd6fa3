/* SPDX-License-Identifier: MIT */
/* Strict numbers: the whole text or nothing, no sign, no white space, no wrap-around. */
#ifndef KR_OPTIONS_PARSE_H
#define KR_OPTIONS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

/* Decimal digits only. */
bool kr_parse_u64(const char *text, uint64_t *out);

/* Decimal digits and at most one of K, M, G, T (either case, powers of 1024), which "iB" or "B" may
 * follow. */
bool kr_parse_size(const char *text, uint64_t *out);

/* A size above 0, or "1%" to "100%". */
bool kr_parse_budget(const char *text, struct kr_budget *out);

#endif
