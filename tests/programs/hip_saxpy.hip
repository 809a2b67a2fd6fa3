/* SPDX-License-Identifier: MIT */
/* hip_saxpy [LAUNCHES]: y = a * x + y in place, through the HIP runtime and its own way with queues. */
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(call)                                                                            \
	do {                                                                                       \
		hipError_t error = (call);                                                         \
		if (error != hipSuccess) {                                                         \
			std::fprintf(stderr, "hip_saxpy: %s failed: %s\n", #call,                  \
				     hipGetErrorString(error));                                    \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

__global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = fmaf(a, x[i], y[i]);
}

int main(int argc, char **argv)
{
	const int n = 5000;
	const int launches = argc > 1 ? std::atoi(argv[1]) : 3;
	std::vector<float> x(n), y(n), want(n);
	float *device_x, *device_y;
	int wrong = 0;

	for (int i = 0; i < n; i++) {
		x[i] = (float)i * 0.25f;
		y[i] = want[i] = 1.0f;
		for (int j = 0; j < launches; j++)
			want[i] = std::fma(2.5f, x[i], want[i]);
	}
	HIP_CHECK(hipMalloc(&device_x, n * sizeof(float)));
	HIP_CHECK(hipMalloc(&device_y, n * sizeof(float)));
	HIP_CHECK(hipMemcpy(device_x, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy(device_y, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
	for (int j = 0; j < launches; j++)
		saxpy<<<(n + 255) / 256, 256>>>(device_y, device_x, 2.5f, n);
	HIP_CHECK(hipGetLastError());
	HIP_CHECK(hipMemcpy(y.data(), device_y, n * sizeof(float), hipMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		wrong += y[i] != want[i];
	if (wrong) {
		std::fprintf(stderr, "hip_saxpy: wrong: %d of %d differ\n", wrong, n);
		return 1;
	}
	std::printf("hip_saxpy: ok (%d elements, %d launches)\n", n, launches);
	HIP_CHECK(hipFree(device_y));
	HIP_CHECK(hipFree(device_x));
	return 0;
}
