/* SPDX-License-Identifier: MIT */
/* SOPP opcode 0x7f: no GPU of this family has such an instruction. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void illegal(__global uint *out)
{
	__asm__ volatile(".long 0xbfff0000");
	out[get_global_id(0)] = 1;
}
