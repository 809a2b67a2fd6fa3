/* SPDX-License-Identifier: MIT */
#define GROUP 256

/* One sum per work-group: a tree in LDS, with a barrier between its levels. Reads one array, writes another. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(__global uint *sums, __global const uint *values, uint n)
{
	__local uint tree[GROUP];
	uint local_id = get_local_id(0);
	uint i = get_global_id(0);

	tree[local_id] = i < n ? values[i] : 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint width = GROUP / 2; width > 0; width /= 2) {
		if (local_id < width)
			tree[local_id] += tree[local_id + width];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (local_id == 0)
		sums[get_group_id(0)] = tree[0];
}
