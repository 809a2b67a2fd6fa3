/* SPDX-License-Identifier: MIT */
/* Code words to predecoded instructions; formats as in the ISA document, chapter "Microcode Formats". */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define ROW_OPS 1024

static const struct gcn_row *lut[3][ENC_COUNT][ROW_OPS];
static const char *lut_error = "";
static pthread_once_t lut_once = PTHREAD_ONCE_INIT;

static const struct gcn_lanes *lanes;

/* SOFTGPU_GCN_LANES (base, avx2, avx512) caps the level, so that tests can run all of them. */
const struct gcn_lanes *gcn_lanes(void)
{
	const char *cap = getenv("SOFTGPU_GCN_LANES");

#ifdef GCN_HAVE_AVX512
	if ((!cap || !strcmp(cap, "avx512")) &&
	    __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2"))
		return &gcn_lanes_avx512;
#endif
#ifdef GCN_HAVE_AVX2
	if ((!cap || strcmp(cap, "base")) &&
	    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2"))
		return &gcn_lanes_avx2;
#endif
	return &gcn_lanes_base;
}

const struct gcn_row *gcn_rows(unsigned int family, size_t *count)
{
	const struct gcn_lanes *l = gcn_lanes();

	switch (family) {
	case 0: *count = gcn_sop_count; return gcn_sop_rows;
	case 1: *count = gcn_smem_count; return gcn_smem_rows;
	case 2: *count = gcn_mem_count; return gcn_mem_rows;
	case 3: *count = gcn_ds_count; return gcn_ds_rows;
	case 4: case 5: case 6: case 7:
		*count = l->count[family - 4];
		return l->rows[family - 4];
	case 8: *count = gcn_mfma_count; return gcn_mfma_rows;
	default: *count = 0; return NULL;
	}
}

static void build_lut(void)
{
	const struct gcn_row *r;
	size_t n;

	lanes = gcn_lanes();
	for (unsigned int f = 0; (r = gcn_rows(f, &n)); f++)
		for (; n; n--, r++)
			for (unsigned int isa = 0; isa < 3; isa++) {
				if (!(r->isas >> isa & 1))
					continue;
				if (r->op >= ROW_OPS || lut[isa][r->enc][r->op])
					lut_error = r->name;
				else
					lut[isa][r->enc][r->op] = r;
			}
}

const char *gcn_table_check(void)
{
	pthread_once(&lut_once, build_lut);
	return lut_error;
}

/* Broadcast constants. */

struct gcn_consts {
	_Alignas(64) uint32_t v[2 * LANES];
	struct gcn_consts *next;
};

const uint32_t *gcn_const(struct gcn_consts **list, uint32_t lo, uint32_t hi)
{
	struct gcn_consts *c;

	for (c = *list; c; c = c->next)
		if (c->v[0] == lo && c->v[LANES] == hi)
			return c->v;
	c = aligned_alloc(64, sizeof(*c));
	if (!c)
		abort();
	for (int l = 0; l < LANES; l++) {
		c->v[l] = lo;
		c->v[LANES + l] = hi;
	}
	c->next = *list;
	*list = c;
	return c->v;
}

void gcn_consts_free(struct gcn_consts *list)
{
	while (list) {
		struct gcn_consts *next = list->next;

		free(list);
		list = next;
	}
}

struct decoder {
	struct gcn_inst *in;
	const uint32_t *word;
	enum gcn_isa isa;
	struct gcn_consts **consts;
	uint32_t literal;
	bool bad;
};

static bool wide(unsigned int type)
{
	return type == T_U64 || type == T_I64 || type == T_F64 || type == T_PF;
}

static bool half(unsigned int type)
{
	return type == T_F16 || type == T_U16 || type == T_I16 || type == T_PK;
}

static void constant(struct decoder *d, struct gcn_opnd *o, uint64_t v)
{
	o->kind = OP_CONST;
	o->val = v;
	o->ptr = gcn_const(d->consts, (uint32_t)v, (uint32_t)(v >> 32));
}

static const uint16_t inline_f16[9] = {
	0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118,
};
static const uint32_t inline_f32[9] = {
	0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000,
	0x40800000, 0xc0800000, 0x3e22f983,
};
static const uint64_t inline_f64[9] = {
	0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000,
	0x4000000000000000, 0xc000000000000000, 0x4010000000000000, 0xc010000000000000,
	0x3fc45f306dc9c882,
};

/* A source field of 8 or 9 bits. */
static void source(struct decoder *d, struct gcn_opnd *o, unsigned int n, unsigned int type)
{
	o->type = (uint8_t)type;
	o->idx = (uint16_t)n;
	if (n >= 256 && type != T_M) {
		o->kind = OP_VGPR;
		o->idx = (uint16_t)(n - 256);
	} else if (type == T_M) {
		o->kind = OP_MASK;
		if (n >= 128 && n <= 208)
			constant(d, o, (uint64_t)(int64_t)(n <= 192 ? (int)n - 128 : 192 - (int)n));
		else if (n > 127)
			d->bad = true;
		if (o->kind == OP_CONST) /* a lane mask needs its bits spread */
			d->bad = o->val != 0 && o->val != ALL_LANES ? true : d->bad,
			o->ptr = gcn_const(d->consts, (uint32_t)o->val, (uint32_t)o->val);
	} else if (n < 128 && n != 125) {
		o->kind = OP_SGPR;
	} else if (n >= 128 && n <= 208) {
		constant(d, o, (uint64_t)(int64_t)(n <= 192 ? (int)n - 128 : 192 - (int)n));
	} else if (n >= 235 && n <= 238) {
		/* Apertures are a matter of the launch: read as an SGPR beyond the file,
		 * which gcn_wg_start fills. */
		o->kind = OP_SGPR;
		o->idx = (uint16_t)(128 + 2 * (n - 235));
	} else if (n >= 240 && n <= 248) {
		constant(d, o, wide(type) && type != T_PF ? inline_f64[n - 240] :
		         half(type) ? inline_f16[n - 240] : inline_f32[n - 240]);
	} else if (n == 255) {
		constant(d, o, type == T_F64 ? (uint64_t)d->literal << 32 :
		         type == T_I64 ? (uint64_t)(int64_t)(int32_t)d->literal : d->literal);
		d->in->size = (uint8_t)(d->in->size + 4);
	} else if (n >= 251 && n <= 253) {
		o->kind = OP_SPEC;
	} else {
		d->bad = true;
	}
}

static void sop_dest(struct decoder *d, unsigned int n)
{
	d->in->dst = (uint16_t)n;
	if (n == 125 || n > 127)
		d->bad = true;
}

static void decode_sop(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;

	d->literal = d->word[1];
	in->size = 4;
	in->imm = (int16_t)w;
	in->target_pc = in->pc + 4 + (uint64_t)((int64_t)(int16_t)w * 4);
	switch (r->enc) {
	case ENC_SOP2:
		sop_dest(d, w >> 16 & 127);
		/* fall through */
	case ENC_SOPC:
		if (r->op == 0x11)
			in->imm = w >> 8 & 15; /* s_set_gpr_idx_on: a mask, not an operand */
		source(d, &in->s[0], w & 255, r->a);
		source(d, &in->s[1], w >> 8 & 255, r->b);
		if (in->s[0].kind == OP_CONST && in->s[1].kind == OP_CONST && in->size == 12)
			in->size = 8; /* both name the one literal */
		break;
	case ENC_SOP1:
		if (r->d != T_NONE || r->op == 0x1e || r->op == 0x2c || r->op == 0x2d)
			sop_dest(d, w >> 16 & 127);
		source(d, &in->s[0], w & 255, r->a == T_NONE && r->op != 0x1c ? T_U32 : r->a);
		if (r->op == 0x1c) /* s_getpc has no source */
			memset(&in->s[0], 0, sizeof(in->s[0])), d->bad = false, in->size = 4;
		break;
	case ENC_SOPK:
		sop_dest(d, w >> 16 & 127);
		if (r->op == 0x14)
			source(d, &in->s[0], 255, T_U32);
		break;
	default:
		break;
	}
	in->fn = r->fn;
}

static void decode_smem(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	uint32_t w1 = d->word[1];

	in->size = 8;
	in->fn = r->fn;
	in->glc = w >> 16 & 1;
	if (r->op >= 0x20 && r->op <= 0x27 && r->d == 0)
		return;
	sop_dest(d, w >> 6 & 127);
	if ((r->op >= 0x40 && r->b == A_CMPSWAP ? 2 : 1) * r->d + in->dst > 128)
		d->bad = true;
	in->s[0].kind = OP_SGPR;
	in->s[0].idx = (uint16_t)((w & 63) << 1);
	if (w >> 17 & 1)
		in->imm = (int32_t)(w1 << 11) >> 11;
	if (w >> 14 & 1)
		source(d, &in->s[1], w1 >> 25 & 127, T_U32);
	else if (!(w >> 17 & 1))
		source(d, &in->s[1], w1 & 127, T_U32);
	if (in->size != 8)
		d->bad = true;
}

/* SDWA word: ISA "VOP_SDWA", "VOP_SDWAB". Source 0 is taken from it. */
static void decode_sdwa(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	uint32_t s = d->word[1];

	in->form = FORM_SDWA;
	in->size = 8;
	source(d, &in->s[0], (s & 255) | (s >> 23 & 1 ? 0 : 256), r->a);
	in->sel[0] = s >> 16 & 7;
	in->sel[1] = s >> 24 & 7;
	in->sext = (s >> 19 & 1) | (s >> 27 & 1) << 1;
	in->neg = (s >> 20 & 1) | (s >> 28 & 1) << 1;
	in->abs = (s >> 21 & 1) | (s >> 29 & 1) << 1;
	if (r->enc != ENC_VOP1)
		source(d, &in->s[1], (w >> 9 & 255) | (s >> 31 ? 0 : 256), r->b);
	if (r->enc == ENC_VOPC) {
		in->sdst = s >> 15 & 1 ? s >> 8 & 127 : SGPR_VCC;
		in->sel[2] = 6;
	} else {
		in->sel[2] = s >> 8 & 7;
		in->dst_unused = s >> 11 & 3;
		in->clamp = s >> 13 & 1;
		in->omod = s >> 14 & 3;
	}
	if (in->sel[0] == 7 || in->sel[1] == 7 || in->sel[2] == 7 || wide(r->a) || wide(r->d) ||
	    in->size != 8)
		d->bad = true;
}

static bool dpp_ctrl_known(enum gcn_isa isa, unsigned int c)
{
	return c < 0x100 || (c > 0x100 && c < 0x110) || (c > 0x110 && c < 0x120) ||
	       (c > 0x120 && c < 0x130) || c == 0x130 || c == 0x134 || c == 0x138 || c == 0x13c ||
	       c == 0x140 || c == 0x141 || c == 0x142 || c == 0x143 ||
	       (isa == GCN_GFX90A && c >= 0x150 && c < 0x160);
}

static void decode_dpp(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	uint32_t s = d->word[1];

	in->form = FORM_DPP;
	in->size = 8;
	source(d, &in->s[0], (s & 255) | 256, r->a);
	if (r->enc != ENC_VOP1)
		source(d, &in->s[1], (w >> 9 & 255) | 256, r->b);
	in->dpp_ctrl = s >> 8 & 0x1ff;
	in->bound_ctrl = s >> 19 & 1;
	in->neg = (s >> 20 & 1) | (s >> 22 & 1) << 1;
	in->abs = (s >> 21 & 1) | (s >> 23 & 1) << 1;
	in->bank_mask = s >> 24 & 15;
	in->row_mask = s >> 28;
	if (!dpp_ctrl_known(d->isa, in->dpp_ctrl) || (wide(r->a) && in->dpp_ctrl < 0x150))
		d->bad = true;
}

/* The MXCSR an instruction runs under. */
static uint8_t fp_class(const struct gcn_row *r)
{
	bool f32 = r->d == T_F32 || r->d == T_PF, f64 = r->d == T_F64 || r->d == T_F16;

	if (r->flags & RF_NOFP)
		return 0;
	if (r->flags & RF_DOT)
		return 4;
	if (r->flags & RF_FTZ)
		return 3;
	if (!f32 && !f64) {
		f32 = r->a == T_F32 || r->a == T_PF || r->b == T_F32;
		f64 = r->a == T_F64 || r->a == T_F16;
	}
	return f32 ? 1 : f64 || (r->d == T_PK && !(r->flags & RF_INTPK)) ? 2 : 0;
}

static uint8_t rows_of(unsigned int type)
{
	return type == T_R4 ? 4 : wide(type) ? 2 : 1;
}

static void finish_vop(struct decoder *d)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	bool mods = in->neg | in->abs | in->omod | in->opsel;

	in->core = r->core;
	in->fp = fp_class(r);
	in->dwords = rows_of(r->d);
	if (r->flags & RF_CUSTOM) {
		/* Lane selects and v_writelane's value are scalars, v_swap's operands are not. */
		bool lane = r->enc == ENC_VOP3, vector = r->enc == ENC_VOP1 && r->op >= 0x51;

		for (int k = 0; k < 2; k++)
			if (in->s[k].kind == OP_SPEC ||
			    (in->s[k].kind == OP_VGPR && lane && (k == 1 || r->op == 0x28a)) ||
			    (k == 0 && vector && in->s[k].kind != OP_VGPR))
				d->bad = true;
		in->fn = r->fn;
		if (in->form == FORM_SDWA || in->form == FORM_DPP || mods || in->clamp)
			d->bad = true;
		return;
	}
	/* Integer sources have no sign to change. */
	for (int k = 0; k < 3; k++)
		if (((in->neg | in->abs) >> k & 1) && in->s[k].type != T_F32 &&
		    in->s[k].type != T_F64 && in->s[k].type != T_F16)
			d->bad = true;
	if (in->omod && r->d != T_F32 && r->d != T_F64 && r->d != T_F16)
		d->bad = true;
	if (r->flags & RF_ACC) {
		in->s[2].kind = OP_VGPR;
		in->s[2].idx = in->dst;
		in->s[2].type = r->c;
	}
	if (in->clamp && (r->d == T_F32 || r->d == T_F64 || r->d == T_F16 || r->d == T_PF))
		mods = true;
	if (mods || in->form == FORM_SDWA || in->form == FORM_DPP || (r->flags & RF_KEEP16))
		in->fn = lanes->general;
	else if (r->d == T_M)
		in->fn = lanes->mask;
	else if (r->flags & (RF_KOUT | RF_KIN))
		in->fn = lanes->carry;
	else
		in->fn = lanes->plain;
}

static void decode_vop12c(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	unsigned int s0 = w & 511;

	in->size = 4;
	d->literal = d->word[1];
	in->dst = w >> 17 & 255;
	in->sdst = SGPR_VCC;
	if (r->op == 2 && r->enc == ENC_VOP1 && in->dst == 125)
		d->bad = true;
	if ((r->flags & (RF_MK | RF_AK)) && (s0 == 249 || s0 == 250)) {
		d->bad = true; /* the literal stands where their second word would */
	} else if (s0 == 249) {
		decode_sdwa(d, w);
	} else if (s0 == 250) {
		decode_dpp(d, w);
	} else {
		source(d, &in->s[0], s0, r->a);
		if (r->flags & (RF_MK | RF_AK)) {
			unsigned int v1 = r->flags & RF_MK ? 2 : 1;

			in->size = 4;
			source(d, &in->s[v1], (w >> 9 & 255) | 256, r->b);
			source(d, &in->s[3 - v1], 255, r->c);
		} else if (r->enc != ENC_VOP1) {
			source(d, &in->s[1], (w >> 9 & 255) | 256, r->b);
		}
	}
	if (r->flags & RF_CIN)
		source(d, &in->s[2], SGPR_VCC, T_M);
	finish_vop(d);
}

static void decode_vop3(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	uint32_t w1 = d->word[1];
	bool b = (r->flags & RF_KOUT) != 0;
	unsigned int n = r->enc == ENC_VOP1 ? (r->a == T_NONE ? 0 : 1) :
	                 r->c != T_NONE && !(r->flags & RF_ACC) ? 3 : r->b == T_NONE ? 1 : 2;

	in->size = 8;
	in->form = FORM_VOP3;
	in->dst = w & 255;
	in->sdst = b ? w >> 8 & 127 : w & 127;
	in->clamp = w >> 15 & 1;
	in->abs = b ? 0 : w >> 8 & 7;
	in->opsel = b ? 0 : w >> 11 & 15;
	in->neg = w1 >> 29;
	in->omod = w1 >> 27 & 3;
	if (r->flags & (RF_MK | RF_AK))
		d->bad = true;
	if (n > 0)
		source(d, &in->s[0], w1 & 511, r->a);
	if (n > 1)
		source(d, &in->s[1], w1 >> 9 & 511, r->b);
	if (n > 2)
		source(d, &in->s[2], w1 >> 18 & 511, r->flags & RF_CIN ? T_M : r->c);
	if ((w1 & 511) == 249 || (w1 & 511) == 250 || in->size != 8)
		d->bad = true; /* no SDWA, DPP nor literal in VOP3 */
	if ((r->d == T_M || r->d == T_S32 || b) && (in->sdst == 125 || (r->d == T_M && (w & 128))))
		d->bad = true;
	if (r->c == T_R4 && in->s[2].kind != OP_VGPR)
		d->bad = true;
	in->neg &= (1 << n) - 1;
	in->abs &= (1 << n) - 1;
	finish_vop(d);
}

static void decode_vop3p(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	const struct gcn_row *r = in->row;
	uint32_t w1 = d->word[1];

	in->size = 8;
	in->form = FORM_VOP3;
	in->dst = w & 255;
	in->abs = w >> 8 & 7; /* NEG_HI */
	in->opsel = w >> 11 & 7;
	in->opsel_hi = (w1 >> 27 & 3) | (w >> 14 & 1) << 2;
	in->clamp = w >> 15 & 1;
	in->neg = w1 >> 29;
	in->core = r->core;
	in->fp = fp_class(r);
	in->dwords = rows_of(r->d);
	if (r->op >= 0x40 && r->op < 0x70 && (r->op & ~1) != 0x58) { /* MAI: the row holds a shape instead of types */
		unsigned int c = w1 >> 18 & 511;

		source(d, &in->s[0], w1 & 511, T_U32);
		source(d, &in->s[1], w1 >> 9 & 511, T_U32);
		source(d, &in->s[2], c, r->op >= 0x6e ? T_F64 : (r->op & 0x70) == 0x50 ? T_I32 : T_F32);
		if (in->s[0].kind != OP_VGPR || in->s[1].kind != OP_VGPR ||
		    (in->s[2].kind != OP_VGPR && in->s[2].kind != OP_CONST) || in->size != 8)
			d->bad = true;
		in->fp = 0;
		in->fn = r->fn;
		return;
	}
	if (r->a != T_NONE)
		source(d, &in->s[0], w1 & 511, r->a);
	if (r->b != T_NONE)
		source(d, &in->s[1], w1 >> 9 & 511, r->b);
	if (r->flags & RF_ACC) {
		in->s[2].kind = OP_VGPR;
		in->s[2].idx = in->dst;
		in->s[2].type = r->c;
	} else if (r->c != T_NONE) {
		source(d, &in->s[2], w1 >> 18 & 511, r->c);
	}
	if (in->size != 8 || (r->op == 0x58 && in->s[0].kind != OP_VGPR))
		d->bad = true;
	in->fn = r->flags & RF_CUSTOM ? r->fn : lanes->packed;
}

/* s[0] address, s[1] data, s[2] second data; VGPR rows. */
static void decode_ds(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	uint32_t w1 = d->word[1];
	uint16_t acc = d->isa == GCN_GFX90A && w >> 25 & 1 ? ACC_BASE : 0;

	in->size = 8;
	in->fn = in->row->fn;
	in->imm = (int32_t)(w & 0xffff);
	in->s[0].idx = w1 & 255;
	in->s[1].idx = (uint16_t)((w1 >> 8 & 255) + acc);
	in->s[2].idx = (uint16_t)((w1 >> 16 & 255) + acc);
	in->dst = (uint16_t)((w1 >> 24) + acc);
	/* GDS: there is none, save for global wave sync, which is nothing else. */
	if ((w >> 16 & 1) != in->row->flags)
		d->bad = true;
}

/* s[0] VGPR address or none, s[1] data, s[2] SGPR address or none. */
static void decode_flat(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	uint32_t w1 = d->word[1];
	uint16_t acc = d->isa == GCN_GFX90A && w1 >> 23 & 1 ? ACC_BASE : 0;
	unsigned int saddr = w1 >> 16 & 127;

	in->size = 8;
	in->fn = in->row->fn;
	in->glc = w >> 16 & 1;
	in->imm = in->row->enc == ENC_FLAT ? (int32_t)(w & 0xfff) : (int32_t)(w << 19) >> 19;
	in->s[0].idx = w1 & 255;
	in->s[0].kind = OP_VGPR;
	in->s[1].idx = (uint16_t)((w1 >> 8 & 255) + acc);
	in->dst = (uint16_t)((w1 >> 24) + acc);
	if (in->row->enc != ENC_FLAT && saddr != 127) {
		in->s[2].kind = OP_SGPR;
		in->s[2].idx = (uint16_t)saddr;
		if (saddr == 125)
			d->bad = true;
		if (in->row->enc == ENC_SCRATCH)
			in->s[0].kind = OP_NONE;
	}
	in->lds = w >> 13 & 1;
	if (in->lds && (in->row->a < M_LOAD || in->row->a > M_I16 || in->row->d != 1))
		d->bad = true; /* only loads of up to a word go to LDS */
}

/* Whether the row has what its LDS bit says. */
static bool buffer_lds_form(const struct gcn_inst *in)
{
	const struct gcn_row *r = in->row;

	if (r->enc == ENC_MUBUF && r->op == 0x3d) /* buffer_store_lds_dword has no other */
		return in->lds;
	return !in->lds || (r->d == 1 && ((r->a >= M_LOAD && r->a <= M_I16) || (r->a == M_FMT_LOAD && !r->c)));
}

/* s[0] VGPR address, s[1] data, s[2] SOFFSET, dst = data, sdst = V#. */
static void decode_mubuf(struct decoder *d, uint32_t w)
{
	struct gcn_inst *in = d->in;
	uint32_t w1 = d->word[1];
	uint16_t acc = d->isa == GCN_GFX90A && w1 >> 23 & 1 ? ACC_BASE : 0;

	bool typed = in->row->enc == ENC_MTBUF, bit = w1 >> 23 & 1;

	in->size = 8;
	in->fn = in->row->fn;
	in->imm = (int32_t)(w & 0xfff);
	in->sel[0] = w >> 12 & 1; /* OFFEN */
	in->sel[1] = w >> 13 & 1; /* IDXEN */
	in->glc = w >> 14 & 1;
	in->lds = !typed && (w >> 16 & 1);
	in->tfe = d->isa != GCN_GFX90A && bit;
	in->dfmt = w >> 19 & 15;
	in->nfmt = w >> 23 & 7;
	in->s[0].idx = w1 & 255;
	in->s[1].idx = (uint16_t)((w1 >> 8 & 255) + acc);
	in->dst = in->s[1].idx;
	in->sdst = (w1 >> 16 & 31) << 2;
	if (in->row->d == 0 && in->row->a == 0)
		return; /* cache control: no operands */
	source(d, &in->s[2], w1 >> 24, T_U32);
	if (in->size != 8 || (in->tfe && (in->lds || in->row->a == M_ATOMIC)) || !buffer_lds_form(in))
		d->bad = true;
}

struct coding {
	uint8_t enc;
	uint16_t op;
	const char *name;
};

static struct coding classify(uint32_t w)
{
	if (!(w >> 31)) {
		if (w >> 25 == 0x3f)
			return (struct coding){ ENC_VOP1, w >> 9 & 255, "VOP1" };
		if (w >> 25 == 0x3e)
			return (struct coding){ ENC_VOPC, w >> 17 & 255, "VOPC" };
		return (struct coding){ ENC_VOP2, w >> 25, "VOP2" };
	}
	if (w >> 23 == 0x17d)
		return (struct coding){ ENC_SOP1, w >> 8 & 255, "SOP1" };
	if (w >> 23 == 0x17e)
		return (struct coding){ ENC_SOPC, w >> 16 & 127, "SOPC" };
	if (w >> 23 == 0x17f)
		return (struct coding){ ENC_SOPP, w >> 16 & 127, "SOPP" };
	if (w >> 28 == 0xb)
		return (struct coding){ ENC_SOPK, w >> 23 & 31, "SOPK" };
	if (w >> 30 == 2)
		return (struct coding){ ENC_SOP2, w >> 23 & 127, "SOP2" };
	if (w >> 23 == 0x1a7)
		return (struct coding){ ENC_VOP3P, w >> 16 & 127, "VOP3P" };
	switch (w >> 26) {
	case 0x30: return (struct coding){ ENC_SMEM, w >> 18 & 255, "SMEM" };
	case 0x34: return (struct coding){ ENC_VOP3, w >> 16 & 1023, "VOP3" };
	case 0x36: return (struct coding){ ENC_DS, w >> 17 & 255, "DS" };
	case 0x37:
		switch (w >> 14 & 3) {
		case 0: return (struct coding){ ENC_FLAT, w >> 18 & 127, "FLAT" };
		case 1: return (struct coding){ ENC_SCRATCH, w >> 18 & 127, "FLAT_SCRATCH" };
		case 2: return (struct coding){ ENC_GLOBAL, w >> 18 & 127, "FLAT_GLOBAL" };
		default: return (struct coding){ ENC_COUNT, w >> 18 & 127, "FLAT" };
		}
	case 0x38: return (struct coding){ ENC_MUBUF, w >> 18 & 127, "MUBUF" };
	case 0x3a: return (struct coding){ ENC_MTBUF, w >> 15 & 15, "MTBUF" };
	case 0x3c: return (struct coding){ ENC_COUNT, w >> 18 & 127, "MIMG" };
	case 0x31: return (struct coding){ ENC_COUNT, 0, "EXP" };
	case 0x35: return (struct coding){ ENC_COUNT, w >> 16 & 3, "VINTRP" };
	default: return (struct coding){ ENC_COUNT, 0, "reserved" };
	}
}

/* VOP3 holds VOPC at 0, VOP2 at 0x100 and VOP1 at 0x140. */
static const struct gcn_row *find_row(enum gcn_isa isa, struct coding c)
{
	if (c.enc >= ENC_COUNT)
		return NULL;
	if (c.enc != ENC_VOP3 || c.op >= 0x1c0)
		return lut[isa][c.enc][c.op];
	if (c.op < 0x100)
		return lut[isa][ENC_VOPC][c.op];
	if (c.op < 0x140)
		return lut[isa][ENC_VOP2][c.op - 0x100];
	return lut[isa][ENC_VOP1][c.op - 0x140];
}

const struct gcn_inst *gcn_illegal(const struct gcn_inst *i, struct gcn_wave *w)
{
	struct coding c = classify(i->word[0]);

	gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s opcode 0x%x (%s), words %08x %08x", c.name, c.op,
	          i->row ? i->row->name : "no such row", i->word[0], i->word[1]);
}

unsigned int gcn_decode(struct gcn_inst *in, enum gcn_isa isa, uint64_t pc, const uint32_t *word,
                        struct gcn_consts **consts)
{
	struct coding c = classify(word[0]);
	struct decoder d = { .in = in, .word = word, .isa = isa, .consts = consts };

	pthread_once(&lut_once, build_lut);
	memset(in, 0, sizeof(*in));
	in->pc = pc;
	in->word[0] = word[0];
	in->word[1] = word[1];
	in->row = find_row(isa, c);
	in->size = 4;
	in->fn = gcn_illegal;
	if (!in->row)
		return 4;
	switch (c.enc) {
	case ENC_SOP2: case ENC_SOP1: case ENC_SOPC: case ENC_SOPK: case ENC_SOPP:
		decode_sop(&d, word[0]);
		break;
	case ENC_SMEM: decode_smem(&d, word[0]); break;
	case ENC_VOP1: case ENC_VOP2: case ENC_VOPC: decode_vop12c(&d, word[0]); break;
	case ENC_VOP3: decode_vop3(&d, word[0]); break;
	case ENC_VOP3P: decode_vop3p(&d, word[0]); break;
	case ENC_DS: decode_ds(&d, word[0]); break;
	case ENC_FLAT: case ENC_GLOBAL: case ENC_SCRATCH: decode_flat(&d, word[0]); break;
	case ENC_MUBUF: case ENC_MTBUF: decode_mubuf(&d, word[0]); break;
	default: d.bad = true;
	}
	if (d.bad || !in->fn)
		in->fn = gcn_illegal;
	return in->size;
}
