/* SPDX-License-Identifier: MIT */
/* Reports as files of every kind, and back. */
#ifndef KR_CLI_REPORTS_H
#define KR_CLI_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "options/options.h"
#include "report/report.h"
#include "report/text.h"

/* Each kind as text; out->failed when there was no memory. */
void kr_cli_csv(struct kr_text *out, const struct kr_report *report);
void kr_cli_html(struct kr_text *out, const struct kr_report *report);
void kr_cli_perfetto(struct kr_text *out, const struct kr_report *report);

/* Whether the path's suffix is one of a report, or there is none, which means JSON; says so when not. */
bool kr_cli_known_kind(const char *path);
/* Writes the kind that the path's suffix asks for; folders that are missing are made. False: said why. */
bool kr_cli_write_report(const struct kr_report *report, const char *path);

/* Reads a JSON report. NULL: said why. */
struct kr_report *kr_cli_read_report(const char *path);

/* After the table: why -k or --dispatch has chosen nothing, if it has. */
void kr_cli_say_unchosen(const struct kr_options *options, const struct kr_report *report);
/* Whether the passes of any dispatch were compared; says so when not. */
bool kr_cli_compared(const struct kr_report *report);

/* A change between two reports, kernel by kernel. */
void kr_cli_diff(struct kr_text *out, const struct kr_report *base, const struct kr_report *report,
		 const struct kr_report_look *look);

/* Windows by dispatch. */
struct kr_cli_windows {
	const struct kr_report_window **sorted;
	size_t count;
};

bool kr_cli_windows_init(struct kr_cli_windows *windows, const struct kr_report *report);
const struct kr_report_window *kr_cli_window_of(const struct kr_cli_windows *windows, uint32_t process,
						uint64_t dispatch_id);
void kr_cli_windows_finish(struct kr_cli_windows *windows);

/* A JSON string, quotes included, of any bytes. */
void kr_cli_add_json_string(struct kr_text *out, const char *string);

#endif
