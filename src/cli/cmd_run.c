/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "options/options.h"
#include "report/names.h"
#include "report/report.h"
#include "reports.h"

/* The first pass, and the 8 that --until looks at. */
#define UNTIL_FEWEST 9

const char *const kr_cli_run_description[] = {
	"Runs COMMAND with libkreplay loaded into it. Each chosen dispatch of a kernel on an HSA "
	"agent is run several times "
	"over the same memory: what the kernel may write is kept before the first pass and put "
	"back before each further "
	"one, so that the program sees the results of one execution. The command may be anything, "
	"a shell script or a "
	"Python interpreter included; the processes that it starts are observed too.",
	"When the program has ended, a table of its kernels is printed on standard error. Nothing "
	"is ever printed on "
	"standard output, which is the program's.",
	"Every flag has an environment variable, and a flag wins over its variable. Preloading the "
	"library with the "
	"variables set does the same without the launcher: KREPLAY_PASSES=5 "
	"LD_PRELOAD=libkreplay.so COMMAND. LD_PRELOAD, "
	"HSA_TOOLS_LIB and LD_LIBRARY_PATH are kept, and extended at the front.",
	NULL,
};

static enum kr_cli_argument argument_of(enum kr_option_type type)
{
	switch (type) {
	case KR_TYPE_SPEC:
	case KR_TYPE_CHECK:
		return KR_ARGUMENT_OPTIONAL;
	case KR_TYPE_SWITCH:
		return KR_ARGUMENT_NONE;
	default:
		return KR_ARGUMENT_REQUIRED;
	}
}

static char joint_of(enum kr_option_type type)
{
	return type == KR_TYPE_PATTERNS || type == KR_TYPE_FILES ? '\n'
	       : type == KR_TYPE_PATHS  ? ':'
	       : type == KR_TYPE_RANGES ? ','
					: 0;
}

size_t kr_cli_run_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS])
{
	size_t count = 0;

	for (size_t i = 0; i < KR_OPTION_COUNT && count < KR_CLI_MOST_FLAGS; i++) {
		const struct kr_option *row = &kr_option_table[i];

		if (!row->flag)
			continue;
		out[count++] = (struct kr_cli_flag){
			.id = (int)row->id,
			.flag = row->flag,
			.letter = row->letter,
			.argument = argument_of(row->type),
			.metavar = row->metavar,
			.env = row->env,
			.fallback = row->fallback,
			.help = row->help,
			.joint = joint_of(row->type),
		};
	}
	return count;
}

struct run {
	struct kr_cli_arguments arguments;
	struct kr_options options;
	struct kr_cli_libraries libraries;
	char *program;
	struct kr_journal *journal;
	struct kr_cli_live live;
};

/* One option's value: the flag's, which then stands in the environment too, or the variable's. */
static bool take_option(struct run *run, const struct kr_option *row, const char *given)
{
	const char *value;
	char error[640];

	/* a flag without a value, as its variable would have it */
	if (given && !given[0] && (row->type == KR_TYPE_SWITCH || row->type == KR_TYPE_CHECK))
		given = "1";
	value = given ? given : getenv(row->env);

	if (!value || (!given && value[0] == '\0' && row->type != KR_TYPE_SPEC))
		return true;
	if (!kr_option_set(&run->options, row->id, value, error, sizeof(error))) {
		if (given)
			kr_cli_say("--%s: %s", row->flag, error);
		else
			kr_cli_say("%s: %s", row->env, error);
		return false;
	}
	/* an empty SPEC leaves to the software GPU what the variable may say */
	if (given && given[0] && setenv(row->env, given, 1) != 0) {
		kr_cli_say("no memory for the environment");
		return false;
	}
	return true;
}

static bool take_options(struct run *run)
{
	const struct kr_cli_arguments *arguments = &run->arguments;

	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		const char *given = NULL;

		/* another launcher's, when one runs under the other */
		if (i == KR_OPTION_JOURNAL)
			continue;
		for (size_t j = 0; j < arguments->flag_count; j++) {
			if (arguments->flags[j].id == (int)i)
				given = arguments->values[j];
		}
		if (!take_option(run, &kr_option_table[i], given))
			return false;
	}
	return true;
}

static bool choose_gpu(const struct run *run)
{
	if (run->options.softgpu)
		return kr_cli_use_softgpu(&run->libraries, run->options.softgpu_spec);
	if (access("/dev/kfd", F_OK) == 0)
		return true;
	if (!run->libraries.softgpu) {
		kr_cli_say("there is no /dev/kfd, and the software GPU is not installed; going on "
			   "without either");
		return true;
	}
	kr_cli_say("there is no /dev/kfd: running on the software GPU");
	return kr_cli_use_softgpu(&run->libraries, NULL);
}

static bool open_door(const struct run *run)
{
	switch (run->options.door) {
	case KR_DOOR_PRELOAD:
		return kr_cli_add_preload(run->libraries.library);
	case KR_DOOR_TOOLS_LIB:
		return kr_cli_add_tools_lib(run->libraries.library);
	}
	return false;
}

static bool check_tools(const struct run *run)
{
	char *resolved;
	bool done;

	if (!run->options.tool)
		return true;
	if (!kr_cli_check_tools(run->options.tool, &run->libraries, &resolved))
		return false;
	done = setenv(kr_option_table[KR_OPTION_TOOL].env, resolved, 1) == 0;
	free(resolved);
	if (!done)
		kr_cli_say("no memory for the environment");
	return done;
}

/* The program's processes find the journal through this process's descriptor, which none of them
 * inherits or can close. */
static bool make_journal(struct run *run)
{
	char path[64];

	run->journal = kr_journal_create_shared(0, 0);
	if (!run->journal) {
		kr_cli_say("cannot make the journal: %s", strerror(errno));
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), kr_journal_fd(run->journal));
	if (setenv(kr_option_table[KR_OPTION_JOURNAL].env, path, 1) != 0 ||
	    unsetenv(kr_option_table[KR_OPTION_OUTPUT].env) != 0) {
		kr_cli_say("no memory for the environment");
		return false;
	}
	return true;
}

/* Everything that can fail before the program starts. Returns 0 or the exit status. */
static int prepare(struct run *run)
{
	int status = KR_EXIT_BAD_USE;

	if (!take_options(run) || !kr_cli_find_libraries(&run->libraries))
		return status;
	if (!run->arguments.program[0]) {
		kr_cli_say("run: no command is given (see kreplay run --help)");
		return status;
	}
	if (!run->libraries.library) {
		kr_cli_say("libkreplay.so is not where kreplay looks for it");
		return status;
	}
	if (run->options.until_cv_millionths && run->options.passes_set && run->options.passes < UNTIL_FEWEST) {
		kr_cli_say("--until: it takes %d passes to tell whether the duration has settled; -n allows %llu",
			   UNTIL_FEWEST, (unsigned long long)run->options.passes);
		return status;
	}
	if (run->options.output && !kr_cli_check_outputs(run->options.output, run->arguments.program[0]))
		return status;
	run->program = kr_cli_find_program(run->arguments.program[0], &status);
	if (!run->program)
		return status;
	if (!check_tools(run) || !choose_gpu(run) || !open_door(run) || !make_journal(run))
		return KR_EXIT_BAD_USE;
	return 0;
}

static bool write_outputs(const struct run *run, const struct kr_report *summary)
{
	char *copy = run->options.output ? strdup(run->options.output) : NULL, *state = NULL;
	bool done = copy || !run->options.output;

	for (char *one = copy ? strtok_r(copy, "\n", &state) : NULL; one; one = strtok_r(NULL, "\n", &state)) {
		char *path = kr_report_expand(one, run->arguments.program[0]);

		done = path && kr_cli_write_report(summary, path) && done;
		free(path);
	}
	free(copy);
	return done;
}

static int report(struct run *run, const struct kr_cli_outcome *outcome)
{
	struct kr_report *summary = kr_report_build(run->journal);
	const char *program = strrchr(run->arguments.program[0], '/');
	int status = outcome->status;
	char host[256] = "";

	program = program ? program + 1 : run->arguments.program[0];
	gethostname(host, sizeof(host) - 1);
	if (outcome->signal) {
		const char *name = sigabbrev_np(outcome->signal);

		kr_cli_say("'%s' was killed by signal %d%s%s%s", run->arguments.program[0],
			   outcome->signal, name ? " (SIG" : "", name ? name : "", name ? ")" : "");
	}
	if (!summary || !kr_report_name_processes(summary, host, program, kr_report_rank())) {
		kr_cli_say("no memory for the report");
		kr_report_free(summary);
		return status ? status : KR_EXIT_BAD_USE;
	}
	kr_report_print(summary, STDERR_FILENO);
	kr_cli_say_unchosen(&run->options, summary);
	/* the program's own failure matters more */
	if (run->options.check_fail && (!kr_cli_compared(summary) || summary->findings > 0) && status == 0)
		status = KR_EXIT_FOUND;
	if (!write_outputs(run, summary) && (status == 0 || status == KR_EXIT_FOUND))
		status = KR_EXIT_BAD_USE;
	kr_report_free(summary);
	return status;
}

static void show_progress(void *data)
{
	struct run *run = data;

	kr_cli_live_tick(&run->live);
}

static void stop_replaying(void *data)
{
	struct run *run = data;

	kr_journal_interrupt(run->journal, true);
}

/* Runs the program; returns the exit status. */
static int launch(struct run *run)
{
	struct kr_cli_watch watch = { .interrupt = stop_replaying, .data = run };
	struct kr_cli_outcome outcome;

	kr_cli_live_init(&run->live, run->journal);
	if (run->live.width > 0)
		watch.tick = show_progress;
	if (!kr_cli_launch(run->program, run->arguments.program, &watch, &outcome))
		return outcome.status;
	kr_cli_live_clear(&run->live);
	return report(run, &outcome);
}

int kr_cli_cmd_run(const struct kr_cli_command *command, int argc, char **argv)
{
	struct run run = { 0 };
	int status = KR_EXIT_BAD_USE;

	kr_options_init(&run.options);
	if (!kr_cli_parse(&run.arguments, command, argc, argv))
		goto out;
	if (run.arguments.help) {
		kr_cli_print_help(command);
		status = 0;
		goto out;
	}
	status = prepare(&run);
	if (status == 0)
		status = launch(&run);
out:
	kr_journal_close(run.journal);
	free(run.program);
	kr_cli_free_libraries(&run.libraries);
	kr_options_finish(&run.options);
	kr_cli_free_arguments(&run.arguments);
	return status;
}
