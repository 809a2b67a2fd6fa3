/* SPDX-License-Identifier: MIT */
/*
 * bigcopy [REGIONS] [BYTES] [PERCENT] [LAUNCHES]: REGIONS allocations of BYTES bytes of device
 * memory each, of which every launch changes the first PERCENT percent, in place. For measuring
 * what a snapshot costs.
 *
 * Prints, one "name value" a line: regions, bytes, written_bytes (by one launch), launches, seconds
 * (all of them).
 */
#include "hsa_app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AMOUNT 7
#define MOST_CHECKED 64 /* regions read back in the end, evenly spread */

/* laid out as the parameters of the kernel in touch.cl */
struct touch_args {
	uint64_t *regions;
	uint64_t words;
	uint32_t amount;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The words that launches touch hold the sum, the others what they were filled with. */
static bool check(struct hsa_app *app, void **regions, uint64_t count, uint64_t bytes,
		  uint64_t touched, uint32_t sum)
{
	uint64_t step = (count + MOST_CHECKED - 1) / MOST_CHECKED;
	uint64_t words = bytes / sizeof(uint32_t);
	uint32_t *got = hsa_app_alloc_host(app, bytes);
	uint32_t *want = hsa_app_calloc(words, sizeof(uint32_t));
	bool right = true;

	for (uint64_t i = 0; i < count && right; i += step) {
		for (uint64_t j = 0; j < words; j++)
			want[j] = (uint32_t)i + (j < touched ? sum : 0);
		hsa_app_copy_to_host(app, got, regions[i], bytes);
		right = hsa_app_same_u32("region", got, want, words);
	}
	free(want);
	hsa_app_free(got);
	return right;
}

int main(int argc, char **argv)
{
	uint64_t count = hsa_app_argument(argc, argv, 1, "REGIONS", 16, 1u << 20);
	uint64_t bytes = hsa_app_argument(argc, argv, 2, "BYTES", 1u << 20, 1ull << 40) & ~3ull;
	uint64_t percent = hsa_app_argument(argc, argv, 3, "PERCENT", 1, 100);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 4, "LAUNCHES", 1, 1u << 20);
	uint64_t words = (bytes / 4 * percent + 99) / 100;
	struct hsa_app_range range = { .grid = { (uint32_t)count * 256 }, .group = { 256 } };
	void **regions = hsa_app_calloc(count, sizeof(void *));
	struct hsa_app app;

	if (bytes == 0)
		hsa_app_die(HSA_APP_USAGE, "BYTES must be at least 4");
	hsa_app_init(&app);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "touch");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	void **host_table = hsa_app_alloc_host(&app, count * sizeof(void *));
	struct touch_args args = {
		.regions = hsa_app_alloc_device(&app, count * sizeof(void *)),
		.words = words,
		.amount = AMOUNT,
	};
	void *kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));

	for (uint64_t i = 0; i < count; i++) {
		host_table[i] = regions[i] = hsa_app_alloc_device(&app, bytes);
		HSA_CHECK(hsa_amd_memory_fill(regions[i], (uint32_t)i, bytes / sizeof(uint32_t)));
	}
	hsa_app_copy_to_device(&app, args.regions, host_table, count * sizeof(void *));

	double start = now();

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}

	double seconds = now() - start;

	if (!check(&app, regions, count, bytes, words, launches * AMOUNT))
		return HSA_APP_FAILED;
	printf("regions %" PRIu64 "\nbytes %" PRIu64 "\nwritten_bytes %" PRIu64
	       "\nlaunches %u\nseconds %.6f\n",
	       count, count * bytes, count * words * 4, launches, seconds);

	for (uint64_t i = 0; i < count; i++)
		hsa_app_free(regions[i]);
	hsa_app_free(kernargs);
	hsa_app_free(args.regions);
	hsa_app_free(host_table);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	free(regions);
	return HSA_APP_OK;
}
