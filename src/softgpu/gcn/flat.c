/* SPDX-License-Identifier: MIT */
/* FLAT, GLOBAL and SCRATCH: addresses, then mem.c. */
#include "mem.h"

static uint8_t *wave_scratch(const struct gcn_wave *w)
{
	return w->wg->scratch + w->wg->wave_scratch * w->index;
}

static unsigned int bytes_of(const struct gcn_inst *i)
{
	switch (i->row->a) {
	case M_LOAD: case M_STORE: case M_ATOMIC: return 4u * i->row->d;
	case M_U8: case M_I8: case M_U8_LO: case M_U8_HI: case M_I8_LO: case M_I8_HI:
	case M_ST8: case M_ST8_HI: return 1;
	default: return 2;
	}
}

/* Lane-private memory: dwords of the 64 lanes lie side by side. */
static void scratch_lane(const struct gcn_inst *i, struct gcn_wave *w, struct access *x, int l, uint64_t off)
{
	if (off + bytes_of(i) > w->wg->wave_scratch / LANES)
		gcn_raise(w, GCN_FAULT_SCRATCH, off, "%s: scratch offset 0x%llx of %zu bytes a lane",
		          i->row->name, (unsigned long long)off, w->wg->wave_scratch / LANES);
	x->p[l] = wave_scratch(w) + 4 * l;
	x->off[l] = (uint32_t)off;
	x->row = 4 * LANES;
	x->swz |= (uint64_t)1 << l;
}

static void lds_lane(const struct gcn_inst *i, struct gcn_wave *w, struct access *x, int l, uint64_t off)
{
	x->p[l] = off + bytes_of(i) <= w->wg->lds_size ? w->wg->lds + off : NULL;
	x->lds |= (uint64_t)1 << l;
}

void gcn_window_lanes(struct access *x, uint64_t lanes, uint64_t any)
{
	if (gcn_window.size || any >> 47)
		for (int l = 0; l < LANES; l++)
			if ((lanes >> l & 1) && x->p[l])
				x->p[l] = (uint8_t *)(uintptr_t)gcn_host((uint64_t)(uintptr_t)x->p[l]);
}

/* LDS takes what a lane loaded at M0[15:0] + offset + 4 * lane. */
void gcn_row_to_lds(const struct gcn_inst *i, struct gcn_wave *w, const uint32_t *row, uint64_t lanes)
{
	for (uint32_t l = 0; l < LANES; l++) {
		uint64_t a = (uint64_t)(w->s[SGPR_M0] & 0xffff) + (uint32_t)i->imm + 4 * l;

		if ((lanes >> l & 1) && a + 4 <= w->wg->lds_size)
			memcpy(w->wg->lds + a, &row[l], 4);
	}
}

static void finish(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x, uint64_t ex)
{
	if (i->lds) {
		uint32_t row[LANES];

		gcn_load_row(row, x, i->row->a, ex);
		gcn_row_to_lds(i, w, row, ex);
	} else if (i->row->a == M_ATOMIC) {
		unsigned int data = i->s[1].idx;

		gcn_atomic(i, w, x, ex, data + i->row->d, data, i->glc);
	} else {
		gcn_access(i, w, x, i->row->a, ex);
	}
}

static const struct gcn_inst *flat(const struct gcn_inst *i, struct gcn_wave *w)
{
	const struct gcn_launch *g = w->wg->launch;
	const uint32_t *lo = w->v[i->s[0].idx], *hi = w->v[i->s[0].idx + 1];
	uint32_t shared = (uint32_t)(g->lds_aperture >> 32), priv = (uint32_t)(g->private_aperture >> 32);
	uint64_t ex = EXEC(w), any = 0;
	struct access x;
	uint32_t special = 0;

	for (int l = 0; l < LANES; l++) {
		uint64_t a = (lo[l] | (uint64_t)hi[l] << 32) + (uint64_t)(int64_t)i->imm;

		x.p[l] = (uint8_t *)(uintptr_t)a;
		any |= a;
		special |= hi[l] == shared || hi[l] == priv;
	}
	x.swz = x.lds = 0;
	x.dense = ex == ALL_LANES && !special;
	if (special)
		for (int l = 0; l < LANES; l++) {
			if (!(ex >> l & 1))
				continue;
			/* Special lanes hold host addresses afterwards; no window applies. */
			if (hi[l] == shared)
				lds_lane(i, w, &x, l, (uint64_t)lo[l] + (uint32_t)i->imm);
			else if (hi[l] == priv)
				scratch_lane(i, w, &x, l, (uint64_t)lo[l] + (uint32_t)i->imm);
		}
	gcn_window_lanes(&x, ex & ~(x.swz | x.lds), any);
	finish(i, w, &x, ex);
	return i + 1;
}

static const struct gcn_inst *global(const struct gcn_inst *i, struct gcn_wave *w)
{
	const uint32_t *lo = w->v[i->s[0].idx], *hi = w->v[i->s[0].idx + 1];
	uint64_t ex = EXEC(w), off = (uint64_t)(int64_t)i->imm, any = 0;
	struct access x;

	if (i->s[2].kind == OP_SGPR) {
		off += gcn_get64(&w->s[i->s[2].idx]);
		for (int l = 0; l < LANES; l++) {
			x.p[l] = (uint8_t *)(uintptr_t)(off + lo[l]);
			any |= off + lo[l];
		}
	} else {
		for (int l = 0; l < LANES; l++) {
			uint64_t a = off + (lo[l] | (uint64_t)hi[l] << 32);

			x.p[l] = (uint8_t *)(uintptr_t)a;
			any |= a;
		}
	}
	x.swz = x.lds = 0;
	x.dense = ex == ALL_LANES;
	gcn_window_lanes(&x, ex, any);
	finish(i, w, &x, ex);
	return i + 1;
}

static const struct gcn_inst *scratch(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t ex = EXEC(w);
	struct access x;

	x.swz = x.lds = 0;
	x.dense = false;
	for (int l = 0; l < LANES; l++)
		if (ex >> l & 1)
			scratch_lane(i, w, &x, l, (uint32_t)((i->s[2].kind == OP_SGPR ? w->s[i->s[2].idx] :
			             w->v[i->s[0].idx][l]) + (uint32_t)i->imm));
	finish(i, w, &x, ex);
	return i + 1;
}

/* Write-back and invalidate: host memory is coherent. */
static const struct gcn_inst *cache_control(const struct gcn_inst *i, struct gcn_wave *w)
{
	(void)w;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return i + 1;
}

#define ROW(enc, isas, op, name, regs, kind, atom, fn) \
	{ name, enc, isas, op, 0, regs, kind, atom, 0, NULL, fn },
/* The three segments of FLAT share their opcodes; MUBUF has the same list. */
#define MEM(op, sfx, regs, kind) \
	ROW(ENC_FLAT, ISA_ALL, op, "flat_" sfx, regs, kind, 0, flat) \
	ROW(ENC_GLOBAL, ISA_ALL, op, "global_" sfx, regs, kind, 0, global) \
	ROW(ENC_SCRATCH, ISA_ALL, op, "scratch_" sfx, regs, kind, 0, scratch) \
	ROW(ENC_MUBUF, ISA_ALL, op, "buffer_" sfx, regs, kind, 0, gcn_mubuf)
/* Typed: by the resource, and by the instruction. */
#define FMT1(enc, op, name, regs, kind, d16) { name, enc, ISA_ALL, op, 0, regs, kind, 0, d16, NULL, gcn_mubuf },
#define FMT(op, sfx, regs, kind, d16) \
	FMT1(ENC_MUBUF, op, "buffer_" sfx, regs, kind, d16) \
	FMT1(ENC_MTBUF, op, "tbuffer_" sfx, regs, kind, d16)
#define ATOM1(isas, op, sfx, regs, atom) \
	ROW(ENC_GLOBAL, isas, op, "global_atomic_" sfx, regs, M_ATOMIC, atom, global) \
	ROW(ENC_MUBUF, isas, op, "buffer_atomic_" sfx, regs, M_ATOMIC, atom, gcn_mubuf)
#define ATOMF(isas, op, sfx, regs, atom) \
	ATOM1(isas, op, sfx, regs, atom) \
	ROW(ENC_FLAT, isas, op, "flat_atomic_" sfx, regs, M_ATOMIC, atom, flat)
#define ATOM(op, sfx, atom) \
	ATOMF(ISA_ALL, op, sfx, 1, atom) \
	ATOMF(ISA_ALL, (op) + 0x20, sfx "_x2", 2, atom)

const struct gcn_row gcn_mem_rows[] = {
#include "flat.def"
	FMT1(ENC_MUBUF, 0x26, "buffer_load_format_d16_hi_x", 1, M_FMT_LOAD, 2)
	FMT1(ENC_MUBUF, 0x27, "buffer_store_format_d16_hi_x", 1, M_FMT_STORE, 2)
	ROW(ENC_MUBUF, ISA_ALL, 0x3d, "buffer_store_lds_dword", 1, M_STORE, 0, gcn_mubuf)
	ROW(ENC_MUBUF, ISA_90A, 0x28, "buffer_wbl2", 0, 0, 0, cache_control)
	ROW(ENC_MUBUF, ISA_90A, 0x29, "buffer_invl2", 0, 0, 0, cache_control)
	ROW(ENC_MUBUF, ISA_ALL, 0x3e, "buffer_wbinvl1", 0, 0, 0, cache_control)
	ROW(ENC_MUBUF, ISA_ALL, 0x3f, "buffer_wbinvl1_vol", 0, 0, 0, cache_control)
};
const size_t gcn_mem_count = sizeof(gcn_mem_rows) / sizeof(gcn_mem_rows[0]);
