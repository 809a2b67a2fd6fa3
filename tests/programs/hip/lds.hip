/* SPDX-License-Identifier: MIT */
/* lds: static and dynamic group memory, both at once, a whole 64 KiB of it, and every width of access. */
#include "check.h"

static const int side = 96;
static const int tile = 16;

__global__ void transpose(float *out, const float *in)
{
	__shared__ float room[tile][tile + 1];
	int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;

	room[threadIdx.y][threadIdx.x] = in[y * side + x];
	__syncthreads();
	out[(blockIdx.x * tile + threadIdx.y) * side + blockIdx.y * tile + threadIdx.x] = room[threadIdx.x][threadIdx.y];
}

static void static_memory()
{
	std::vector<float> in(side * side), want(side * side);

	for (int i = 0; i < side * side; i++) {
		in[i] = (float)i;
		want[i % side * side + i / side] = (float)i;
	}
	Buffer<float> device_in(in), out(side * side);

	transpose<<<dim3(side / tile, side / tile), dim3(tile, tile)>>>(out.data, device_in.data);
	LAUNCHED();
	expect_same("transposed", out.get(), want);
}

extern __shared__ unsigned char dynamic[];

/* inclusive prefix sum of each work-group, Hillis and Steele */
__global__ void scan(unsigned *x)
{
	__shared__ unsigned last;
	unsigned *room = reinterpret_cast<unsigned *>(dynamic);
	unsigned t = threadIdx.x, size = blockDim.x;

	room[t] = x[blockIdx.x * size + t];
	__syncthreads();
	for (unsigned step = 1; step < size; step *= 2) {
		unsigned from = t >= step ? room[t - step] : 0;

		__syncthreads();
		room[t] += from;
		__syncthreads();
	}
	if (t == size - 1)
		last = room[t];
	__syncthreads();
	x[blockIdx.x * size + t] = room[t] ^ (last << 16);
}

static void dynamic_memory()
{
	for (unsigned size = 32; size <= 1024; size *= 2) {
		unsigned count = 4 * size;
		std::vector<unsigned> in(count), want(count);

		for (unsigned i = 0; i < count; i++)
			in[i] = i % 7 + 1;
		for (unsigned g = 0; g < 4; g++) {
			unsigned sum = 0;

			for (unsigned t = 0; t < size; t++)
				want[g * size + t] = sum += in[g * size + t];
			for (unsigned t = 0; t < size; t++)
				want[g * size + t] ^= sum << 16;
		}
		Buffer<unsigned> x(in);

		scan<<<4, size, size * sizeof(unsigned)>>>(x.data);
		LAUNCHED();
		expect_same("scanned", x.get(), want);
	}
}

/* all that a work-group can have, reversed */
__global__ void whole(unsigned *x)
{
	unsigned *room = reinterpret_cast<unsigned *>(dynamic);

	for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x)
		room[i] = x[i];
	__syncthreads();
	for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x)
		x[i] = room[16383 - i];
}

static void all_of_it()
{
	std::vector<unsigned> in(16384), want(16384);

	for (unsigned i = 0; i < 16384; i++) {
		in[i] = i * 2654435761u;
		want[16383 - i] = in[i];
	}
	Buffer<unsigned> x(in);

	whole<<<1, 1024, 65536>>>(x.data);
	LAUNCHED();
	expect_same("whole", x.get(), want);
	whole<<<1, 1024, 65536 + 4>>>(x.data);
	EXPECT(hipGetLastError() != hipSuccess);
}

template <class T> __global__ void widths(T *x, int rotate)
{
	T *room = reinterpret_cast<T *>(dynamic);

	room[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = room[(threadIdx.x + rotate) % blockDim.x];
}

template <class T> void width_of()
{
	std::vector<unsigned char> in(256 * sizeof(T)), want(256 * sizeof(T));

	for (size_t i = 0; i < in.size(); i++)
		in[i] = (unsigned char)(i * 31 + i / 256);
	for (size_t i = 0; i < in.size(); i++)
		want[i] = in[(i + 77 * sizeof(T)) % in.size()];
	Buffer<unsigned char> x(in);

	widths<T><<<1, 256, in.size()>>>(reinterpret_cast<T *>(x.data), 77);
	LAUNCHED();
	expect_same("rotated", x.get(), want);
}

int main()
{
	static_memory();
	dynamic_memory();
	all_of_it();
	width_of<unsigned char>();
	width_of<unsigned short>();
	width_of<unsigned>();
	width_of<uint2>();
	width_of<float3>();
	width_of<uint4>();
	width_of<double>();
	width_of<double4>();
	std::printf("lds: ok\n");
	return 0;
}
