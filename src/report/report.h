/* SPDX-License-Identifier: MIT */
/* A journal, summed up: for the table on standard error and for the JSON file (docs/report.md). */
#ifndef KR_REPORT_REPORT_H
#define KR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal.h"

struct kr_report_decline {
	char reason[49];
	uint64_t count;
};

struct kr_report_declines {
	struct kr_report_decline *items; /* sorted by reason */
	size_t count;
	uint64_t total;
};

struct kr_report_kernel {
	char *name;
	char *mangled;
	uint64_t dispatches;
	uint64_t replayed;
	uint64_t once; /* a tool was asked and wanted a single run */
	struct kr_report_declines declined;
	uint64_t passes;
	uint64_t executions; /* whose length is known: the figures below are theirs */
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t median2_ns; /* twice the median: exact for an even number of executions too */
	double sum_ns;
	double mean_ns;
	double stddev_ns; /* of the sample (n - 1); 0 for one execution */
};

struct kr_report {
	struct kr_report_kernel *kernels; /* by total time, longest first; then by name */
	size_t kernel_count;
	struct kr_report_declines declined;
	uint64_t dispatches;
	uint64_t replayed;
	uint64_t passes;
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t window_ns;
	uint64_t dropped; /* records that found the journal full */
	uint64_t torn;    /* records that a killed process left unfinished */
};

/* Reads what the journal holds now; others may go on writing. NULL: no memory. */
struct kr_report *kr_report_build(struct kr_journal *journal);
void kr_report_free(struct kr_report *report);

/* The table. Long names are cut to the terminal's width when fd is one. Write errors are ignored.
 */
void kr_report_print(const struct kr_report *report, int fd);

/* The same with a given width (0: not a terminal), as a new string; for tests. */
char *kr_report_format(const struct kr_report *report, unsigned width);
char *kr_report_json(const struct kr_report *report, size_t *bytes);

/* Replaces the file at path whole (a temporary file beside it, then a rename). False: errno is set,
 * nothing changed. */
bool kr_report_write_json(const struct kr_report *report, const char *path);

/*
 * Whether kr_report_write_json(path) would succeed now, without touching a file that is there.
 * False: `error` says why, without the path.
 */
bool kr_report_check_output(const char *path, char *error, size_t error_size);

#endif
