/* SPDX-License-Identifier: MIT */
/*
 * scan [ELEMENTS] [ROUNDS]: inclusive prefix sums in place, ROUNDS times over.
 *
 * Blocks of 256 values are scanned in LDS, then the sums of the blocks in the same way, and so on
 * up; on the way down each block gets the sum of all before it. Three kinds of launches, all in
 * place.
 */
#include "hsa_app.h"

#include <stdio.h>
#include <stdlib.h>

#define GROUP 256
#define MAX_LEVELS 4 /* 256^4 elements */

/* laid out as the parameters of both kernels in scan.cl */
struct scan_args {
	uint32_t *values;
	uint32_t *sums;
	uint32_t n;
};

struct level {
	struct scan_args args;
	struct hsa_app_range range;
	void *scan_kernargs;
	void *add_kernargs;
};

struct scan {
	struct hsa_app_kernel scan_blocks;
	struct hsa_app_kernel scan_add;
	struct level levels[MAX_LEVELS];
	int count;
};

/* The sums of one level are the values of the next. */
static void plan(struct hsa_app *app, struct scan *scan, uint32_t n)
{
	uint32_t *values = hsa_app_alloc_device(app, n * sizeof(uint32_t));

	scan->scan_blocks = hsa_app_find_kernel(app, "scan_blocks");
	scan->scan_add = hsa_app_find_kernel(app, "scan_add");
	scan->count = 0;
	do {
		struct level *level = &scan->levels[scan->count++];
		uint32_t groups = (n + GROUP - 1) / GROUP;

		level->args.values = values;
		level->args.sums = hsa_app_alloc_device(app, groups * sizeof(uint32_t));
		level->args.n = n;
		level->range =
			(struct hsa_app_range){ .grid = { groups * GROUP }, .group = { GROUP } };
		level->scan_kernargs = hsa_app_kernargs(app, &scan->scan_blocks, &level->args,
							sizeof(level->args));
		level->add_kernargs =
			hsa_app_kernargs(app, &scan->scan_add, &level->args, sizeof(level->args));
		values = level->args.sums;
		n = groups;
	} while (n > 1);
}

/* One whole scan; returns the number of launches. */
static uint32_t run(struct hsa_app *app, struct scan *scan, hsa_queue_t *queue, hsa_signal_t done)
{
	uint32_t launches = 0;

	for (int i = 0; i < scan->count; i++, launches++)
		hsa_app_dispatch(app, queue, &scan->scan_blocks, &scan->levels[i].range,
				 scan->levels[i].scan_kernargs,
				 scan->count == 1 ? done : (hsa_signal_t){ 0 });
	for (int i = scan->count - 2; i >= 0; i--, launches++)
		hsa_app_dispatch(app, queue, &scan->scan_add, &scan->levels[i].range,
				 scan->levels[i].add_kernargs, i == 0 ? done : (hsa_signal_t){ 0 });
	return launches;
}

static void free_levels(struct scan *scan)
{
	hsa_app_free(scan->levels[0].args.values);
	for (int i = 0; i < scan->count; i++) {
		hsa_app_free(scan->levels[i].args.sums);
		hsa_app_free(scan->levels[i].scan_kernargs);
		hsa_app_free(scan->levels[i].add_kernargs);
	}
}

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "ELEMENTS", 65536, 1u << 28);
	uint32_t rounds = (uint32_t)hsa_app_argument(argc, argv, 2, "ROUNDS", 1, 1u << 20);
	size_t bytes = n * sizeof(uint32_t);
	uint32_t *want = hsa_app_calloc(n, sizeof(uint32_t));
	uint32_t launches = 0;
	struct hsa_app app;
	struct scan scan;

	hsa_app_init(&app);
	plan(&app, &scan, n);

	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *values = hsa_app_alloc_host(&app, bytes);

	for (uint32_t i = 0; i < n; i++)
		values[i] = want[i] = i % 7 + 1;
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 1; i < n; i++)
			want[i] += want[i - 1];
	hsa_app_copy_to_device(&app, scan.levels[0].args.values, values, bytes);

	for (uint32_t round = 0; round < rounds; round++) {
		launches += run(&app, &scan, queue, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, values, scan.levels[0].args.values, bytes);
	if (!hsa_app_same_u32("values", values, want, n))
		exit(HSA_APP_FAILED);
	printf("scan: ok (%u elements, %u launches)\n", n, launches);

	free_levels(&scan);
	hsa_app_free(values);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	free(want);
	return HSA_APP_OK;
}
