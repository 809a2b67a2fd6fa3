/* SPDX-License-Identifier: MIT */
#define TILE 16

/* c = a * b for n x n matrices, row by row; tiles of a and b pass through LDS. */
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global float *c, __global const float *a, __global const float *b, uint n)
{
	__local float a_tile[TILE][TILE];
	__local float b_tile[TILE][TILE];
	uint x = get_local_id(0), y = get_local_id(1);
	uint column = get_global_id(0), row = get_global_id(1);
	float sum = 0.0f;

	for (uint t = 0; t < n; t += TILE) {
		a_tile[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0.0f;
		b_tile[y][x] = t + y < n && column < n ? b[(t + y) * n + column] : 0.0f;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint k = 0; k < TILE; k++)
			sum = fma(a_tile[y][k], b_tile[k][x], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (row < n && column < n)
		c[row * n + column] = sum;
}
