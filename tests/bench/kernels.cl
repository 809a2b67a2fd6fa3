/* SPDX-License-Identifier: MIT */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void null_kernel(void)
{
}

/* Work-group g adds to the first `words` words of region g, in place. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void touch(__global const ulong *regions, ulong words, uint amount)
{
	__global uint *region = (__global uint *)regions[get_group_id(0)];

	for (ulong i = get_local_id(0); i < words; i += 256)
		region[i] += amount;
}
