/* SPDX-License-Identifier: MIT */
/* In place, so that one pass too many shows. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void add(__global uint *values, uint amount, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		values[i] += amount;
}
