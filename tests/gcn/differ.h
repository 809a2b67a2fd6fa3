/* SPDX-License-Identifier: MIT */
/*
 * What generated kernels are made of, as OpenCL C for the GPU and as C for the host; see differ.py.
 *
 * A kernel is a few phases with a barrier between them. Each work-item keeps its
 * state from one to the next, so that the host can run all work-items of a group
 * through one phase, then through the next: the order within a phase is free,
 * since a work-item writes only places of its own, or by operations that commute.
 */
#ifndef DIFFER_H
#define DIFFER_H

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef ulong u64;
typedef long s64;
typedef uint u32;
typedef int s32;
typedef ushort u16;
typedef short s16;
typedef uchar u8;
typedef char s8;
#define GLOBAL global
#define LOCAL local
#define CLZ64(x) __builtin_clzl(x) /* long long has 128 bits in OpenCL C */
#define CTZ64(x) __builtin_ctzl(x)
#define POP64(x) __builtin_popcountl(x)
#define U32_OF(f) __builtin_astype((float)(f), u32)
#define U64_OF(d) __builtin_astype((double)(d), u64)
#define U16_OF(h) __builtin_astype((half)(h), u16)
#define F32_OF(u) __builtin_astype((u32)(u), float)
#define F64_OF(u) __builtin_astype((u64)(u), double)
#define F16_OF(u) __builtin_astype((u16)(u), half)
#define F16_FMA(a, b, c) __builtin_fmaf16(a, b, c)
/* clang 15 divides and multiplies unsigned numbers in 24 bits when it sees that they have many sign bits: wrong for those with the top
 * bit set. What it knows of an operand is taken away here. */
#define HIDE(x) __asm__("" : "+v"(x))
#else
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint8_t u8;
typedef int8_t s8;
typedef _Float16 half;
#define GLOBAL
#define LOCAL
#define HIDE(x)
#define CLZ64(x) __builtin_clzll(x)
#define CTZ64(x) __builtin_ctzll(x)
#define POP64(x) __builtin_popcountll(x)
#define CAST(name, to, from) static inline to name(from x) { to r; memcpy(&r, &x, sizeof(r)); return r; }
CAST(U32_OF, u32, float)
CAST(U64_OF, u64, double)
CAST(U16_OF, u16, half)
CAST(F32_OF, float, u32)
CAST(F64_OF, double, u64)
CAST(F16_OF, half, u16)
/* The product of halves is exact in double, and the sum rounds to odd so that a second rounding does no harm. */
static inline half F16_FMA(half a, half b, half c)
{
	double p = (double)(float)a * (double)(float)b, z = (double)(float)c, s = p + z, t = s - p;
	double err = (p - (s - t)) + (z - t);
	u64 u = U64_OF(s);

	if (err == err && err != 0 && !(u & 1) && s == s && s - s == 0)
		u += (err > 0) == (s > 0) ? 1 : -1;
	/* 53 bits, odd when inexact; to single the same way, then to half */
	s = F64_OF(u);
	{
		float f = (float)s;
		u32 v = U32_OF(f);

		if (s == s && (double)f != s && f - f == 0) {
			if (__builtin_fabs((double)f) > __builtin_fabs(s))
				v--;
			f = F32_OF(v | 1);
		}
		return (half)f;
	}
}
#endif

#define GROUP 256
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

struct state {
	u32 u[4];
	u64 l[2];
	float f[3];
	double d[3];
	half h[2];
	u64 hash;
};

struct shared {
	u32 slot[2][GROUP]; /* written in one phase by their owners, read by all in the next */
	u32 count[8];       /* only operations that commute */
	u64 wide[4];
};

/* NaN payloads differ between the two machines. */
INLINE u32 bits32(float f) { return f != f ? 0x7fc00000u : U32_OF(f); }
INLINE u64 bits64(double d) { return d != d ? 0x7ff8000000000000ul : U64_OF(d); }
INLINE u32 bits16(half h) { return h != h ? 0x7e00u : U16_OF(h); }
INLINE u64 mix(u64 h, u64 x) { h ^= x; h *= 0x9e3779b97f4a7c15ul; return h ^ h >> 29; }

/* Total functions, where C leaves the edges undefined. */
INLINE u32 divu(u32 a, u32 b) { HIDE(a); HIDE(b); return b ? a / b : a; }
INLINE u32 remu(u32 a, u32 b) { HIDE(a); HIDE(b); return b ? a % b : a; }
INLINE s32 divs(s32 a, s32 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE s32 rems(s32 a, s32 b) { return b == 0 || b == -1 ? a : a % b; }
INLINE u64 divl(u64 a, u64 b) { HIDE(a); HIDE(b); return b ? a / b : a; }
INLINE u64 reml(u64 a, u64 b) { HIDE(a); HIDE(b); return b ? a % b : a; }
INLINE s64 divsl(s64 a, s64 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE u32 clz(u32 a) { return a ? (u32)__builtin_clz(a) : 32; }
INLINE u32 ctz(u32 a) { return a ? (u32)__builtin_ctz(a) : 32; }
INLINE u32 clzl(u64 a) { return a ? (u32)CLZ64(a) : 64; }
INLINE u32 ctzl(u64 a) { return a ? (u32)CTZ64(a) : 64; }
INLINE u32 rotl(u32 a, u32 n) { return a << (n & 31) | a >> (-n & 31); }
INLINE u64 rotll(u64 a, u32 n) { return a << (n & 63) | a >> (-n & 63); }
/* Hidden: clang 15 makes a signed product of 24 bits of one with 0xffffffff. */
INLINE u64 mull(u64 a, u64 b) { HIDE(a); HIDE(b); return a * b; }
INLINE u64 mulw(u32 a, u32 b) { HIDE(a); HIDE(b); return (u64)a * b; }
INLINE u32 mulhi(u32 a, u32 b) { return (u32)(mulw(a, b) >> 32); }
INLINE s32 mulhis(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }
/* Hidden: clang 15 takes a constant of 0xffff for the inline constant -1 of a v_fma_mix, which is that of 32 bits. */
INLINE float f32_of(u32 u) { HIDE(u); return F32_OF(u); }
INLINE s32 f2s(float f) { return f > -2e9f && f < 2e9f ? (s32)f : 7; }
INLINE u32 f2u(float f) { return f > -1.0f && f < 4e9f ? (u32)f : 9; }
INLINE s64 f2l(float f) { return f > -9e18f && f < 9e18f ? (s64)f : 11; }
INLINE s32 d2s(double f) { return f > -2e9 && f < 2e9 ? (s32)f : 13; }
INLINE u32 d2u(double f) { return f > -1.0 && f < 4e9 ? (u32)f : 15; }
INLINE s64 d2l(double f) { return f > -9e18 && f < 9e18 ? (s64)f : 17; }
INLINE u64 d2ul(double f) { return f > -1.0 && f < 1.8e19 ? (u64)f : 19; }
INLINE s32 h2s(half h) { float f = (float)h; return f > -60000.0f && f < 60000.0f ? (s32)f : 21; }
INLINE float minf(float a, float b) { HIDE(a); HIDE(b); return a < b ? a : b; }
INLINE float maxf(float a, float b) { HIDE(a); HIDE(b); return a > b ? a : b; }
INLINE double mind(double a, double b) { HIDE(a); HIDE(b); return a < b ? a : b; }
INLINE double maxd(double a, double b) { HIDE(a); HIDE(b); return a > b ? a : b; }

#define ATOMIC(op, p, v) ((void)__atomic_fetch_##op(p, v, __ATOMIC_RELAXED))

#endif
