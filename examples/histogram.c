/* SPDX-License-Identifier: MIT */
/*
 * histogram [ELEMENTS] [LAUNCHES]: counts values into 256 bins with global atomics, LAUNCHES times
 * over.
 *
 * The bins are zeroed once and added to by every launch, so a pass too many counts everything
 * twice.
 */
#include "hsa_app.h"

#include <stdio.h>
#include <stdlib.h>

#define BINS 256

/* laid out as the parameters of the kernel in histogram.cl */
struct histogram_args {
	uint32_t *bins;
	const uint32_t *values;
	uint32_t bin_count;
	uint32_t n;
};

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "ELEMENTS", 65536, 1u << 28);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 2, "LAUNCHES", 2, 1u << 20);
	struct hsa_app_range range = { .grid = { hsa_app_round_up(n, 256) }, .group = { 256 } };
	size_t bytes = n * sizeof(uint32_t);
	uint32_t want[BINS] = { 0 };
	uint32_t state = 12345;
	struct hsa_app app;

	hsa_app_init(&app);

	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *values = hsa_app_alloc_host(&app, bytes);
	uint32_t *bins = hsa_app_alloc_host(&app, sizeof(want));
	struct histogram_args args = {
		.bins = hsa_app_alloc_device(&app, sizeof(want)),
		.values = hsa_app_alloc_device(&app, bytes),
		.bin_count = BINS,
		.n = n,
	};

	for (uint32_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		values[i] = state >> 12;
		want[values[i] % BINS] += launches;
	}
	hsa_app_copy_to_device(&app, (void *)args.values, values, bytes);
	/* counts 32-bit words, not bytes */
	HSA_CHECK(hsa_amd_memory_fill(args.bins, 0, BINS));

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "histogram");
	void *kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, bins, args.bins, sizeof(want));
	if (!hsa_app_same_u32("bins", bins, want, BINS))
		exit(HSA_APP_FAILED);
	printf("histogram: ok (%u elements, %u launches)\n", n, launches);

	hsa_app_free(kernargs);
	hsa_app_free((void *)args.values);
	hsa_app_free(args.bins);
	hsa_app_free(bins);
	hsa_app_free(values);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
