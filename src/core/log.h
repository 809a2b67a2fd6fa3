/* SPDX-License-Identifier: MIT */
/*
 * One-line diagnostics on standard error. Any thread may call these, under any lock: no allocation,
 * no stdio, one write(2) a line, errno kept.
 */
#ifndef KR_CORE_LOG_H
#define KR_CORE_LOG_H

#include <stdbool.h>

enum kr_level {
	KR_LOG_ERROR = 0,
	KR_LOG_WARN = 1,
	KR_LOG_INFO = 2,
	KR_LOG_DEBUG = 3,
};

/*
 * Writes "kreplay: TOPIC: MESSAGE\n" ("kreplay: MESSAGE\n" when topic is NULL) to file
 * descriptor 2. A line longer than the internal buffer is cut and ends in "..."; control characters
 * (a newline in a kernel's name) become '?', so that one call is one line.
 */
void kr_log(enum kr_level level, const char *topic, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same, but only for the first call with this key in the process (the key's text is compared by
 * hash, not kept). Returns true when it was the first. For warnings "once per reason, then
 * counted".
 */
bool kr_log_once(const char *key, enum kr_level level, const char *topic, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether a line of this level and topic would be written: to skip the making of costly arguments. */
bool kr_log_enabled(enum kr_level level, const char *topic);

/* Overrides the level of KREPLAY_LOG (tests). */
void kr_log_set_level(enum kr_level level);

#endif
