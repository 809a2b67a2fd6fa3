/* SPDX-License-Identifier: MIT */
/* sort: reductions from templates over type, operation and block size, and a radix sort of keys with values. */
#include "check.h"

#include <algorithm>
#include <limits>
#include <numeric>

/* --- reduction: each thread several, each wavefront by shuffles, each work-group through group memory --- */

struct Plus {
	template <class T> static __host__ __device__ T none()
	{
		return T(0);
	}
	template <class T> __host__ __device__ T operator()(T a, T b) const
	{
		return a + b;
	}
};

struct Smallest {
	template <class T> static __host__ __device__ T none()
	{
		return std::numeric_limits<T>::max();
	}
	template <class T> __host__ __device__ T operator()(T a, T b) const
	{
		return b < a ? b : a;
	}
};

struct Either {
	template <class T> static __host__ __device__ T none()
	{
		return T(0);
	}
	template <class T> __host__ __device__ T operator()(T a, T b) const
	{
		return a ^ b;
	}
};

template <int step, class T, class Op> struct Wave {
	static __device__ T reduce(T x, Op op)
	{
		return Wave<step / 2, T, Op>::reduce(op(x, __shfl_xor(x, step)), op);
	}
};

template <class T, class Op> struct Wave<0, T, Op> {
	static __device__ T reduce(T x, Op)
	{
		return x;
	}
};

template <class T, class Op, int block> __global__ void reduce(T *out, const T *in, int n, Op op)
{
	__shared__ T room[block / 64];
	T x = Op::template none<T>();

	for (int i = blockIdx.x * block + threadIdx.x; i < n; i += gridDim.x * block)
		x = op(x, in[i]);
	x = Wave<32, T, Op>::reduce(x, op);
	if (threadIdx.x % 64 == 0)
		room[threadIdx.x / 64] = x;
	__syncthreads();
	if (threadIdx.x == 0) {
#pragma unroll
		for (int k = 1; k < block / 64; k++)
			x = op(x, room[k]);
		out[blockIdx.x] = x;
	}
}

template <class T, class Op, int block> static void reduced(int n)
{
	std::vector<T> in(n);
	Buffer<T> parts(8), whole(1);
	Random random(n);
	T want = Op::template none<T>();
	Op op;

	/* small whole numbers: a sum of them is exact in any order */
	for (T &x : in) {
		x = (T)(random.next() % 2001) - (T)1000;
		want = op(want, x);
	}
	Buffer<T> device_in(in);

	reduce<T, Op, block><<<8, block>>>(parts.data, device_in.data, n, op);
	reduce<T, Op, 64><<<1, 64>>>(whole.data, parts.data, 8, op);
	LAUNCHED();
	EXPECT(whole.get()[0] == want);
}

/* --- radix sort, four bits at a time, stable --- */

static const int block = 256;
static const int digits = 16;

template <class Key> __device__ int digit(Key key, int shift)
{
	return (int)(key >> shift & (Key)(digits - 1));
}

template <class Key> __global__ void count(unsigned *counts, const Key *keys, int n, int shift)
{
	__shared__ unsigned room[digits];
	int i = blockIdx.x * block + threadIdx.x;

	if (threadIdx.x < digits)
		room[threadIdx.x] = 0;
	__syncthreads();
	if (i < n)
		atomicAdd(&room[digit(keys[i], shift)], 1);
	__syncthreads();
	if (threadIdx.x < digits)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = room[threadIdx.x];
}

/* exclusive prefix sum in place, by one work-group */
__global__ void scan(unsigned *x, int n)
{
	__shared__ unsigned room[block];
	unsigned carry = 0;

	for (int start = 0; start < n; start += block) {
		int i = start + threadIdx.x;
		unsigned mine = i < n ? x[i] : 0, sum = mine;

		room[threadIdx.x] = mine;
		__syncthreads();
		for (unsigned step = 1; step < block; step *= 2) {
			unsigned from = threadIdx.x >= step ? room[threadIdx.x - step] : 0;

			__syncthreads();
			sum = room[threadIdx.x] += from;
			__syncthreads();
		}
		if (i < n)
			x[i] = carry + sum - mine;
		carry += room[block - 1];
		__syncthreads();
	}
}

template <class Key>
__global__ void scatter(Key *keys_out, int *values_out, const Key *keys, const int *values, const unsigned *starts,
			int n, int shift)
{
	__shared__ unsigned before[block / 64][digits];
	int i = blockIdx.x * block + threadIdx.x, lane = threadIdx.x % 64, wave = threadIdx.x / 64;
	int mine = i < n ? digit(keys[i], shift) : -1;
	unsigned rank = 0;

	for (int d = 0; d < digits; d++) {
		unsigned long long same = __ballot(mine == d);

		if (lane == 0)
			before[wave][d] = __popcll(same);
		if (mine == d)
			rank = __popcll(same & __lanemask_lt());
	}
	__syncthreads();
	if (mine < 0)
		return;
	for (int w = 0; w < wave; w++)
		rank += before[w][mine];
	rank += starts[mine * gridDim.x + blockIdx.x];
	keys_out[rank] = keys[i];
	values_out[rank] = values[i];
}

template <class Key> static void sorted(int n)
{
	const int blocks = (n + block - 1) / block;
	std::vector<Key> keys(n), want_keys(n);
	std::vector<int> values(n), order(n);
	Random random(7 * n);

	for (Key &key : keys)
		key = (Key)random.next() & ~(Key)0xf0; /* many are equal in some digits */
	std::iota(values.begin(), values.end(), 0);
	order = values;
	std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
	for (int i = 0; i < n; i++)
		want_keys[i] = keys[order[i]];

	Buffer<Key> a(keys), b(n);
	Buffer<int> x(values), y(n);
	Buffer<unsigned> counts(digits * blocks);
	Key *from = a.data, *to = b.data;
	int *from_values = x.data, *to_values = y.data;

	for (int shift = 0; shift < (int)sizeof(Key) * 8; shift += 4) {
		count<<<blocks, block>>>(counts.data, from, n, shift);
		scan<<<1, block>>>(counts.data, digits * blocks);
		scatter<<<blocks, block>>>(to, to_values, from, from_values, counts.data, n, shift);
		LAUNCHED();
		std::swap(from, to);
		std::swap(from_values, to_values);
	}
	/* an even number of passes: back in the first buffers */
	expect_same("keys", a.get(), want_keys);
	expect_same("values", x.get(), order);
}

int main()
{
	reduced<int, Plus, 64>(1);
	reduced<int, Smallest, 256>(4999);
	reduced<unsigned, Either, 512>(6000);
	reduced<long long, Plus, 128>(4096);
	reduced<float, Plus, 256>(5001);
	reduced<double, Plus, 1024>(20000);
	reduced<double, Smallest, 64>(777);
	sorted<unsigned>(3000);
	sorted<unsigned short>(256);
	sorted<unsigned long long>(1025);
	std::printf("sort: ok\n");
	return 0;
}
