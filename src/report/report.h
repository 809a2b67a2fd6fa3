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
	/* What follows is summed up by kr_report_summarize. */
	uint64_t replayed;
	uint64_t once; /* a tool was asked and wanted a single run */
	struct kr_report_declines declined;
	uint64_t passes;
	uint64_t executions; /* whose length is known: the figures below are theirs */
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t median2_ns; /* twice the median: exact for an even number of executions too */
	double q1_ns, q3_ns; /* quartiles, interpolated between neighbours */
	double sum_ns;
	double mean_ns;
	double stddev_ns;  /* of the sample (n - 1); 0 for one execution */
	uint64_t first_count; /* first passes of a replay */
	double first_ns;      /* their mean; 0 when there is none */
	double later_ns;      /* median of the later passes; 0 when there is none */
	uint64_t outliers;    /* beyond the fences, from KR_REPORT_FENCED executions on */
	double low_fence_ns, high_fence_ns; /* 1.5 interquartile ranges outside the quartiles; both 0: none */
};

/* Outcomes, as in struct kr_journal_window, and the severity that fails a run. */
#define KR_REPORT_ONCE 1
#define KR_REPORT_REPLAYED 2
#define KR_REPORT_DECLINED 3
#define KR_REPORT_FINDING 1

#define KR_REPORT_FENCED 8
#define KR_REPORT_NONE UINT32_MAX

/* One process of the run, or of several runs that were put together. */
struct kr_report_process {
	uint32_t pid;
	int32_t rank; /* -1: not a process of a parallel program */
	char *host;
	char *program;
};

struct kr_report_execution {
	uint32_t kernel;
	uint32_t process;
	uint64_t dispatch_id;
	uint64_t pass;
	uint64_t start_ns;
	uint64_t ns;
	bool is_pass;   /* of a replay; otherwise the dispatch's only run */
	bool no_length; /* its times are not known */
};

struct kr_report_window {
	uint32_t kernel;
	uint32_t process;
	uint32_t outcome; /* as in struct kr_journal_window */
	uint32_t agent;
	uint32_t tier;
	uint32_t flags;
	uint64_t dispatch_id;
	uint64_t passes;
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t dirty_bytes;
	uint64_t peak_host_bytes; /* of the process, so far */
	uint64_t peak_device_bytes;
	uint64_t opened_ns;
	uint64_t window_ns;
	uint64_t snapshot_ns;
	uint64_t restore_ns;
	uint64_t queue;
	char agent_name[25];
	char reason[49];
};

/* What a tool found out, or a span of time when end_ns is not 0. */
struct kr_report_note {
	uint32_t kernel; /* KR_REPORT_NONE: of none */
	uint32_t process;
	uint32_t severity; /* kreplay_report_severity_t */
	uint64_t dispatch_id;
	uint64_t pass; /* UINT64_MAX: of none */
	uint64_t start_ns;
	uint64_t end_ns;
	char *topic;
	char *text; /* NULL: none */
	char *data; /* a JSON object; NULL: none */
};

struct kr_report {
	struct kr_report_kernel *kernels; /* by total time, longest first; then by name */
	size_t kernel_count;
	struct kr_report_process *processes; /* by pid */
	size_t process_count;
	struct kr_report_execution *executions; /* in the order in which they were written down */
	size_t execution_count;
	struct kr_report_window *windows;
	size_t window_count;
	struct kr_report_note *notes;
	size_t note_count;
	uint64_t dropped;       /* records that found the journal full */
	uint64_t dropped_notes; /* the same for what tools wrote */
	uint64_t torn;          /* records that a killed process left unfinished */
	bool interrupted;       /* replaying was stopped by Ctrl-C */

	/* What follows is summed up by kr_report_summarize. */
	struct kr_report_declines declined;
	uint64_t dispatches;
	uint64_t replayed;
	uint64_t passes;
	uint64_t regions;
	uint64_t snapshot_bytes;
	uint64_t restored_bytes;
	uint64_t host_link_bytes;
	uint64_t dirty_bytes;
	uint64_t peak_host_bytes; /* of the process that held most */
	uint64_t peak_device_bytes;
	uint64_t window_ns;
	uint64_t findings; /* notes of that severity */
};

/* Reads what the journal holds now; others may go on writing. NULL: no memory. */
struct kr_report *kr_report_build(struct kr_journal *journal);
void kr_report_free(struct kr_report *report);

/* Says of every process of which it is not known yet where and what it was. False: no memory. */
bool kr_report_name_processes(struct kr_report *report, const char *host, const char *program, int32_t rank);

/*
 * For whoever fills a report by hand: kernels with names and dispatches, processes, executions, windows and notes; then
 * this makes kernels of the same names one, drops those of which nothing is known, sums up, and sorts. False: no memory.
 */
bool kr_report_summarize(struct kr_report *report);

/* Adds `other` to `report`, as if its processes had been of the same run, and summarizes. False: no memory. */
bool kr_report_merge(struct kr_report *report, const struct kr_report *other);

/* A new element at the end of an array of `size` bytes an element, zeroed; NULL: no memory. Grows by doubling, so *count
 * elements may stand in more room than that. */
void *kr_report_append(void **array, size_t *count, size_t size);

/* How a table is to look. */
struct kr_report_look {
	unsigned width; /* columns; 0: not a terminal */
	bool colour;
	bool timing;     /* with a second table: quartiles, first and later passes, outliers */
	bool dispatches; /* with a third: the same for every dispatch that was replayed */
};

struct kr_text;
void kr_report_add_timing(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look);
void kr_report_add_dispatches(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look);
/* What tools found out, as lines. */
void kr_report_add_notes(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look);

/* The table. Long names are cut to the terminal's width when fd is one. Write errors are ignored.
 */
void kr_report_print(const struct kr_report *report, int fd);

/* The same with a given width (0: not a terminal), as a new string; for tests. */
char *kr_report_format(const struct kr_report *report, unsigned width);
char *kr_report_format_look(const struct kr_report *report, const struct kr_report_look *look);
/* The look for a descriptor: the width of its terminal if it is one, and colour then unless NO_COLOR is set. */
struct kr_report_look kr_report_look_of(int fd);
void kr_report_print_look(const struct kr_report *report, int fd, const struct kr_report_look *look);
/* docs/report.schema.json describes it. */
char *kr_report_json(const struct kr_report *report, size_t *bytes);

/* Replaces the file at path whole (a temporary file beside it, then a rename). False: errno is set,
 * nothing changed. */
bool kr_report_write_json(const struct kr_report *report, const char *path);
/* The same for any bytes. */
bool kr_report_write_file(const char *path, const char *bytes, size_t count);

/*
 * Whether kr_report_write_json(path) would succeed now, without touching a file that is there.
 * False: `error` says why, without the path.
 */
bool kr_report_check_output(const char *path, char *error, size_t error_size);

#endif
