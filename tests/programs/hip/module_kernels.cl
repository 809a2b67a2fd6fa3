/* SPDX-License-Identifier: MIT */
/* The code object that `modules` embeds. */
__constant int table[4] = {3, 1, 4, 1};
__attribute__((visibility("protected"))) __global int counter = 5;
__attribute__((visibility("protected"))) __global int scratch[64];

kernel void axpy(global float *y, global const float *x, float a, int n)
{
	int i = get_global_id(0);

	if (i < n)
		y[i] += a * x[i];
}

kernel void count(global int *out)
{
	int i = get_global_id(0);

	scratch[i & 63] = i;
	out[i] = table[i & 3] + counter;
}

kernel void dynamic_lds(global int *x, local int *room)
{
	int i = get_local_id(0), size = get_local_size(0);

	room[i] = x[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	x[get_global_id(0)] = room[size - 1 - i];
}
