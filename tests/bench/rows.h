/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>

struct row {
	const char *name;
	bool (*measure)(const struct row *row); /* false: could not be measured */
	double target;
	bool at_most; /* else at least */
	bool extra;   /* no target: to understand the others by */
};

extern const struct row bench_rows[]; /* up to one without a name */

/* Where the measurements come out; in bench.c. */
void bench_figure(const struct row *row, double value, bool valid);
void bench_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

double bench_quantile(const double *values, unsigned count, double q);

#endif
