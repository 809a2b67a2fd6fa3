/* SPDX-License-Identifier: MIT */
/* What goes into the report. Before kr_collector_start everything here does nothing. */
#ifndef KR_CORE_COLLECTOR_H
#define KR_CORE_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/replay.h"
#include "options/options.h"

/* Opens the launcher's journal, or one of our own. False: there is none, and nothing is collected (said in the log). */
bool kr_collector_start(const struct kr_options *options);

/* Whether anything is collected: one atomic load. */
bool kr_collector_active(void);

/* Row of a kernel, to be kept with the kernel; 0 when nothing is collected. */
uint32_t kr_collect_kernel(const char *name, const char *mangled);

/* One dispatch of the application was seen. For lanes see kr_journal_dispatch. */
void kr_collect_dispatch(uint32_t journal_kernel, unsigned lane);

/* One execution: a pass, or the only run of a dispatch (pass 0 of 1). */
void kr_collect_execution(uint32_t journal_kernel, uint64_t dispatch_id, uint64_t pass, uint64_t total,
			  uint64_t start_ns, uint64_t end_ns);

/* One dispatch for which CONFIG EXIT was delivered. */
void kr_collect_window(const struct kr_replay *r);

/* Whether the person at the terminal has had enough: nothing is to be replayed any more. One or two atomic loads. */
bool kr_collect_interrupted(void);

/*
 * The table on standard error and the files, unless a launcher makes them from its journal. Once per process, and
 * never in a forked child.
 */
void kr_collector_flush(void);

#endif
