/* SPDX-License-Identifier: MIT */
#define GROUP 256

/* Inclusive prefix sums of each block of 256 values, in place; the last one of each block goes to `sums` too. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan_blocks(__global uint *values, __global uint *sums, uint n)
{
	__local uint block[GROUP];
	uint local_id = get_local_id(0);
	uint i = get_global_id(0);

	block[local_id] = i < n ? values[i] : 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint distance = 1; distance < GROUP; distance *= 2) {
		uint left = local_id >= distance ? block[local_id - distance] : 0;

		barrier(CLK_LOCAL_MEM_FENCE);
		block[local_id] += left;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (i < n)
		values[i] = block[local_id];
	if (local_id == GROUP - 1)
		sums[get_group_id(0)] = block[local_id];
}

/* Adds to each block the sum of all blocks before it, in place. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan_add(__global uint *values, __global const uint *sums, uint n)
{
	uint i = get_global_id(0);
	uint group = get_group_id(0);

	if (i < n && group > 0)
		values[i] += sums[group - 1];
}
