/* SPDX-License-Identifier: MIT */
/*
 * Vector ALU. This file is compiled once for each level of the host's vector
 * unit; the loops over lanes are written for the compiler to vectorise.
 */
#include "lanes.h"

#ifndef GCN_LANES
#define GCN_LANES gcn_lanes_base
#endif

/* Helpers of the bodies. */

/* Without a rounding instruction the compiler makes floor from sums, right only when rounding to nearest. */
#ifdef __SSE4_1__
#define FLOORF floorf
#define FLOOR floor
#else
static inline float FLOORF(float a)
{
	float t = truncf(a);

	return a < t ? t - 1 : t;
}

static inline double FLOOR(double a)
{
	double t = trunc(a);

	return a < t ? t - 1 : t;
}
#endif

#ifdef __FMA__
#define fma32(a, b, c) __builtin_fmaf(a, b, c)
#else
/* Rounding to nearest: the product of singles is exact in double; the sum is made odd where it is inexact, so that
 * rounding it once more, to single, is as good as rounding once. Vectorises, where the library's function is a call. */
static inline float fma_near(float a, float b, float c)
{
	double p = (double)a * b, z = c, s = p + z, t = s - p, err = (p - (s - t)) + (z - t);
	uint64_t u = dbits(s), e = dbits(err);
	/* err is a NaN, and no change made, when the sum is not finite */
	uint64_t even = (err > 0) | (err < 0) ? ~u & 1 : 0;

	return (float)bitsd(u + (even & (((u ^ e) >> 63) - 1)) - (even & -((u ^ e) >> 63)));
}
#define fma32(a, b, c) (near32 ? fma_near(a, b, c) : __builtin_fmaf(a, b, c))
#endif

/* The product of halves is exact in double, and so is all of the sum that rounding can see. */
static inline float fma16(float a, float b, float c)
{
	return d2f_odd((double)a * b + c);
}

static inline uint32_t f2h_rtz(float f)
{
	uint32_t h = f2h(f);

	/* Step back when the current mode rounded away from zero. */
	if (f == f && fabsf(h2f(h)) > fabsf(f))
		h--;
	return h;
}

/* Sine and cosine of a turn: exact at quarters, as the hardware tables are. */
static inline float turn_sin(float a)
{
	double t = (double)a - __builtin_roundeven(a), q = __builtin_roundeven(4 * t), r = (t - q / 4) * 6.283185307179586;
	int n = (int)(isfinite(a) ? q : 0) & 3;
	double v = n & 1 ? cos(r) : sin(r);

	return (float)(n & 2 ? 0 - v : v); /* no negative zero */
}

static inline float turn_cos(float a)
{
	double t = (double)a - __builtin_roundeven(a), q = __builtin_roundeven(4 * t), r = (t - q / 4) * 6.283185307179586;
	int n = (int)(isfinite(a) ? q : 0) & 3;
	double v = n & 1 ? sin(r) : cos(r);

	return (float)(n == 1 || n == 2 ? 0 - v : v);
}

static inline int32_t norm_i16(float a)
{
	return a != a ? 0 : f2i(__builtin_roundevenf(fminf(fmaxf(a, -1), 1) * 32767.0f));
}

static inline uint32_t norm_u16(float a)
{
	return a != a ? 0 : f2u(__builtin_roundevenf(fminf(fmaxf(a, 0), 1) * 65535.0f));
}

static inline int32_t sat_i32(int64_t v, bool clamp)
{
	return !clamp ? (int32_t)v : v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static inline uint32_t sat_u32(uint32_t a, uint32_t b, bool clamp)
{
	uint32_t r = a + b;

	return clamp && r < a ? ~0u : r;
}

static inline uint32_t sad8(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int s = 0; s < 32; s += 8) {
		uint32_t x = a >> s & 255, y = b >> s & 255;

		r += MAX(x, y) - MIN(x, y);
	}
	return r;
}

/* Masked: bytes that are 0 in the reference do not count. */
static inline uint32_t msad8(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int s = 0; s < 32; s += 8) {
		uint32_t x = a >> s & 255, y = b >> s & 255;

		r += y ? MAX(x, y) - MIN(x, y) : 0;
	}
	return r;
}

static inline uint32_t perm_byte(uint64_t v, uint32_t sel)
{
	if (sel >= 13)
		return 0xff;
	if (sel == 12)
		return 0;
	if (sel >= 8)
		return v >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0;
	return v >> 8 * sel & 255;
}

static inline int cube_face(float x, float y, float z)
{
	if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
		return z < 0 ? 5 : 4;
	if (fabsf(y) >= fabsf(x))
		return y < 0 ? 3 : 2;
	return x < 0 ? 1 : 0;
}

/* Half denormals are 0 here whatever MODE says. */
static inline float dot2_half(uint32_t h)
{
	return h2f(h & 0x7c00 ? h & 0xffff : h & 0x8000);
}

static inline float dot2_f32(uint32_t a, uint32_t b, float c)
{
	float al = dot2_half(a), ah = dot2_half(a >> 16), bl = dot2_half(b), bh = dot2_half(b >> 16);
	float r = __builtin_fmaf(ah, bh, __builtin_fmaf(al, bl, c));

	return nf3(r, al != al ? al : bl, ah != ah ? ah : bh, c);
}

static inline int32_t dot2_i32(uint32_t a, uint32_t b, int32_t c, bool clamp)
{
	return sat_i32((int64_t)(int16_t)a * (int16_t)b + (int64_t)((int32_t)a >> 16) * ((int32_t)b >> 16) + c, clamp);
}

static inline int32_t dot4_i32(uint32_t a, uint32_t b, int32_t c, bool clamp)
{
	int64_t t = c;

	for (int s = 0; s < 32; s += 8)
		t += (int8_t)(a >> s) * (int8_t)(b >> s);
	return sat_i32(t, clamp);
}

static inline int32_t dot8_i32(uint32_t a, uint32_t b, int32_t c, bool clamp)
{
	int64_t t = c;

	for (int s = 0; s < 32; s += 4)
		t += ((int32_t)(a << (28 - s)) >> 28) * ((int32_t)(b << (28 - s)) >> 28);
	return sat_i32(t, clamp);
}

/* ISA V_DIV_FIXUP: a quotient, b denominator, c numerator. */
#define DIV_FIXUP(name, T, U, bits, unbits, quiet, expn, emax, low) \
static inline T name(T a, T b, T c) \
{ \
	const U sign_bit = (U)1 << (8 * sizeof(U) - 1); \
	U s = (bits(b) ^ bits(c)) & sign_bit; \
	const U inf = (U)(emax) << (expn); \
	int eb = (int)(bits(b) >> (expn) & (emax)), ec = (int)(bits(c) >> (expn) & (emax)); \
	bool zb = b == 0, zc = c == 0, ib = (bits(b) & ~sign_bit) == inf, ic = (bits(c) & ~sign_bit) == inf; \
	if (c != c) \
		return unbits(bits(c) | (quiet)); \
	if (b != b) \
		return unbits(bits(b) | (quiet)); \
	if ((zb && zc) || (ib && ic)) \
		return unbits(sign_bit | inf | (quiet)); \
	if (zb || ic) \
		return unbits(s | inf); \
	if (ib || zc) \
		return unbits(s); \
	if (ec - eb < (low)) \
		return unbits(s); \
	if (a != a) /* the steps before overflowed */ \
		return unbits(s | inf); \
	return unbits(s | (bits(a) & ~sign_bit)); \
}
DIV_FIXUP(div_fixup32, float, uint32_t, fbits, bitsf, QF, 23, 255, -150)
DIV_FIXUP(div_fixup64, double, uint64_t, dbits, bitsd, QD, 52, 2047, -1075)

/* Half, as bits: the same cases, save that the exponents are not looked at. */
static inline uint32_t div_fixup16(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t s = (b ^ c) & 0x8000, mb = b & 0x7fff, mc = c & 0x7fff;

	if (NANH(c))
		return c | 0x200;
	if (NANH(b))
		return b | 0x200;
	if ((!mb && !mc) || (mb == 0x7c00 && mc == 0x7c00))
		return 0xfe00;
	if (!mb || mc == 0x7c00)
		return s | 0x7c00;
	if (mb == 0x7c00 || !mc)
		return s;
	return s | (NANH(a) ? 0x7c00 : a & 0x7fff);
}

/* ISA V_DIV_SCALE: a is b (denominator) or c (numerator), whichever is to be scaled. */
static inline float div_scale32(float a, float b, float c, uint32_t *k)
{
	int eb = (int)(fbits(b) >> 23 & 255), ec = (int)(fbits(c) >> 23 & 255);
	double q = fabs((double)c / (double)b), rb = fabs(1 / (double)b);
	bool inv_denorm = rb < 0x1p-126, q_denorm = q < 0x1p-126;

	*k = 0;
	if (b == 0 || c == 0)
		return bitsf(0x7fc00000);
	if (ec - eb >= 96) {
		*k = 1;
		return a == b ? ldexp_f32(a, 64) : a;
	}
	if (eb == 0)
		return ldexp_f32(a, 64);
	if (inv_denorm && q_denorm) {
		/* Documents print +64 here, which would overflow the denominator. */
		*k = 1;
		return a == b ? ldexp_f32(a, -64) : a;
	}
	if (inv_denorm)
		return ldexp_f32(a, -64);
	if (q_denorm) {
		*k = 1;
		return a == c ? ldexp_f32(a, 64) : a;
	}
	return ec <= 23 ? ldexp_f32(a, 64) : a;
}

static inline double div_scale64(double a, double b, double c, uint32_t *k)
{
	int eb = (int)(dbits(b) >> 52 & 2047), ec = (int)(dbits(c) >> 52 & 2047);
	/* Whether 1/b and c/b are denormal, from exponents and mantissas alone; c may be denormal itself. */
	uint64_t mb = dbits(b) & 0xfffffffffffff, mc = dbits(c) & 0xfffffffffffff;
	int lead = ec ? 0 : __builtin_clzll(mc | 1) - 11, exp_c = ec ? ec : 1 - lead;
	bool inv_denorm = eb == 2046 || (eb == 2045 && mb);
	bool q_denorm = exp_c - eb + ((mc << lead & 0xfffffffffffff) >= mb ? 0 : -1) < -1022;

	*k = 0;
	if (b == 0 || c == 0)
		return bitsd(0x7ff8000000000000);
	if (ec - eb >= 768) {
		*k = 1;
		return a == b ? scalbn(a, 128) : a;
	}
	if (eb == 0)
		return scalbn(a, 128);
	if (inv_denorm && q_denorm) {
		*k = 1;
		return a == b ? scalbn(a, -128) : a;
	}
	if (inv_denorm)
		return scalbn(a, -128);
	if (q_denorm) {
		*k = 1;
		return a == c ? scalbn(a, 128) : a;
	}
	return ec <= 53 ? scalbn(a, 128) : a;
}

/* Fused multiply-add with an inexact result made odd, so that scaling rounds
 * as if it were one operation. */
static __attribute__((noinline)) double fma_odd64(double a, double b, double c)
{
	volatile double va = a, vb = b, vc = c, r;
	uint32_t csr = _mm_getcsr(), flags;

	_mm_setcsr(0x1f80 | 0x6000);
	r = __builtin_fma(va, vb, vc);
	flags = _mm_getcsr();
	_mm_setcsr(csr);
	return flags & 0x20 ? bitsd(dbits(r) | 1) : r;
}

/* a * b + c times 2^-128, for a denormal result: one rounding from the exact sum, whose 53 bits toward zero and
 * inexact flag say all that matters. (The odd rule needs two bits more than the result, which loses only one.) */
static __attribute__((noinline)) double fma_down128(double a, double b, double c)
{
	volatile double va = a, vb = b, vc = c, r;
	uint32_t csr = _mm_getcsr();
	uint64_t u, m, q, rest, half, sign;
	bool sticky, up;
	int e, s;

	_mm_setcsr(0x1f80 | 0x6000);
	r = __builtin_fma(va, vb, vc);
	sticky = _mm_getcsr() & 0x20;
	_mm_setcsr(csr);
	u = dbits(r);
	sign = u & 0x8000000000000000;
	e = (int)(u >> 52 & 2047);
	m = (u & 0xfffffffffffff) | (e ? (uint64_t)1 << 52 : 0);
	s = 1 - ((e ? e : 1) - 128);
	if (s > 62) {
		sticky |= m != 0;
		m = 0;
		s = 62;
	}
	q = m >> s;
	rest = m - (q << s);
	half = (uint64_t)1 << (s - 1);
	switch (csr >> 13 & 3) {
	case 0: up = rest > half || (rest == half && (sticky || (q & 1))); break;
	case 1: up = sign && (rest || sticky); break;
	case 2: up = !sign && (rest || sticky); break;
	default: up = false;
	}
	q += up;
	if ((csr & 0x8000) && q < (uint64_t)1 << 52)
		q = 0;
	return bitsd(sign | q);
}

static inline float div_fmas32(float a, float b, float c, uint32_t k)
{
	float r = nf3(__builtin_fmaf(a, b, c), a, b, c);

	if (k && r == r) /* in double: 53 bits and the odd rule leave one rounding */
		r = (float)(fma_odd64(a, b, c) * ((fbits(c) >> 23 & 255) > 127 ? 0x1p64 : 0x1p-64));
	return r;
}

static inline double div_fmas64(double a, double b, double c, uint32_t k)
{
	double r = nd3(__builtin_fma(a, b, c), a, b, c);

	if (k && r == r) {
		double v = r * ((dbits(c) >> 52 & 2047) > 1023 ? 0x1p128 : 0x1p-128);

		/* Only a denormal would be rounded a second time. */
		if (fabs(r) >= 0x1.fffffffffffffp1023 && fabs(v) < fabs(r) && fabs(c) < 0x1p1022) {
			/* The sum itself is out of range. What the addend does to it is its sign at most. */
			double tiny = fabs(c) > 0x1p-800 ? c * 0x1p-128 : c == 0 ? c : c < 0 ? -0x1p-928 : 0x1p-928;

			v = __builtin_fma(a * 0x1p-64, b * 0x1p-64, tiny);
		} else if (isinf(r)) {
			return r;
		}
		r = fabs(v) <= 0x1p-1022 ? fma_down128(a, b, c) : v;
	}
	return r;
}

/* Lane cores: one function a row, all 64 lanes. */

#define CLAMP (in->clamp)
#define LANE(TD, TA, TB, TC, KLOAD, ...) \
	CT_##TA a = LD_##TA(pa); \
	CT_##TB b = LD_##TB(pb); \
	CT_##TC c = LD_##TC(pc); \
	CT_##TD d; \
	uint32_t k = KLOAD; \
	(void)a; (void)b; (void)c; (void)k; \
	__VA_ARGS__

#define LOOP(TD, TA, TB, TC, KLOAD, KSTORE, ...) \
	const bool fast = false; \
	(void)fast; \
	_Pragma("GCC ivdep") \
	for (int i = 0; i < LANES; i++) { \
		LANE(TD, TA, TB, TC, KLOAD, __VA_ARGS__) \
		ST_##TD(d); \
		KSTORE; \
	}

/* Float results: the NaN rules cost more than the operation and matter rarely,
 * so all is done without them first. Nothing is stored until it is right:
 * the destination may be a source. */
#define CHUNK_PASS(is_fast, TD, TA, TB, TC, KLOAD, ...) { \
		const bool fast = is_fast; \
		(void)fast; \
		_Pragma("GCC ivdep") \
		for (int i = 0; i < N_##TD; i++) { \
			LANE(TD, TA, TB, TC, KLOAD, __VA_ARGS__) \
			r[i] = d; \
			rk[i] = k; \
			nan |= NAN_##TD(d); \
		} \
	}
#define NAN_LOOP(TD, TA, TB, TC, KLOAD, KSTORE, ...) \
	{ \
		CT_##TD r[N_##TD]; \
		uint32_t rk[N_##TD]; \
		NT_##TD nan = 0; \
		CHUNK_PASS(true, TD, TA, TB, TC, KLOAD, __VA_ARGS__) \
		if (__builtin_expect(nan >> (8 * sizeof(nan) - 1), 0)) \
			CHUNK_PASS(false, TD, TA, TB, TC, KLOAD, __VA_ARGS__) \
		_Pragma("GCC ivdep") \
		for (int i = 0; i < N_##TD; i++) { \
			CT_##TD d = r[i]; \
			uint32_t k = rk[i]; \
			(void)k; \
			ST_##TD(d); \
			KSTORE; \
		} \
	}
#define N_F32 LANES
#define N_F64 LANES
#define N_PF (2 * LANES)
#define NT_F32 uint32_t
#define NT_F64 uint64_t
#define NT_PF uint32_t
/* The top bit says so. */
#define NAN_BITS(u) (0x7f800000 - ((u) & 0x7fffffff))
#define NAN_F32(d) NAN_BITS(fbits(d))
#define NAN_F64(d) (0x7ff0000000000000 - (dbits(d) & 0x7fffffffffffffff))
#define NAN_PF(d) NAN_BITS(fbits(d))

#define LOOP_F32 NAN_LOOP
#define LOOP_F64 NAN_LOOP
#define LOOP_PF NAN_LOOP
#define LOOP_F16 LOOP
#define LOOP_HB LOOP
#define LOOP_U32 LOOP
#define LOOP_I32 LOOP
#define LOOP_U64 LOOP
#define LOOP_I64 LOOP
#define LOOP_U16 LOOP
#define LOOP_I16 LOOP
#define LOOP_PK LOOP
#define LOOP_M LOOP
#define LOOP_R4 LOOP

#define CORE(name, TD, TA, TB, TC, KLOAD, KSTORE, ...) \
static void core_##name(uint32_t *pd, uint32_t *pk, const uint32_t *pa, const uint32_t *pb, \
                        const uint32_t *pc, const struct gcn_inst *in, const struct gcn_wave *w) \
{ \
	const bool ieee = w->mode >> 9 & 1; \
	const bool flush_in = !(w->mode >> 6 & 1), flush_out = !(w->mode >> 7 & 1); \
	const bool flush32 = (w->mode >> 4 & 3) != 3, flush64 = flush_in || flush_out; \
	const bool near32 = !(w->mode & 3), one_rounding = (w->mode & 3) == (w->mode >> 2 & 3); \
	const uint32_t rc16 = w->mxcsr[2] >> 13 & 3; \
	(void)one_rounding; (void)rc16; \
	(void)flush_in; (void)flush_out; (void)flush32; (void)flush64; (void)near32; \
	(void)pd; (void)pk; (void)pa; (void)pb; (void)pc; (void)in; (void)ieee; \
	LOOP_##TD(TD, TA, TB, TC, KLOAD, KSTORE, __VA_ARGS__) \
}

/* A row's flags are known to the compiler: only one of these survives. */
#define KL(flags) (((flags) & RF_KIN) ? pk[i] : 0)
#define KS(flags) do { if ((flags) & RF_KOUT) pk[i] = -(k != 0); } while (0)

#define V1(op, isas, name, TD, TA, flags, ...) CORE(name, TD, TA, NONE, NONE, 0, (void)0, __VA_ARGS__)
#define V2(op, isas, name, TD, TA, TB, TC, flags, ...) \
	CORE(name##_##op, TD, TA, TB, TC, KL(flags), KS(flags), __VA_ARGS__)
#define V3 V2
#define VP V2
#define VC(op, isas, name, TA, TB, flags, ...) \
	CORE(name, M, TA, TB, NONE, 0, (void)0, d = (__VA_ARGS__);)
#define VX(enc, op, isas, name, TD, TA, TB, TC, flags)
#include "vop1.def"
#include "vop2.def"
#include "vopc.def"
#include "vop3.def"
#include "vop3p.def"
#undef V1
#undef V2
#undef VC
#undef VX

/* Operands. */

static inline void broadcast(uint32_t *t, uint32_t v)
{
	for (int i = 0; i < LANES; i++)
		t[i] = v;
}

static inline void expand(uint32_t *t, uint64_t m)
{
	for (int i = 0; i < LANES; i++)
		t[i] = -(uint32_t)(m >> i & 1);
}

/* Lanes hold 0 or ~0. */
static inline uint64_t collect(const uint32_t *t)
{
	uint64_t m = 0;

#ifdef __AVX512F__
	for (int i = 0; i < 4; i++) {
		__m512i v = _mm512_loadu_si512(t + 16 * i);

		m |= (uint64_t)_mm512_test_epi32_mask(v, v) << 16 * i;
	}
#elif defined(__AVX2__)
	for (int i = 0; i < 8; i++)
		m |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(t + 8 * i))) << 8 * i;
#else
	for (int i = 0; i < 16; i++)
		m |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_loadu_ps((const float *)(t + 4 * i))) << 4 * i;
#endif
	return m;
}

static inline void blend(uint32_t *d, const uint32_t *t, uint64_t m, unsigned int rows)
{
	for (; rows; rows--, d += LANES, t += LANES) {
#ifdef __AVX512F__
		for (int i = 0; i < 4; i++)
			_mm512_mask_storeu_epi32(d + 16 * i, (__mmask16)(m >> 16 * i),
			                         _mm512_loadu_si512(t + 16 * i));
#else
		uint32_t e[LANES];

		expand(e, m);
		for (int i = 0; i < LANES; i++)
			d[i] = (t[i] & e[i]) | (d[i] & ~e[i]);
#endif
	}
}

static const uint32_t *get_slow(const struct gcn_opnd *o, const struct gcn_wave *w, uint32_t *t)
{
	switch (o->kind) {
	case OP_MASK:
		expand(t, gcn_get64(&w->s[o->idx]));
		return t;
	case OP_SPEC:
		broadcast(t, o->idx == 251 ? VCC(w) == 0 : o->idx == 252 ? EXEC(w) == 0 : w->scc);
		broadcast(t + LANES, 0);
		return t;
	default:
		return NULL;
	}
}

static inline bool is_wide(unsigned int type)
{
	return type == T_U64 || type == T_I64 || type == T_F64 || type == T_PF;
}

static inline const uint32_t *get(const struct gcn_opnd *o, const struct gcn_wave *w, uint32_t *t)
{
	if (o->kind == OP_VGPR)
		return w->v[o->idx];
	if (o->kind == OP_CONST)
		return o->ptr;
	if (o->kind == OP_SGPR) {
		broadcast(t, w->s[o->idx]);
		if (is_wide(o->type))
			broadcast(t + LANES, w->s[o->idx + 1]);
		return t;
	}
	return get_slow(o, w, t);
}

static inline void set_fp(const struct gcn_inst *i, struct gcn_wave *w)
{
	if (i->fp && w->mxcsr[i->fp] != w->mxcsr_now) {
		w->mxcsr_now = w->mxcsr[i->fp];
		_mm_setcsr(w->mxcsr_now);
	}
}

/* Result to VGPRs, no modifiers. */
static const struct gcn_inst *plain(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t ex = EXEC(w);
	const uint32_t *a, *b, *c;

	if (__builtin_expect(!ex, 0))
		return i + 1;
	a = get(&i->s[0], w, w->t[0]);
	b = get(&i->s[1], w, w->t[1]);
	c = get(&i->s[2], w, w->t[2]);
	set_fp(i, w);
	if (__builtin_expect(ex == ALL_LANES, 1)) {
		i->core(w->v[i->dst], NULL, a, b, c, i, w);
		return i + 1;
	}
	i->core(w->t[3], NULL, a, b, c, i, w);
	blend(w->v[i->dst], w->t[3], ex, i->dwords);
	return i + 1;
}

static inline void put_mask(const struct gcn_inst *i, struct gcn_wave *w, uint64_t m)
{
	gcn_set64(&w->s[i->sdst], m);
	if (i->row->flags & RF_CMPX)
		gcn_set64(&w->s[SGPR_EXEC], m);
}

/* Compares: inactive lanes give 0. */
static const struct gcn_inst *mask(const struct gcn_inst *i, struct gcn_wave *w)
{
	const uint32_t *a = get(&i->s[0], w, w->t[0]), *b = get(&i->s[1], w, w->t[1]);

	set_fp(i, w);
	i->core(w->t[3], NULL, a, b, NULL, i, w);
	put_mask(i, w, collect(w->t[3]) & EXEC(w));
	return i + 1;
}

static const struct gcn_inst *carry(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t ex = EXEC(w);
	const uint32_t *a = get(&i->s[0], w, w->t[0]), *b = get(&i->s[1], w, w->t[1]);
	const uint32_t *c = get(&i->s[2], w, w->t[2]);
	uint32_t *k = w->t[3] + 2 * LANES;

	set_fp(i, w);
	if (i->row->flags & RF_KIN)
		expand(k, VCC(w));
	i->core(w->t[3], k, a, b, c, i, w);
	blend(w->v[i->dst], w->t[3], ex, i->dwords);
	if (i->row->flags & RF_KOUT)
		gcn_set64(&w->s[i->sdst], collect(k) & ex);
	return i + 1;
}

#include "valu_mods.h"
#include "valu_custom.h"

/* Rows. */

#define V1(op, isas, name, TD, TA, flags, ...) \
	{ #name, ENC_VOP1, isas, op, flags, T_##TD, T_##TA, 0, 0, core_##name, NULL },
#define V2_(enc, op, isas, name, TD, TA, TB, TC, flags) \
	{ #name, enc, isas, op, flags, T_##TD, T_##TA, T_##TB, T_##TC, core_##name##_##op, NULL },
#define VX(enc, op, isas, name, TD, TA, TB, TC, flags) \
	{ #name, enc, isas, op, RF_CUSTOM | (flags), T_##TD, T_##TA, T_##TB, T_##TC, NULL, x_##name },
#define VC(op, isas, name, TA, TB, flags, ...) \
	{ #name, ENC_VOPC, isas, op, flags, T_M, T_##TA, T_##TB, 0, core_##name, NULL },
#undef V3
#undef VP
static const struct gcn_row rows_vop1[] = {
#include "vop1.def"
};
static const struct gcn_row rows_vop2[] = {
#define V2(op, isas, name, TD, TA, TB, TC, flags, ...) V2_(ENC_VOP2, op, isas, name, TD, TA, TB, TC, flags)
#include "vop2.def"
};
static const struct gcn_row rows_vopc[] = {
#include "vopc.def"
};
static const struct gcn_row rows_vop3[] = {
#define V3(op, isas, name, TD, TA, TB, TC, flags, ...) V2_(ENC_VOP3, op, isas, name, TD, TA, TB, TC, flags)
#define VP(op, isas, name, TD, TA, TB, TC, flags, ...) V2_(ENC_VOP3P, op, isas, name, TD, TA, TB, TC, flags)
#include "vop3.def"
#include "vop3p.def"
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define STR_(x) #x
#define STR(x) STR_(x)
const struct gcn_lanes GCN_LANES = {
	.name = STR(GCN_LANES),
	.rows = { rows_vop1, rows_vop2, rows_vopc, rows_vop3 },
	.count = { COUNT(rows_vop1), COUNT(rows_vop2), COUNT(rows_vopc), COUNT(rows_vop3) },
	.plain = plain,
	.mask = mask,
	.carry = carry,
	.general = general,
	.packed = packed,
};
