/* SPDX-License-Identifier: MIT */
/*
 * What happened, written down as it happens: a mapping with a fixed capacity, sparse, to which any
 * thread appends without a lock. Under `kreplay run` it is the launcher's memory, shared by every
 * process of the run, so that a program which dies of any signal leaves a whole report. A record
 * counts from the moment its first word is stored, which is done last: one that a killed process
 * left half-written is passed over.
 */
#ifndef KR_REPORT_JOURNAL_H
#define KR_REPORT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Capacities of a journal at its full size; a machine that cannot map it gets a smaller one. */
#define KR_JOURNAL_EXECUTIONS (UINT64_C(1) << 25) /* 16 bytes each, 512 MiB when all are used */
#define KR_JOURNAL_WINDOWS (UINT64_C(1) << 21)    /* 128 bytes each, 256 MiB when all are used */
#define KR_JOURNAL_KERNELS 65536                  /* 128 bytes each, and 32 MiB of names */

/* The row to which everything goes that found no row of its own (too many kernels). */
#define KR_JOURNAL_OTHER 0

struct kr_journal;

struct kr_journal_window {
	uint32_t kernel;
	uint32_t outcome; /* 1 run once, 2 replayed, 3 declined: the values of kreplay_outcome_t */
	uint64_t dispatch_id;
	uint64_t passes; /* that ran, whatever the outcome */
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t window_ns;
	char reason[48]; /* of a decline; ends in NUL unless full */
};

/*
 * path NULL: a journal of this process alone. Otherwise the launcher's, named by KREPLAY_JOURNAL.
 * NULL with errno set when there is no memory, or when the path does not lead to a journal (ENOENT
 * when the launcher has gone, EINVAL when it is something else): the caller may then fall back to
 * one of its own.
 */
struct kr_journal *kr_journal_open(const char *path);

/*
 * A journal that others can open through its descriptor, -1 when there is none: the launcher's.
 * Capacities of 0 mean the full size.
 */
struct kr_journal *kr_journal_create_shared(uint64_t executions, uint64_t windows);
int kr_journal_fd(const struct kr_journal *journal);
void kr_journal_close(struct kr_journal *journal);

/* False in a child of the process that opened the journal: it must not print the parent's report.
 */
bool kr_journal_is_owner(const struct kr_journal *journal);

/*
 * The row of a kernel, the same for the same two names in one process. Names may be any bytes, are
 * cut at 64 KiB, and `mangled` may be NULL (then it equals `name`). Never fails: see
 * KR_JOURNAL_OTHER.
 */
uint32_t kr_journal_kernel(struct kr_journal *journal, const char *name, const char *mangled);

/* One dispatch of the application was seen, whatever becomes of it: one relaxed atomic add. */
void kr_journal_dispatch(struct kr_journal *journal, uint32_t kernel);

/*
 * One execution: a pass of a replay (total != 1), or a dispatch that ran once (pass 0 of 1). Times
 * that are no times (end before start, or both 0) are recorded as an execution of unknown length.
 */
void kr_journal_execution(struct kr_journal *journal, uint32_t kernel, uint64_t dispatch_id,
			  uint64_t pass, uint64_t total, uint64_t start_ns, uint64_t end_ns);

/* One dispatch for which CONFIG EXIT was delivered. */
void kr_journal_window(struct kr_journal *journal, const struct kr_journal_window *window);

#endif
