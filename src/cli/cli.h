/* SPDX-License-Identifier: MIT */
/* The launcher's own parts: subcommands, their flags, and what they share. */
#ifndef KR_CLI_CLI_H
#define KR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The launcher's own exit statuses, as env(1)'s. */
#define KR_EXIT_FOUND 3 /* --check=fail, and a check failed */
#define KR_EXIT_BAD_USE 125
#define KR_EXIT_CANNOT_EXECUTE 126
#define KR_EXIT_NOT_FOUND 127

enum kr_cli_argument { KR_ARGUMENT_NONE, KR_ARGUMENT_REQUIRED, KR_ARGUMENT_OPTIONAL };

struct kr_cli_flag {
	int id;           /* the subcommand's */
	const char *flag; /* without the dashes */
	char letter;      /* 0: none */
	enum kr_cli_argument argument;
	const char *metavar;
	const char *env;      /* NULL: none */
	const char *fallback; /* the default as text, NULL: none */
	const char *help;
	char joint; /* a flag given again is added behind this character; 0: it replaces what was
		       given before */
};

#define KR_CLI_MOST_FLAGS 24

struct kr_cli_command {
	const char *name;
	const char *synopsis;           /* what follows "kreplay NAME" */
	const char *summary;            /* one line, no full stop */
	const char *const *description; /* paragraphs, NULL at the end */
	size_t (*flags)(struct kr_cli_flag out[KR_CLI_MOST_FLAGS]); /* NULL: none */
	int (*run)(const struct kr_cli_command *command, int argc, char **argv);
	bool hidden;
	bool flags_anywhere; /* also behind what is no flag */
	bool own_status;     /* its exit status is its own and no program's */
};

/* NULL name at the end. */
extern const struct kr_cli_command kr_cli_commands[];
const struct kr_cli_command *kr_cli_find_command(const char *name);

int kr_cli_cmd_run(const struct kr_cli_command *command, int argc, char **argv);
size_t kr_cli_run_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS]);
extern const char *const kr_cli_run_description[];
int kr_cli_cmd_softgpu(const struct kr_cli_command *command, int argc, char **argv);
size_t kr_cli_softgpu_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS]);
extern const char *const kr_cli_softgpu_description[];
int kr_cli_cmd_report(const struct kr_cli_command *command, int argc, char **argv);
size_t kr_cli_report_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS]);
extern const char *const kr_cli_report_description[];
int kr_cli_cmd_info(const struct kr_cli_command *command, int argc, char **argv);
extern const char *const kr_cli_info_description[];
int kr_cli_cmd_completion(const struct kr_cli_command *command, int argc, char **argv);
int kr_cli_cmd_probe(const struct kr_cli_command *command, int argc, char **argv);
int kr_cli_cmd_help(const struct kr_cli_command *command, int argc, char **argv);
int kr_cli_cmd_man(const struct kr_cli_command *command, int argc, char **argv);
int kr_cli_cmd_check_tool(const struct kr_cli_command *command, int argc, char **argv);

/* One line on standard error. */
void kr_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* flags.c: what the command line of a subcommand holds. */
struct kr_cli_arguments {
	const struct kr_cli_command *command;
	struct kr_cli_flag flags[KR_CLI_MOST_FLAGS];
	char *values[KR_CLI_MOST_FLAGS]; /* NULL: not given */
	size_t flag_count;
	bool help;      /* --help was given */
	char **program; /* the command to run and its arguments; NULL at the end */
};

/* False: the line is bad, which has been said. */
bool kr_cli_parse(struct kr_cli_arguments *arguments, const struct kr_cli_command *command,
		  int argc, char **argv);
void kr_cli_free_arguments(struct kr_cli_arguments *arguments);

/* help.c */
void kr_cli_print_usage(FILE *to);
void kr_cli_print_help(const struct kr_cli_command *command);

/* libraries.c: what lies beside the launcher, in the build tree or where it was installed. */
struct kr_cli_libraries {
	char *library; /* libkreplay.so, NULL when it is not there */
	char *softgpu; /* the folder of the software GPU's libhsakmt.so.1, NULL when it is not there
			*/
	char *tools;   /* the folder of the tools that come with kreplay, NULL when it is not there */
};

bool kr_cli_find_libraries(struct kr_cli_libraries *out);
void kr_cli_free_libraries(struct kr_cli_libraries *libraries);

/* environment.c: list-valued variables, ours first, everything else kept. False: said why. */
bool kr_cli_add_preload(const char *library);
bool kr_cli_add_tools_lib(const char *library);
bool kr_cli_add_library_path(const char *folder);
/* For tests: the new value; `separators` split the old one, the first of them joins. */
char *kr_cli_prepend(const char *old, const char *element, const char *separators);

/* Puts the environment on the software GPU. False: said why. */
bool kr_cli_use_softgpu(const struct kr_cli_libraries *libraries, const char *spec);

/* check.c: everything that can be known to go wrong before the program starts. Each says what it
 * found. */
bool kr_cli_check_tools(const char *paths, const struct kr_cli_libraries *libraries,
			char **resolved);
/* Every name of a list, one a line. Folders that are missing are made. */
bool kr_cli_check_outputs(const char *paths, const char *program);

/* launch.c */

/* Where the program is, searched as execvp does. NULL: *status is 126 or 127, and the reason has
 * been said. */
char *kr_cli_find_program(const char *name, int *status);

/* Replaces this process by the program; returns the exit status when that fails. */
int kr_cli_exec(const char *path, char **argv);

struct kr_cli_outcome {
	bool started;
	int status; /* the exit status to pass on */
	int signal; /* that killed the program, 0: none */
};

/* What the launcher does meanwhile. */
struct kr_cli_watch {
	void (*tick)(void *data);      /* a few times a second; NULL: nothing */
	void (*interrupt)(void *data); /* somebody pressed Ctrl-C */
	void *data;
};

/* Runs the program and waits for it; signals meant for it are passed on. False: nothing ran,
 * outcome->status says why. */
bool kr_cli_launch(const char *path, char **argv, const struct kr_cli_watch *watch, struct kr_cli_outcome *outcome);

/* live.c: the line that shows how far a run is, on a terminal. */
struct kr_journal;
struct kr_cli_live {
	const struct kr_journal *journal;
	uint64_t silent_ns; /* nothing is shown before */
	uint64_t started_ns;
	unsigned width; /* of the terminal; 0: none, and nothing is shown */
	bool shown;
	uint64_t windows; /* at the last look */
	uint64_t seen_ns;
	double rate;   /* windows a second */
	uint64_t next; /* window to read next */
	uint64_t bytes;
};

void kr_cli_live_init(struct kr_cli_live *live, const struct kr_journal *journal);
void kr_cli_live_tick(struct kr_cli_live *live);
void kr_cli_live_clear(struct kr_cli_live *live);

#endif
