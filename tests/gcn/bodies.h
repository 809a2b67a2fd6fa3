/* SPDX-License-Identifier: MIT */
/* Functions of two words, compiled for the software GPU and for the host: both must agree bit for bit. */
#ifndef BODIES_H
#define BODIES_H

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef ulong u64;
typedef long s64;
typedef uint u32;
typedef int s32;
typedef ushort u16;
typedef uchar u8;
#define AS_FLOAT(u) as_float_(u)
static float as_float_(u32 u) { return __builtin_astype(u, float); }
#define AS_UINT(f) __builtin_astype((float)(f), u32)
#define AS_DOUBLE(u) __builtin_astype((u64)(u), double)
#define AS_ULONG(d) __builtin_astype((double)(d), u64)
#define NOINLINE __attribute__((noinline))
#define CLZ64 __builtin_clzl /* long long has 128 bits in OpenCL C */
#define POP64 __builtin_popcountl
#else
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef uint8_t u8;
static inline float AS_FLOAT(u32 u) { float f; memcpy(&f, &u, 4); return f; }
static inline u32 AS_UINT(float f) { u32 u; memcpy(&u, &f, 4); return u; }
static inline double AS_DOUBLE(u64 u) { double f; memcpy(&f, &u, 8); return f; }
static inline u64 AS_ULONG(double f) { u64 u; memcpy(&u, &f, 8); return u; }
#define NOINLINE __attribute__((noinline))
#define CLZ64 __builtin_clzll
#define POP64 __builtin_popcountll
#endif

/* NaN payloads may differ between the two machines. */
static u32 fw(float f) { return f != f ? 0x7fc00000u : AS_UINT(f); }
static u64 dw(double f) { return f != f ? 0x7ff8000000000000ul : AS_ULONG(f); }
static u64 both(u32 a, u32 b) { return (u64)a << 32 | b; }
static double dd(u32 a, u32 b) { return AS_DOUBLE(both(a, b)); }

static NOINLINE u32 mix(u32 x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }
static NOINLINE u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

/* X(name, expression of u32 a, b giving u64) */
#define BODIES(X) \
	X(add, a + b) X(sub, a - b) X(mul, a * b) X(mul64, (u64)a * b) X(muls, (u64)((s64)(s32)a * (s32)b)) \
	X(udiv, b ? a / b : 7) X(urem, b ? a % b : 7) X(sdiv, b && b != ~0u ? (u32)((s32)a / (s32)b) : 7) \
	X(udiv64, both(a, b) / (both(b ^ 0x12, a) | 1)) X(urem64, both(a, b) % (both(0, a) | 1)) \
	X(sdiv64, (u64)((s64)both(a, b) / (s64)(both(b >> 20, a) | 1))) \
	X(shl64, both(a, b) << (a & 63)) X(shr64, both(a, b) >> (b & 63)) X(sar64, (u64)((s64)both(a, b) >> (b & 63))) \
	X(rot, a << (b & 31) | a >> (-b & 31)) X(clz, b ? __builtin_clz(b) : 32) X(ctz, b ? __builtin_ctz(b) : 32) \
	X(pop, __builtin_popcount(a) + POP64(both(a, b))) X(clz64, b ? CLZ64(both(a, b)) : 1) \
	X(min, a < b ? a : b) X(maxs, (s32)a > (s32)b ? a : b) X(bfe, a >> 7 & 0x1f) X(bfes, (u32)((s32)(a << 9) >> 20)) \
	X(mad24, (a & 0xffffff) * (b & 0xffffff) + 5) X(bytes, (u8)a * (u8)(b >> 8) + (u8)(a >> 16)) \
	X(shorts, (u32)(u16)((u16)a * (u16)b + (u16)(a >> 16))) X(sshort, (u32)(s32)(short)((short)a - (short)b)) \
	X(cmp, (a < b) | (a == b) << 1 | ((s32)a < (s32)b) << 2 | (both(a, b) < both(b, a)) << 3) \
	X(branch, a & 1 ? mix(b) : b * 3) X(call, mix(a) ^ mix(b)) X(fib, fib(a & 7)) \
	X(loop, ({ u32 r = b; for (u32 k = 0; k < (a & 31); k++) r = r * 1664525u + 1013904223u; r; })) \
	X(sw, ({ u32 r; switch (a & 7) { case 0: r = b; break; case 1: r = b + 1; break; case 3: r = b ^ 5; break; \
	         case 5: r = ~b; break; case 6: r = b << 2; break; default: r = 9; } r; })) \
	X(arr, ({ u32 t[16]; for (int k = 0; k < 16; k++) t[k] = a * (u32)k + b; t[b & 15] = 7; t[a & 15] ^ t[(a >> 4) & 15]; })) \
	X(barr, ({ u8 t[32]; for (int k = 0; k < 32; k++) t[(k * 7) & 31] = (u8)(a >> (k & 15)); \
	           u32 r = 0; for (u32 k = 0; k < 32; k += 1 + (b & 3)) r = r * 31 + t[k]; r; })) \
	X(fadd, fw(AS_FLOAT(a) + AS_FLOAT(b))) X(fsub, fw(AS_FLOAT(a) - AS_FLOAT(b))) X(fmul, fw(AS_FLOAT(a) * AS_FLOAT(b))) \
	X(fdiv, fw(AS_FLOAT(a) / AS_FLOAT(b))) X(ffma, fw(__builtin_fmaf(AS_FLOAT(a), AS_FLOAT(b), 1.5f))) \
	X(fneg, fw(-AS_FLOAT(a) * -AS_FLOAT(b) - 3.0f)) X(fabs, fw(__builtin_fabsf(AS_FLOAT(a)) + 1.0f)) \
	X(fcmp, (AS_FLOAT(a) < AS_FLOAT(b)) | (AS_FLOAT(a) == AS_FLOAT(b)) << 1 | (AS_FLOAT(a) != AS_FLOAT(b)) << 2 | (AS_FLOAT(a) >= AS_FLOAT(b)) << 3) \
	X(ffloor, fw(__builtin_floorf(AS_FLOAT(a))) + fw(__builtin_ceilf(AS_FLOAT(b)))) \
	X(ftrunc, fw(__builtin_truncf(AS_FLOAT(a))) ^ fw(__builtin_rintf(AS_FLOAT(b)))) \
	X(i2f, both(fw((float)(s32)a), fw((float)b))) X(l2f, both(fw((float)both(a, b)), fw((float)(s64)both(a, b)))) \
	X(f2i, ({ float f = AS_FLOAT(a); f > -1e9f && f < 1e9f ? both((u32)(s32)f, (u32)__builtin_fabsf(f)) : 0; })) \
	X(f2l, ({ float f = AS_FLOAT(a); f > -9e18f && f < 9e18f ? (u64)(s64)f : 0; })) \
	X(dadd, dw(dd(a, b) + dd(b, a))) X(dsub, dw(dd(a, b) - dd(b, a))) X(dmul, dw(dd(a, b) * dd(b, a))) \
	X(ddiv, dw(dd(a, b) / dd(b, a))) X(dfma, dw(__builtin_fma(dd(a, b), dd(b, a), -dd(a, 5)))) \
	X(dneg, dw(-dd(a, b) * dd(b, a) - __builtin_fabs(dd(a, a)))) X(dcmp, (dd(a, b) < dd(b, a)) | (dd(a, b) != dd(a, a)) << 1) \
	X(dfloor, dw(__builtin_floor(dd(a, b)))) X(dceil, dw(__builtin_ceil(dd(a, b)))) X(drint, dw(__builtin_rint(dd(a, b)))) \
	X(i2d, dw((double)(s32)a + (double)b)) X(l2d, dw((double)both(a, b)) ^ dw((double)(s64)both(b, a))) \
	X(d2i, ({ double f = dd(a, b); f > -1e9 && f < 1e9 ? both((u32)(s32)f, (u32)__builtin_fabs(f)) : 0; })) \
	X(d2l, ({ double f = dd(a, b); f > -9e18 && f < 9e18 ? (u64)(s64)f : 0; })) \
	X(d2f, both(fw((float)dd(a, b)), 0) | fw((float)dd(b, a))) X(f2d, dw((double)AS_FLOAT(a))) \
	X(fchain, ({ float x = AS_FLOAT((a & 0x7fffff) | 0x3f800000), y = AS_FLOAT((b & 0x7fffff) | 0x3f800000); \
	             for (int k = 0; k < 9; k++) { x = x * y + 0.25f; y = y - x * 0.125f; } both(fw(x), fw(y)); }))

#endif
