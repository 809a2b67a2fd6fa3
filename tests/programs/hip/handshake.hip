/* SPDX-License-Identifier: MIT */
/* handshake: a stream that waits for a value that the host writes later; queries meanwhile, elapsed time, a value
 * written back. The runtime waits with a kernel of its own that spins, or, told so by GPU_STREAMOPS_CP_WAIT=1, with a
 * packet. */
#include "check.h"

#include <cmath>

static const int n = 4096;

__global__ void fill(int *x, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value + i;
}

int main()
{
	hipStream_t stream;
	hipEvent_t before, after;
	Buffer<int> x(n);
	uint32_t *gate;
	float ms = -1;

	HIP_CHECK(hipStreamCreate(&stream));
	HIP_CHECK(hipEventCreate(&before));
	HIP_CHECK(hipEventCreate(&after));
	HIP_CHECK(hipExtMallocWithFlags((void **)&gate, 8, hipMallocSignalMemory));
	*(volatile uint64_t *)gate = 0;
	HIP_CHECK(hipEventRecord(before, stream));
	HIP_CHECK(hipStreamWaitValue32(stream, gate, 1, hipStreamWaitValueGte, 0xffffffff));
	fill<<<n / 256, 256, 0, stream>>>(x.data, 3);
	LAUNCHED();
	HIP_CHECK(hipEventRecord(after, stream));
	EXPECT(hipEventQuery(after) == hipErrorNotReady);
	EXPECT(hipStreamQuery(stream) == hipErrorNotReady);
	(void)hipGetLastError();
	*(volatile uint32_t *)gate = 1;
	HIP_CHECK(hipEventSynchronize(after));
	HIP_CHECK(hipEventQuery(after));
	HIP_CHECK(hipStreamQuery(stream));
	HIP_CHECK(hipEventElapsedTime(&ms, before, after));
	EXPECT(ms >= 0 && std::isfinite(ms));
	HIP_CHECK(hipStreamWriteValue32(stream, gate, 77, 0));
	HIP_CHECK(hipStreamSynchronize(stream));
	EXPECT(*(volatile uint32_t *)gate == 77);
	EXPECT(x.get()[5] == 8);
	HIP_CHECK(hipFree(gate));
	HIP_CHECK(hipEventDestroy(before));
	HIP_CHECK(hipEventDestroy(after));
	HIP_CHECK(hipStreamDestroy(stream));
	std::printf("handshake: ok\n");
	return 0;
}
