/* SPDX-License-Identifier: MIT */
/* What the bodies of the vector rows may use: types, loads and stores of one lane, float helpers. */
#ifndef SOFTGPU_GCN_LANES_H
#define SOFTGPU_GCN_LANES_H

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "inst.h"

static inline uint32_t fbits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline float bitsf(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint64_t dbits(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

static inline double bitsd(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

static inline float h2f(uint32_t h)
{
#ifdef __F16C__
	return _cvtsh_ss((uint16_t)h);
#else
	uint32_t sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;

	if (e == 31)
		return bitsf(sign | 0x7f800000 | m << 13 | (m ? 0x400000 : 0));
	if (e)
		return bitsf(sign | (e + 112) << 23 | m << 13);
	/* Through integers, so that no denormal mode can interfere. */
	return bitsf(sign | fbits((float)(int)m * 0x1p-24f));
#endif
}

/* Single to half, rounded as x86 numbers the directions: nearest even, down, up, toward zero. */
static inline uint32_t f2h_by(float f, uint32_t rc)
{
	uint32_t u = fbits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
	uint32_t m, shift, half, rest, up;

	if (a > 0x7f800000)
		return sign | 0x7e00 | (a >> 13 & 0x3ff);
	if (a == 0x7f800000)
		return sign | 0x7c00;
	if (a >= 0x38800000) {
		m = a - 0x38000000;
		shift = 13;
	} else {
		uint32_t e = a >> 23;

		m = e ? (a & 0x7fffff) | 0x800000 : 0;
		shift = e < 90 ? 31 : 126 - e;
		if (shift > 31)
			shift = 31;
		if (e < 90 && a)
			m = 1;
	}
	half = m >> shift;
	rest = m & ((1u << shift) - 1);
	up = rc == 0 ? rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (half & 1)) :
	     rest && rc == (sign ? 1 : 2);
	half += up;
	if (half >= 0x7c00) /* overflow: to infinity unless rounded towards zero */
		half = rc == 0 || rc == (sign ? 1 : 2) ? 0x7c00 : 0x7bff;
	return sign | half;
}

/* Under the current rounding mode. */
static inline uint32_t f2h(float f)
{
#ifdef __F16C__
	return _cvtss_sh(f, _MM_FROUND_CUR_DIRECTION);
#else
	return f2h_by(f, _mm_getcsr() >> 13 & 3);
#endif
}

/* Double to single, inexact results made odd: rounding once more is then exact. */
static inline float d2f_odd(double d)
{
	float f = (float)d;
	uint32_t u = fbits(f);

	if (d != d || (double)f == d)
		return f;
	if (fabs((double)f) > fabs(d))
		u--;
	return bitsf(u | 1);
}

/* NaN rules: the first NaN source, quieted; else the positive default NaN (x86 makes a negative one). */
#define QF 0x400000u
#define QD 0x8000000000000u

static inline float nf3(float r, float a, float b, float c)
{
	uint32_t u = a != a ? fbits(a) | QF : b != b ? fbits(b) | QF :
	             c != c ? fbits(c) | QF : 0x7fc00000;

	return r == r ? r : bitsf(u);
}

static inline double nd3(double r, double a, double b, double c)
{
	uint64_t u = a != a ? dbits(a) | QD : b != b ? dbits(b) | QD :
	             c != c ? dbits(c) | QD : 0x7ff8000000000000;

	return r == r ? r : bitsd(u);
}

/* `fast`: the caller looks for NaN results itself and runs the body again. */
#define N3(r, a, b, c) (fast ? (r) : _Generic((r), float: nf3, double: nd3)(r, a, b, c))
#define N2(r, a, b) N3(r, a, b, 0)
#define N1(r, a) N3(r, a, 0, 0)

static inline bool snanf(float f)
{
	return f != f && !(fbits(f) & QF);
}

static inline bool snand(double f)
{
	return f != f && !(dbits(f) & QD);
}

/* V_MIN/V_MAX: a number wins over a NaN; in IEEE mode a signalling NaN wins, quieted; -0 < +0.
 * They flush denormals as MODE has it, which no host instruction would do: see FLUSH32. */
#define MINMAX(name, T, U, bits, unbits, snan, quiet, cmp, zero) \
static inline T name(T a, T b, bool ieee) \
{ \
	U ua = bits(a), ub = bits(b); \
	U n = a cmp b ? ua : b cmp a ? ub : ua zero ub; \
	U r = a != a ? ub : b != b ? ua : n; \
	r = ieee && snan(b) ? ub | quiet : r; \
	r = ieee && snan(a) ? ua | quiet : r; \
	return unbits(r); \
}
MINMAX(minf, float, uint32_t, fbits, bitsf, snanf, QF, <, |)
MINMAX(maxf, float, uint32_t, fbits, bitsf, snanf, QF, >, &)
MINMAX(mind, double, uint64_t, dbits, bitsd, snand, QD, <, |)
MINMAX(maxd, double, uint64_t, dbits, bitsd, snand, QD, >, &)

/* Halves as bits: converting one to single would quiet a signalling NaN. */
#define NANH(h) (((h) & 0x7fff) > 0x7c00)
#define SNANH(h) (NANH(h) && !((h) & 0x200))
static inline int32_t orderh(uint32_t h)
{
	return h & 0x8000 ? -(int32_t)(h & 0x7fff) : (int32_t)h;
}

#define MINMAXH(name, cmp, zero) \
static inline uint32_t name(uint32_t a, uint32_t b, bool ieee) \
{ \
	int32_t oa = orderh(a), ob = orderh(b); \
	uint32_t n = oa cmp ob ? a : ob cmp oa ? b : a zero b; \
	uint32_t r = NANH(a) ? b : NANH(b) ? a : n; \
	r = ieee && SNANH(b) ? b | 0x200 : r; \
	r = ieee && SNANH(a) ? a | 0x200 : r; \
	return r; \
}
MINMAXH(minh, <, |)
MINMAXH(maxh, >, &)

/* ISA V_MED3: without a NaN, the larger of the two that are not the largest. */
static inline float med3f(float a, float b, float c, bool ieee)
{
	float top = maxf(maxf(a, b, ieee), c, ieee), low = minf(minf(a, b, ieee), c, ieee);
	float m = maxf(top == a ? b : a, top == a || top != b ? (top == a ? c : b) : c, ieee);

	return a != a || b != b || c != c ? low : m;
}

static inline uint32_t med3h(uint32_t a, uint32_t b, uint32_t c, bool ieee)
{
	int32_t top = orderh(maxh(maxh(a, b, ieee), c, ieee));

	if (NANH(a) || NANH(b) || NANH(c))
		return minh(minh(a, b, ieee), c, ieee);
	return top == orderh(a) ? maxh(b, c, ieee) : top == orderh(b) ? maxh(a, c, ieee) : maxh(a, b, ieee);
}

static inline uint32_t quieth(uint32_t h)
{
	return NANH(h) ? h | 0x200 : h;
}

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MED3(a, b, c) MAX(MIN(a, b), MIN(MAX(a, b), c))

/* Conversions to integers saturate, NaN gives 0. */
static inline int32_t f2i(float a)
{
	float s = a >= 0x1p31f || a < -0x1p31f || a != a ? 0 : a;

	return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int32_t)s;
}

static inline uint32_t f2u(float a)
{
	float s = a >= 0x1p32f || !(a > 0) ? 0 : a;

	return a >= 0x1p32f ? UINT32_MAX : (uint32_t)s;
}

static inline int32_t d2i(double a)
{
	double s = a >= 0x1p31 || a <= -0x1p31 - 1 || a != a ? 0 : a;

	return a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 - 1 ? INT32_MIN : (int32_t)s;
}

static inline uint32_t d2u(double a)
{
	double s = a >= 0x1p32 || !(a > 0) ? 0 : a;

	return a >= 0x1p32 ? UINT32_MAX : (uint32_t)(int64_t)s;
}

static inline int32_t clampi(int32_t v, int32_t lo, int32_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Exact in double, so rounded once. */
static inline float ldexp_f32(float a, int32_t e)
{
	double p = bitsd((uint64_t)(1023 + clampi(e, -400, 400)) << 52);

	return (float)((double)a * p);
}

static inline int32_t frexp_exp32(float a)
{
	uint32_t u = fbits(a) & 0x7fffffff;

	if (!u || u >= 0x7f800000)
		return 0;
	return u >> 23 ? (int32_t)(u >> 23) - 126 : -117 - __builtin_clz(u);
}

static inline float frexp_mant32(float a)
{
	uint32_t u = fbits(a), m = u & 0x7fffffff;

	if (!m || m >= 0x7f800000)
		return m > 0x7f800000 ? bitsf(u | QF) : a;
	if (!(m >> 23))
		m = m << (__builtin_clz(m) - 8);
	return bitsf((u & 0x80000000) | (m & 0x7fffff) | 0x3f000000);
}

static inline int32_t frexp_exp64(double a)
{
	uint64_t u = dbits(a) & 0x7fffffffffffffff;

	if (!u || u >= 0x7ff0000000000000)
		return 0;
	return u >> 52 ? (int32_t)(u >> 52) - 1022 : -1010 - __builtin_clzll(u);
}

static inline double frexp_mant64(double a)
{
	uint64_t u = dbits(a), m = u & 0x7fffffffffffffff;

	if (!m || m >= 0x7ff0000000000000)
		return m > 0x7ff0000000000000 ? bitsd(u | QD) : a;
	if (!(m >> 52))
		m = m << (__builtin_clzll(m) - 11);
	return bitsd((u & 0x8000000000000000) | (m & 0xfffffffffffff) | 0x3fe0000000000000);
}

/* V_CMP_CLASS: which of the ten classes of the mask the value is in. */
static inline bool class_of(bool neg, uint32_t e, uint32_t emax, bool mant, bool quiet, uint32_t mask)
{
	uint32_t c = e == emax ? (mant ? (quiet ? 2 : 1) : neg ? 4 : 0x200) :
	             e ? (neg ? 8 : 0x100) : mant ? (neg ? 0x10 : 0x80) : neg ? 0x20 : 0x40;

	return (c & mask) != 0;
}

static inline bool class32(uint32_t u, uint32_t mask)
{
	return class_of(u >> 31, u >> 23 & 255, 255, (u & 0x7fffff) != 0, (u & QF) != 0, mask);
}

static inline bool class64(uint64_t u, uint32_t mask)
{
	return class_of(u >> 63, u >> 52 & 2047, 2047, (u & 0xfffffffffffff) != 0, (u & QD) != 0, mask);
}

static inline bool class16(uint32_t u, uint32_t mask)
{
	return class_of(u >> 15 & 1, u >> 10 & 31, 31, (u & 0x3ff) != 0, (u & 0x200) != 0, mask);
}

/* Lane types. */
#define CT_NONE uint32_t
#define CT_U32 uint32_t
#define CT_S32 uint32_t
#define CT_PK uint32_t
#define CT_I32 int32_t
#define CT_F32 float
#define CT_U64 uint64_t
#define CT_I64 int64_t
#define CT_F64 double
#define CT_U16 uint16_t
#define CT_I16 int16_t
#define CT_F16 float
#define CT_M uint32_t
#define CT_PF float

struct quad {
	uint32_t w[4];
};
#define CT_R4 struct quad
#define LD_R4(p) (struct quad){ { (p)[i], (p)[i + LANES], (p)[i + 2 * LANES], (p)[i + 3 * LANES] } }
#define ST_R4(v) do { for (int n_ = 0; n_ < 4; n_++) pd[i + n_ * LANES] = (v).w[n_]; } while (0)

/* A half as its bits, whole: modifiers are a half's, denormals and NaNs the body's business. */
#define T_HB T_F16
#define CT_HB uint32_t
#define LD_HB(p) ((p)[i] & 0xffff)
#define ST_HB(v) (pd[i] = (v))

#define LD_NONE(p) 0
#define LD_U32(p) (p)[i]
#define LD_PK(p) (p)[i]
#define LD_I32(p) (int32_t)(p)[i]
#define LD_F32(p) bitsf((p)[i])
#define LD_U64(p) ((p)[i] | (uint64_t)(p)[i + LANES] << 32)
#define LD_PF(p) bitsf((p)[i])
#define LD_I64(p) (int64_t)LD_U64(p)
#define LD_F64(p) bitsd(LD_U64(p))
#define LD_U16(p) (uint16_t)(p)[i]
#define LD_I16(p) (int16_t)(p)[i]
#define LD_F16(p) h2f(H_IN((p)[i]))
/* Half denormals: MXCSR knows none, so MODE's bits are applied here. */
#define H_IN(h) (flush_in && !((h) & 0x7c00) ? (h) & 0x8000 : (h))
#define H_OUT(h) (flush_out && !((h) & 0x7c00) ? (h) & 0x8000 : (h))
/* Where the host does not flush by itself. A denormal that may not come in or go out is 0. */
#define FLUSH16(h) ((flush_in || flush_out) && !((h) & 0x7c00) ? (h) & 0x8000 : (h))
#define ROUND16(f) ({ uint32_t h_ = f2h(f); H_OUT(h_); })
/* A single that becomes a half, in an instruction that runs under the rounding of singles. */
#define MIX16(f) ({ float f_ = (f); uint32_t h_ = one_rounding ? f2h(f_) : f2h_by(f_, rc16); H_OUT(h_); })
#define FLUSH32(f) bitsf(flush32 && !(fbits(f) & 0x7f800000) ? fbits(f) & 0x80000000 : fbits(f))
#define FLUSH64(f) bitsd(flush64 && !(dbits(f) & 0x7ff0000000000000) ? dbits(f) & 0x8000000000000000 : dbits(f))
#define LD_M(p) (p)[i]

#define ST_U32(v) (pd[i] = (v))
#define ST_PK(v) (pd[i] = (v))
#define ST_I32(v) (pd[i] = (uint32_t)(v))
#define ST_F32(v) (pd[i] = fbits(v))
#define ST_U64(v) (pd[i] = (uint32_t)(v), pd[i + LANES] = (uint32_t)((v) >> 32))
#define ST_PF(v) (pd[i] = fbits(v))
#define ST_I64(v) ST_U64((uint64_t)(v))
#define ST_F64(v) do { uint64_t u_ = dbits(v); ST_U64(u_); } while (0)
#define ST_U16(v) (pd[i] = (uint16_t)(v))
#define ST_I16(v) (pd[i] = (uint16_t)(v))
#define ST_F16(v) do { uint32_t h_ = f2h(v); pd[i] = H_OUT(h_); } while (0)
#define ST_M(v) (pd[i] = -(uint32_t)((v) != 0))
#define ST_NONE(v) (void)(v)

/* V_SCREEN_PARTITION_4SE_B32: which of four shader engines a rectangle of 32-pixel tiles, { x_min, y_min, x_max, y_max }
 * in two bits each, covers; the engine of a tile is { x[0] ^ y[1], y[0] ^ x[1] }. */
static inline uint32_t screen_partition(uint32_t s)
{
	uint32_t x0 = s >> 6 & 3, y0 = s >> 4 & 3, nx = ((s >> 2) - x0) & 3, ny = (s - y0) & 3, d = 0;

	for (uint32_t t = 0; t < 16; t++) {
		uint32_t x = x0 + (t & 3), y = y0 + (t >> 2);

		if ((t & 3) <= nx && t >> 2 <= ny)
			d |= 1u << (((x ^ y >> 1) & 1) << 1 | ((y ^ x >> 1) & 1));
	}
	return d;
}

/* Tables of 2/pi for V_TRIG_PREOP_F64; trig.c. */
double gcn_trig_preop(double a, uint32_t b);

#endif
