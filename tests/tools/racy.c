/* SPDX-License-Identifier: MIT */
/* racy [steady]: dispatches that kernel twice. */
#include "hsa_app.h"

#include <stdio.h>

#define ELEMENTS 4096

struct args {
	const uint32_t *input;
	float *output;
	uint32_t *turns;
};

int main(int argc, char **argv)
{
	const struct hsa_app_range range = { .grid = { 256 }, .group = { 64 } };
	struct hsa_app app;
	struct args args;
	struct hsa_app_kernel kernel;
	hsa_queue_t *queue;
	hsa_signal_t done;
	uint32_t *host;
	void *unused, *kernargs;

	hsa_app_init(&app);
	queue = hsa_app_queue_create(&app, 64);
	done = hsa_app_signal_create(1);
	kernel = hsa_app_find_kernel(&app, argc > 1 ? argv[1] : "racy");
	args.input = hsa_app_alloc_device(&app, ELEMENTS * sizeof(uint32_t));
	args.output = hsa_app_alloc_device(&app, ELEMENTS * sizeof(float));
	unused = hsa_app_alloc_device(&app, 64);
	args.turns = hsa_app_alloc_host(&app, sizeof(uint32_t));
	host = hsa_app_alloc_host(&app, ELEMENTS * sizeof(uint32_t));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		host[i] = i + 1;
	*args.turns = 0;
	hsa_app_copy_to_device(&app, (void *)args.input, host, ELEMENTS * sizeof(uint32_t));
	HSA_CHECK(hsa_amd_memory_fill(args.output, 0, ELEMENTS));
	kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));
	for (int i = 0; i < 2; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}
	puts("racy: done");
	hsa_app_free(kernargs);
	hsa_app_free(host);
	hsa_app_free(args.turns);
	hsa_app_free(unused);
	hsa_app_free(args.output);
	hsa_app_free((void *)args.input);
	hsa_signal_destroy(done);
	hsa_queue_destroy(queue);
	hsa_app_finish(&app);
	return 0;
}
