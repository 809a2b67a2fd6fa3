/* SPDX-License-Identifier: MIT */
/*
 * One thread launches without a pause; another copies a number to other memory and reads it back later. HIP writes small
 * copies with the host's own stores where device memory is in its reach, and a restore between two passes of a kernel that
 * it knows nothing of would take them back.
 */
#include "check.h"

#include <atomic>
#include <thread>

static __device__ int variable[64];

static __global__ void step(unsigned *data, unsigned count, unsigned k)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] = data[i] * 3 + k;
}

static std::atomic<bool> stop;
static std::atomic<int> rounds;

static void copy_away()
{
	int *memory;

	HIP_CHECK(hipMalloc(&memory, 4096));
	for (int v = 1; !stop || v < 30; v++) {
		int kept = 0, before = rounds;

		if (v % 2)
			HIP_CHECK(hipMemcpy(memory, &v, sizeof(v), hipMemcpyHostToDevice));
		else
			HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), &v, sizeof(v), 12));
		/* let a launch begin or end in between, while there are any */
		while (rounds == before && !stop)
			std::this_thread::yield();
		if (v % 2)
			HIP_CHECK(hipMemcpy(&kept, memory, sizeof(v), hipMemcpyDeviceToHost));
		else
			HIP_CHECK(hipMemcpyFromSymbol(&kept, HIP_SYMBOL(variable), sizeof(v), 12));
		EXPECT(kept == v);
	}
	HIP_CHECK(hipFree(memory));
}

int main()
{
	const unsigned count = 100000;
	std::vector<unsigned> host(count, 1), want(count, 1);
	hipStream_t stream;
	unsigned *data;

	HIP_CHECK(hipMalloc(&data, count * sizeof(*data)));
	HIP_CHECK(hipMemcpy(data, host.data(), count * sizeof(*data), hipMemcpyHostToDevice));
	HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
	std::thread copier(copy_away);
	for (unsigned k = 0; k < 40; k++) {
		step<<<(count + 255) / 256, 256, 0, stream>>>(data, count, k);
		LAUNCHED();
		rounds++;
		HIP_CHECK(hipStreamSynchronize(stream));
		rounds++;
		for (unsigned &x : want)
			x = x * 3 + k;
	}
	stop = true;
	copier.join();
	HIP_CHECK(hipMemcpy(host.data(), data, count * sizeof(*data), hipMemcpyDeviceToHost));
	expect_same("data", host.data(), want.data(), count);
	std::puts("beside: ok");
	return 0;
}
