/* SPDX-License-Identifier: MIT */
/* cooperative: groups of a block, tiles, the threads that are together; and a grid that synchronises, if the device can. */
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

static const int n = 256;

template <unsigned size> __global__ void tiles(int *sum, int *rank, int *shifted, const int *in)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<size> tile = cg::tiled_partition<size>(block);
	int i = block.thread_rank(), x = in[i];

	for (unsigned step = size / 2; step; step /= 2)
		x += tile.shfl_xor(x, step);
	sum[i] = x;
	rank[i] = tile.thread_rank() + 1000 * tile.size();
	shifted[i] = tile.shfl_up(in[i], 1) + tile.shfl_down(in[i], 1) + tile.shfl(in[i], 0);
	tile.sync();
	block.sync();
}

template <unsigned size> static void tiles_of()
{
	std::vector<int> in(n), want_sum(n), want_rank(n), want_shifted(n);

	for (int i = 0; i < n; i++)
		in[i] = i * i % 97;
	for (int i = 0; i < n; i++) {
		int start = i / (int)size * (int)size, at = i - start;

		for (unsigned k = 0; k < size; k++)
			want_sum[i] += in[start + k];
		want_rank[i] = at + 1000 * (int)size;
		want_shifted[i] = in[at ? i - 1 : i] + in[at + 1 < (int)size ? i + 1 : i] + in[start];
	}
	Buffer<int> device_in(in), sum(n), rank(n), shifted(n);

	tiles<size><<<1, n>>>(sum.data, rank.data, shifted.data, device_in.data);
	LAUNCHED();
	expect_same("sum", sum.get(), want_sum);
	expect_same("rank", rank.get(), want_rank);
	expect_same("shifted", shifted.get(), want_shifted);
}

/* the threads that took the branch, numbered; one of them counts for all */
__global__ void together(int *rank, int *total)
{
	int i = threadIdx.x;

	rank[i] = -1;
	if (i % 3 == 1) {
		cg::coalesced_group group = cg::coalesced_threads();

		rank[i] = group.thread_rank() + 100 * group.size();
		if (group.thread_rank() == 0)
			atomicAdd(total, group.size());
	}
}

static void coalesced()
{
	Buffer<int> rank(n), total(1);
	std::vector<int> want(n, -1);
	int count = 0;

	total.put({0});
	together<<<1, n>>>(rank.data, total.data);
	LAUNCHED();
	for (int wave = 0; wave < n; wave += 64) {
		int size = 0, at = 0;

		for (int i = wave; i < wave + 64; i++)
			size += i % 3 == 1;
		for (int i = wave; i < wave + 64; i++)
			if (i % 3 == 1)
				want[i] = at++ + 100 * size;
		count += size;
	}
	expect_same("rank", rank.get(), want);
	EXPECT(total.get()[0] == count);
}

/* each round reads what other work-groups wrote in the round before */
__global__ void rounds(int *a, int *b, int count, unsigned *size)
{
	cg::grid_group grid = cg::this_grid();
	int i = grid.thread_rank();

	for (int round = 0; round < count; round++) {
		int *from = round & 1 ? b : a, *to = round & 1 ? a : b, all = grid.size();

		to[i] = from[(i + 1) % all] + from[(i + all / 2) % all];
		grid.sync();
	}
	if (i == 0)
		*size = grid.size();
}

static bool grid_synchronises()
{
	int cooperative = 0, blocks = 0, count = 5;
	const int size = 64;

	HIP_CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0));
	if (!cooperative)
		return false;
	HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rounds, size, 0));
	EXPECT(blocks > 0);
	const int all = 6 * size;
	std::vector<int> a(all), b(all);

	for (int i = 0; i < all; i++)
		a[i] = i % 11;
	Buffer<int> device_a(a), device_b(all);
	Buffer<unsigned> seen(1);
	void *args[] = {&device_a.data, &device_b.data, &count, &seen.data};

	HIP_CHECK(hipLaunchCooperativeKernel(rounds, dim3(6), dim3(size), args, 0, 0));
	for (int round = 0; round < count; round++) {
		for (int i = 0; i < all; i++)
			b[i] = a[(i + 1) % all] + a[(i + all / 2) % all];
		a.swap(b);
	}
	expect_same("grid", device_b.get(), a);
	EXPECT(seen.get()[0] == (unsigned)all);
	/* more than can be there at once */
	EXPECT(hipLaunchCooperativeKernel(rounds, dim3(1 << 20), dim3(size), args, 0, 0) != hipSuccess);
	(void)hipGetLastError();
	return true;
}

int main()
{
	tiles_of<2>();
	tiles_of<8>();
	tiles_of<32>();
	tiles_of<64>();
	coalesced();
	if (grid_synchronises())
		std::printf("cooperative: ok\n");
	else
		std::printf("cooperative: ok (the device has no cooperative launch)\n");
	return 0;
}
