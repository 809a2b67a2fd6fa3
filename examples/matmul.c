/* SPDX-License-Identifier: MIT */
/*
 * matmul [SIZE] [LAUNCHES]: c = a * b for SIZE x SIZE matrices, in 16 x 16 tiles through LDS.
 */
#include "hsa_app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TILE 16

/* laid out as the parameters of the kernel in matmul.cl */
struct matmul_args {
	float *c;
	const float *a;
	const float *b;
	uint32_t n;
};

/* The same fused operations in the same order as the kernel, so the results agree to the last bit.
 */
static void multiply(float *c, const float *a, const float *b, uint32_t n)
{
	for (uint32_t row = 0; row < n; row++) {
		for (uint32_t column = 0; column < n; column++) {
			float sum = 0.0f;

			for (uint32_t k = 0; k < n; k++)
				sum = fmaf(a[row * n + k], b[k * n + column], sum);
			c[row * n + column] = sum;
		}
	}
}

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "SIZE", 96, 2048);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 2, "LAUNCHES", 1, 1u << 20);
	uint32_t side = hsa_app_round_up(n, TILE);
	struct hsa_app_range range = { .grid = { side, side }, .group = { TILE, TILE } };
	size_t count = (size_t)n * n, bytes = count * sizeof(float);
	float *want = hsa_app_calloc(count, sizeof(float));
	struct hsa_app app;

	hsa_app_init(&app);

	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	float *a = hsa_app_alloc_host(&app, bytes);
	float *b = hsa_app_alloc_host(&app, bytes);
	float *c = hsa_app_alloc_host(&app, bytes);
	struct matmul_args args = {
		.c = hsa_app_alloc_device(&app, bytes),
		.a = hsa_app_alloc_device(&app, bytes),
		.b = hsa_app_alloc_device(&app, bytes),
		.n = n,
	};

	for (size_t i = 0; i < count; i++) {
		a[i] = (float)(i % 97) * 0.01f;
		b[i] = 1.0f - (float)(i % 61) * 0.03f;
	}
	multiply(want, a, b, n);
	hsa_app_copy_to_device(&app, (void *)args.a, a, bytes);
	hsa_app_copy_to_device(&app, (void *)args.b, b, bytes);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "matmul");
	void *kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, c, args.c, bytes);
	if (!hsa_app_same_f32("c", c, want, count))
		exit(HSA_APP_FAILED);
	printf("matmul: ok (%u x %u elements, %u launches)\n", n, n, launches);

	hsa_app_free(kernargs);
	hsa_app_free((void *)args.b);
	hsa_app_free((void *)args.a);
	hsa_app_free(args.c);
	hsa_app_free(c);
	hsa_app_free(b);
	hsa_app_free(a);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	free(want);
	return HSA_APP_OK;
}
