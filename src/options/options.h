/* SPDX-License-Identifier: MIT */
/* The options of options.def: their table, their parsed values, and how they come out of the
 * environment. */
#ifndef KR_OPTIONS_OPTIONS_H
#define KR_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranges.h"

enum kr_option_id {
#define KR_OPTION(id, env, flag, letter, type, fallback, scope, metavar, help) KR_OPTION_##id,
#include "options.def"
#undef KR_OPTION
	KR_OPTION_COUNT
};

enum kr_option_type {
	KR_TYPE_NUMBER,   /* decimal, 1 or more */
	KR_TYPE_PATTERNS, /* extended regular expressions, one a line */
	KR_TYPE_RANGES,   /* see ranges.h */
	KR_TYPE_PATHS,    /* separated by colons */
	KR_TYPE_FILES,    /* names of reports, one a line */
	KR_TYPE_PATH,
	KR_TYPE_UNTIL, /* cv=PERCENT */
	KR_TYPE_CHECK, /* nothing, or "fail"; in the environment 1 or "fail" */
	KR_TYPE_DOOR,  /* preload or tools-lib */
	KR_TYPE_SPEC,  /* free text, may be empty or left out */
	KR_TYPE_LEVEL, /* error, warn, info, debug */
	KR_TYPE_SECONDS,
	KR_TYPE_BUDGET, /* bytes with a suffix, or a percentage */
	KR_TYPE_SNAPSHOT, /* auto, device, host or full */
	KR_TYPE_CHUNK,    /* bytes with a suffix, a power of two */
	KR_TYPE_EXTENT,   /* all or kernargs */
	KR_TYPE_SWITCH, /* 0 or 1 */
};

enum kr_option_scope {
	KR_SCOPE_RUN,
	KR_SCOPE_TUNE,
	KR_SCOPE_LAUNCH,
	KR_SCOPE_INTERNAL,
	KR_SCOPE_TEST
};

struct kr_option {
	enum kr_option_id id;
	const char *env;
	const char *flag; /* without the dashes; NULL: no flag */
	char letter;      /* 0: none */
	enum kr_option_type type;
	const char *fallback; /* the default as text, NULL: none */
	enum kr_option_scope scope;
	const char *metavar;
	const char *help;
};

/* KR_OPTION_COUNT rows, indexed by id. */
extern const struct kr_option kr_option_table[];

enum kr_door { KR_DOOR_PRELOAD, KR_DOOR_TOOLS_LIB };

enum kr_snapshot_mode {
	KR_SNAPSHOT_AUTO,
	KR_SNAPSHOT_DEVICE,
	KR_SNAPSHOT_HOST,
	KR_SNAPSHOT_FULL
};

/* A share of what is available when percent is not 0, else a number of bytes. */
struct kr_budget {
	uint64_t bytes;
	unsigned percent;
};

/* A topic of the log that has a level of its own. */
#define KR_LOG_TOPICS 8
struct kr_log_topic {
	char name[16];
	int level;
};

struct kr_options {
	bool active; /* one of the options that make a preloaded library active is set, and all are
			valid */
	bool valid;  /* every value that is set could be understood */
	uint64_t passes;
	bool passes_set;
	unsigned until_cv_millionths; /* 0: a fixed number of passes */
	bool check;                   /* load the determinism tool */
	bool check_fail;              /* and fail for what it finds */
	bool writes;                  /* load the writes tool */
	char **kernels; /* extended regular expressions, each of which compiles; none: every kernel
			 */
	size_t kernel_count;
	struct kr_ranges dispatches;
	char *tool;    /* colon-separated, or NULL */
	char *output;  /* absolute names, one a line; or NULL */
	char *journal; /* the launcher's journal, or NULL: make one of our own */
	enum kr_door door;
	bool softgpu;
	char *softgpu_spec; /* "" when asked for without one; NULL when not asked for */
	unsigned drain_timeout_s;
	struct kr_budget budget;
	enum kr_snapshot_mode snapshot_mode;
	uint64_t chunk_bytes;
	bool scope_kernargs; /* save only what the kernel's arguments point into */
	bool verify_scope;   /* and watch the rest */
	bool decline_visible; /* the built-in driver: no passes that are seen outside */
	int log_level; /* enum kr_level of core/log.h: 0 error, 1 warn, 2 info, 3 debug */
	struct kr_log_topic log_topics[KR_LOG_TOPICS]; /* up to the first without a name */
	bool test_no_restore;
};

/* Defaults, nothing set, valid. */
void kr_options_init(struct kr_options *options);
void kr_options_finish(struct kr_options *options);

/*
 * Sets one option from its text. False: `error` says what is wrong with the value, without naming
 * where it came from, and the option keeps what it had.
 */
bool kr_option_set(struct kr_options *options, enum kr_option_id id, const char *value, char *error,
		   size_t error_size);

/*
 * Initialises `options` from variables that `get` (shaped like getenv) returns. False: `error` is a
 * whole line without a prefix ("KREPLAY_PASSES: 'x' is not ..."), options->valid and ->active are
 * false, and the rest is at its defaults or parsed; finish it either way.
 */
bool kr_options_parse(struct kr_options *options, char *(*get)(const char *name), char *error,
		      size_t error_size);

/*
 * The process's own options, parsed at the first call; any thread. When a value is wrong, that call
 * writes one line to standard error, and the result is neither valid nor active: the library must
 * then stay inert. Lives for ever.
 */
const struct kr_options *kr_options_get(void);

/* What the budget allows when `available` bytes are to be had. */
uint64_t kr_budget_bytes(struct kr_budget budget, uint64_t available);

#endif
