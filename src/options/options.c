/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

#define DEFAULT_PASSES 3
#define DEFAULT_DRAIN_TIMEOUT_S 60
#define DEFAULT_BUDGET_PERCENT 80
#define DEFAULT_CHUNK_BYTES 65536
#define SMALLEST_CHUNK_BYTES 4096
#define LARGEST_CHUNK_BYTES (16 << 20)
#define DEFAULT_LOG_LEVEL 1
#define LONGEST_DRAIN_TIMEOUT_S 86400

const struct kr_option kr_option_table[] = {
#define KR_OPTION(id_, env_, flag_, letter_, type_, fallback_, scope_, metavar_, help_)            \
	[KR_OPTION_##id_] = {                                                                      \
		.id = KR_OPTION_##id_,                                                             \
		.env = env_,                                                                       \
		.flag = flag_,                                                                     \
		.letter = letter_,                                                                 \
		.type = KR_TYPE_##type_,                                                           \
		.fallback = fallback_,                                                             \
		.scope = KR_SCOPE_##scope_,                                                        \
		.metavar = metavar_,                                                               \
		.help = help_,                                                                     \
	},
#include "options.def"
#undef KR_OPTION
};

void kr_options_init(struct kr_options *options)
{
	*options = (struct kr_options){
		.valid = true,
		.passes = DEFAULT_PASSES,
		.drain_timeout_s = DEFAULT_DRAIN_TIMEOUT_S,
		.budget = { .percent = DEFAULT_BUDGET_PERCENT },
		.chunk_bytes = DEFAULT_CHUNK_BYTES,
		.log_level = DEFAULT_LOG_LEVEL,
	};
}

static void free_kernels(struct kr_options *options)
{
	for (size_t i = 0; i < options->kernel_count; i++)
		free(options->kernels[i]);
	free(options->kernels);
	options->kernels = NULL;
	options->kernel_count = 0;
}

void kr_options_finish(struct kr_options *options)
{
	free_kernels(options);
	kr_ranges_finish(&options->dispatches);
	free(options->tool);
	free(options->output);
	free(options->journal);
	free(options->softgpu_spec);
	*options = (struct kr_options){ 0 };
}

/* NULL, or the character after a '%' that means nothing in the name of a report (see report/names.h). */
static const char *bad_pattern(const char *pattern)
{
	for (; (pattern = strchr(pattern, '%')); pattern++) {
		pattern++;
		if (*pattern == '\0' || !strchr("phrn%", *pattern))
			return pattern;
	}
	return NULL;
}

static bool no_memory(char *error, size_t error_size)
{
	snprintf(error, error_size, "no memory for the value");
	return false;
}

static bool set_text(char **field, const char *value, char *error, size_t error_size)
{
	char *copy = strdup(value);

	if (!copy)
		return no_memory(error, error_size);
	free(*field);
	*field = copy;
	return true;
}

/* Absolute at once: the program may have changed its directory by the time that the file is
 * written. NULL: `error` is filled. */
static char *absolute(const char *value, char *error, size_t error_size)
{
	const char *bad = bad_pattern(value);
	char *directory, *joined;
	bool done;

	if (bad) {
		snprintf(error, error_size, "'%s': %%%c stands for nothing (%%p, %%h, %%r, %%n and %%%% do)", value,
			 *bad ? *bad : ' ');
		return NULL;
	}
	if (value[0] == '/')
		return strdup(value);
	directory = getcwd(NULL, 0);
	if (!directory) {
		snprintf(error, error_size, "'%s': the working directory is not known: %s", value,
			 strerror(errno));
		return NULL;
	}
	done = asprintf(&joined, "%s/%s", directory, value) >= 0;
	free(directory);
	if (!done)
		no_memory(error, error_size);
	return done ? joined : NULL;
}

static bool set_outputs(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	char *copy = strdup(value), *state = NULL, *all = NULL;
	bool done = copy != NULL;

	for (char *line = copy ? strtok_r(copy, "\n", &state) : NULL; line && done;
	     line = strtok_r(NULL, "\n", &state)) {
		char *one = absolute(line, error, error_size), *longer = NULL;

		done = one && asprintf(&longer, "%s%s%s", all ? all : "", all ? "\n" : "", one) >= 0;
		free(one);
		if (done) {
			free(all);
			all = longer;
		}
	}
	free(copy);
	if (!done || !all) {
		if (done)
			snprintf(error, error_size, "an empty value");
		free(all);
		return false;
	}
	free(options->output);
	options->output = all;
	return true;
}

/* "cv=0.5%" */
static bool set_until(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	const char *at = strncmp(value, "cv=", 3) == 0 ? value + 3 : "";
	uint64_t whole = 0, fraction = 0, scale = 10000;
	bool digits = false;

	for (; *at >= '0' && *at <= '9' && whole < 1000; at++, digits = true)
		whole = 10 * whole + (uint64_t)(*at - '0');
	if (*at == '.') {
		for (at++; *at >= '0' && *at <= '9'; at++, digits = true) {
			scale /= 10;
			fraction += (uint64_t)(*at - '0') * scale;
		}
	}
	if (!digits || strcmp(at, "%") != 0 || whole > 100 || 10000 * whole + fraction == 0) {
		snprintf(error, error_size, "'%s' is not cv=PERCENT, such as cv=1%% (at most 100%%)", value);
		return false;
	}
	options->until_cv_millionths = (unsigned)(10000 * whole + fraction);
	return true;
}

static bool set_check(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	if (strcmp(value, "fail") != 0 && strcmp(value, "1") != 0 && strcmp(value, "0") != 0 && value[0]) {
		snprintf(error, error_size, "'%s' is not \"fail\"", value);
		return false;
	}
	options->check = value[0] != '0';
	options->check_fail = value[0] == 'f';
	return true;
}

static bool check_pattern(const char *pattern, char *error, size_t error_size)
{
	regex_t compiled;
	char reason[128];
	int status = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);

	if (status == 0) {
		regfree(&compiled);
		return true;
	}
	regerror(status, &compiled, reason, sizeof(reason));
	snprintf(error, error_size, "'%s' is not a regular expression: %s", pattern, reason);
	return false;
}

static bool set_kernels(struct kr_options *options, const char *value, char *error,
			size_t error_size)
{
	struct kr_options fresh = { 0 };
	char *copy = strdup(value), *state = NULL;
	size_t lines = 1;

	for (const char *c = value; *c; c++)
		lines += *c == '\n';
	fresh.kernels = calloc(lines, sizeof(*fresh.kernels));
	if (!copy || !fresh.kernels) {
		no_memory(error, error_size);
		goto fail;
	}
	/* strtok_r passes over empty lines, which would match everything */
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!check_pattern(line, error, error_size))
			goto fail;
		fresh.kernels[fresh.kernel_count] = strdup(line);
		if (!fresh.kernels[fresh.kernel_count]) {
			no_memory(error, error_size);
			goto fail;
		}
		fresh.kernel_count++;
	}
	if (fresh.kernel_count == 0) {
		snprintf(error, error_size, "an empty regular expression");
		goto fail;
	}
	free(copy);
	free_kernels(options);
	options->kernels = fresh.kernels;
	options->kernel_count = fresh.kernel_count;
	return true;
fail:
	free(copy);
	free_kernels(&fresh);
	return false;
}

static bool set_dispatches(struct kr_options *options, const char *value, char *error,
			   size_t error_size)
{
	struct kr_ranges fresh;

	if (!kr_ranges_parse(&fresh, value, error, error_size))
		return false;
	kr_ranges_finish(&options->dispatches);
	options->dispatches = fresh;
	return true;
}

/* The index of value in a NULL-terminated list, -1 when it is not there. */
static int find_word(const char *const *words, const char *value)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0)
			return i;
	}
	return -1;
}

static bool set_passes(struct kr_options *options, const char *value, char *error,
		       size_t error_size)
{
	uint64_t number;

	if (!kr_parse_u64(value, &number) || number == 0) {
		snprintf(error, error_size, "'%s' is not a number of passes (1 or more)", value);
		return false;
	}
	options->passes = number;
	options->passes_set = true;
	return true;
}

static bool set_seconds(struct kr_options *options, const char *value, char *error,
			size_t error_size)
{
	uint64_t number;

	if (!kr_parse_u64(value, &number) || number == 0 || number > LONGEST_DRAIN_TIMEOUT_S) {
		snprintf(error, error_size, "'%s' is not a number of seconds (1 to %d)", value,
			 LONGEST_DRAIN_TIMEOUT_S);
		return false;
	}
	options->drain_timeout_s = (unsigned)number;
	return true;
}

static bool set_door(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	static const char *const doors[] = { "preload", "tools-lib", NULL };
	int door = find_word(doors, value);

	if (door < 0) {
		snprintf(error, error_size, "'%s' is not a door (preload or tools-lib)", value);
		return false;
	}
	options->door = (enum kr_door)door;
	return true;
}

static bool set_snapshot(struct kr_options *options, const char *value, char *error,
			 size_t error_size)
{
	static const char *const modes[] = { "auto", "device", "host", "full", NULL };
	int mode = find_word(modes, value);

	if (mode < 0) {
		snprintf(error, error_size,
			 "'%s' is no place for snapshots (auto, device, host or full)", value);
		return false;
	}
	options->snapshot_mode = (enum kr_snapshot_mode)mode;
	return true;
}

static bool set_chunk(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	uint64_t bytes;

	if (!kr_parse_size(value, &bytes) || bytes < SMALLEST_CHUNK_BYTES ||
	    bytes > LARGEST_CHUNK_BYTES || (bytes & (bytes - 1)) != 0) {
		snprintf(error, error_size, "'%s' is not a power of two from 4K to 16M", value);
		return false;
	}
	options->chunk_bytes = bytes;
	return true;
}

static bool set_extent(struct kr_options *options, const char *value, char *error,
		       size_t error_size)
{
	static const char *const extents[] = { "all", "kernargs", NULL };
	int extent = find_word(extents, value);

	if (extent < 0) {
		snprintf(error, error_size, "'%s' is no scope (all or kernargs)", value);
		return false;
	}
	options->scope_kernargs = extent == 1;
	return true;
}

/* LEVEL[,TOPIC=LEVEL...] */
static bool set_level(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	static const char *const levels[] = { "error", "warn", "info", "debug", NULL };
	struct kr_log_topic topics[KR_LOG_TOPICS] = { 0 };
	int general = options->log_level, level;
	unsigned count = 0;

	for (const char *item = value;; item++) {
		size_t length = strcspn(item, ",");
		const char *equals = memchr(item, '=', length);
		const char *word = equals ? equals + 1 : item;
		char text[32];

		snprintf(text, sizeof text, "%.*s", (int)(item + length - word), word);
		level = find_word(levels, text);
		if (level < 0) {
			snprintf(error, error_size, "'%s' is not a level (error, warn, info or debug)", text);
			return false;
		}
		if (!equals) {
			general = level;
		} else if (equals == item || (size_t)(equals - item) >= sizeof topics[0].name ||
			   count == KR_LOG_TOPICS) {
			snprintf(error, error_size, "'%.*s' is not TOPIC=LEVEL, or there are more than %d of them",
				 (int)length, item, KR_LOG_TOPICS);
			return false;
		} else {
			memcpy(topics[count].name, item, (size_t)(equals - item));
			topics[count++].level = level;
		}
		item += length;
		if (!*item)
			break;
	}
	options->log_level = general;
	memcpy(options->log_topics, topics, sizeof topics);
	return true;
}

static bool set_switch(bool *field, const char *value, char *error, size_t error_size)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
		snprintf(error, error_size, "'%s' is neither 0 nor 1", value);
		return false;
	}
	*field = value[0] == '1';
	return true;
}

static bool set_option(struct kr_options *options, enum kr_option_id id, const char *value, char *error,
		       size_t error_size)
{
	if (value[0] == '\0' && kr_option_table[id].type != KR_TYPE_SPEC && kr_option_table[id].type != KR_TYPE_CHECK) {
		snprintf(error, error_size, "an empty value");
		return false;
	}
	switch (id) {
	case KR_OPTION_PASSES:
		return set_passes(options, value, error, error_size);
	case KR_OPTION_KERNEL:
		return set_kernels(options, value, error, error_size);
	case KR_OPTION_DISPATCH:
		return set_dispatches(options, value, error, error_size);
	case KR_OPTION_TOOL:
		return set_text(&options->tool, value, error, error_size);
	case KR_OPTION_OUTPUT:
		return set_outputs(options, value, error, error_size);
	case KR_OPTION_UNTIL:
		return set_until(options, value, error, error_size);
	case KR_OPTION_CHECK:
		return set_check(options, value, error, error_size);
	case KR_OPTION_WRITES:
		return set_switch(&options->writes, value, error, error_size);
	case KR_OPTION_DOOR:
		return set_door(options, value, error, error_size);
	case KR_OPTION_SOFTGPU:
		options->softgpu = true;
		return set_text(&options->softgpu_spec, value, error, error_size);
	case KR_OPTION_DRAIN_TIMEOUT:
		return set_seconds(options, value, error, error_size);
	case KR_OPTION_BUDGET:
		if (kr_parse_budget(value, &options->budget))
			return true;
		snprintf(error, error_size,
			 "'%s' is neither a size such as 512M nor a percentage such as 80%%",
			 value);
		return false;
	case KR_OPTION_SNAPSHOT:
		return set_snapshot(options, value, error, error_size);
	case KR_OPTION_CHUNK:
		return set_chunk(options, value, error, error_size);
	case KR_OPTION_SCOPE:
		return set_extent(options, value, error, error_size);
	case KR_OPTION_VERIFY_SCOPE:
		return set_switch(&options->verify_scope, value, error, error_size);
	case KR_OPTION_DECLINE_VISIBLE:
		return set_switch(&options->decline_visible, value, error, error_size);
	case KR_OPTION_LOG:
		return set_level(options, value, error, error_size);
	case KR_OPTION_JOURNAL:
		return set_text(&options->journal, value, error, error_size);
	case KR_OPTION_TEST_NO_RESTORE:
		return set_switch(&options->test_no_restore, value, error, error_size);
	case KR_OPTION_COUNT:
		break;
	}
	snprintf(error, error_size, "no such option");
	return false;
}

bool kr_option_set(struct kr_options *options, enum kr_option_id id, const char *value, char *error,
		   size_t error_size)
{
	bool done = set_option(options, id, value, error, error_size);

	/* the value is quoted, and may hold line ends and worse */
	for (char *at = error; !done && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return done;
}

static bool makes_active(enum kr_option_scope scope)
{
	return scope == KR_SCOPE_RUN || scope == KR_SCOPE_INTERNAL;
}

bool kr_options_parse(struct kr_options *options, char *(*get)(const char *name), char *error,
		      size_t error_size)
{
	bool active = false;

	kr_options_init(options);
	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		const struct kr_option *row = &kr_option_table[i];
		const char *value = get(row->env);
		char reason[512];

		if (!value || (value[0] == '\0' && row->type != KR_TYPE_SPEC))
			continue;
		if (!kr_option_set(options, row->id, value, reason, sizeof(reason))) {
			snprintf(error, error_size, "%s: %s", row->env, reason);
			options->valid = false;
			return false;
		}
		active = active || makes_active(row->scope);
	}
	options->active = active;
	return true;
}

static struct kr_options process_options;
static pthread_once_t process_options_once = PTHREAD_ONCE_INIT;

static void parse_process_options(void)
{
	char error[640], line[704];
	int saved = errno;

	if (!kr_options_parse(&process_options, getenv, error, sizeof(error))) {
		int length =
			snprintf(line, sizeof(line), "kreplay: %s; nothing is replayed\n", error);

		/* a value may hold anything, and this is to be one line */
		for (int i = 0; i < length - 1; i++) {
			if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
				line[i] = '?';
		}
		/* nowhere to report to when standard error is closed */
		if (write(STDERR_FILENO, line, (size_t)length) < 0)
			errno = saved;
	}
	errno = saved;
}

const struct kr_options *kr_options_get(void)
{
	pthread_once(&process_options_once, parse_process_options);
	return &process_options;
}

uint64_t kr_budget_bytes(struct kr_budget budget, uint64_t available)
{
	if (budget.percent == 0)
		return budget.bytes;
	/* divides first, so that nothing overflows; the rest of the division is made up for */
	return available / 100 * budget.percent + available % 100 * budget.percent / 100;
}
