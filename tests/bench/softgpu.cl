/* SPDX-License-Identifier: MIT */
/* What the rows of the software GPU run. */
#define TILE 16

/* Through LDS, a tile of 32 x 32 by 32 x 8 work-items. */
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void transpose(__global float *out, __global const float *in, uint n)
{
	__local float tile[32][33];
	uint x = get_group_id(0) * 32 + get_local_id(0), y = get_group_id(1) * 32 + get_local_id(1);

	for (uint k = 0; k < 32; k += 8)
		tile[get_local_id(1) + k][get_local_id(0)] = in[(y + k) * n + x];
	barrier(CLK_LOCAL_MEM_FENCE);
	x = get_group_id(1) * 32 + get_local_id(0);
	y = get_group_id(0) * 32 + get_local_id(1);
	for (uint k = 0; k < 32; k += 8)
		out[(y + k) * n + x] = tile[get_local_id(0)][get_local_id(1) + k];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(__global float *c, __global const float *a, __global const float *b, uint n)
{
	__local float ta[TILE][TILE], tb[TILE][TILE];
	uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
	float sum = 0;

	for (uint k = 0; k < n; k += TILE) {
		ta[ly][lx] = a[y * n + k + lx];
		tb[ly][lx] = b[(k + ly) * n + x];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint i = 0; i < TILE; i++)
			sum += ta[ly][i] * tb[i][lx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[y * n + x] = sum;
}

/* Arithmetic alone, the same for each of many work-groups. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void busy(__global uint *out, uint n)
{
	uint x = get_global_id(0);

	for (uint i = 0; i < n; i++)
		x = x * 1664525 + (x >> 7 ^ i);
	out[get_global_id(0)] = x;
}
