/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool make_room(struct kr_text *text, size_t count)
{
	size_t needed = text->length + count + 1, room = text->room ? text->room : 256;
	char *grown;

	if (text->failed)
		return false;
	if (needed <= text->room)
		return true;
	while (room < needed)
		room *= 2;
	grown = realloc(text->data, room);
	if (!grown) {
		text->failed = true;
		return false;
	}
	text->data = grown;
	text->room = room;
	return true;
}

void kr_text_add_bytes(struct kr_text *text, const char *bytes, size_t count)
{
	if (!make_room(text, count))
		return;
	memcpy(text->data + text->length, bytes, count);
	text->length += count;
	text->data[text->length] = '\0';
}

void kr_text_add(struct kr_text *text, const char *string)
{
	kr_text_add_bytes(text, string, strlen(string));
}

void kr_text_addf(struct kr_text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0 || !make_room(text, (size_t)length)) {
		text->failed = true;
		return;
	}
	va_start(arguments, format);
	vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	text->length += (size_t)length;
}

void kr_text_finish(struct kr_text *text)
{
	free(text->data);
	*text = (struct kr_text){ 0 };
}

char *kr_text_take(struct kr_text *text, size_t *bytes)
{
	char *data = text->data;

	if (text->failed || !data) {
		kr_text_finish(text);
		return NULL;
	}
	if (bytes)
		*bytes = text->length;
	*text = (struct kr_text){ 0 };
	return data;
}

char *kr_format_fixed(char *out, double value, unsigned decimals)
{
	uint64_t scale = 1, scaled;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	/* past 2^53 a double has no digit more to show; past 2^64 nothing that we measure lies */
	if (value * (double)scale >= 9007199254740992.0) {
		decimals = 0;
		scale = 1;
	}
	if (value >= 18446744073709549568.0)
		scaled = UINT64_MAX;
	else
		scaled = (uint64_t)(value * (double)scale + 0.5);
	if (decimals == 0)
		snprintf(out, KR_TEXT_NUMBER, "%llu", (unsigned long long)scaled);
	else
		snprintf(out, KR_TEXT_NUMBER, "%llu.%0*llu", (unsigned long long)(scaled / scale),
			 (int)decimals, (unsigned long long)(scaled % scale));
	return out;
}

/* Three digits, or as many as stand before the point. */
static unsigned three_digits(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

char *kr_format_duration(char *out, double ns)
{
	static const char *const units[] = { " ns", " us", " ms", " s" };
	size_t unit = 0;

	while (ns >= 999.5 && unit < sizeof(units) / sizeof(units[0]) - 1) {
		ns /= 1000;
		unit++;
	}
	kr_format_fixed(out, ns, unit ? three_digits(ns) : 0);
	strcat(out, units[unit]);
	return out;
}

char *kr_format_bytes(char *out, uint64_t bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1023.5 && unit < sizeof(units) / sizeof(units[0]) - 1) {
		value /= 1024;
		unit++;
	}
	kr_format_fixed(out, value, unit ? three_digits(value) : 0);
	strcat(out, units[unit]);
	return out;
}

static bool write_loop(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(fd, bytes, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		bytes += written;
		count -= (size_t)written;
	}
	return true;
}

static _Atomic int output_error;

int kr_write_error(void)
{
	return output_error;
}

bool kr_write_all(int fd, const char *bytes, size_t count)
{
	const struct timespec now = { 0 };
	sigset_t broken, pending, mask;
	bool done;
	int error;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigemptyset(&pending);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken, &mask);
	done = write_loop(fd, bytes, count);
	error = errno;
	/* takes back the signal that the write raised in this thread, not one that was waiting
	 * before */
	if (!done && error == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (!done && fd == STDOUT_FILENO)
		output_error = error;
	errno = error;
	return done;
}

size_t kr_utf8_length(const char *bytes, size_t count)
{
	const unsigned char *at = (const unsigned char *)bytes;
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (count == 0)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2;
	else if ((at[0] & 0xf0) == 0xe0)
		length = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4;
	else
		return 0;
	/* Unicode's table 3-7: overlong forms, surrogates and what lies past U+10FFFF are told by
	 * the second byte */
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (count < length || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}
