/* SPDX-License-Identifier: MIT */
/* atomics: every operation of HIP's on every type it has, in device, group and host memory; what they return; narrow ones
 * by compare and swap; floating-point sums; locks between work-groups. */
#include "check.h"

#include <algorithm>
#include <cmath>

static const int groups = 8;
static const int group = 128;
static const int n = groups * group;

enum { ADD, SUB, MIN, MAX, AND, OR, XOR, EXCHANGE, CAS, OPERATIONS };

template <class T> __device__ T apply(T *x, int operation, T value)
{
	switch (operation) {
	case ADD: return atomicAdd(x, value);
	case MIN: return atomicMin(x, value);
	case MAX: return atomicMax(x, value);
	case AND: return atomicAnd(x, value);
	case OR: return atomicOr(x, value);
	case XOR: return atomicXor(x, value);
	case EXCHANGE: return atomicExch(x, value);
	}
	T seen = *x, old;

	/* SUB by CAS too where there is none for the type */
	do {
		old = seen;
		seen = atomicCAS(x, old, operation == SUB ? (T)(old - value) : (T)(old + value));
	} while (seen != old);
	return old;
}

template <class T> __global__ void run(T *target, const T *values, T *returned, int operation)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	returned[i] = apply(target, operation, values[i]);
}

/* the same without looking at what comes back: other instructions */
template <class T> __global__ void run_silent(T *target, const T *values, int operation)
{
	apply(target, operation, values[blockIdx.x * blockDim.x + threadIdx.x]);
}

/* the same on memory of the host, which a replay does not restore: not for replay */
template <class T> __global__ void run_on_host(T *target, const T *values, int operation)
{
	apply(target, operation, values[blockIdx.x * blockDim.x + threadIdx.x]);
}

template <class T> __global__ void run_group(T *target, const T *values, T start, int operation)
{
	__shared__ T room;

	if (threadIdx.x == 0)
		room = start;
	__syncthreads();
	apply(&room, operation, values[blockIdx.x * blockDim.x + threadIdx.x]);
	__syncthreads();
	if (threadIdx.x == 0)
		target[blockIdx.x] = room;
}

template <class T> static T fold(int operation, T x, const T *values, int count)
{
	for (int i = 0; i < count; i++) {
		switch (operation) {
		case ADD:
		case CAS: x += values[i]; break;
		case SUB: x -= values[i]; break;
		case MIN: x = std::min(x, values[i]); break;
		case MAX: x = std::max(x, values[i]); break;
		case AND: x &= values[i]; break;
		case OR: x |= values[i]; break;
		case XOR: x ^= values[i]; break;
		}
	}
	return x;
}

template <class T> static bool one_of(T x, const std::vector<T> &values)
{
	return std::find(values.begin(), values.end(), x) != values.end();
}

template <class T> static void integers(T start)
{
	std::vector<T> values(n), returned(n), finals(groups);
	Random random(sizeof(T));
	T *host, *alias;

	for (T &value : values)
		value = (T)random.next();
	HIP_CHECK(hipHostMalloc((void **)&host, sizeof(T), hipHostMallocMapped | hipHostMallocCoherent));
	HIP_CHECK(hipHostGetDevicePointer((void **)&alias, host, 0));
	Buffer<T> device_values(values), target(groups), device_returned(n);

	for (int operation = 0; operation < OPERATIONS; operation++) {
		target.put({start});
		run<<<groups, group>>>(target.data, device_values.data, device_returned.data, operation);
		LAUNCHED();
		returned = device_returned.get();
		T final = target.get()[0];

		if (operation == EXCHANGE) {
			/* nothing is lost: what was there, what came back, what is left */
			std::vector<T> all = returned, put = values;

			all.push_back(final);
			put.push_back(start);
			std::sort(all.begin(), all.end());
			std::sort(put.begin(), put.end());
			expect_same("exchanged", all, put);
		} else {
			EXPECT(final == fold(operation, start, values.data(), n));
			EXPECT(one_of(start, returned));
		}
		target.put({start});
		run_silent<<<groups, group>>>(target.data, device_values.data, operation);
		LAUNCHED();
		final = target.get()[0];
		EXPECT(operation == EXCHANGE ? one_of(final, values) : final == fold(operation, start, values.data(), n));

		*host = start;
		run_on_host<<<groups, group>>>(alias, device_values.data, operation);
		LAUNCHED();
		HIP_CHECK(hipDeviceSynchronize());
		EXPECT(operation == EXCHANGE ? one_of(*host, values) : *host == fold(operation, start, values.data(), n));

		run_group<<<groups, group>>>(target.data, device_values.data, start, operation);
		LAUNCHED();
		finals = target.get();
		for (int g = 0; g < groups; g++) {
			if (operation == EXCHANGE)
				EXPECT(one_of(finals[g], values));
			else
				EXPECT(finals[g] == fold(operation, start, values.data() + g * group, group));
		}
	}
	HIP_CHECK(hipHostFree(host));
}

__global__ void tickets(unsigned *up, unsigned *down, unsigned *ups, unsigned *downs)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	ups[i] = atomicInc(up, 99);
	downs[i] = atomicDec(down, 99);
}

static void increments()
{
	Buffer<unsigned> up(1), down(1), ups(n), downs(n);
	std::vector<unsigned> want(n);

	up.put({0});
	down.put({99});
	tickets<<<groups, group>>>(up.data, down.data, ups.data, downs.data);
	LAUNCHED();
	EXPECT(up.get()[0] == n % 100);
	EXPECT(down.get()[0] == (199 - n % 100) % 100);
	for (std::vector<unsigned> seen : {ups.get(), downs.get()}) {
		int count[100] = {0};

		for (unsigned x : seen) {
			EXPECT(x < 100);
			count[x]++;
		}
		EXPECT(*std::max_element(count, count + 100) - *std::min_element(count, count + 100) <= 1);
	}
}

/* whole numbers, so that any order gives the same sum */
template <class T> __global__ void sum(T *plain, T *unsafe, T *group_sum, const T *values)
{
	__shared__ T room;
	T value = values[blockIdx.x * blockDim.x + threadIdx.x];

	if (threadIdx.x == 0)
		room = 0;
	__syncthreads();
	atomicAdd(plain, value);
	unsafeAtomicAdd(unsafe, value);
	atomicAdd(&room, value);
	__syncthreads();
	if (threadIdx.x == 0)
		group_sum[blockIdx.x] = room;
}

template <class T> static void floats()
{
	std::vector<T> values(n), want(groups);
	Buffer<T> plain(1), unsafe(1), group_sum(groups);
	T total = 0;

	for (int i = 0; i < n; i++) {
		values[i] = (T)(i * 7 % 64) - 20;
		total += values[i];
		want[i / group] += values[i];
	}
	Buffer<T> device_values(values);

	plain.put({0});
	unsafe.put({0});
	sum<<<groups, group>>>(plain.data, unsafe.data, group_sum.data, device_values.data);
	LAUNCHED();
	EXPECT(plain.get()[0] == total);
	EXPECT(unsafe.get()[0] == total);
	expect_same("group sum", group_sum.get(), want);
}

/* the way to a narrow atomic: compare and swap of the word around it */
template <class T> __device__ void narrow_add(T *x, T value)
{
	unsigned long long address = (unsigned long long)x;
	unsigned *word = (unsigned *)(address & ~3ull);
	unsigned shift = (unsigned)(address & 3) * 8, mask = ((1u << sizeof(T) * 8) - 1) << shift, seen = *word, old;

	do {
		old = seen;
		unsigned sum = ((old >> shift) + value) << shift;

		seen = atomicCAS(word, old, (old & ~mask) | (sum & mask));
	} while (seen != old);
}

template <class T> __global__ void narrow(T *counters)
{
	narrow_add(&counters[threadIdx.x % 7], (T)(threadIdx.x + blockIdx.x));
}

template <class T> static void narrows()
{
	std::vector<T> want(8);
	Buffer<T> counters(8);

	counters.put(want);
	for (int g = 0; g < groups; g++)
		for (int t = 0; t < group; t++)
			want[t % 7] = (T)(want[t % 7] + t + g);
	narrow<<<groups, group>>>(counters.data);
	LAUNCHED();
	expect_same("narrow", counters.get(), want);
}

struct Guarded {
	int lock, count;
	long long sum;
};

/* one lane of each work-group takes the lock of all */
__global__ void guarded(Guarded *g)
{
	if (threadIdx.x)
		return;
	for (int turn = 0; turn < 10; turn++) {
		while (atomicCAS(&g->lock, 0, 1) != 0)
			__builtin_amdgcn_s_sleep(1);
		__threadfence();
		((volatile Guarded *)g)->count = ((volatile Guarded *)g)->count + 1;
		((volatile Guarded *)g)->sum = ((volatile Guarded *)g)->sum + blockIdx.x;
		__threadfence();
		atomicExch(&g->lock, 0);
	}
}

static void locks()
{
	Buffer<Guarded> g(1);
	long long want = 0;

	g.put({{0, 0, 0}});
	guarded<<<groups, 64>>>(g.data);
	LAUNCHED();
	for (int k = 0; k < groups; k++)
		want += 10 * k;
	EXPECT(g.get()[0].lock == 0);
	EXPECT(g.get()[0].count == 10 * groups);
	EXPECT(g.get()[0].sum == want);
}

int main()
{
	integers<int>(-5);
	integers<unsigned>(0xfffffff0u);
	integers<unsigned long>(0x7fffffffffffffff);
	integers<unsigned long long>(12345678901234567890ull);
	increments();
	floats<float>();
	floats<double>();
	narrows<unsigned char>();
	narrows<unsigned short>();
	locks();
	std::printf("atomics: ok\n");
	return 0;
}
