/* SPDX-License-Identifier: MIT */
/* The report as programs read it: docs/report.md describes every field. */
#include <stdlib.h>
#include <string.h>

#include "json_check.h"
#include "report.h"
#include "text.h"

#define FORMAT 1

/* A string that holds any bytes: what is not well-formed UTF-8 becomes U+FFFD, one for each byte.
 */
static void add_string(struct kr_text *out, const char *string)
{
	size_t rest = strlen(string);

	kr_text_add(out, "\"");
	while (rest > 0) {
		size_t length = kr_utf8_length(string, rest);

		if (length == 0) {
			kr_text_add(out, "\\ufffd");
			length = 1;
		} else if (*string == '"' || *string == '\\') {
			kr_text_addf(out, "\\%c", *string);
		} else if (length == 1 && ((unsigned char)*string < ' ' || *string == 0x7f)) {
			kr_text_addf(out, "\\u%04x", (unsigned char)*string);
		} else {
			kr_text_add_bytes(out, string, length);
		}
		string += length;
		rest -= length;
	}
	kr_text_add(out, "\"");
}

static void add_count(struct kr_text *out, const char *name, uint64_t count)
{
	kr_text_addf(out, "\"%s\": %llu", name, (unsigned long long)count);
}

static void add_number(struct kr_text *out, const char *name, double value, unsigned decimals)
{
	char number[KR_TEXT_NUMBER];

	kr_text_addf(out, "\"%s\": %s", name, kr_format_fixed(number, value, decimals));
}

static void add_declines(struct kr_text *out, const struct kr_report_declines *declines)
{
	kr_text_add(out, "\"declined\": {");
	for (size_t i = 0; i < declines->count; i++) {
		if (i > 0)
			kr_text_add(out, ", ");
		add_string(out, declines->items[i].reason);
		kr_text_addf(out, ": %llu", (unsigned long long)declines->items[i].count);
	}
	kr_text_add(out, "}");
}

static void add_durations(struct kr_text *out, const struct kr_report_kernel *kernel)
{
	if (kernel->executions == 0) {
		kr_text_add(out, "\"duration_ns\": {\"min\": null, \"median\": null, \"max\": "
				 "null, \"mean\": null, "
				 "\"stddev\": null}");
		return;
	}
	kr_text_add(out, "\"duration_ns\": {");
	add_count(out, "min", kernel->min_ns);
	/* twice the median is a whole number, so this is exact */
	kr_text_addf(out, ", \"median\": %llu%s, ", (unsigned long long)(kernel->median2_ns / 2),
		     kernel->median2_ns % 2 ? ".5" : "");
	add_count(out, "max", kernel->max_ns);
	kr_text_add(out, ", ");
	add_number(out, "mean", kernel->mean_ns, 3);
	kr_text_add(out, ", ");
	add_number(out, "stddev", kernel->stddev_ns, 3);
	kr_text_add(out, "}");
}

/* Further figures; those that do not exist are null. */
static void add_optional(struct kr_text *out, const char *name, double value, bool exists)
{
	if (exists)
		add_number(out, name, value, 3);
	else
		kr_text_addf(out, "\"%s\": null", name);
}

static void add_timing(struct kr_text *out, const struct kr_report_kernel *kernel)
{
	bool timed = kernel->executions > 0, fenced = kernel->high_fence_ns > 0;

	kr_text_add(out, ",\n      \"timing\": {");
	add_count(out, "executions", kernel->executions);
	kr_text_add(out, ", ");
	add_optional(out, "q1_ns", kernel->q1_ns, timed);
	kr_text_add(out, ", ");
	add_optional(out, "q3_ns", kernel->q3_ns, timed);
	kr_text_add(out, ", ");
	if (timed && kernel->mean_ns > 0)
		add_number(out, "cv", kernel->stddev_ns / kernel->mean_ns, 6);
	else
		kr_text_add(out, "\"cv\": null");
	kr_text_add(out, ", ");
	add_optional(out, "first_pass_ns", kernel->first_ns, kernel->first_count > 0);
	kr_text_add(out, ", ");
	add_optional(out, "later_passes_ns", kernel->later_ns, kernel->later_ns > 0);
	kr_text_add(out, ", ");
	add_optional(out, "low_fence_ns", kernel->low_fence_ns, fenced);
	kr_text_add(out, ", ");
	add_optional(out, "high_fence_ns", kernel->high_fence_ns, fenced);
	kr_text_add(out, ", ");
	if (fenced)
		add_count(out, "outliers", kernel->outliers);
	else
		kr_text_add(out, "\"outliers\": null");
	kr_text_add(out, "}");
}

static void add_kernel(struct kr_text *out, const struct kr_report_kernel *kernel)
{
	kr_text_add(out, "    {\n      \"name\": ");
	add_string(out, kernel->name);
	kr_text_add(out, ",\n      \"mangled\": ");
	add_string(out, kernel->mangled);
	kr_text_add(out, ",\n      ");
	add_count(out, "dispatches", kernel->dispatches);
	kr_text_add(out, ",\n      ");
	add_count(out, "replayed", kernel->replayed);
	kr_text_add(out, ",\n      ");
	add_declines(out, &kernel->declined);
	kr_text_add(out, ",\n      ");
	add_count(out, "passes", kernel->passes);
	kr_text_add(out, ",\n      ");
	add_durations(out, kernel);
	add_timing(out, kernel);
	kr_text_add(out, "\n    }");
}

static void add_totals(struct kr_text *out, const struct kr_report *report)
{
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{ "dispatches", report->dispatches },
		{ "replayed", report->replayed },
		{ "declined", report->declined.total },
		{ "passes", report->passes },
		{ "snapshot_bytes", report->snapshot_bytes },
		{ "restored_bytes", report->restored_bytes },
		{ "host_link_bytes", report->host_link_bytes },
		{ "dirty_bytes", report->dirty_bytes },
		{ "peak_host_bytes", report->peak_host_bytes },
		{ "peak_device_bytes", report->peak_device_bytes },
	};

	kr_text_add(out, "  \"totals\": {\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		kr_text_add(out, "    ");
		add_count(out, counts[i].name, counts[i].count);
		kr_text_add(out, ",\n");
	}
	kr_text_add(out, "    ");
	add_number(out, "window_seconds", (double)report->window_ns / 1e9, 9);
	kr_text_add(out, "\n  }");
}

static void add_nullable(struct kr_text *out, const char *name, const char *string)
{
	kr_text_addf(out, "\"%s\": ", name);
	if (string)
		add_string(out, string);
	else
		kr_text_add(out, "null");
}

static void add_processes(struct kr_text *out, const struct kr_report *report)
{
	kr_text_add(out, "  \"processes\": [");
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kr_report_process *process = &report->processes[i];

		kr_text_add(out, i > 0 ? ",\n    {" : "\n    {");
		add_count(out, "pid", process->pid);
		kr_text_add(out, ", ");
		if (process->rank >= 0)
			add_count(out, "rank", (uint64_t)process->rank);
		else
			kr_text_add(out, "\"rank\": null");
		kr_text_add(out, ", ");
		add_nullable(out, "host", process->host);
		kr_text_add(out, ", ");
		add_nullable(out, "program", process->program);
		kr_text_add(out, "}");
	}
	kr_text_add(out, report->process_count > 0 ? "\n  ],\n" : "],\n");
}

/* One line an execution, without the names of the columns, which stand once before them. */
static void add_executions(struct kr_text *out, const struct kr_report *report)
{
	kr_text_add(out, "  \"executions\": {\n    \"columns\": [\"process\", \"kernel\", \"dispatch\", \"pass\", "
			 "\"replayed\", \"start_ns\", \"duration_ns\"],\n    \"rows\": [");
	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *one = &report->executions[i];

		kr_text_addf(out, "%s      [%lu, %lu, %llu, %llu, %s, ", i > 0 ? ",\n" : "\n",
			     (unsigned long)one->process, (unsigned long)one->kernel,
			     (unsigned long long)one->dispatch_id, (unsigned long long)one->pass,
			     one->is_pass ? "true" : "false");
		if (one->no_length)
			kr_text_add(out, "null, null]");
		else
			kr_text_addf(out, "%llu, %llu]", (unsigned long long)one->start_ns,
				     (unsigned long long)one->ns);
	}
	kr_text_add(out, report->execution_count > 0 ? "\n    ]\n  },\n" : "]\n  },\n");
}

static void add_window(struct kr_text *out, const struct kr_report_window *window)
{
	static const char *const outcomes[] = { "", "once", "replayed", "declined" };
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{ "process", window->process },
		{ "kernel", window->kernel },
		{ "dispatch", window->dispatch_id },
		{ "agent", window->agent },
		{ "queue", window->queue },
		{ "passes", window->passes },
		{ "regions", window->regions },
		{ "snapshot_bytes", window->snapshot_bytes },
		{ "restored_bytes", window->restored_bytes },
		{ "host_link_bytes", window->host_link_bytes },
		{ "dirty_bytes", window->dirty_bytes },
		{ "peak_host_bytes", window->peak_host_bytes },
		{ "peak_device_bytes", window->peak_device_bytes },
		{ "tier", window->tier },
		{ "flags", window->flags },
		{ "opened_ns", window->opened_ns },
		{ "window_ns", window->window_ns },
		{ "snapshot_ns", window->snapshot_ns },
		{ "restore_ns", window->restore_ns },
	};

	kr_text_addf(out, "    {\"outcome\": \"%s\", ", outcomes[window->outcome <= KR_REPORT_DECLINED ? window->outcome : 0]);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		add_count(out, counts[i].name, counts[i].count);
		kr_text_add(out, ", ");
	}
	add_nullable(out, "agent_name", window->agent_name);
	kr_text_add(out, ", ");
	add_nullable(out, "reason", window->reason[0] ? window->reason : NULL);
	kr_text_add(out, "}");
}

static void add_note(struct kr_text *out, const struct kr_report_note *note)
{
	kr_text_add(out, "    {");
	add_nullable(out, "topic", note->topic);
	kr_text_addf(out, ", \"severity\": \"%s\", ", note->severity == KR_REPORT_FINDING ? "finding" : "info");
	add_count(out, "process", note->process);
	kr_text_add(out, ", ");
	if (note->kernel == KR_REPORT_NONE)
		kr_text_add(out, "\"kernel\": null, ");
	else
		kr_text_addf(out, "\"kernel\": %lu, ", (unsigned long)note->kernel);
	if (note->dispatch_id == 0)
		kr_text_add(out, "\"dispatch\": null, ");
	else
		kr_text_addf(out, "\"dispatch\": %llu, ", (unsigned long long)note->dispatch_id);
	if (note->pass == UINT64_MAX)
		kr_text_add(out, "\"pass\": null, ");
	else
		kr_text_addf(out, "\"pass\": %llu, ", (unsigned long long)note->pass);
	if (note->end_ns)
		kr_text_addf(out, "\"start_ns\": %llu, \"end_ns\": %llu, ", (unsigned long long)note->start_ns,
			     (unsigned long long)note->end_ns);
	add_nullable(out, "text", note->text);
	/* it was found to be an object when the tool handed it in; what a torn mapping may hold is not believed */
	if (note->data && kr_json_is_object(note->data))
		kr_text_addf(out, ", \"data\": %s}", note->data);
	else
		kr_text_add(out, ", \"data\": null}");
}

static void add_all_details(struct kr_text *out, const struct kr_report *report)
{
	add_processes(out, report);
	add_executions(out, report);
	kr_text_add(out, "  \"windows\": [");
	for (size_t i = 0; i < report->window_count; i++) {
		kr_text_add(out, i > 0 ? ",\n" : "\n");
		add_window(out, &report->windows[i]);
	}
	kr_text_add(out, report->window_count > 0 ? "\n  ],\n" : "],\n");
	kr_text_add(out, "  \"notes\": [");
	for (size_t i = 0; i < report->note_count; i++) {
		kr_text_add(out, i > 0 ? ",\n" : "\n");
		add_note(out, &report->notes[i]);
	}
	kr_text_add(out, report->note_count > 0 ? "\n  ],\n" : "],\n");
}

char *kr_report_json(const struct kr_report *report, size_t *bytes)
{
	struct kr_text out = { 0 };

	kr_text_addf(&out, "{\n  \"format\": %d,\n  \"kernels\": [", FORMAT);
	for (size_t i = 0; i < report->kernel_count; i++) {
		kr_text_add(&out, i > 0 ? ",\n" : "\n");
		add_kernel(&out, &report->kernels[i]);
	}
	kr_text_add(&out, report->kernel_count > 0 ? "\n  ],\n" : "],\n");
	add_totals(&out, report);
	kr_text_add(&out, ",\n");
	add_all_details(&out, report);
	kr_text_add(&out, "  ");
	add_count(&out, "torn", report->torn);
	kr_text_add(&out, ",\n  ");
	add_count(&out, "dropped_notes", report->dropped_notes);
	kr_text_addf(&out, ",\n  \"interrupted\": %s,\n  ", report->interrupted ? "true" : "false");
	add_count(&out, "dropped", report->dropped);
	kr_text_add(&out, "\n}\n");
	return kr_text_take(&out, bytes);
}
