/* SPDX-License-Identifier: MIT */
#include "bodies.h"

#define GID (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())
#define X(name, expr) \
	kernel void k_##name(global u64 *out, global const u32 *in_a, global const u32 *in_b, u32 n) \
	{ \
		u32 i = GID; \
		if (i < n) { \
			u32 a = in_a[i], b = in_b[i]; \
			out[i] = (expr); \
		} \
	}
BODIES(X)

/* Group reduction in LDS, byte and short traffic, atomics of each width. */
kernel void k_reduce(global u64 *out, global const u32 *in_a, global const u32 *in_b, u32 n)
{
	local u32 t[256];
	u32 l = __builtin_amdgcn_workitem_id_x(), i = GID;

	t[l] = i < n ? in_a[i] : 0;
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	for (u32 s = 128; s; s >>= 1) {
		if (l < s)
			t[l] += t[l + s];
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
		__builtin_amdgcn_s_barrier();
	}
	if (l == 0)
		out[__builtin_amdgcn_workgroup_id_x()] = t[0];
}

kernel void k_atomics(global u64 *out, global const u32 *in_a, global const u32 *in_b, u32 n)
{
	u32 i = GID;
	volatile global u32 *w = (volatile global u32 *)out;

	if (i >= n)
		return;
	__atomic_fetch_add(&w[0], in_a[i], __ATOMIC_SEQ_CST);
	__atomic_fetch_xor(&w[1], in_a[i], __ATOMIC_RELAXED);
	__atomic_fetch_max(&w[2], in_a[i], __ATOMIC_RELAXED);
	__atomic_fetch_min((volatile global s32 *)&w[3], (s32)in_a[i], __ATOMIC_RELAXED);
	__atomic_fetch_add(&out[2], both(in_a[i], in_b[i]), __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&out[3], both(in_a[i], in_b[i]), __ATOMIC_RELAXED);
}
