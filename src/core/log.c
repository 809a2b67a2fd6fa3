/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options/options.h"
#include "report/text.h"

#define LINE_SIZE 1024
#define KEY_SLOTS 256

static atomic_int chosen_level = -1;

static int current_level(void)
{
	int level = atomic_load_explicit(&chosen_level, memory_order_relaxed);

	if (level < 0) {
		level = kr_options_get()->log_level;
		atomic_store_explicit(&chosen_level, level, memory_order_relaxed);
	}
	return level;
}

void kr_log_set_level(enum kr_level level)
{
	atomic_store_explicit(&chosen_level, (int)level, memory_order_relaxed);
}

bool kr_log_enabled(enum kr_level level, const char *topic)
{
	const struct kr_log_topic *own = kr_options_get()->log_topics;

	for (unsigned i = 0; topic && i < KR_LOG_TOPICS && own[i].name[0]; i++)
		if (strcmp(own[i].name, topic) == 0)
			return (int)level <= own[i].level;
	return (int)level <= current_level();
}

static void write_line(const char *topic, const char *format, va_list arguments)
{
	static const char cut[] = "...";
	char line[LINE_SIZE];
	int saved = errno;
	/* the last byte is the newline's */
	size_t room = sizeof(line) - 1, used;
	int length;

	length = topic ? snprintf(line, room, "kreplay: %s: ", topic)
		       : snprintf(line, room, "kreplay: ");
	used = length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
	errno = saved; /* for %m */
	length = vsnprintf(line + used, room - used, format, arguments);
	if (length > 0 && (size_t)length >= room - used) {
		used = room - 1;
		memcpy(line + used - strlen(cut), cut, strlen(cut));
	} else if (length > 0) {
		used += (size_t)length;
	}
	for (size_t i = 0; i < used; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[used++] = '\n';
	(void)kr_write_all(STDERR_FILENO, line, used);
	errno = saved;
}

void kr_log(enum kr_level level, const char *topic, const char *format, ...)
{
	va_list arguments;

	if (!kr_log_enabled(level, topic))
		return;
	va_start(arguments, format);
	write_line(topic, format, arguments);
	va_end(arguments);
}

static uint64_t hash_key(const char *key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/* True for the first caller with this key. With every slot taken, new keys are always first: too
 * much said, not too little. */
static bool claim_key(const char *key)
{
	static _Atomic uint64_t slots[KEY_SLOTS];
	uint64_t hash = hash_key(key);

	for (size_t i = 0; i < KEY_SLOTS; i++) {
		uint64_t seen = 0;

		if (atomic_compare_exchange_strong(&slots[(hash + i) % KEY_SLOTS], &seen, hash))
			return true;
		if (seen == hash)
			return false;
	}
	return true;
}

bool kr_log_once(const char *key, enum kr_level level, const char *topic, const char *format, ...)
{
	va_list arguments;

	if (!claim_key(key))
		return false;
	if (kr_log_enabled(level, topic)) {
		va_start(arguments, format);
		write_line(topic, format, arguments);
		va_end(arguments);
	}
	return true;
}
