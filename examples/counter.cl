/* SPDX-License-Identifier: MIT */
/*
 * Two variables of the module, not of the program: a static one that no symbol table exports, and one that
 * the host can look up by name. Both keep their values from one launch to the next.
 */
static __global uint launches = 0;
__attribute__((visibility("protected"))) __global uint work_items = 0;

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void bump(void)
{
	if (get_global_id(0) == 0)
		launches++;
	atomic_add(&work_items, 1u);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void report(__global uint *out)
{
	out[0] = launches;
	out[1] = work_items;
}
