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
#define KR_JOURNAL_EXECUTIONS (UINT64_C(1) << 24) /* 40 bytes each, 640 MiB when all are used */
#define KR_JOURNAL_WINDOWS (UINT64_C(1) << 21)    /* 192 bytes each, 384 MiB when all are used */
#define KR_JOURNAL_NOTE_BYTES 128                 /* of notes for each window, 256 MiB in all */
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
	uint64_t dirty_bytes;       /* that the snapshot had to take anew */
	uint64_t peak_host_bytes;   /* most that snapshots of the process have held so far */
	uint64_t peak_device_bytes;
	uint64_t window_ns;
	/* where and when; 0 or "" when it is not known */
	uint64_t opened_ns;   /* of the HSA system clock: when the window was asked for */
	uint64_t snapshot_ns; /* lengths: of the snapshot, and of all restores */
	uint64_t restore_ns;
	uint64_t queue;
	uint32_t agent;       /* its node */
	uint32_t tier;        /* kreplay_tier_t */
	uint32_t flags;       /* KREPLAY_FLAG_* */
	char agent_name[24];  /* ends in NUL unless full */
	char reason[48];      /* of a decline; ends in NUL unless full */
};

/*
 * Something that a tool found out, of any size up to KR_JOURNAL_LONGEST_NOTE. With an end_ns it is a span of time, which
 * `text` names; otherwise `text` is one or more lines for people, and `data` a JSON object for programs. Both may be NULL.
 */
struct kr_journal_note {
	uint32_t kernel; /* KR_JOURNAL_OTHER: of none */
	uint32_t severity; /* kreplay_report_severity_t, or KR_JOURNAL_PROCESS */
	uint64_t dispatch_id; /* 0: of none */
	uint64_t pass;        /* UINT64_MAX: of none */
	uint64_t start_ns;
	uint64_t end_ns;
	const char *topic;
	const char *text;
	const char *data;
};

/* Not a tool's: says of the process that writes it what its program is (text) and its rank (pass). */
#define KR_JOURNAL_PROCESS 2

#define KR_JOURNAL_LONGEST_NOTE (UINT64_C(1) << 20)

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

/*
 * One dispatch of the application was seen, whatever becomes of it. Lane 0 is everybody's and costs an atomic add. From 1 to
 * KR_JOURNAL_LANES - 1 a lane is the caller's alone in its process, one call after the other, and costs a plain one.
 */
#define KR_JOURNAL_LANES 8
void kr_journal_dispatch(struct kr_journal *journal, uint32_t kernel, unsigned lane);

/*
 * One execution: a pass of a replay (total != 1), or a dispatch that ran once (pass 0 of 1). Times
 * that are no times (end before start, or both 0) are recorded as an execution of unknown length.
 */
void kr_journal_execution(struct kr_journal *journal, uint32_t kernel, uint64_t dispatch_id,
			  uint64_t pass, uint64_t total, uint64_t start_ns, uint64_t end_ns);

/* One dispatch for which CONFIG EXIT was delivered. */
void kr_journal_window(struct kr_journal *journal, const struct kr_journal_window *window);

/* False: it is too long, or found the journal full; either is counted. */
bool kr_journal_note(struct kr_journal *journal, const struct kr_journal_note *note);

/* Nothing is to be replayed any more: set by whoever gets the first Ctrl-C, seen by every process of the run. Safe in a
 * signal handler. Returns how often processes of the program had asked for it before; `launcher` is not counted. */
unsigned kr_journal_interrupt(struct kr_journal *journal, bool launcher);
bool kr_journal_interrupted(const struct kr_journal *journal);

/* What there is now, cheaply: for a line that shows how far a run is. */
struct kr_journal_progress {
	uint64_t windows;
	uint64_t executions;
	uint64_t bytes;    /* that crossed memory for snapshots and restores, of the windows read so far */
	uint64_t next;     /* window to read next; 0 at the first call */
	char kernel[256];  /* of the latest execution, "" when there is none */
	uint64_t pass;
};

void kr_journal_read_progress(const struct kr_journal *journal, struct kr_journal_progress *progress);

#endif
