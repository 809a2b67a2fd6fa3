/* SPDX-License-Identifier: MIT */
/* The report as people read it, on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report.h"
#include "text.h"

#define NAME_COLUMNS 48          /* the longest name when there is no terminal to fit */
#define SHORTEST_NAME_COLUMNS 16 /* on a terminal too narrow for the table */
#define FIGURES 8
#define GAP 2

static const char *const headings[FIGURES] = {
	"dispatches", "replayed", "declined", "passes", "min", "median", "max", "cv",
};

struct row {
	struct kr_text name;
	size_t name_columns;
	char figures[FIGURES][KR_TEXT_NUMBER];
};

/* A name as one line of printable text: what is not becomes '?'. Returns the number of columns. */
static size_t clean_name(struct kr_text *out, const char *name)
{
	size_t rest = strlen(name), columns = 0;

	for (; rest > 0; columns++) {
		size_t length = kr_utf8_length(name, rest);

		if (length == 0 || (length == 1 && ((unsigned char)*name < ' ' || *name == 0x7f)) ||
		    (length == 2 && (unsigned char)name[0] == 0xc2 &&
		     (unsigned char)name[1] < 0xa0)) {
			kr_text_add(out, "?");
			length = length ? length : 1;
		} else {
			kr_text_add_bytes(out, name, length);
		}
		name += length;
		rest -= length;
	}
	return columns;
}

/* The bytes that the first `columns` characters of well-formed text take. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0;

	for (; columns > 0 && text[at]; columns--)
		at += kr_utf8_length(text + at, strnlen(text + at, 4));
	return at;
}

/* Takes the middle out of a long name: the front names the kernel, the end tells template instances
 * apart. */
static void shorten(struct row *row, size_t columns)
{
	struct kr_text cut = { 0 };
	size_t front, back;

	if (row->name_columns <= columns || row->name.failed)
		return;
	back = (columns - 3) / 2;
	front = columns - 3 - back;
	kr_text_add_bytes(&cut, row->name.data, bytes_of(row->name.data, front));
	kr_text_add(&cut, "...");
	kr_text_add(&cut, row->name.data + bytes_of(row->name.data, row->name_columns - back));
	kr_text_finish(&row->name);
	row->name = cut;
	row->name_columns = columns;
}

static void fill_row(struct row *row, const struct kr_report_kernel *kernel)
{
	const uint64_t counts[] = { kernel->dispatches, kernel->replayed, kernel->declined.total,
				    kernel->passes };
	size_t at = 0;

	row->name_columns = clean_name(&row->name, kernel->name);
	for (; at < sizeof(counts) / sizeof(counts[0]); at++)
		snprintf(row->figures[at], KR_TEXT_NUMBER, "%llu", (unsigned long long)counts[at]);
	for (; at < FIGURES; at++)
		strcpy(row->figures[at], "-");
	if (kernel->executions == 0)
		return;
	kr_format_duration(row->figures[4], (double)kernel->min_ns);
	kr_format_duration(row->figures[5], (double)kernel->median2_ns / 2);
	kr_format_duration(row->figures[6], (double)kernel->max_ns);
	if (kernel->executions > 1 && kernel->mean_ns > 0) {
		kr_format_fixed(row->figures[7], 100 * kernel->stddev_ns / kernel->mean_ns, 1);
		strcat(row->figures[7], "%");
	}
}

static void add_line(struct kr_text *out, const char *name, size_t name_columns, size_t name_width,
		     const char *const figures[FIGURES], const size_t widths[FIGURES])
{
	kr_text_addf(out, "%s%*s", name, (int)(name_width - name_columns), "");
	for (size_t i = 0; i < FIGURES; i++)
		kr_text_addf(out, "%*s%*s", GAP, "", (int)widths[i], figures[i]);
	kr_text_add(out, "\n");
}

static void add_rows(struct kr_text *out, struct row *rows, size_t count, unsigned terminal_width)
{
	size_t widths[FIGURES], taken = 0, allowed = NAME_COLUMNS, name_width = strlen("kernel");
	const char *figures[FIGURES];

	for (size_t i = 0; i < FIGURES; i++) {
		widths[i] = strlen(headings[i]);
		for (size_t j = 0; j < count; j++) {
			size_t width = strlen(rows[j].figures[i]);

			widths[i] = width > widths[i] ? width : widths[i];
		}
		taken += GAP + widths[i];
	}
	if (terminal_width > 0)
		allowed = terminal_width > taken + SHORTEST_NAME_COLUMNS ? terminal_width - taken
									 : SHORTEST_NAME_COLUMNS;
	for (size_t i = 0; i < count; i++) {
		shorten(&rows[i], allowed);
		name_width = rows[i].name_columns > name_width ? rows[i].name_columns : name_width;
	}
	add_line(out, "kernel", strlen("kernel"), name_width, headings, widths);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < FIGURES; j++)
			figures[j] = rows[i].figures[j];
		add_line(out, rows[i].name.data ? rows[i].name.data : "", rows[i].name_columns,
			 name_width, figures, widths);
		out->failed = out->failed || rows[i].name.failed;
	}
}

static bool add_table(struct kr_text *out, const struct kr_report *report, unsigned terminal_width)
{
	struct row *rows = calloc(report->kernel_count, sizeof(*rows));

	if (!rows)
		return false;
	for (size_t i = 0; i < report->kernel_count; i++)
		fill_row(&rows[i], &report->kernels[i]);
	add_rows(out, rows, report->kernel_count, terminal_width);
	for (size_t i = 0; i < report->kernel_count; i++)
		kr_text_finish(&rows[i].name);
	free(rows);
	return true;
}

static void add_count(struct kr_text *out, uint64_t count, const char *one, const char *many)
{
	kr_text_addf(out, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
}

static void add_totals(struct kr_text *out, const struct kr_report *report)
{
	char number[4][KR_TEXT_NUMBER];

	kr_text_add(out, "total: ");
	add_count(out, report->dispatches, "dispatch, ", "dispatches, ");
	kr_text_addf(out, "%llu replayed, %llu declined, ", (unsigned long long)report->replayed,
		     (unsigned long long)report->declined.total);
	add_count(out, report->passes, "pass\n", "passes\n");
	kr_text_addf(out,
		     "memory: %s snapshotted, %s restored, %s over the host link; %s in windows\n",
		     kr_format_bytes(number[0], report->snapshot_bytes),
		     kr_format_bytes(number[1], report->restored_bytes),
		     kr_format_bytes(number[2], report->host_link_bytes),
		     kr_format_duration(number[3], (double)report->window_ns));
	for (size_t i = 0; i < report->declined.count; i++) {
		kr_text_add(out, i == 0 ? "declined: " : ", ");
		clean_name(out, report->declined.items[i].reason);
		kr_text_addf(out, " %llu", (unsigned long long)report->declined.items[i].count);
	}
	if (report->declined.count > 0)
		kr_text_add(out, "\n");
	if (report->dropped > 0)
		kr_text_addf(out,
			     "kreplay: the journal was full: %llu records were dropped, and the "
			     "figures are of those before\n",
			     (unsigned long long)report->dropped);
	if (report->torn > 0)
		kr_text_addf(out,
			     "kreplay: %llu records were left unfinished and are not counted\n",
			     (unsigned long long)report->torn);
}

char *kr_report_format(const struct kr_report *report, unsigned width)
{
	struct kr_text out = { 0 };

	if (report->kernel_count == 0) {
		kr_text_add(&out, "kreplay: no kernel dispatch was seen\n");
	} else if (!add_table(&out, report, width)) {
		kr_text_finish(&out);
		return NULL;
	}
	if (report->kernel_count > 0)
		add_totals(&out, report);
	return kr_text_take(&out, NULL);
}

void kr_report_print(const struct kr_report *report, int fd)
{
	struct winsize size = { 0 };
	bool terminal = isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0;
	char *table = kr_report_format(report, terminal ? size.ws_col : 0);
	const char *text = table ? table : "kreplay: no memory to make the report\n";

	/* nobody is left to be told when this fails */
	(void)kr_write_all(fd, text, strlen(text));
	free(table);
}
