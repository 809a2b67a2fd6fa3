/* SPDX-License-Identifier: MIT */
/* pools: memory that is allocated and freed in the order of a stream. */
#include "check.h"

#include <cstring>

static const int n = 10000;

__global__ void fill(int *x, int value)
{
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
		x[i] = value * i;
}

__global__ void add(int *out, const int *a, const int *b)
{
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = a[i] + b[i];
}

/* a freed block may come back at once; what the stream had to do with it before is done first */
static void in_order(hipStream_t stream)
{
	for (int round = 0; round < 20; round++) {
		std::vector<int> result(n), want(n);
		int *a, *b, *sum;

		HIP_CHECK(hipMallocAsync((void **)&a, n * sizeof(int), stream));
		HIP_CHECK(hipMallocAsync((void **)&b, n * sizeof(int), stream));
		fill<<<4, 128, 0, stream>>>(a, round);
		fill<<<4, 128, 0, stream>>>(b, 2);
		HIP_CHECK(hipMallocAsync((void **)&sum, n * sizeof(int), stream));
		add<<<4, 128, 0, stream>>>(sum, a, b);
		LAUNCHED();
		HIP_CHECK(hipFreeAsync(a, stream));
		HIP_CHECK(hipFreeAsync(b, stream));
		HIP_CHECK(hipMemcpyAsync(result.data(), sum, n * sizeof(int), hipMemcpyDeviceToHost, stream));
		HIP_CHECK(hipFreeAsync(sum, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		for (int i = 0; i < n; i++)
			want[i] = (round + 2) * i;
		expect_same("sum", result, want);
	}
}

static void attributes(hipMemPool_t pool)
{
	uint64_t used = ~0ull, threshold = 1 << 20, got = 0;

	HIP_CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
	HIP_CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &got));
	EXPECT(got == threshold);
	HIP_CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
	EXPECT(used == 0);
	HIP_CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemHigh, &used));
	EXPECT(used >= n * sizeof(int));
	HIP_CHECK(hipMemPoolTrimTo(pool, 0));
	HIP_CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &used));
	EXPECT(used == 0);
}

static void own_pool(hipStream_t stream)
{
	hipMemPoolProps props = {};
	hipMemPool_t pool;
	std::vector<int> result(n), want(n);
	int *x;

	props.allocType = hipMemAllocationTypePinned;
	props.location.type = hipMemLocationTypeDevice;
	HIP_CHECK(hipMemPoolCreate(&pool, &props));
	for (int round = 1; round < 4; round++) {
		HIP_CHECK(hipMallocFromPoolAsync((void **)&x, n * sizeof(int), pool, stream));
		fill<<<4, 128, 0, stream>>>(x, round);
		LAUNCHED();
		HIP_CHECK(hipMemcpyAsync(result.data(), x, n * sizeof(int), hipMemcpyDeviceToHost, stream));
		HIP_CHECK(hipFreeAsync(x, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		for (int i = 0; i < n; i++)
			want[i] = round * i;
		expect_same("own pool", result, want);
	}
	HIP_CHECK(hipMemPoolDestroy(pool));
}

int main()
{
	hipMemPool_t pool;
	hipStream_t stream;
	int supported = 0;

	HIP_CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
	if (!supported) {
		std::printf("pools: ok (the device has no memory pools)\n");
		return 0;
	}
	HIP_CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
	HIP_CHECK(hipStreamCreate(&stream));
	in_order(stream);
	attributes(pool);
	own_pool(stream);
	HIP_CHECK(hipStreamDestroy(stream));
	std::printf("pools: ok\n");
	return 0;
}
