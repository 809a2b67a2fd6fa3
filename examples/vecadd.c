/* SPDX-License-Identifier: MIT */
/*
 * vecadd [ELEMENTS] [LAUNCHES]: c = a + b, the first program of everyone.
 *
 * The inputs are only read and the output only written, so the result is the same however often it
 * runs.
 */
#include "hsa_app.h"

#include <stdio.h>
#include <stdlib.h>

/* laid out as the parameters of the kernel in vecadd.cl */
struct vecadd_args {
	float *c;
	const float *a;
	const float *b;
	uint32_t n;
};

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "ELEMENTS", 65536, 1u << 28);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 2, "LAUNCHES", 3, 1u << 20);
	size_t bytes = n * sizeof(float);
	struct hsa_app_range range = { .grid = { hsa_app_round_up(n, 256) }, .group = { 256 } };
	float *want = hsa_app_calloc(n, sizeof(float));
	struct hsa_app app;

	hsa_app_init(&app);

	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	float *a = hsa_app_alloc_host(&app, bytes);
	float *b = hsa_app_alloc_host(&app, bytes);
	float *c = hsa_app_alloc_host(&app, bytes);
	float *device_a = hsa_app_alloc_device(&app, bytes);
	float *device_b = hsa_app_alloc_device(&app, bytes);
	float *device_c = hsa_app_alloc_device(&app, bytes);

	for (uint32_t i = 0; i < n; i++) {
		a[i] = (float)i * 0.5f;
		b[i] = 1.0f / (float)(i + 1);
		want[i] = a[i] + b[i];
	}
	hsa_app_copy_to_device(&app, device_a, a, bytes);
	hsa_app_copy_to_device(&app, device_b, b, bytes);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "vecadd");
	struct vecadd_args args = { .c = device_c, .a = device_a, .b = device_b, .n = n };
	void *kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, c, device_c, bytes);
	if (!hsa_app_same_f32("c", c, want, n))
		exit(HSA_APP_FAILED);
	printf("vecadd: ok (%u elements, %u launches)\n", n, launches);

	hsa_app_free(kernargs);
	hsa_app_free(device_c);
	hsa_app_free(device_b);
	hsa_app_free(device_a);
	hsa_app_free(c);
	hsa_app_free(b);
	hsa_app_free(a);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	free(want);
	return HSA_APP_OK;
}
