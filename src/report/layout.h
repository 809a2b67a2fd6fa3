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
#define KR_JOURNAL_VERSION 1
#define KR_JOURNAL_NAMES (UINT64_C(1) << 25)
#define KR_JOURNAL_LONGEST_NAME 65536

/* The counters that many threads add to have a cache line each. */
struct kr_journal_header {
	uint64_t magic;
	uint64_t version;
	uint64_t execution_room;
	uint64_t window_room;
	uint64_t bytes;
	uint64_t reserved[3];
	/* bytes and records handed out; more than there is room for means that so many were dropped
	 */
	_Alignas(64) _Atomic uint64_t names_used;
	_Alignas(64) _Atomic uint64_t windows_used;
	_Alignas(64) _Atomic uint64_t executions_used;
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
	_Alignas(64) _Atomic uint64_t dispatches;
};

/* The commit word of both kinds of record holds the kernel's row + 1 in its low half; 0: not
 * written, or not yet. */
struct kr_journal_window_record {
	_Alignas(128) _Atomic uint64_t commit; /* high half: the outcome */
	uint64_t dispatch_id;
	uint64_t passes;
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t window_ns;
	char reason[48];
};

#define KR_JOURNAL_IS_PASS (UINT64_C(1) << 32)
#define KR_JOURNAL_NO_LENGTH (UINT64_C(1) << 33)

struct kr_journal_execution_record {
	_Alignas(16) _Atomic uint64_t commit; /* high half: the bits above */
	uint64_t ns;
};

_Static_assert(sizeof(struct kr_journal_header) == 256, "header");
_Static_assert(sizeof(struct kr_journal_row) == 128, "row");
_Static_assert(sizeof(struct kr_journal_window_record) == 128, "window record");
_Static_assert(sizeof(struct kr_journal_execution_record) == 16, "execution record");

/* This process's view. Sizes are kept here, out of reach of whoever else writes to the mapping. */
struct kr_journal {
	struct kr_journal_header *header;
	struct kr_journal_row *rows; /* KR_JOURNAL_KERNELS */
	char *names;
	struct kr_journal_window_record *windows;
	struct kr_journal_execution_record *executions;
	uint64_t execution_room;
	uint64_t window_room;
	uint64_t bytes;
	int fd;
	pid_t owner;
};

#endif
