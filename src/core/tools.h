/* SPDX-License-Identifier: MIT */
/* The tool host: finds tools, has them configure themselves, ends them. */
#ifndef KR_CORE_TOOLS_H
#define KR_CORE_TOOLS_H

#include <stdbool.h>

struct kr_tools_options {
	const char *tool_paths; /* separated by colons, or NULL */
	bool builtin_driver;    /* add the built-in driver when no tool drives */
};

/*
 * Loads the tools of tool_paths in order, then those that the application or a preloaded library exports, then the
 * built-in driver; after that the configuration is locked. True when at least one takes part. What does not load is one
 * line in the log, and the program goes on. Once per process: a later call only says what the first one found.
 * Calls tools' functions and dlopen: no lock held.
 */
bool kr_tools_load(const struct kr_tools_options *o);

/*
 * Ends every tool: stops its contexts, waits a bounded time for what is being delivered to it, calls its finalize. Later
 * calls do nothing.
 */
void kr_tools_finalize(void);

/* Ends the built-in driver, which unlike tools outlives a hsa_shut_down: a program may bring HSA up once more. */
void kr_tools_end_driver(void);

/* Whether kreplay_configure can be found in the process without loading anything. */
bool kr_tools_exported(void);

#endif
