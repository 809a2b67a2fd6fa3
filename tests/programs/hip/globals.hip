/* SPDX-License-Identifier: MIT */
/* globals: device and constant variables, static ones, pointers between them, copies by symbol; calls through pointers,
 * virtual calls and recursion, which need a stack. */
#include "check.h"

static const int n = 256;

struct Shape {
	int sides;
	float size[2];
};

__device__ int plain = 7;
__device__ int zeroed[64];
static __device__ long long hidden = -1;
__device__ const double fixed[3] = {0.5, 1.5, 2.5};
__constant__ float weights[16];
__constant__ Shape shape = {4, {2.0f, 3.0f}};
__device__ int *to_plain = &plain;
__device__ const char text[] = "device";

__global__ void use(double *out)
{
	int i = threadIdx.x;
	int old = atomicAdd(&zeroed[i & 63], i);

	(void)old;
	out[i] = fixed[i % 3] + weights[i & 15] + (float)shape.sides * shape.size[i & 1] + *to_plain + text[i % 6];
	if (i == 0)
		hidden -= *to_plain;
}

__global__ void read_hidden(long long *out)
{
	*out = hidden;
}

static void variables()
{
	float host_weights[16];
	int host[64], want_zeroed[64] = {0}, value = 100, back = 0;
	size_t bytes;
	void *where;
	Buffer<double> out(n);
	Buffer<long long> seen(1);
	std::vector<double> want(n);

	for (int i = 0; i < 16; i++)
		host_weights[i] = (float)i / 4;
	HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), host_weights, sizeof(host_weights)));
	HIP_CHECK(hipMemcpyFromSymbol(&back, HIP_SYMBOL(plain), sizeof(back)));
	EXPECT(back == 7);
	HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(plain), &value, sizeof(value)));
	HIP_CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(weights)));
	EXPECT(bytes == sizeof(host_weights));
	use<<<1, n>>>(out.data);
	LAUNCHED();
	for (int i = 0; i < n; i++) {
		want[i] = (i % 3) + 0.5 + host_weights[i & 15] + (i & 1 ? 12.0 : 8.0) + 100 + "device"[i % 6];
		want_zeroed[i & 63] += i;
	}
	expect_same("out", out.get(), want);
	HIP_CHECK(hipMemcpyFromSymbol(host, HIP_SYMBOL(zeroed), sizeof(host)));
	expect_same("zeroed", host, want_zeroed, 64);
	HIP_CHECK(hipMemcpyFromSymbol(host, HIP_SYMBOL(zeroed), 4 * sizeof(int), 8 * sizeof(int)));
	expect_same("zeroed + 8", host, want_zeroed + 8, 4);
	HIP_CHECK(hipGetSymbolAddress(&where, HIP_SYMBOL(zeroed)));
	HIP_CHECK(hipMemset(where, 0, sizeof(host)));
	read_hidden<<<1, 1>>>(seen.data);
	LAUNCHED();
	EXPECT(seen.get()[0] == -101);
}

typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b)
{
	return a + b;
}

__device__ __noinline__ int times(int a, int b)
{
	return a * b;
}

__device__ Operation operations[2] = {plus, times};

struct Animal {
	__device__ virtual int legs(int which) const = 0;
	int spare;
};

struct Bird : Animal {
	__device__ int legs(int which) const override
	{
		return 2 + which + spare;
	}
};

struct Beetle : Animal {
	__device__ int legs(int which) const override
	{
		return 6 * which - spare;
	}
};

__device__ __noinline__ int ackermann(int m, int k)
{
	if (m == 0)
		return k + 1;
	return ackermann(m - 1, k == 0 ? 1 : ackermann(m, k - 1));
}

__global__ void calls(int *out)
{
	int i = threadIdx.x, stack[16];
	Bird bird;
	Beetle beetle;
	Animal *animals[2] = {&bird, &beetle};

	bird.spare = 5;
	beetle.spare = 9;
	for (int k = 0; k < 16; k++)
		stack[k] = i * k;
	out[i] = operations[(i >> 2) & 1](i, 3) + animals[i & 1]->legs(i) + ackermann(2, i % 4) + stack[i & 15];
}

static void functions()
{
	Buffer<int> out(n);
	std::vector<int> want(n);

	calls<<<1, n>>>(out.data);
	LAUNCHED();
	for (int i = 0; i < n; i++) {
		want[i] = (i >> 2) & 1 ? i * 3 : i + 3;
		want[i] += i & 1 ? 6 * i - 9 : 2 + i + 5;
		want[i] += 2 * (i % 4) + 3; /* Ackermann's function of 2 and k */
		want[i] += i * (i & 15);
	}
	expect_same("calls", out.get(), want);
}

int main()
{
	variables();
	functions();
	std::printf("globals: ok\n");
	return 0;
}
