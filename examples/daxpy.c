/* SPDX-License-Identifier: MIT */
/*
 * daxpy [ELEMENTS] [LAUNCHES]: y = a * x + y in place, LAUNCHES times, in double precision.
 *
 * Every launch builds on what the one before left in y. A replay that did not put y back before
 * each pass would add a * x once per pass, and the check at the end would say so.
 */
#include "hsa_app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* laid out as the parameters of the kernel in daxpy.cl */
struct daxpy_args {
	double *y;
	const double *x;
	double a;
	uint32_t n;
};

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "ELEMENTS", 65536, 1u << 27);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 2, "LAUNCHES", 3, 1u << 20);
	size_t bytes = n * sizeof(double);
	struct hsa_app_range range = { .grid = { hsa_app_round_up(n, 256) }, .group = { 256 } };
	double *want = hsa_app_calloc(n, sizeof(double));
	struct hsa_app app;

	hsa_app_init(&app);

	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	double *x = hsa_app_alloc_host(&app, bytes);
	double *y = hsa_app_alloc_host(&app, bytes);
	struct daxpy_args args = {
		.y = hsa_app_alloc_device(&app, bytes),
		.x = hsa_app_alloc_device(&app, bytes),
		.a = 1.0 / 3.0,
		.n = n,
	};

	for (uint32_t i = 0; i < n; i++) {
		x[i] = (double)i * 0.1;
		y[i] = want[i] = 1.0 / (double)(i + 1);
		for (uint32_t j = 0; j < launches; j++)
			want[i] = fma(args.a, x[i], want[i]);
	}
	hsa_app_copy_to_device(&app, (void *)args.x, x, bytes);
	hsa_app_copy_to_device(&app, args.y, y, bytes);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "daxpy");
	void *kernargs = hsa_app_kernargs(&app, &kernel, &args, sizeof(args));

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &kernel, &range, kernargs, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_copy_to_host(&app, y, args.y, bytes);
	if (!hsa_app_same_f64("y", y, want, n))
		exit(HSA_APP_FAILED);
	printf("daxpy: ok (%u elements, %u launches)\n", n, launches);

	hsa_app_free(kernargs);
	hsa_app_free((void *)args.x);
	hsa_app_free(args.y);
	hsa_app_free(y);
	hsa_app_free(x);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	free(want);
	return HSA_APP_OK;
}
