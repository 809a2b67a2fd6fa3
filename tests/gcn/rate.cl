/* SPDX-License-Identifier: MIT */
/* Two loops of plain vector arithmetic. */
typedef unsigned int u32;

kernel void k_int(global u32 *out, u32 n)
{
	u32 x = __builtin_amdgcn_workitem_id_x(), y = x * 7;

	for (u32 i = 0; i < n; i++) {
		x = x * 3 + y;
		y ^= x << 5;
		x += y >> 3;
		y = (y & 0xffffff0f) | (x & 0x50);
		x -= i;
		y += x;
	}
	out[__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x()] = x + y;
}

kernel void k_f32(global float *out, u32 n)
{
	float x = (float)__builtin_amdgcn_workitem_id_x() * 0.001f, y = 0.5f - x, z = x * y;

	/* Bounded: neither infinities nor NaNs come up. */
	for (u32 i = 0; i < n; i++) {
		x = x * 0.75f + y * 0.125f;
		y = y * 0.5f - z * 0.25f;
		z = z * 0.25f + x * 0.25f + 0.125f;
		x = x * 0.5f + z;
		z = z - y * 0.5f;
		z = z * 0.5f;
	}
	out[__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x()] = x + y + z;
}
