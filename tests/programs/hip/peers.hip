/* SPDX-License-Identifier: MIT */
/* peers: two devices that copy to each other and read each other's memory. With one device there is nothing to do. */
#include "check.h"

static const int n = 3000;

__global__ void fill(int *x, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value + i;
}

__global__ void add_from(int *x, const int *peer)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += peer[i];
}

static std::vector<int> counted(int value)
{
	std::vector<int> want(n);

	for (int i = 0; i < n; i++)
		want[i] = value + i;
	return want;
}

static int *fill_on(int device, int value)
{
	int *x;

	HIP_CHECK(hipSetDevice(device));
	HIP_CHECK(hipMalloc((void **)&x, n * sizeof(int)));
	fill<<<(n + 255) / 256, 256>>>(x, value);
	LAUNCHED();
	HIP_CHECK(hipDeviceSynchronize());
	return x;
}

static std::vector<int> fetch(const int *x)
{
	std::vector<int> out(n);

	HIP_CHECK(hipMemcpy(out.data(), x, n * sizeof(int), hipMemcpyDeviceToHost));
	return out;
}

int main()
{
	std::vector<int> want(n), out(n);
	hipStream_t streams[2];
	int *x[2], devices = 0, can[2] = {0, 0}, previous;

	HIP_CHECK(hipGetDeviceCount(&devices));
	if (devices < 2) {
		std::printf("peers: ok (one device)\n");
		return 0;
	}
	for (int d = 0; d < 2; d++) {
		x[d] = fill_on(d, 1000 * (d + 1));
		HIP_CHECK(hipStreamCreate(&streams[d]));
		HIP_CHECK(hipDeviceCanAccessPeer(&can[d], d, 1 - d));
		EXPECT(can[d] == 1);
	}
	/* before and after access is allowed */
	for (int round = 0; round < 2; round++) {
		HIP_CHECK(hipMemcpyPeer(x[1], 1, x[0], 0, n * sizeof(int)));
		expect_same("copied", fetch(x[1]), counted(1000));
		HIP_CHECK(hipSetDevice(1));
		fill<<<(n + 255) / 256, 256, 0, streams[1]>>>(x[1], 2000 + round);
		LAUNCHED();
		HIP_CHECK(hipMemcpyPeerAsync(x[0], 0, x[1], 1, n * sizeof(int), streams[1]));
		HIP_CHECK(hipStreamSynchronize(streams[1]));
		expect_same("copied back", fetch(x[0]), counted(2000 + round));
		HIP_CHECK(hipSetDevice(0));
		fill<<<(n + 255) / 256, 256>>>(x[0], 1000);
		LAUNCHED();
		HIP_CHECK(hipDeviceSynchronize());
		for (int d = 0; round == 0 && d < 2; d++) {
			HIP_CHECK(hipSetDevice(d));
			HIP_CHECK(hipDeviceEnablePeerAccess(1 - d, 0));
			EXPECT(hipDeviceEnablePeerAccess(1 - d, 0) == hipErrorPeerAccessAlreadyEnabled);
		}
	}
	(void)hipGetLastError();
	/* each device's kernel reads the other's memory; joined by an event */
	for (int i = 0; i < n; i++)
		want[i] = (1000 + i) + (2001 + i);
	hipEvent_t done;

	HIP_CHECK(hipSetDevice(0));
	HIP_CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
	add_from<<<(n + 255) / 256, 256, 0, streams[0]>>>(x[0], x[1]);
	LAUNCHED();
	HIP_CHECK(hipEventRecord(done, streams[0]));
	HIP_CHECK(hipSetDevice(1));
	HIP_CHECK(hipStreamWaitEvent(streams[1], done, 0));
	add_from<<<(n + 255) / 256, 256, 0, streams[1]>>>(x[1], x[0]);
	LAUNCHED();
	HIP_CHECK(hipStreamSynchronize(streams[1]));
	expect_same("read from the peer", fetch(x[0]), want);
	for (int i = 0; i < n; i++)
		want[i] += 2001 + i;
	expect_same("read back", fetch(x[1]), want);
	for (int d = 0; d < 2; d++) {
		HIP_CHECK(hipSetDevice(d));
		HIP_CHECK(hipGetDevice(&previous));
		EXPECT(previous == d);
		HIP_CHECK(hipDeviceDisablePeerAccess(1 - d));
		HIP_CHECK(hipStreamDestroy(streams[d]));
		HIP_CHECK(hipFree(x[d]));
	}
	std::printf("peers: ok\n");
	return 0;
}
