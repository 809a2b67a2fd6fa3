/* SPDX-License-Identifier: MIT */
/* What stands below the table: times in detail, and what tools found out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "report.h"

/* Notes of one topic and one kernel that are shown; the files have them all. */
#define SHOWN_ALIKE 4
#define DISPATCHES_SHOWN 1000

static const char *const timing_headings[] = { "q1", "median", "q3", "mean", "first", "later", "outliers" };

void kr_report_add_timing(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look)
{
	struct kr_grid grid = {
		.name_heading = "timing",
		.headings = timing_headings,
		.figures = sizeof(timing_headings) / sizeof(timing_headings[0]),
		.dropped = "3165", /* mean, the median that the first table has, outliers, later */
	};

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kr_report_kernel *kernel = &report->kernels[i];
		struct kr_grid_row *row = kernel->first_count > 0 ? kr_grid_add(&grid, kernel->name) : NULL;

		if (!row)
			continue;
		kr_format_duration(row->figures[0], kernel->q1_ns);
		kr_format_duration(row->figures[1], (double)kernel->median2_ns / 2);
		kr_format_duration(row->figures[2], kernel->q3_ns);
		kr_format_duration(row->figures[3], kernel->mean_ns);
		kr_format_duration(row->figures[4], kernel->first_ns);
		if (kernel->later_ns > 0)
			kr_format_duration(row->figures[5], kernel->later_ns);
		if (kernel->high_fence_ns > 0)
			snprintf(row->figures[6], KR_TEXT_NUMBER, "%llu", (unsigned long long)kernel->outliers);
		row->colours[6] = kernel->outliers > 0 ? KR_YELLOW : KR_PLAIN;
	}
	if (grid.row_count > 0)
		kr_grid_print(out, &grid, look->width, look->colour);
}

/* --- every dispatch --- */

static int compare_dispatches(const void *left, const void *right)
{
	const struct kr_report_execution *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->dispatch_id != b->dispatch_id)
		return a->dispatch_id < b->dispatch_id ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static const char *const dispatch_headings[] = { "dispatch", "passes", "min",  "q1",   "median",
						  "q3",       "max",    "first", "slow" };

/* `from` holds the passes of one dispatch by rising length. */
static void add_dispatch(struct kr_grid *grid, const struct kr_report *report, const struct kr_report_execution *from,
			 size_t count)
{
	const struct kr_report_kernel *kernel = &report->kernels[from->kernel];
	struct kr_grid_row *row = kr_grid_add(grid, kernel->name);
	uint64_t slow = 0;

	if (!row)
		return;
	snprintf(row->figures[0], KR_TEXT_NUMBER, "%llu", (unsigned long long)from->dispatch_id);
	snprintf(row->figures[1], KR_TEXT_NUMBER, "%zu", count);
	kr_format_duration(row->figures[2], (double)from[0].ns);
	kr_format_duration(row->figures[3], (double)from[(count - 1) / 4].ns);
	kr_format_duration(row->figures[4], (double)(from[(count - 1) / 2].ns + from[count / 2].ns) / 2);
	kr_format_duration(row->figures[5], (double)from[(count - 1) - (count - 1) / 4].ns);
	kr_format_duration(row->figures[6], (double)from[count - 1].ns);
	for (size_t i = 0; i < count; i++) {
		if (from[i].pass == 0)
			kr_format_duration(row->figures[7], (double)from[i].ns);
		slow += kernel->high_fence_ns > 0 && (double)from[i].ns > kernel->high_fence_ns;
	}
	/* passes slower than the kernel's fence */
	snprintf(row->figures[8], KR_TEXT_NUMBER, "%llu", (unsigned long long)slow);
	row->colours[8] = slow ? KR_YELLOW : KR_PLAIN;
}

void kr_report_add_dispatches(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look)
{
	struct kr_grid grid = {
		.name_heading = "kernel",
		.headings = dispatch_headings,
		.figures = sizeof(dispatch_headings) / sizeof(dispatch_headings[0]),
		.dropped = "35172",
	};
	struct kr_report_execution *passes = calloc(report->execution_count + 1, sizeof(*passes));
	size_t count = 0, left_out = 0;

	if (!passes) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < report->execution_count; i++) {
		if (report->executions[i].is_pass && !report->executions[i].no_length)
			passes[count++] = report->executions[i];
	}
	qsort(passes, count, sizeof(*passes), compare_dispatches);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && passes[end].process == passes[i].process &&
				  passes[end].dispatch_id == passes[i].dispatch_id;
		     end++)
			;
		if (grid.row_count < DISPATCHES_SHOWN)
			add_dispatch(&grid, report, &passes[i], end - i);
		else
			left_out++;
	}
	if (grid.row_count > 0)
		kr_grid_print(out, &grid, look->width, look->colour);
	if (left_out > 0)
		kr_text_addf(out, "and %zu dispatches more, which only the files have\n", left_out);
	free(passes);
}

/* --- notes --- */

static bool is_shown(const struct kr_report_note *note)
{
	return note->end_ns == 0 && note->text && note->text[0];
}

/* "topic: kernel: text", further lines indented. */
static void add_note(struct kr_text *out, const struct kr_report *report, const struct kr_report_note *note,
		     const struct kr_report_look *look)
{
	enum kr_colour colour = note->severity == KR_REPORT_FINDING ? KR_RED : KR_BOLD;
	struct kr_text topic = { 0 };
	char *copy = strdup(note->text), *state = NULL;

	if (!copy) {
		out->failed = true;
		return;
	}
	kr_text_add_clean(&topic, note->topic);
	kr_text_add(&topic, ":");
	kr_text_add_coloured(out, topic.data ? topic.data : "", colour, look->colour);
	kr_text_add(out, " ");
	if (note->kernel != KR_REPORT_NONE) {
		if (look->width > 0)
			kr_text_add_shortened(out, report->kernels[note->kernel].name, 48);
		else
			kr_text_add_clean(out, report->kernels[note->kernel].name);
		kr_text_add(out, ": ");
	}
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (line != copy)
			kr_text_add(out, "  ");
		kr_text_add_clean(out, line);
		kr_text_add(out, "\n");
	}
	kr_text_finish(&topic);
	free(copy);
}

static int compare_notes(const void *left, const void *right, void *context)
{
	const struct kr_report *report = context;
	const struct kr_report_note *a = &report->notes[*(const size_t *)left],
				    *b = &report->notes[*(const size_t *)right];
	int order = strcmp(a->topic, b->topic);

	if (order)
		return order;
	if (a->kernel != b->kernel)
		return a->kernel < b->kernel ? -1 : 1;
	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	return *(const size_t *)left < *(const size_t *)right ? -1 : 1;
}

void kr_report_add_notes(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look)
{
	size_t *order = calloc(report->note_count + 1, sizeof(*order)), count = 0, alike = 0;

	if (!order) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < report->note_count; i++) {
		if (is_shown(&report->notes[i]))
			order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), compare_notes, (void *)(uintptr_t)report);
	for (size_t i = 0; i < count; i++) {
		const struct kr_report_note *note = &report->notes[order[i]];
		const struct kr_report_note *next = i + 1 < count ? &report->notes[order[i + 1]] : NULL;
		bool last = !next || next->kernel != note->kernel || strcmp(next->topic, note->topic) != 0;

		if (alike < SHOWN_ALIKE)
			add_note(out, report, note, look);
		alike++;
		if (last && alike > SHOWN_ALIKE)
			kr_text_addf(out, "%s: ... and %zu more of this kernel, which the files have\n", note->topic,
				     alike - SHOWN_ALIKE);
		alike = last ? 0 : alike;
	}
	free(order);
}
