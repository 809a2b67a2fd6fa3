/* SPDX-License-Identifier: MIT */
/* Adds to the bins with global atomics; only the low bits of a value count, bin_count is a power of two. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void histogram(__global uint *bins, __global const uint *values, uint bin_count, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		atomic_add(&bins[values[i] & (bin_count - 1)], 1u);
}
