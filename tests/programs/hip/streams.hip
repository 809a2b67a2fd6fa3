/* SPDX-License-Identifier: MIT */
/* streams: chains over several streams joined by events, callbacks in order, priorities, compute-unit masks. */
#include "check.h"

#include <atomic>

static const int n = 4096;
static const int width = 4;

__global__ void fill(int *x, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value + i;
}

__global__ void scale(int *x, int factor)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * factor + 1;
}

__global__ void gather(int *sum, const int *a, const int *b, const int *c, const int *d)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = a[i] + b[i] + c[i] + d[i];
}

/* forked at one event, joined at others: every stream reads what the first one wrote */
static void fork_and_join(unsigned flags)
{
	hipStream_t streams[width];
	hipEvent_t forked, joined[width];
	Buffer<int> seed(n), sum(n);
	Buffer<int> *parts[width];
	std::vector<int> want(n);
	int *pinned;

	HIP_CHECK(hipHostMalloc((void **)&pinned, n * sizeof(int), hipHostMallocDefault));
	HIP_CHECK(hipEventCreateWithFlags(&forked, hipEventDisableTiming));
	for (int s = 0; s < width; s++) {
		HIP_CHECK(hipStreamCreateWithFlags(&streams[s], flags));
		HIP_CHECK(hipEventCreate(&joined[s]));
		parts[s] = new Buffer<int>(n);
	}
	for (int round = 0; round < 3; round++) {
		fill<<<n / 256, 256, 0, streams[0]>>>(seed.data, round);
		LAUNCHED();
		HIP_CHECK(hipEventRecord(forked, streams[0]));
		for (int s = 0; s < width; s++) {
			HIP_CHECK(hipStreamWaitEvent(streams[s], forked, 0));
			HIP_CHECK(hipMemcpyAsync(parts[s]->data, seed.data, n * sizeof(int), hipMemcpyDeviceToDevice,
						 streams[s]));
			for (int k = 0; k <= s; k++)
				scale<<<n / 256, 256, 0, streams[s]>>>(parts[s]->data, s + 2);
			LAUNCHED();
			HIP_CHECK(hipEventRecord(joined[s], streams[s]));
			if (s)
				HIP_CHECK(hipStreamWaitEvent(streams[0], joined[s], 0));
		}
		gather<<<n / 256, 256, 0, streams[0]>>>(sum.data, parts[0]->data, parts[1]->data, parts[2]->data,
							parts[3]->data);
		LAUNCHED();
		HIP_CHECK(hipMemcpyAsync(pinned, sum.data, n * sizeof(int), hipMemcpyDeviceToHost, streams[0]));
		HIP_CHECK(hipStreamSynchronize(streams[0]));
		for (int i = 0; i < n; i++) {
			want[i] = 0;
			for (int s = 0; s < width; s++) {
				int x = round + i;

				for (int k = 0; k <= s; k++)
					x = x * (s + 2) + 1;
				want[i] += x;
			}
		}
		expect_same("sum", pinned, want.data(), n);
	}
	for (int s = 0; s < width; s++) {
		HIP_CHECK(hipEventDestroy(joined[s]));
		HIP_CHECK(hipStreamDestroy(streams[s]));
		delete parts[s];
	}
	HIP_CHECK(hipEventDestroy(forked));
	HIP_CHECK(hipHostFree(pinned));
}

static std::atomic<int> turn;

static void on_stream(hipStream_t, hipError_t status, void *data)
{
	EXPECT(status == hipSuccess);
	EXPECT(turn == (int)(intptr_t)data);
	turn++;
}

static void callbacks_in_order()
{
	hipStream_t stream;
	Buffer<int> x(n);

	HIP_CHECK(hipStreamCreate(&stream));
	turn = 0;
	for (int k = 0; k < 6; k++) {
		fill<<<n / 256, 256, 0, stream>>>(x.data, k);
		LAUNCHED();
		HIP_CHECK(hipStreamAddCallback(stream, on_stream, (void *)(intptr_t)k, 0));
	}
	HIP_CHECK(hipStreamSynchronize(stream));
	EXPECT(turn == 6);
	EXPECT(x.get()[7] == 12);
	HIP_CHECK(hipStreamDestroy(stream));
}

static void priorities()
{
	int least, greatest, got;

	HIP_CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
	EXPECT(least >= greatest);
	for (int p = greatest; p <= least; p++) {
		hipStream_t stream;
		Buffer<int> x(n);

		HIP_CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, p));
		HIP_CHECK(hipStreamGetPriority(stream, &got));
		EXPECT(got == p);
		fill<<<n / 256, 256, 0, stream>>>(x.data, p);
		LAUNCHED();
		HIP_CHECK(hipStreamSynchronize(stream));
		EXPECT(x.get()[1] == p + 1);
		HIP_CHECK(hipStreamDestroy(stream));
	}
}

/* a stream that uses every second compute unit */
static void cu_mask()
{
	uint32_t mask = 0x55, got = 0;
	hipStream_t stream;
	Buffer<int> x(n);

	HIP_CHECK(hipExtStreamCreateWithCUMask(&stream, 1, &mask));
	HIP_CHECK(hipExtStreamGetCUMask(stream, 1, &got));
	EXPECT(got == mask);
	fill<<<n / 256, 256, 0, stream>>>(x.data, 20);
	LAUNCHED();
	HIP_CHECK(hipStreamSynchronize(stream));
	EXPECT(x.get()[2] == 22);
	HIP_CHECK(hipStreamDestroy(stream));
}

int main()
{
	fork_and_join(hipStreamDefault);
	fork_and_join(hipStreamNonBlocking);
	callbacks_in_order();
	priorities();
	cu_mask();
	HIP_CHECK(hipDeviceSynchronize());
	std::printf("streams: ok\n");
	return 0;
}
