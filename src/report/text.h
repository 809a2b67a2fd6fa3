/* SPDX-License-Identifier: MIT */
/*
 * A growing string, and numbers in it as people and JSON read them: always with a decimal point,
 * whatever locale the program that we are loaded into has set.
 */
#ifndef KR_REPORT_TEXT_H
#define KR_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kr_text {
	char *data; /* ends in NUL once anything was added */
	size_t length;
	size_t room;
	bool failed; /* there was no memory for something */
};

void kr_text_add_bytes(struct kr_text *text, const char *bytes, size_t count);
void kr_text_add(struct kr_text *text, const char *string);
void kr_text_addf(struct kr_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void kr_text_finish(struct kr_text *text);

/* Takes the string out, NULL when something failed. */
char *kr_text_take(struct kr_text *text, size_t *bytes);

#define KR_TEXT_NUMBER 40

/* Each writes at most KR_TEXT_NUMBER bytes and returns `out`. `value` is not negative. */
char *kr_format_fixed(char *out, double value, unsigned decimals);
char *kr_format_duration(char *out, double ns);
char *kr_format_bytes(char *out, uint64_t bytes);

/*
 * Writes everything. False: errno is set. A pipe that nobody reads is an error like others, and
 * raises no SIGPIPE: the process may be the program's, and its end is none of ours.
 */
bool kr_write_all(int fd, const char *bytes, size_t count);
/* The errno of the last write to standard output that failed; 0: none did. */
int kr_write_error(void);

/* The length of the well-formed UTF-8 sequence at `bytes`, 0 when there is none. */
size_t kr_utf8_length(const char *bytes, size_t count);

#endif
