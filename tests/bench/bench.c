/* SPDX-License-Identifier: MIT */
/*
 * bench [--check] [-v] BUILD [ROW...]: the figures of docs/performance.md, one line each on standard
 * output, "NAME VALUE TARGET ok|short". -v says on standard error what they were made from. Status 0
 * unless a figure could not be measured, with --check also when one falls short; 2 for bad use.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "side.h"

static bool verbose, check, failed, fell_short;

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_quantile(const double *values, unsigned count, double q)
{
	double sorted[MOST_ROUNDS], at = q * (count - 1);
	unsigned below = (unsigned)at;

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare);
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

void bench_figure(const struct row *row, double value, bool valid)
{
	bool ok = valid && (row->at_most ? value <= row->target : value >= row->target);

	if (row->extra) {
		bench_detail("%s %.4g", row->name, value);
		return;
	}
	fell_short |= !ok;
	printf("%s %.4g %s%g %s\n", row->name, value, row->at_most ? "<=" : ">=", row->target,
	       ok ? "ok" : "short");
	fflush(stdout);
}

void bench_detail(const char *format, ...)
{
	va_list args;

	if (!verbose)
		return;
	va_start(args, format);
	fputs("  ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static bool is_wanted(const struct row *row, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], row->name) == 0)
			return true;
	return count == 0 && (!row->extra || verbose);
}

static bool is_row(const char *name)
{
	for (const struct row *row = bench_rows; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--check") == 0)
			check = true;
		else if (strcmp(argv[i], "-v") == 0)
			verbose = true;
		else
			break;
	}
	if (i >= argc || argv[i][0] != '/') {
		fprintf(stderr, "usage: bench [--check] [-v] BUILD [ROW...], BUILD an absolute path\n");
		return 2;
	}
	side_setup(argv[i++]);
	for (int n = i; n < argc; n++)
		if (!is_row(argv[n])) {
			fprintf(stderr, "bench: no figure is called %s\n", argv[n]);
			return 2;
		}
	for (const struct row *row = bench_rows; row->name; row++) {
		if (!is_wanted(row, argv + i, argc - i))
			continue;
		if (!row->measure(row)) {
			fprintf(stderr, "bench: %s could not be measured\n", row->name);
			failed = true;
		}
	}
	return failed || (check && fell_short);
}
