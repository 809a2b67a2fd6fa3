/* SPDX-License-Identifier: MIT */
/* softgpu CODE-OBJECT transpose|gemm|busy: seconds of the best of three dispatches through the runtime, results checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../thunk/hsa_client.h"

static struct hsa_client client;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_of_three(const char *name, const uint32_t grid[2], const uint16_t group[2], const void *arguments,
                            size_t size)
{
	void *kernarg = hsa_client_host(&client, 4096);
	double best = 1e9;
	hsa_signal_t done;
	hsa_queue_t *queue;

	memcpy(kernarg, arguments, size);
	HSA_CHECK(hsa_queue_create(client.gpus[0], 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
	HSA_CHECK(hsa_signal_create(1, 0, NULL, &done));
	for (int k = 0; k < 3; k++) {
		double t = now();

		hsa_signal_store_relaxed(done, 1);
		hsa_client_launch(queue, &(struct hsa_launch){
			.kernel = hsa_client_kernel(&client, 0, name), .grid = {grid[0], grid[1]}, .group = {group[0], group[1]},
			.kernarg = kernarg, .barrier = true, .completion = done,
		});
		while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0)
			;
		t = now() - t;
		best = t < best ? t : best;
	}
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	return best;
}

static float *floats(uint32_t n)
{
	float *m = hsa_client_host(&client, (size_t)n * n * sizeof(*m));

	for (size_t i = 0; i < (size_t)n * n; i++)
		m[i] = (float)(i * 2654435761u >> 20 & 255);
	return m;
}

static double transpose(void)
{
	const uint32_t n = 4096;
	struct {
		float *out, *in;
		uint32_t n;
	} a = {floats(n), floats(n), n};
	double seconds = best_of_three("transpose", (uint32_t[]){n, n / 4}, (uint16_t[]){32, 8}, &a, sizeof(a));

	for (size_t y = 0; y < n; y++)
		for (size_t x = 0; x < n; x++)
			if (a.out[y * n + x] != a.in[x * n + y])
				exit(1);
	return seconds;
}

static double gemm(void)
{
	const uint32_t n = 512;
	struct {
		float *c, *a, *b;
		uint32_t n;
	} a = {floats(n), floats(n), floats(n), n};
	double seconds = best_of_three("gemm", (uint32_t[]){n, n}, (uint16_t[]){16, 16}, &a, sizeof(a));

	/* Small integers: each sum is below 2^25, and exact in steps of 2. */
	for (size_t y = 0; y < n; y += 7)
		for (size_t x = 0; x < n; x++) {
			float sum = 0;

			for (size_t k = 0; k < n; k++)
				sum = __builtin_fmaf(a.a[y * n + k], a.b[k * n + x], sum);
			if (a.c[y * n + x] != sum)
				exit(1);
		}
	return seconds;
}

static double busy(void)
{
	const uint32_t groups = 512, n = 400;
	struct {
		uint32_t *out, n;
	} a = {hsa_client_host(&client, groups * 256 * 4), n};
	double seconds = best_of_three("busy", (uint32_t[]){groups * 256, 1}, (uint16_t[]){256, 1}, &a, sizeof(a));

	for (uint32_t g = 0; g < groups * 256; g++) {
		uint32_t x = g;

		for (uint32_t i = 0; i < n; i++)
			x = x * 1664525 + (x >> 7 ^ i);
		if (a.out[g] != x)
			exit(1);
	}
	return seconds;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	hsa_client_open(&client, argv[1]);
	printf("%.6f\n", !strcmp(argv[2], "transpose") ? transpose() : !strcmp(argv[2], "gemm") ? gemm() : busy());
	hsa_client_close(&client);
	return 0;
}
