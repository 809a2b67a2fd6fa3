/* SPDX-License-Identifier: MIT */
#include "json_check.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

#define DEEPEST 64

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n\r");
}

static const char *skip_digits(const char *at)
{
	return at + strspn(at, "0123456789");
}

/* Each returns what follows, NULL when it is not there. */
static const char *skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (*at != '"') {
		size_t length = kr_utf8_length(at, strnlen(at, 4));

		if (length == 0 || (unsigned char)*at < ' ')
			return NULL;
		if (*at != '\\') {
			at += length;
		} else if (at[1] == 'u') {
			if (strspn(at + 2, "0123456789abcdefABCDEF") < 4)
				return NULL;
			at += 6;
		} else {
			if (at[1] == '\0' || !strchr("\"\\/bfnrt", at[1]))
				return NULL;
			at += 2;
		}
	}
	return at + 1;
}

static const char *skip_number(const char *at)
{
	const char *from;

	at += *at == '-';
	from = at;
	at = skip_digits(at);
	/* no leading zero */
	if (at == from || (*from == '0' && at > from + 1))
		return NULL;
	if (*at == '.') {
		from = at + 1;
		at = skip_digits(from);
		if (at == from)
			return NULL;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '+' || *at == '-';
		from = at;
		at = skip_digits(from);
		if (at == from)
			return NULL;
	}
	return at;
}

static const char *skip_value(const char *at, unsigned depth);

static const char *skip_members(const char *at, unsigned depth, char close)
{
	at = skip_space(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (close == '}') {
			at = skip_string(at);
			if (!at)
				return NULL;
			at = skip_space(at);
			if (*at++ != ':')
				return NULL;
			at = skip_space(at);
		}
		at = skip_value(at, depth + 1);
		if (!at)
			return NULL;
		at = skip_space(at);
		if (*at == close)
			return at + 1;
		if (*at++ != ',')
			return NULL;
		at = skip_space(at);
	}
}

static const char *skip_value(const char *at, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };

	if (depth > DEEPEST)
		return NULL;
	if (*at == '{')
		return skip_members(at, depth, '}');
	if (*at == '[')
		return skip_members(at, depth, ']');
	if (*at == '"')
		return skip_string(at);
	for (size_t i = 0; i < 3; i++) {
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	}
	return skip_number(at);
}

bool kr_json_is_object(const char *text)
{
	const char *at = skip_space(text);

	if (*at != '{')
		return false;
	at = skip_value(at, 0);
	return at && *skip_space(at) == '\0';
}
