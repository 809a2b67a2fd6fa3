/* SPDX-License-Identifier: MIT */
/*
 * qerror: dispatches a kernel with an instruction that no GPU knows. The queue's error callback
 * says so and the program exits with 3; it must neither hang nor carry on.
 */
#include "hsa_app.h"

#include <stdio.h>

int main(void)
{
	struct hsa_app_range range = { .grid = { 64 }, .group = { 64 } };
	struct hsa_app app;

	hsa_app_init(&app);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "illegal");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *out = hsa_app_alloc_device(&app, 64 * sizeof(uint32_t));
	void *kernargs = hsa_app_kernargs(&app, &kernel, &out, sizeof(out));

	hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
	hsa_app_wait(&app, done);
	puts("qerror: wrong: the kernel completed");
	return HSA_APP_FAILED;
}
