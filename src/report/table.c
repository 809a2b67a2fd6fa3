/* SPDX-License-Identifier: MIT */
/* The report as people read it, on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "grid.h"
#include "report.h"

/* A spread that is worth a look. */
#define LARGE_CV 0.05

static const char *const headings[] = {
	"dispatches", "replayed", "declined", "passes", "min", "median", "max", "cv",
};

static void fill_row(struct kr_grid_row *row, const struct kr_report_kernel *kernel)
{
	const uint64_t counts[] = { kernel->dispatches, kernel->replayed, kernel->declined.total,
				    kernel->passes };
	double cv;

	for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++)
		snprintf(row->figures[at], KR_TEXT_NUMBER, "%llu", (unsigned long long)counts[at]);
	if (kernel->declined.total > 0)
		row->colours[2] = KR_RED;
	if (kernel->executions == 0)
		return;
	kr_format_duration(row->figures[4], (double)kernel->min_ns);
	kr_format_duration(row->figures[5], (double)kernel->median2_ns / 2);
	kr_format_duration(row->figures[6], (double)kernel->max_ns);
	if (kernel->executions > 1 && kernel->mean_ns > 0) {
		cv = kernel->stddev_ns / kernel->mean_ns;
		kr_format_fixed(row->figures[7], 100 * cv, 1);
		strcat(row->figures[7], "%");
		row->colours[7] = cv > LARGE_CV ? KR_YELLOW : KR_GREEN;
	}
}

static bool add_table(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look)
{
	struct kr_grid grid = {
		.name_heading = "kernel",
		.headings = headings,
		.figures = sizeof(headings) / sizeof(headings[0]),
		/* declined where there is nothing, replayed, declined, dispatches, passes, max */
		.dropped = report->declined.total > 0 ? "12036" : "21036",
	};
	bool done = true;

	for (size_t i = 0; i < report->kernel_count && done; i++) {
		struct kr_grid_row *row = kr_grid_add(&grid, report->kernels[i].name);

		done = row != NULL;
		if (done)
			fill_row(row, &report->kernels[i]);
	}
	kr_grid_print(out, &grid, look->width, look->colour);
	return done;
}

static void add_count(struct kr_text *out, uint64_t count, const char *one, const char *many)
{
	kr_text_addf(out, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
}

static void add_missing(struct kr_text *out, const struct kr_report *report)
{
	if (report->dropped > 0)
		kr_text_addf(out,
			     "kreplay: the journal was full: %llu records were dropped, and the "
			     "figures are of those before\n",
			     (unsigned long long)report->dropped);
	if (report->dropped_notes > 0)
		kr_text_addf(out, "kreplay: %llu notes of tools were too long or found the journal full\n",
			     (unsigned long long)report->dropped_notes);
	if (report->torn > 0)
		kr_text_addf(out,
			     "kreplay: %llu records were left unfinished and are not counted\n",
			     (unsigned long long)report->torn);
}

static void add_totals(struct kr_text *out, const struct kr_report *report, const struct kr_report_look *look)
{
	char number[4][KR_TEXT_NUMBER], memory[4 * KR_TEXT_NUMBER + 80], windows[KR_TEXT_NUMBER + 16];
	bool fits;

	kr_text_add(out, "total: ");
	add_count(out, report->dispatches, "dispatch, ", "dispatches, ");
	kr_text_addf(out, "%llu replayed, %llu declined, ", (unsigned long long)report->replayed,
		     (unsigned long long)report->declined.total);
	add_count(out, report->passes, "pass\n", "passes\n");
	snprintf(memory, sizeof(memory), "memory: %s snapshotted, %s restored, %s over the host link; ",
		     kr_format_bytes(number[0], report->snapshot_bytes),
		     kr_format_bytes(number[1], report->restored_bytes),
		     kr_format_bytes(number[2], report->host_link_bytes));
	snprintf(windows, sizeof(windows), "%s in windows\n",
		 kr_format_duration(number[3], (double)report->window_ns));
	fits = look->width == 0 || strlen(memory) + strlen(windows) - 1 <= look->width;
	/* the blank that the line would be broken at goes */
	kr_text_addf(out, "%.*s%s%s", (int)strlen(memory) - !fits, memory, fits ? "" : "\n        ", windows);
	for (size_t i = 0; i < report->declined.count; i++) {
		kr_text_add(out, i == 0 ? "declined: " : ", ");
		kr_text_add_clean(out, report->declined.items[i].reason);
		kr_text_addf(out, " %llu", (unsigned long long)report->declined.items[i].count);
	}
	if (report->declined.count > 0)
		kr_text_add(out, "\n");
	add_missing(out, report);
}

char *kr_report_format_look(const struct kr_report *report, const struct kr_report_look *look)
{
	struct kr_text out = { 0 };

	if (report->kernel_count == 0) {
		kr_text_add(&out, "kreplay: no kernel dispatch was seen\n");
		add_missing(&out, report);
	} else if (!add_table(&out, report, look)) {
		kr_text_finish(&out);
		return NULL;
	} else {
		add_totals(&out, report, look);
		if (look->timing)
			kr_report_add_timing(&out, report, look);
		if (look->dispatches)
			kr_report_add_dispatches(&out, report, look);
	}
	kr_report_add_notes(&out, report, look);
	if (report->interrupted)
		kr_text_add(&out, "kreplay: interrupted: from then on nothing was replayed\n");
	return kr_text_take(&out, NULL);
}

char *kr_report_format(const struct kr_report *report, unsigned width)
{
	return kr_report_format_look(report, &(struct kr_report_look){ .width = width });
}

struct kr_report_look kr_report_look_of(int fd)
{
	struct kr_report_look look = { 0 };
	struct winsize size = { 0 };
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!isatty(fd))
		return look;
	look.colour = !(no_colour && no_colour[0]) && term && strcmp(term, "dumb") != 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		look.width = size.ws_col;
	return look;
}

void kr_report_print_look(const struct kr_report *report, int fd, const struct kr_report_look *look)
{
	char *table = kr_report_format_look(report, look);
	const char *text = table ? table : "kreplay: no memory to make the report\n";

	/* nobody is left to be told when this fails */
	(void)kr_write_all(fd, text, strlen(text));
	free(table);
}

void kr_report_print(const struct kr_report *report, int fd)
{
	struct kr_report_look look = kr_report_look_of(fd);

	look.timing = report->replayed > 0;
	kr_report_print_look(report, fd, &look);
}
