/* SPDX-License-Identifier: MIT */
/* managed: unified memory: allocated, advised about, prefetched to and fro, used by host and device in turn. */
#include "check.h"

#include <cstring>

static const int n = 5000;
static const size_t bytes = n * sizeof(int);

__global__ void triple(int *out, const int *in, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		out[i] = 3 * in[i];
}

static void run(int *out, const int *in, hipStream_t stream)
{
	triple<<<(n + 255) / 256, 256, 0, stream>>>(out, in, n);
	LAUNCHED();
}

static int asked(const void *memory, hipMemRangeAttribute attribute)
{
	int value = 12345;

	HIP_CHECK(hipMemRangeGetAttribute(&value, sizeof(value), attribute, memory, bytes));
	return value;
}

static void advice(int *x)
{
	int device, by[2];

	EXPECT(asked(x, hipMemRangeAttributeReadMostly) == 0);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseSetReadMostly, 0));
	EXPECT(asked(x, hipMemRangeAttributeReadMostly) != 0);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseUnsetReadMostly, 0));
	EXPECT(asked(x, hipMemRangeAttributeReadMostly) == 0);
	EXPECT(asked(x, hipMemRangeAttributePreferredLocation) == hipInvalidDeviceId);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseSetPreferredLocation, 0));
	EXPECT(asked(x, hipMemRangeAttributePreferredLocation) == 0);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
	EXPECT(asked(x, hipMemRangeAttributePreferredLocation) == hipCpuDeviceId);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseUnsetPreferredLocation, 0));
	EXPECT(asked(x, hipMemRangeAttributePreferredLocation) == hipInvalidDeviceId);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseSetAccessedBy, 0));
	HIP_CHECK(hipMemRangeGetAttribute(by, sizeof(by), hipMemRangeAttributeAccessedBy, x, bytes));
	EXPECT(by[0] == 0);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseSetCoarseGrain, 0));
	EXPECT(asked(x, hipMemRangeAttributeCoherencyMode) == hipMemRangeCoherencyModeCoarseGrain);
	HIP_CHECK(hipMemAdvise(x, bytes, hipMemAdviseUnsetCoarseGrain, 0));
	EXPECT(asked(x, hipMemRangeAttributeCoherencyMode) == hipMemRangeCoherencyModeFineGrain);
	/* not memory that can be advised about */
	HIP_CHECK(hipGetDevice(&device));
	EXPECT(hipMemAdvise(nullptr, bytes, hipMemAdviseSetReadMostly, device) != hipSuccess);
	EXPECT(hipMemAdvise(x, 0, hipMemAdviseSetReadMostly, device) != hipSuccess);
	(void)hipGetLastError();
}

static void prefetches(int *out, int *in)
{
	std::vector<int> want(n), got(n);
	hipStream_t stream;

	HIP_CHECK(hipStreamCreate(&stream));
	for (int times = 1; times <= 3; times++) {
		for (int i = 0; i < n; i++) {
			in[i] = times * i;
			want[i] = 3 * times * i;
		}
		HIP_CHECK(hipMemPrefetchAsync(in, bytes, 0, stream));
		HIP_CHECK(hipMemPrefetchAsync(out, bytes, 0, stream));
		run(out, in, stream);
		HIP_CHECK(hipMemPrefetchAsync(out, bytes, hipCpuDeviceId, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		EXPECT(asked(in, hipMemRangeAttributeLastPrefetchLocation) == 0);
		EXPECT(asked(out, hipMemRangeAttributeLastPrefetchLocation) == hipCpuDeviceId);
		expect_same("prefetched", out, want.data(), n);
	}
	HIP_CHECK(hipMemcpyAsync(got.data(), out, bytes, hipMemcpyDefault, stream));
	HIP_CHECK(hipMemsetAsync(out, 0x11, bytes, stream));
	HIP_CHECK(hipStreamSynchronize(stream));
	expect_same("copied", got, want);
	EXPECT(out[0] == 0x11111111 && out[n - 1] == 0x11111111);
	HIP_CHECK(hipStreamDestroy(stream));
}

/* many of them, so that addresses come again and sizes are odd */
static void churn()
{
	std::vector<int *> live;

	for (int i = 0; i < 200; i++) {
		int *x;

		HIP_CHECK(hipMallocManaged((void **)&x, 4 * (1 + (size_t)i * 997 % 20000), hipMemAttachGlobal));
		x[0] = i;
		live.push_back(x);
		if (i % 3 == 0) {
			size_t middle = live.size() / 2;

			HIP_CHECK(hipFree(live[middle]));
			live.erase(live.begin() + (long)middle);
		}
		if (live.size() > 60) {
			HIP_CHECK(hipFree(live[0]));
			live.erase(live.begin());
		}
	}
	for (int *x : live)
		HIP_CHECK(hipFree(x));
}

int main()
{
	int *in, *out, managed = 0;
	hipPointerAttribute_t attributes;
	std::vector<int> want(n);

	HIP_CHECK(hipDeviceGetAttribute(&managed, hipDeviceAttributeManagedMemory, 0));
	EXPECT(managed == 1);
	HIP_CHECK(hipMallocManaged((void **)&in, bytes, hipMemAttachGlobal));
	HIP_CHECK(hipMallocManaged((void **)&out, bytes, hipMemAttachGlobal));
	HIP_CHECK(hipPointerGetAttributes(&attributes, in));
	EXPECT(attributes.isManaged == 1);
	for (int i = 0; i < n; i++) {
		in[i] = i - 7;
		want[i] = 3 * (i - 7);
	}
	run(out, in, nullptr);
	HIP_CHECK(hipDeviceSynchronize());
	expect_same("managed", out, want.data(), n);
	advice(in);
	prefetches(out, in);
	HIP_CHECK(hipFree(in));
	HIP_CHECK(hipFree(out));
	churn();
	std::printf("managed: ok\n");
	return 0;
}
