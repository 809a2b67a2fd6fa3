/* SPDX-License-Identifier: MIT */
#include "reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report/names.h"

/* What a page can hold and still move. The figures on it are of everything. */
#define PAGE_EXECUTIONS 200000
#define PAGE_WINDOWS 20000
#define PAGE_NOTES 100000

static int compare_windows(const void *left, const void *right)
{
	const struct kr_report_window *a = *(const struct kr_report_window *const *)left,
				      *b = *(const struct kr_report_window *const *)right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->dispatch_id < b->dispatch_id ? -1 : a->dispatch_id > b->dispatch_id;
}

bool kr_cli_windows_init(struct kr_cli_windows *windows, const struct kr_report *report)
{
	windows->count = report->window_count;
	windows->sorted = calloc(report->window_count + 1, sizeof(*windows->sorted));
	if (!windows->sorted)
		return false;
	for (size_t i = 0; i < report->window_count; i++)
		windows->sorted[i] = &report->windows[i];
	qsort(windows->sorted, windows->count, sizeof(*windows->sorted), compare_windows);
	return true;
}

const struct kr_report_window *kr_cli_window_of(const struct kr_cli_windows *windows, uint32_t process,
						uint64_t dispatch_id)
{
	const struct kr_report_window key = { .process = process, .dispatch_id = dispatch_id }, *wanted = &key;
	const struct kr_report_window **found =
		bsearch(&wanted, windows->sorted, windows->count, sizeof(*windows->sorted), compare_windows);

	return found ? *found : NULL;
}

void kr_cli_windows_finish(struct kr_cli_windows *windows)
{
	free(windows->sorted);
	*windows = (struct kr_cli_windows){ 0 };
}

/* --- CSV (RFC 4180, line feeds) --- */

/* What is no UTF-8 becomes U+FFFD, as in the JSON. */
static void add_field(struct kr_text *out, const char *text)
{
	size_t rest = text ? strlen(text) : 0;
	bool quoted = text && strpbrk(text, ",\"\r\n");

	kr_text_add(out, quoted ? "\"" : "");
	while (rest > 0) {
		size_t length = kr_utf8_length(text, rest);

		if (length == 0)
			kr_text_add(out, "\xef\xbf\xbd");
		else if (*text == '"')
			kr_text_add(out, "\"\"");
		else
			kr_text_add_bytes(out, text, length);
		length = length ? length : 1;
		text += length;
		rest -= length;
	}
	kr_text_add(out, quoted ? "\"" : "");
}

static void add_csv_row(struct kr_text *out, const struct kr_report *report,
			const struct kr_report_execution *execution, const struct kr_report_window *window)
{
	const struct kr_report_process *process = &report->processes[execution->process];
	const struct kr_report_kernel *kernel = &report->kernels[execution->kernel];

	add_field(out, process->host);
	if (process->rank >= 0)
		kr_text_addf(out, ",%d,", (int)process->rank);
	else
		kr_text_add(out, ",,");
	kr_text_addf(out, "%lu,", (unsigned long)process->pid);
	add_field(out, process->program);
	kr_text_add(out, ",");
	add_field(out, kernel->name);
	kr_text_add(out, ",");
	add_field(out, kernel->mangled);
	kr_text_addf(out, ",%llu,%llu,%d,", (unsigned long long)execution->dispatch_id,
		     (unsigned long long)execution->pass, execution->is_pass);
	if (window)
		kr_text_addf(out, "%lu,%llu,", (unsigned long)window->agent, (unsigned long long)window->queue);
	else
		kr_text_add(out, ",,");
	if (execution->no_length)
		kr_text_add(out, ",\n");
	else
		kr_text_addf(out, "%llu,%llu\n", (unsigned long long)execution->start_ns,
			     (unsigned long long)execution->ns);
}

void kr_cli_csv(struct kr_text *out, const struct kr_report *report)
{
	struct kr_cli_windows windows;

	if (!kr_cli_windows_init(&windows, report)) {
		out->failed = true;
		return;
	}
	kr_text_add(out, "host,rank,pid,program,kernel,mangled,dispatch,pass,replayed,agent,queue,start_ns,duration_ns\n");
	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *execution = &report->executions[i];

		add_csv_row(out, report, execution,
			    kr_cli_window_of(&windows, execution->process, execution->dispatch_id));
	}
	kr_cli_windows_finish(&windows);
}

/* --- HTML --- */

extern const char kr_cli_page[];

/* JSON in which no '<' can end the script element; it only ever stands in strings. */
static void add_for_page(struct kr_text *out, const char *json)
{
	while (*json) {
		size_t span = strcspn(json, "<");

		kr_text_add_bytes(out, json, span);
		json += span;
		if (*json == '<') {
			kr_text_add(out, "\\u003c");
			json++;
		}
	}
}

void kr_cli_html(struct kr_text *out, const struct kr_report *report)
{
	static const char mark[] = "@DATA@";
	const char *at = strstr(kr_cli_page, mark);
	struct kr_report page = *report;
	char *json;

	if (page.execution_count > PAGE_EXECUTIONS)
		page.execution_count = PAGE_EXECUTIONS;
	if (page.window_count > PAGE_WINDOWS)
		page.window_count = PAGE_WINDOWS;
	if (page.note_count > PAGE_NOTES)
		page.note_count = PAGE_NOTES;
	json = kr_report_json(&page, NULL);
	if (!json || !at) {
		out->failed = true;
		free(json);
		return;
	}
	kr_text_add_bytes(out, kr_cli_page, (size_t)(at - kr_cli_page));
	if (page.execution_count < report->execution_count || page.window_count < report->window_count)
		kr_text_addf(out, "{\"trimmed\": {\"executions\": %zu, \"windows\": %zu},", report->execution_count,
			     report->window_count);
	else
		kr_text_add(out, "{");
	add_for_page(out, json + 1);
	kr_text_add(out, at + strlen(mark));
	free(json);
}

/* --- files --- */

bool kr_cli_known_kind(const char *path)
{
	if (kr_report_kind_of(path) != KR_REPORT_UNKNOWN)
		return true;
	kr_cli_say("cannot write '%s': the suffix is none of .json, .csv, .html and .perfetto.json", path);
	return false;
}

bool kr_cli_write_report(const struct kr_report *report, const char *path)
{
	struct kr_text out = { 0 };
	bool done;

	switch (kr_report_kind_of(path)) {
	case KR_REPORT_UNKNOWN:
		return kr_cli_known_kind(path);
	case KR_REPORT_CSV:
		kr_cli_csv(&out, report);
		break;
	case KR_REPORT_HTML:
		kr_cli_html(&out, report);
		break;
	case KR_REPORT_PERFETTO:
		kr_cli_perfetto(&out, report);
		break;
	case KR_REPORT_JSON: {
		size_t bytes;
		char *json = kr_report_json(report, &bytes);

		out = (struct kr_text){ .data = json, .length = json ? bytes : 0, .failed = !json };
		break;
	}
	}
	errno = ENOMEM;
	done = !out.failed && out.data && kr_report_make_folders(path) &&
	       kr_report_write_file(path, out.data, out.length);
	if (!done)
		kr_cli_say("cannot write '%s': %s", path, strerror(errno));
	kr_text_finish(&out);
	return done;
}
