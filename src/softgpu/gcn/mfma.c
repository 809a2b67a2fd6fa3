/* SPDX-License-Identifier: MIT */
/*
 * Matrix instructions of gfx90a (VOP3P-MAI). EXEC is ignored, rounding is to
 * nearest even, products are accumulated one after the other in K order.
 * Denormals: f64 has them, f32 as MODE says, the 16-bit formats neither in
 * sources nor in the single-precision result.
 *
 * Layouts: of A, lane = i + M * (block + blocks * k / per_lane), and B alike
 * with j. Of C and D, see place().
 */
#include <math.h>
#include <string.h>
#include <xmmintrin.h>

#include "inst.h"

enum kind { K_F32, K_F16, K_BF16, K_BF16_1K, K_I8, K_F64 };

static float half_to_float(uint32_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 0x3ff;
	float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m | 0x400), (int)e - 25) : 0;

	return h & 0x8000 ? -f : f;
}

static float word_to_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* Never converted from one to another: the mode of the instruction would flush denormals on the way. */
union element {
	float f;
	double d;
	int32_t i;
};

/* Element n of the K values one lane holds of A or B. */
static union element element(uint32_t (*v)[LANES], enum kind kind, unsigned int lane, unsigned int n)
{
	union element x = { .d = 0 };
	uint64_t u;

	switch (kind) {
	case K_F32: x.f = word_to_float(v[0][lane]); break;
	case K_F16: x.f = half_to_float(v[n / 2][lane] >> 16 * (n & 1) & 0xffff); break;
	case K_BF16: x.f = word_to_float(v[0][lane] >> 16 * n << 16); break;
	case K_BF16_1K: x.f = word_to_float(v[n / 2][lane] >> 16 * (n & 1) << 16); break;
	case K_I8: x.i = (int8_t)(v[0][lane] >> 8 * n); break;
	default:
		u = v[0][lane] | (uint64_t)v[1][lane] << 32;
		memcpy(&x.d, &u, 8);
	}
	return x;
}

static unsigned int per_lane(enum kind kind)
{
	return kind == K_F32 || kind == K_F64 ? 1 : kind == K_BF16 ? 2 : 4;
}

/* Where element (i, j) of a block of D lies. */
static void place(enum kind kind, unsigned int m, unsigned int block, unsigned int i, unsigned int j,
                  unsigned int *reg, unsigned int *lane)
{
	if (kind == K_F64 && m == 16) {
		*reg = 2 * (i / 4);
		*lane = j + 16 * (i % 4);
	} else if (kind == K_F64) {
		*reg = 0;
		*lane = j + 4 * block + 16 * i;
	} else if (m == 32) {
		*reg = 16 * block + 4 * (i / 8) + i % 4;
		*lane = j + 32 * (i / 4 % 2);
	} else if (m == 16) {
		*reg = 4 * block + i % 4;
		*lane = j + 16 * (i / 4);
	} else {
		*reg = i;
		*lane = j + 4 * block;
	}
}

/* BLGP: lanes of B taken from elsewhere. */
static unsigned int blgp_lane(unsigned int blgp, unsigned int lane)
{
	switch (blgp) {
	case 0: return lane;
	case 1: return lane & 31;
	case 2: return 32 + (lane & 31);
	case 3: return (lane + 16) & 63;
	default: return 16 * (blgp - 4) + (lane & 15);
	}
}

struct shape {
	unsigned int m, k, blocks;
	enum kind kind;
};

static uint32_t accumulate(const struct shape *s, uint32_t c, const union element *a, const union element *b)
{
	float f = word_to_float(c);
	uint32_t u = c;

	if (s->kind == K_I8) {
		for (unsigned int k = 0; k < s->k; k++)
			u += (uint32_t)(a[k].i * b[k].i);
		return u;
	}
	for (unsigned int k = 0; k < s->k; k++)
		f = fmaf(a[k].f, b[k].f, f);
	if (f != f)
		return 0x7fc00000;
	memcpy(&u, &f, 4);
	return u;
}

static const struct gcn_inst *mfma(const struct gcn_inst *i, struct gcn_wave *w)
{
	const struct shape s = { i->row->a, i->row->b, i->row->c, (enum kind)i->row->d };
	unsigned int cbsz = i->abs, abid = i->opsel | (i->opsel_hi >> 2) << 3, blgp = i->neg;
	unsigned int dst = i->dst + (i->clamp ? ACC_BASE : 0);
	unsigned int groups = per_lane(s.kind), regs = s.m * s.m * s.blocks / 64 * (s.kind == K_F64 ? 2 : 1);
	uint32_t (*va)[LANES] = &w->v[i->s[0].idx + (i->opsel_hi & 1 ? ACC_BASE : 0)];
	uint32_t (*vb)[LANES] = &w->v[i->s[1].idx + (i->opsel_hi & 2 ? ACC_BASE : 0)];
	uint32_t out[32][LANES], c[32][LANES];
	bool f64 = s.kind == K_F64;

	w->mxcsr_now = f64 || s.kind == K_I8 ? 0x1f80 : s.kind == K_F32 ? 0x1f80 | (w->mxcsr[1] & 0x8040) : w->mxcsr[4];
	_mm_setcsr(w->mxcsr_now);
	for (unsigned int r = 0; r < regs; r++)
		for (int l = 0; l < LANES; l++)
			c[r][l] = i->s[2].kind == OP_VGPR ?
			          w->v[i->s[2].idx + (i->clamp ? ACC_BASE : 0) + r][l] :
			          (uint32_t)(i->s[2].val >> (f64 && (r & 1) ? 32 : 0));
	for (unsigned int b = 0; b < s.blocks; b++) {
		unsigned int ab = f64 || !cbsz ? b : ((b & ~((1u << cbsz) - 1)) + abid) % s.blocks;

		for (unsigned int row = 0; row < s.m; row++)
			for (unsigned int col = 0; col < s.m; col++) {
				union element a[16], bb[16];
				double acc;
				unsigned int r, l;
				uint64_t u;

				for (unsigned int k = 0; k < s.k; k++) {
					unsigned int g = k / groups, n = k % groups;
					unsigned int lane = col + s.m * (b + s.blocks * g);

					a[k] = element(va, s.kind, row + s.m * (ab + s.blocks * g), n);
					bb[k] = element(vb, s.kind, f64 ? lane : blgp_lane(blgp, lane), n);
				}
				place(s.kind, s.m, b, row, col, &r, &l);
				if (!f64) {
					out[r][l] = accumulate(&s, c[r][l], a, bb);
					continue;
				}
				u = c[r][l] | (uint64_t)c[r + 1][l] << 32;
				memcpy(&acc, &u, 8);
				/* For f64 BLGP negates A, B, C. */
				acc = blgp & 4 ? -acc : acc;
				for (unsigned int k = 0; k < s.k; k++)
					acc = fma(blgp & 1 ? -a[k].d : a[k].d, blgp & 2 ? -bb[k].d : bb[k].d, acc);
				memcpy(&u, &acc, 8);
				if (acc != acc)
					u = 0x7ff8000000000000;
				out[r][l] = (uint32_t)u;
				out[r + 1][l] = (uint32_t)(u >> 32);
			}
	}
	memcpy(w->v[dst], out, regs * sizeof(out[0]));
	return i + 1;
}

#define MF(op, name, m, k, blocks, kind) \
	{ #name, ENC_VOP3P, ISA_90A, op, RF_CUSTOM, kind, m, k, blocks, NULL, mfma },
const struct gcn_row gcn_mfma_rows[] = {
	MF(0x40, v_mfma_f32_32x32x1f32, 32, 1, 2, K_F32)
	MF(0x41, v_mfma_f32_16x16x1f32, 16, 1, 4, K_F32)
	MF(0x42, v_mfma_f32_4x4x1f32, 4, 1, 16, K_F32)
	MF(0x44, v_mfma_f32_32x32x2f32, 32, 2, 1, K_F32)
	MF(0x45, v_mfma_f32_16x16x4f32, 16, 4, 1, K_F32)
	MF(0x48, v_mfma_f32_32x32x4f16, 32, 4, 2, K_F16)
	MF(0x49, v_mfma_f32_16x16x4f16, 16, 4, 4, K_F16)
	MF(0x4a, v_mfma_f32_4x4x4f16, 4, 4, 16, K_F16)
	MF(0x4c, v_mfma_f32_32x32x8f16, 32, 8, 1, K_F16)
	MF(0x4d, v_mfma_f32_16x16x16f16, 16, 16, 1, K_F16)
	MF(0x50, v_mfma_i32_32x32x4i8, 32, 4, 2, K_I8)
	MF(0x51, v_mfma_i32_16x16x4i8, 16, 4, 4, K_I8)
	MF(0x52, v_mfma_i32_4x4x4i8, 4, 4, 16, K_I8)
	MF(0x54, v_mfma_i32_32x32x8i8, 32, 8, 1, K_I8)
	MF(0x55, v_mfma_i32_16x16x16i8, 16, 16, 1, K_I8)
	MF(0x63, v_mfma_f32_32x32x4bf16_1k, 32, 4, 2, K_BF16_1K)
	MF(0x64, v_mfma_f32_16x16x4bf16_1k, 16, 4, 4, K_BF16_1K)
	MF(0x65, v_mfma_f32_4x4x4bf16_1k, 4, 4, 16, K_BF16_1K)
	MF(0x66, v_mfma_f32_32x32x8bf16_1k, 32, 8, 1, K_BF16_1K)
	MF(0x67, v_mfma_f32_16x16x16bf16_1k, 16, 16, 1, K_BF16_1K)
	MF(0x68, v_mfma_f32_32x32x2bf16, 32, 2, 2, K_BF16)
	MF(0x69, v_mfma_f32_16x16x2bf16, 16, 2, 4, K_BF16)
	MF(0x6b, v_mfma_f32_4x4x2bf16, 4, 2, 16, K_BF16)
	MF(0x6c, v_mfma_f32_32x32x4bf16, 32, 4, 1, K_BF16)
	MF(0x6d, v_mfma_f32_16x16x8bf16, 16, 8, 1, K_BF16)
	MF(0x6e, v_mfma_f64_16x16x4f64, 16, 4, 1, K_F64)
	MF(0x6f, v_mfma_f64_4x4x4f64, 4, 4, 4, K_F64)
};
const size_t gcn_mfma_count = sizeof(gcn_mfma_rows) / sizeof(gcn_mfma_rows[0]);
