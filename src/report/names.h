/* SPDX-License-Identifier: MIT */
/* Where a report goes: kinds by suffix, patterns in names, folders that are made. */
#ifndef KR_REPORT_NAMES_H
#define KR_REPORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum kr_report_kind {
	KR_REPORT_JSON,
	KR_REPORT_CSV,
	KR_REPORT_HTML,
	KR_REPORT_PERFETTO,
	KR_REPORT_UNKNOWN,
};

/* By the end of the name: ".perfetto.json", ".json", ".csv", ".html"; JSON too for a name without a suffix. */
enum kr_report_kind kr_report_kind_of(const char *path);

/* This process's rank in its parallel program, -1: none. From the variables of Open MPI, MPICH (PMI), Slurm and torchrun. */
int32_t kr_report_rank(void);

/*
 * The name with %p (process id), %h (host), %r (rank, 0 without one), %n (program) and %% replaced; what stands in a
 * program's or host's name and could lead into another folder becomes '_'. NULL: no memory.
 */
char *kr_report_expand(const char *pattern, const char *program);

/* Makes the folders above the file that are missing. False: errno is set. */
bool kr_report_make_folders(const char *path);

#endif
