/* SPDX-License-Identifier: MIT */
/* How a journal lies in memory: for the writer, the reader and their tests only. */
#ifndef KR_REPORT_LAYOUT_H
#define KR_REPORT_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "journal.h"

#define KR_JOURNAL_MAGIC UINT64_C(0x6c6e6a2079616c70) /* "play jnl" */
#define KR_JOURNAL_VERSION 3
#define KR_JOURNAL_NAMES (UINT64_C(1) << 25)
#define KR_JOURNAL_LONGEST_NAME 65536

/* The counters that many threads add to have a cache line each. */
struct kr_journal_header {
	uint64_t magic;
	uint64_t version;
	uint64_t execution_room;
	uint64_t window_room;
	uint64_t bytes;
	_Atomic uint64_t interrupts;
	uint64_t reserved[2];
	/* bytes and records handed out; more than there is room for means that so many were dropped
	 */
	_Alignas(64) _Atomic uint64_t names_used;
	_Alignas(64) _Atomic uint64_t windows_used;
	_Alignas(64) _Atomic uint64_t executions_used;
	_Alignas(128) _Atomic uint64_t notes_used; /* bytes */
	_Atomic uint64_t notes_dropped;
};

/* A row's first word: 0 free, else the process that owns it and whether the rest of the row stands.
 */
#define KR_JOURNAL_CLAIM(pid, ready) ((uint64_t)(uint32_t)(pid) << 1 | (uint64_t)(ready))
#define KR_JOURNAL_READY(claim) (((claim)&1) != 0)

struct kr_journal_row {
	_Alignas(128) _Atomic uint64_t claim;
	uint64_t hash;
	uint64_t name_at; /* into the names */
	uint64_t mangled_at;
	uint32_t name_bytes;
	uint32_t mangled_bytes;
	_Alignas(64) _Atomic uint64_t dispatches[KR_JOURNAL_LANES]; /* their sum counts */
};

/* The commit word of both kinds of record holds the kernel's row + 1 in its low half; 0: not
 * written, or not yet. */
struct kr_journal_window_record {
	_Alignas(64) _Atomic uint64_t commit; /* high half: the outcome */
	uint64_t dispatch_id;
	uint64_t passes;
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t dirty_bytes;
	uint64_t peak_host_bytes;
	uint64_t peak_device_bytes;
	uint64_t window_ns;
	uint64_t opened_ns;
	uint64_t snapshot_ns;
	uint64_t restore_ns;
	uint64_t queue;
	uint32_t pid;
	uint32_t agent;
	uint32_t tier;
	uint32_t flags;
	char agent_name[24];
	char reason[48];
};

#define KR_JOURNAL_IS_PASS (UINT64_C(1) << 32)
#define KR_JOURNAL_NO_LENGTH (UINT64_C(1) << 33)
#define KR_JOURNAL_PID_SHIFT 34 /* a pid has at most 22 bits */

struct kr_journal_execution_record {
	_Atomic uint64_t commit; /* high half: the bits above */
	uint64_t start_ns;
	uint64_t ns;
	uint64_t dispatch_id;
	uint64_t pass;
};

/*
 * A note begins at a multiple of its own size and takes as many of those as its strings need. The claim is stored before
 * anything else, so that a note that was left unfinished can be passed over; one whose claim is missing reads as zeros, and
 * reading goes on at the next multiple. The strings follow without separators: topic, text, data.
 */
struct kr_journal_note_record {
	_Alignas(64) _Atomic uint64_t claim; /* KR_JOURNAL_NOTE_MAGIC << 32 | bytes in all */
	_Atomic uint64_t commit;             /* low half: row + 1; high half: pid */
	uint64_t dispatch_id;
	uint64_t pass;
	uint64_t start_ns;
	uint64_t end_ns;
	uint16_t severity;
	uint16_t topic_bytes;
	uint32_t text_bytes; /* + 1; 0: none */
	uint32_t data_bytes; /* + 1; 0: none */
	uint32_t reserved;
};

#define KR_JOURNAL_NOTE_MAGIC UINT64_C(0x65746f6e) /* "note" */

_Static_assert(sizeof(struct kr_journal_header) == 384, "header");
_Static_assert(sizeof(struct kr_journal_row) == 128, "row");
_Static_assert(sizeof(struct kr_journal_window_record) == 256, "window record");
_Static_assert(sizeof(struct kr_journal_execution_record) == 40, "execution record");
_Static_assert(sizeof(struct kr_journal_note_record) == 64, "note record");

/* This process's view. Sizes are kept here, out of reach of whoever else writes to the mapping. */
struct kr_journal {
	struct kr_journal_header *header;
	struct kr_journal_row *rows; /* KR_JOURNAL_KERNELS */
	char *names;
	struct kr_journal_window_record *windows;
	char *notes;
	struct kr_journal_execution_record *executions;
	uint64_t note_room; /* bytes */
	uint64_t execution_room;
	uint64_t window_room;
	uint64_t bytes;
	int fd;
	pid_t owner;
};

#endif
