/* SPDX-License-Identifier: MIT */
/* Loads, stores and atomics once the addresses are known. */
#include <emmintrin.h>
#include <math.h>

#include "mem.h"

static inline uint8_t *place(const struct access *x, int l, unsigned int k)
{
	uint32_t o;

	if (!(x->swz >> l & 1))
		return x->p[l] + k;
	o = x->off[l] + k;
	return x->p[l] + (size_t)(o >> 2) * x->row + (o & 3);
}

static void rd(const struct access *x, int l, unsigned int k, void *out, unsigned int n)
{
	if (!x->p[l]) {
		memset(out, 0, n);
	} else if (!(x->swz >> l & 1) || (x->off[l] + k) % 4 + n <= 4) {
		memcpy(out, place(x, l, k), n);
	} else {
		for (unsigned int b = 0; b < n; b++)
			((uint8_t *)out)[b] = *place(x, l, k + b);
	}
}

static void wr(const struct access *x, int l, unsigned int k, const void *in, unsigned int n)
{
	if (!x->p[l])
		return;
	if (!(x->swz >> l & 1) || (x->off[l] + k) % 4 + n <= 4) {
		memcpy(place(x, l, k), in, n);
	} else {
		for (unsigned int b = 0; b < n; b++)
			*place(x, l, k + b) = ((const uint8_t *)in)[b];
	}
}

/* All lanes, side by side, `step` bytes each: the common case by far. */
static bool contiguous(const struct access *x, unsigned int step)
{
	uint64_t bad = 0, base = (uint64_t)(uintptr_t)x->p[0];

	if (!x->dense)
		return false;
	for (int l = 0; l < LANES; l++)
		bad |= (uint64_t)(uintptr_t)x->p[l] ^ (base + step * (uint64_t)l);
	return !bad;
}

#define EACH(l, m) for (uint64_t m_ = (m); m_; m_ &= m_ - 1) \
		for (int l = __builtin_ctzll(m_), once_ = 1; once_; once_ = 0)

/* Four words of four lanes, to rows and back: its own inverse. */
static void turn(__m128i r[4])
{
	__m128i a = _mm_unpacklo_epi32(r[0], r[1]), b = _mm_unpacklo_epi32(r[2], r[3]);
	__m128i c = _mm_unpackhi_epi32(r[0], r[1]), d = _mm_unpackhi_epi32(r[2], r[3]);

	r[0] = _mm_unpacklo_epi64(a, b);
	r[1] = _mm_unpackhi_epi64(a, b);
	r[2] = _mm_unpacklo_epi64(c, d);
	r[3] = _mm_unpackhi_epi64(c, d);
}

static void load_quads(uint32_t (*v)[LANES], const uint8_t *p)
{
	for (int l = 0; l < LANES; l += 4, p += 64) {
		__m128i r[4];

		/* Lanes go through memory in order, and so will the next loads. */
		_mm_prefetch((const char *)p + 2048, _MM_HINT_T0);
		for (int k = 0; k < 4; k++)
			r[k] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * k));
		turn(r);
		for (int k = 0; k < 4; k++)
			_mm_storeu_si128((__m128i *)(void *)&v[k][l], r[k]);
	}
}

static void store_quads(uint32_t (*v)[LANES], uint8_t *p)
{
	for (int l = 0; l < LANES; l += 4, p += 64) {
		__m128i r[4];

		for (int k = 0; k < 4; k++)
			r[k] = _mm_loadu_si128((const __m128i *)(const void *)&v[k][l]);
		turn(r);
		for (int k = 0; k < 4; k++)
			_mm_storeu_si128((__m128i *)(void *)(p + 16 * k), r[k]);
	}
}

static void load_words(uint32_t (*v)[LANES], const struct access *x, unsigned int n, uint64_t lanes)
{
	if (n == 1 && contiguous(x, 4)) {
		memcpy(v[0], x->p[0], 4 * LANES);
		return;
	}
	if (n == 4 && contiguous(x, 16)) {
		load_quads(v, x->p[0]);
		return;
	}
	if (x->dense) {
		for (int l = 0; l < LANES; l++) {
			uint32_t t[4];

			memcpy(t, x->p[l], 4);
			for (unsigned int k = 1; k < n; k++)
				memcpy(&t[k], x->p[l] + 4 * k, 4);
			for (unsigned int k = 0; k < n; k++)
				v[k][l] = t[k];
		}
		return;
	}
	EACH(l, lanes)
		for (unsigned int k = 0; k < n; k++)
			rd(x, l, 4 * k, &v[k][l], 4);
}

static void store_words(uint32_t (*v)[LANES], const struct access *x, unsigned int n, uint64_t lanes)
{
	if (n == 1 && contiguous(x, 4)) {
		memcpy(x->p[0], v[0], 4 * LANES);
		return;
	}
	if (n == 4 && contiguous(x, 16)) {
		store_quads(v, x->p[0]);
		return;
	}
	EACH(l, lanes)
		for (unsigned int k = 0; k < n; k++)
			wr(x, l, 4 * k, &v[k][l], 4);
}

static void load_part(uint32_t *d, const struct access *x, unsigned int kind, uint64_t lanes)
{
	bool byte = kind == M_U8 || kind == M_I8 || (kind >= M_U8_LO && kind <= M_I8_HI);

	EACH(l, lanes) {
		uint16_t v = 0;

		rd(x, l, 0, &v, byte ? 1 : 2);
		if (kind == M_I8_LO || kind == M_I8_HI)
			v = (uint16_t)(int8_t)v;
		switch (kind) {
		case M_I8: d[l] = (uint32_t)(int8_t)v; break;
		case M_I16: d[l] = (uint32_t)(int16_t)v; break;
		case M_U8_LO: case M_I8_LO: case M_16_LO: d[l] = (d[l] & 0xffff0000) | v; break;
		case M_U8_HI: case M_I8_HI: case M_16_HI: d[l] = (d[l] & 0xffff) | (uint32_t)v << 16; break;
		default: d[l] = v;
		}
	}
}

void gcn_read(const struct access *x, int lane, unsigned int at, void *out, unsigned int bytes)
{
	rd(x, lane, at, out, bytes);
}

void gcn_write(const struct access *x, int lane, unsigned int at, const void *in, unsigned int bytes)
{
	wr(x, lane, at, in, bytes);
}

void gcn_load_row(uint32_t *row, const struct access *x, unsigned int kind, uint64_t lanes)
{
	if (kind != M_LOAD) {
		load_part(row, x, kind, lanes);
		return;
	}
	EACH(l, lanes)
		rd(x, l, 0, &row[l], 4);
}

void gcn_access(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x,
                unsigned int kind, uint64_t lanes)
{
	uint32_t *s = w->v[i->s[1].idx];

	switch (kind) {
	case M_LOAD:
		load_words(&w->v[i->dst], x, i->row->d, lanes);
		return;
	case M_STORE:
		store_words(&w->v[i->s[1].idx], x, i->row->d, lanes);
		return;
	case M_ST8: case M_ST8_HI: case M_ST16: case M_ST16_HI:
		EACH(l, lanes) {
			uint32_t v = kind == M_ST8_HI || kind == M_ST16_HI ? s[l] >> 16 : s[l];

			wr(x, l, 0, &v, kind == M_ST8 || kind == M_ST8_HI ? 1 : 2);
		}
		return;
	default:
		load_part(w->v[i->dst], x, kind, lanes);
	}
}

/* Atomics. */

/* MXCSR: denormals are 0, coming in and going out. */
#define FLUSH_IN 0x40u
#define FLUSH_OUT 0x8000u

static uint32_t fbits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float tof(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static double tod(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

static uint64_t dbits(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

/* A sum as the vector unit makes it: the first NaN, quieted; the default NaN is positive. */
static uint32_t add32(uint32_t a, uint32_t b)
{
	float r = tof(a) + tof(b);

	return r == r ? fbits(r) : tof(a) != tof(a) ? a | 0x400000 : tof(b) != tof(b) ? b | 0x400000 : 0x7fc00000;
}

static uint64_t add64(uint64_t a, uint64_t b)
{
	const uint64_t quiet = 0x8000000000000;
	double r = tod(a) + tod(b);

	return r == r ? dbits(r) : tod(a) != tod(a) ? a | quiet : tod(b) != tod(b) ? b | quiet : 0x7ff0000000000000 | quiet;
}

static float half(uint32_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 0x3ff;
	float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m | 0x400), (int)e - 25) :
	          ldexpf((float)m, -24);

	return h & 0x8000 ? -f : f;
}

/* Nearest even; sums of two halves are exact in single. */
static uint32_t to_half(float f)
{
	uint32_t s = fbits(f) >> 16 & 0x8000;
	float a = fabsf(f);

	if (a != a)
		return 0x7e00;
	if (a >= 65520.0f)
		return s | 0x7c00;
	if (a < 0x1p-14f)
		return s | (uint32_t)nearbyintf(a * 0x1p24f);
	return s | ((fbits(a) + 0xfff + (fbits(a) >> 13 & 1)) - 0x38000000) >> 13;
}

static uint32_t add16(uint32_t a, uint32_t b)
{
	if ((a & 0x7fff) > 0x7c00)
		return a | 0x200;
	return (b & 0x7fff) > 0x7c00 ? b | 0x200 : to_half(half(a) + half(b));
}

static uint32_t pk_add(uint32_t a, uint32_t b)
{
	return add16(a & 0xffff, b & 0xffff) | add16(a >> 16, b >> 16) << 16;
}

/* Without the mantissa that the mode does not let in. */
static uint32_t let_in32(uint32_t u)
{
	return !(u & 0x7f800000) && _mm_getcsr() & FLUSH_IN ? u & 0x80000000 : u;
}

static uint64_t let_in64(uint64_t u)
{
	return !(u & 0x7ff0000000000000) && _mm_getcsr() & FLUSH_IN ? u & 0x8000000000000000 : u;
}

/* ISA "Float Memory Atomics": signalling NaNs come out quiet, quiet ones lose, -0 is less than +0, and what is
 * chosen goes through as it was. */
#define EXTREME(name, T, let_in, inf, quiet_bit, sign) \
static T name(T o, T d, bool largest) \
{ \
	bool nan_o = (o & ~(sign)) > (inf), nan_d = (d & ~(sign)) > (inf); \
	T x = let_in(o), y = let_in(d); \
	\
	if (nan_o && !(o & (quiet_bit))) \
		return o | (quiet_bit); \
	if (nan_d && !(d & (quiet_bit))) \
		return d | (quiet_bit); \
	if (nan_o || nan_d) \
		return nan_d ? o : d; \
	/* As integers in the same order. */ \
	x = x & (sign) ? ~x : x | (sign); \
	y = y & (sign) ? ~y : y | (sign); \
	return (largest ? y > x : y < x) ? d : o; \
}
EXTREME(extreme32, uint32_t, let_in32, 0x7f800000u, 0x400000u, 0x80000000u)
EXTREME(extreme64, uint64_t, let_in64, (uint64_t)0x7ff0000000000000, (uint64_t)0x8000000000000, (uint64_t)1 << 63)

static uint32_t op32(unsigned int op, uint32_t o, uint32_t d, uint32_t c)
{
	switch (op) {
	case A_SWAP: return d;
	case A_CMPSWAP: return o == c ? d : o;
	case A_FCMPSWAP: return tof(o) == tof(c) ? let_in32(d) : o;
	case A_ADD: return o + d;
	case A_SUB: return o - d;
	case A_RSUB: return d - o;
	case A_SMIN: return (int32_t)d < (int32_t)o ? d : o;
	case A_UMIN: return d < o ? d : o;
	case A_SMAX: return (int32_t)d > (int32_t)o ? d : o;
	case A_UMAX: return d > o ? d : o;
	case A_AND: return o & d;
	case A_OR: return o | d;
	case A_XOR: return o ^ d;
	case A_INC: return o >= d ? 0 : o + 1;
	case A_DEC: return o == 0 || o > d ? d : o - 1;
	case A_FADD: return add32(o, d);
	case A_FMIN: return extreme32(o, d, false);
	case A_FMAX: return extreme32(o, d, true);
	case A_PKADD: return pk_add(o, d);
	case A_MSKOR: return (o & ~c) | d;
	default: return o >= c ? o - c : o + d; /* A_WRAP */
	}
}

static uint64_t op64(unsigned int op, uint64_t o, uint64_t d, uint64_t c)
{
	switch (op) {
	case A_SWAP: return d;
	case A_CMPSWAP: return o == c ? d : o;
	case A_FCMPSWAP: return tod(o) == tod(c) ? let_in64(d) : o;
	case A_ADD: return o + d;
	case A_SUB: return o - d;
	case A_RSUB: return d - o;
	case A_SMIN: return (int64_t)d < (int64_t)o ? d : o;
	case A_UMIN: return d < o ? d : o;
	case A_SMAX: return (int64_t)d > (int64_t)o ? d : o;
	case A_UMAX: return d > o ? d : o;
	case A_AND: return o & d;
	case A_OR: return o | d;
	case A_XOR: return o ^ d;
	case A_INC: return o >= d ? 0 : o + 1;
	case A_DEC: return o == 0 || o > d ? d : o - 1;
	case A_FADD: return add64(o, d);
	case A_FMIN: return extreme64(o, d, false);
	case A_FMAX: return extreme64(o, d, true);
	default: return (o & ~c) | d; /* A_MSKOR */
	}
}

#define ATOMIC_ON(T, name, op_fn) \
static T name(unsigned int op, T *p, T d, T c, bool local) \
{ \
	T o = __atomic_load_n(p, __ATOMIC_RELAXED); \
	if (local) { \
		*p = op_fn(op, o, d, c); \
		return o; \
	} \
	if (op == A_ADD) \
		return __atomic_fetch_add(p, d, __ATOMIC_SEQ_CST); \
	if (op == A_SWAP) \
		return __atomic_exchange_n(p, d, __ATOMIC_SEQ_CST); \
	while (!__atomic_compare_exchange_n(p, &o, op_fn(op, o, d, c), true, __ATOMIC_SEQ_CST, \
	                                    __ATOMIC_RELAXED)) \
		; \
	return o; \
}
ATOMIC_ON(uint32_t, on32, op32)
ATOMIC_ON(uint64_t, on64, op64)

uint64_t gcn_atomic_word(unsigned int op, void *p, uint64_t d, uint64_t c, bool two)
{
	return two ? on64(op, p, d, c, false) : on32(op, p, (uint32_t)d, (uint32_t)c, false);
}

/* Floats round to nearest whatever MODE says. Memory drops the denormals of a single-precision sum and keeps all
 * others; LDS follows MODE, but for a sum of doubles, which keeps them. */
static uint32_t float_mode(const struct gcn_wave *w, unsigned int op, bool two, bool lds)
{
	const uint32_t near = 0x1f80, flush = FLUSH_IN | FLUSH_OUT;

	if (op == A_FADD && (two || !lds))
		return two ? near : near | flush;
	return lds ? near | (w->mxcsr[two ? 2 : 1] & flush) : near;
}

/* Reads and writes may lie anywhere, atomics may not (ISA "Memory Violations"). */
static void check_alignment(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x, uint64_t lanes)
{
	uint64_t bad = 0;

	EACH(l, lanes)
		bad |= !x->p[l] ? 0 : x->swz >> l & 1 ? x->off[l] : (uint64_t)(uintptr_t)x->p[l];
	if (bad & (4u * i->row->d - 1))
		gcn_raise(w, GCN_FAULT_ALIGN, 0, "%s: an address that is not aligned to %u bytes", i->row->name,
		          4u * i->row->d);
}

void gcn_atomic(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x,
                uint64_t lanes, unsigned int cmp_row, unsigned int data_row, bool ret)
{
	unsigned int op = i->row->b;
	bool two = i->row->d == 2, floats = (op >= A_FADD && op <= A_FMAX) || op == A_FCMPSWAP;

	check_alignment(i, w, x, lanes);
	EACH(l, lanes) {
		uint64_t d = w->v[data_row][l], c = w->v[cmp_row][l], o = 0;
		uint8_t *p = x->p[l];
		bool local = x->lds >> l & 1;

		if (floats && w->mxcsr_now != float_mode(w, op, two, local))
			_mm_setcsr(w->mxcsr_now = float_mode(w, op, two, local));
		if (two) {
			d |= (uint64_t)w->v[data_row + 1][l] << 32;
			c |= (uint64_t)w->v[cmp_row + 1][l] << 32;
		}
		if (p && (x->swz >> l & 1)) {
			/* A lane's scratch is its own; halves of 64 bits are not adjacent. */
			uint64_t n = 0;

			rd(x, l, 0, &o, two ? 8 : 4);
			n = two ? op64(op, o, d, c) : op32(op, (uint32_t)o, (uint32_t)d, (uint32_t)c);
			wr(x, l, 0, &n, two ? 8 : 4);
		} else if (p && two) {
			o = on64(op, (uint64_t *)p, d, c, local);
		} else if (p) {
			o = on32(op, (uint32_t *)p, (uint32_t)d, (uint32_t)c, local);
		}
		if (ret) {
			w->v[i->dst][l] = (uint32_t)o;
			if (two)
				w->v[i->dst + 1][l] = (uint32_t)(o >> 32);
		}
	}
}
