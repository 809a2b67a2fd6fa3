/* SPDX-License-Identifier: MIT */
/*
 * reduce [ELEMENTS] [ROUNDS]: the sum of an array, 256 values per work-group and launch, until one
 * is left.
 *
 * The launches of a round follow each other on the queue without the host waiting in between: the
 * barrier bit of each packet keeps them in order.
 */
#include "hsa_app.h"

#include <stdio.h>
#include <stdlib.h>

#define GROUP 256
#define MAX_LEVELS 4 /* 256^4 elements */

/* laid out as the parameters of the kernel in reduce.cl */
struct reduce_args {
	uint32_t *sums;
	const uint32_t *values;
	uint32_t n;
};

struct level {
	struct reduce_args args;
	struct hsa_app_range range;
	void *kernargs;
};

/* Each level reads the sums that the one before wrote. */
static int plan(struct hsa_app *app, const struct hsa_app_kernel *kernel, uint32_t n,
		struct level *levels)
{
	const uint32_t *values = hsa_app_alloc_device(app, n * sizeof(uint32_t));
	int count = 0;

	do {
		struct level *level = &levels[count++];
		uint32_t groups = (n + GROUP - 1) / GROUP;

		level->args.values = values;
		level->args.sums = hsa_app_alloc_device(app, groups * sizeof(uint32_t));
		level->args.n = n;
		level->range =
			(struct hsa_app_range){ .grid = { groups * GROUP }, .group = { GROUP } };
		level->kernargs = hsa_app_kernargs(app, kernel, &level->args, sizeof(level->args));
		values = level->args.sums;
		n = groups;
	} while (n > 1);
	return count;
}

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "ELEMENTS", 65536, 1u << 28);
	uint32_t rounds = (uint32_t)hsa_app_argument(argc, argv, 2, "ROUNDS", 1, 1u << 20);
	struct level levels[MAX_LEVELS];
	struct hsa_app app;
	uint32_t want = 0;

	hsa_app_init(&app);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "reduce");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *values = hsa_app_alloc_host(&app, n * sizeof(uint32_t));
	uint32_t *sum = hsa_app_alloc_host(&app, sizeof(uint32_t));
	int count = plan(&app, &kernel, n, levels);

	for (uint32_t i = 0; i < n; i++) {
		values[i] = i * 2654435761u >> 8;
		want += values[i];
	}
	hsa_app_copy_to_device(&app, (void *)levels[0].args.values, values, n * sizeof(uint32_t));

	for (uint32_t i = 0; i < rounds; i++) {
		for (int j = 0; j < count; j++) {
			bool last = j == count - 1;

			hsa_app_dispatch(&app, queue, &kernel, &levels[j].range, levels[j].kernargs,
					 last ? done : (hsa_signal_t){ 0 });
		}
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, sum, levels[count - 1].args.sums, sizeof(uint32_t));
	if (!hsa_app_same_u32("sum", sum, &want, 1))
		exit(HSA_APP_FAILED);
	printf("reduce: ok (%u elements, %u launches)\n", n, rounds * (uint32_t)count);

	hsa_app_free((void *)levels[0].args.values);
	for (int i = 0; i < count; i++) {
		hsa_app_free(levels[i].kernargs);
		hsa_app_free(levels[i].args.sums);
	}
	hsa_app_free(sum);
	hsa_app_free(values);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
