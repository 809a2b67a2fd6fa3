/* SPDX-License-Identifier: MIT */
/* Whether text that a tool hands in may be put into a JSON document as it is. */
#ifndef KR_REPORT_JSON_CHECK_H
#define KR_REPORT_JSON_CHECK_H

#include <stdbool.h>

/* One well-formed JSON object (RFC 8259) in UTF-8, nothing before it or behind it but white space, not deeper than 64. */
bool kr_json_is_object(const char *text);

#endif
