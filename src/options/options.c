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
 * written. */
static bool set_output(struct kr_options *options, const char *value, char *error,
		       size_t error_size)
{
	char *directory, *joined;
	bool done;

	if (value[0] == '/')
		return set_text(&options->output, value, error, error_size);
	directory = getcwd(NULL, 0);
	if (!directory) {
		snprintf(error, error_size, "'%s': the working directory is not known: %s", value,
			 strerror(errno));
		return false;
	}
	done = asprintf(&joined, "%s/%s", directory, value) >= 0;
	free(directory);
	if (!done)
		return no_memory(error, error_size);
	free(options->output);
	options->output = joined;
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

static bool set_level(struct kr_options *options, const char *value, char *error, size_t error_size)
{
	static const char *const levels[] = { "error", "warn", "info", "debug", NULL };
	int level = find_word(levels, value);

	if (level < 0) {
		snprintf(error, error_size, "'%s' is not a level (error, warn, info or debug)",
			 value);
		return false;
	}
	options->log_level = level;
	return true;
}

static bool set_switch(struct kr_options *options, const char *value, char *error,
		       size_t error_size)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
		snprintf(error, error_size, "'%s' is neither 0 nor 1", value);
		return false;
	}
	options->test_no_restore = value[0] == '1';
	return true;
}

bool kr_option_set(struct kr_options *options, enum kr_option_id id, const char *value, char *error,
		   size_t error_size)
{
	if (value[0] == '\0' && kr_option_table[id].type != KR_TYPE_SPEC) {
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
		return set_output(options, value, error, error_size);
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
	case KR_OPTION_LOG:
		return set_level(options, value, error, error_size);
	case KR_OPTION_JOURNAL:
		return set_text(&options->journal, value, error, error_size);
	case KR_OPTION_TEST_NO_RESTORE:
		return set_switch(options, value, error, error_size);
	case KR_OPTION_COUNT:
		break;
	}
	snprintf(error, error_size, "no such option");
	return false;
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
