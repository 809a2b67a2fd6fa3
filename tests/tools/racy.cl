/* SPDX-License-Identifier: MIT */
/*
 * racy: what it leaves depends on how often it has run, for `turns` lies in host memory, which nothing restores. steady: the
 * same each time. Both read `input` and write `output` in place.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void racy(__global const uint *input, __global float *output, __global uint *turns)
{
	uint i = get_global_id(0);

	output[i] += (float)input[i];
	if (i == 100)
		output[i] = (float)(1 + atomic_inc(turns));
}

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void steady(__global const uint *input, __global float *output, __global uint *turns)
{
	uint i = get_global_id(0);

	output[i] += (float)input[i];
}
