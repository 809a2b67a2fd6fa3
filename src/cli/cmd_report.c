/* SPDX-License-Identifier: MIT */
/* `kreplay report`: what was written once, printed, put together, compared, written anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "report/grid.h"
#include "report/names.h"
#include "reports.h"

enum { FLAG_OUTPUT, FLAG_DIFF, FLAG_DISPATCHES };

const char *const kr_cli_report_description[] = {
	"Prints the table of one or several JSON reports that \"kreplay run -o FILE.json\" has written. Several are put "
	"together first: reports of the ranks of a parallel program, or of several runs of one program, become one in which "
	"a kernel has one row.",
	"With --diff the table compares them with another report, kernel by kernel. A change of the median is called faster or "
	"slower only where it exceeds the spread: the larger interquartile range of the two. A kernel with fewer than 4 "
	"executions on either side is given no verdict.",
	NULL,
};

size_t kr_cli_report_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS])
{
	out[0] = (struct kr_cli_flag){
		.id = FLAG_OUTPUT,
		.flag = "output",
		.letter = 'o',
		.argument = KR_ARGUMENT_REQUIRED,
		.metavar = "FILE",
		.help = "Also write what is printed to FILE, whose suffix tells the kind: .json, .csv, .html, or .perfetto.json; "
			"none means JSON, and another is refused. "
			"May be given several times.",
		.joint = '\n',
	};
	out[1] = (struct kr_cli_flag){
		.id = FLAG_DIFF,
		.flag = "diff",
		.argument = KR_ARGUMENT_REQUIRED,
		.metavar = "BASE",
		.help = "Compare with this JSON report.",
	};
	out[2] = (struct kr_cli_flag){
		.id = FLAG_DISPATCHES,
		.flag = "dispatches",
		.argument = KR_ARGUMENT_NONE,
		.help = "Also print a row for each dispatch that was replayed.",
	};
	return 3;
}

/* --- the comparison --- */

#define FEWEST_EXECUTIONS 4

static const char *const headings[] = { "base", "now", "change", "spread", "verdict" };

static const struct kr_report_kernel *find_kernel(const struct kr_report *report, const struct kr_report_kernel *like)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kr_report_kernel *kernel = &report->kernels[i];

		if (strcmp(kernel->name, like->name) == 0 && strcmp(kernel->mangled, like->mangled) == 0)
			return kernel;
	}
	return NULL;
}

static double median_of(const struct kr_report_kernel *kernel)
{
	return (double)kernel->median2_ns / 2;
}

static double spread_of(const struct kr_report_kernel *a, const struct kr_report_kernel *b)
{
	double of_a = a->q3_ns - a->q1_ns, of_b = b->q3_ns - b->q1_ns;

	return of_a > of_b ? of_a : of_b;
}

static void set_verdict(struct kr_grid_row *row, const char *verdict, enum kr_colour colour)
{
	strcpy(row->figures[4], verdict);
	row->colours[4] = colour;
}

/* "+12.3%", of the base's median. */
static void format_share(char *out, double part, double whole, bool with_sign)
{
	char number[KR_TEXT_NUMBER];

	kr_format_fixed(number, 100 * (part < 0 ? -part : part) / whole, 1);
	snprintf(out, KR_TEXT_NUMBER, "%s%.30s%%", !with_sign ? "" : part < 0 ? "-" : "+", number);
}

static void fill_row(struct kr_grid_row *row, const struct kr_report_kernel *base, const struct kr_report_kernel *now)
{
	double change, spread;

	if (base && base->executions > 0)
		kr_format_duration(row->figures[0], median_of(base));
	if (now && now->executions > 0)
		kr_format_duration(row->figures[1], median_of(now));
	if (!base || !now) {
		set_verdict(row, base ? "gone" : "new", KR_YELLOW);
		return;
	}
	if (base->executions == 0 || now->executions == 0 || median_of(base) <= 0) {
		set_verdict(row, "not timed", KR_DIM);
		return;
	}
	change = median_of(now) - median_of(base);
	spread = spread_of(base, now);
	format_share(row->figures[2], change, median_of(base), true);
	format_share(row->figures[3], spread, median_of(base), false);
	if (base->executions < FEWEST_EXECUTIONS || now->executions < FEWEST_EXECUTIONS)
		set_verdict(row, "too few", KR_DIM);
	else if (change > spread)
		set_verdict(row, "slower", KR_RED);
	else if (-change > spread)
		set_verdict(row, "faster", KR_GREEN);
	else
		set_verdict(row, "same", KR_PLAIN);
}

void kr_cli_diff(struct kr_text *out, const struct kr_report *base, const struct kr_report *report,
		 const struct kr_report_look *look)
{
	struct kr_grid grid = {
		.name_heading = "kernel",
		.headings = headings,
		.figures = sizeof(headings) / sizeof(headings[0]),
	};

	for (size_t i = 0; i < report->kernel_count; i++) {
		struct kr_grid_row *row = kr_grid_add(&grid, report->kernels[i].name);

		if (row)
			fill_row(row, find_kernel(base, &report->kernels[i]), &report->kernels[i]);
		out->failed = out->failed || !row;
	}
	for (size_t i = 0; i < base->kernel_count; i++) {
		struct kr_grid_row *row;

		if (find_kernel(report, &base->kernels[i]))
			continue;
		row = kr_grid_add(&grid, base->kernels[i].name);
		if (row)
			fill_row(row, &base->kernels[i], NULL);
		out->failed = out->failed || !row;
	}
	kr_grid_print(out, &grid, look->width, look->colour);
}

/* --- the command --- */

static struct kr_report *read_all(char **paths)
{
	struct kr_report *all = kr_cli_read_report(paths[0]);

	for (char **path = paths + 1; all && *path; path++) {
		struct kr_report *one = kr_cli_read_report(*path);
		bool done = one && kr_report_merge(all, one);

		if (one && !done)
			kr_cli_say("no memory for '%s'", *path);
		kr_report_free(one);
		if (!done) {
			kr_report_free(all);
			all = NULL;
		}
	}
	return all;
}

static bool print_diff(const struct kr_report *report, const char *path, const struct kr_report_look *look)
{
	struct kr_report *base = kr_cli_read_report(path);
	struct kr_text out = { 0 };
	bool done = false;

	if (base) {
		kr_cli_diff(&out, base, report, look);
		done = !out.failed && kr_write_all(STDOUT_FILENO, out.data, out.length);
		if (!done)
			kr_cli_say("cannot print the comparison");
	}
	kr_text_finish(&out);
	kr_report_free(base);
	return done;
}

static bool write_outputs(const struct kr_report *report, const char *paths)
{
	char *copy = strdup(paths), *state = NULL;
	bool done = copy != NULL;

	for (char *one = copy ? strtok_r(copy, "\n", &state) : NULL; one; one = strtok_r(NULL, "\n", &state))
		done = kr_cli_write_report(report, one) && done;
	free(copy);
	return done;
}

static bool known_kinds(const char *paths)
{
	char *copy = strdup(paths), *state = NULL;
	bool known = copy != NULL;

	for (char *one = copy ? strtok_r(copy, "\n", &state) : NULL; one && known; one = strtok_r(NULL, "\n", &state))
		known = kr_cli_known_kind(one);
	free(copy);
	return known;
}

int kr_cli_cmd_report(const struct kr_cli_command *command, int argc, char **argv)
{
	struct kr_report_look look = kr_report_look_of(STDOUT_FILENO);
	struct kr_cli_arguments arguments;
	struct kr_report *report = NULL;
	bool done = false;
	int status = KR_EXIT_BAD_USE;

	if (!kr_cli_parse(&arguments, command, argc, argv))
		goto out;
	if (arguments.help) {
		kr_cli_print_help(command);
		status = 0;
		goto out;
	}
	if (!arguments.program[0]) {
		kr_cli_say("report: no file is given (see kreplay report --help)");
		goto out;
	}
	if (arguments.values[FLAG_OUTPUT] && !known_kinds(arguments.values[FLAG_OUTPUT]))
		goto out;
	report = read_all(arguments.program);
	if (!report)
		goto out;
	look.timing = true;
	look.dispatches = arguments.values[FLAG_DISPATCHES] != NULL;
	if (arguments.values[FLAG_DIFF]) {
		done = print_diff(report, arguments.values[FLAG_DIFF], &look);
	} else {
		kr_report_print_look(report, STDOUT_FILENO, &look);
		done = true;
	}
	if (arguments.values[FLAG_OUTPUT])
		done = write_outputs(report, arguments.values[FLAG_OUTPUT]) && done;
	status = done ? 0 : KR_EXIT_BAD_USE;
out:
	kr_report_free(report);
	kr_cli_free_arguments(&arguments);
	return status;
}
