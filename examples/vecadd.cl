/* SPDX-License-Identifier: MIT */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void vecadd(__global float *c, __global const float *a, __global const float *b, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		c[i] = a[i] + b[i];
}
