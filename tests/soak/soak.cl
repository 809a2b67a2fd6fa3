/* SPDX-License-Identifier: MIT */
/* In place and not to be undone by running again, so that a pass too many, or memory that was not restored, shows. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void mix(__global uint *values, uint amount, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		values[i] = values[i] * 3u + amount + i;
}
