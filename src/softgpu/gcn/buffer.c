/* SPDX-License-Identifier: MIT */
/* MUBUF and MTBUF: where the lanes of a buffer instruction access (ISA "Buffer Addressing"). */
#include <emmintrin.h>

#include "mem.h"

/* A V#, ISA "Buffer Resource Descriptor". */
struct vsharp {
	uint64_t base;
	uint32_t stride, records, index_stride;
	bool swizzle, add_tid;
};

static struct vsharp vsharp(const struct gcn_inst *i, const uint32_t *s)
{
	struct vsharp v = {
		.base = s[0] | (uint64_t)(s[1] & 0xffff) << 32,
		.stride = s[1] >> 16 & 0x3fff,
		.records = s[2],
		.index_stride = 8u << (s[3] >> 21 & 3),
		.swizzle = s[1] >> 31,
		.add_tid = s[3] >> 23 & 1,
	};

	/* What would be the data format holds the rest of the stride then. */
	if (v.add_tid && i->row->a != M_FMT_LOAD && i->row->a != M_FMT_STORE)
		v.stride |= (s[3] >> 15 & 15) << 14;
	return v;
}

static unsigned int plain_bytes(const struct gcn_inst *i)
{
	switch (i->row->a) {
	case M_LOAD: case M_STORE: case M_ATOMIC: return 4u * i->row->d;
	case M_U8: case M_I8: case M_U8_LO: case M_U8_HI: case M_I8_LO: case M_I8_HI:
	case M_ST8: case M_ST8_HI: return 1;
	default: return 2;
	}
}

/* The format of a typed access; false: not one. Elements of M_FMT rows with an unbound buffer have no bytes. */
static bool typed(const struct gcn_inst *i, struct gcn_wave *w, struct gcn_format *f)
{
	uint32_t v3 = w->s[i->sdst + 3];
	bool own = i->row->enc == ENC_MTBUF;
	unsigned int dfmt = own ? i->dfmt : v3 >> 15 & 15, nfmt = own ? i->nfmt : v3 >> 12 & 7;

	if (i->row->a != M_FMT_LOAD && i->row->a != M_FMT_STORE)
		return false;
	if (!gcn_format_get(f, dfmt, nfmt))
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: no data format %u with numeric format %u", i->row->name, dfmt, nfmt);
	f->sel = own ? 4 | 5 << 3 | 6 << 6 | 7 << 9 : v3 & 0xfff;
	return true;
}

/* Elements of 4 bytes, INDEX_STRIDE indices side by side. The scratch of a work-group has an end, other buffers are
 * checked as hardware does. */
static void swizzled_lane(const struct gcn_inst *i, struct gcn_wave *w, struct access *x, int l, const struct vsharp *v,
                          uint32_t soffset, uint32_t index, uint32_t offset, unsigned int bytes)
{
	uint64_t lo = (uint64_t)(uintptr_t)w->wg->scratch, hi = lo + w->wg->wave_scratch * w->wg->waves;
	uint64_t last = (uint64_t)offset + (bytes ? bytes : 1) - 1;
	uint64_t at = v->base + soffset + (uint64_t)(index / v->index_stride) * v->stride * v->index_stride +
	              4 * (uint64_t)(index % v->index_stride);
	uint64_t row = 4 * (uint64_t)v->index_stride;
	bool own = v->base >= lo && v->base < hi;

	if ((own || (v->add_tid && !v->stride)) &&
	    (!own || at + (offset >> 2) * row < lo || at + (last >> 2) * row + 4 > hi))
		gcn_raise(w, GCN_FAULT_SCRATCH, at, "%s: swizzled buffer access at 0x%x + 0x%x is outside scratch",
		          i->row->name, soffset, offset);
	if (!own && !v->add_tid && (i->sel[1] ? index >= v->records || last >= v->stride : last >= v->records)) {
		x->p[l] = NULL;
		return;
	}
	x->p[l] = (uint8_t *)(uintptr_t)(own ? at : gcn_host(at));
	x->off[l] = offset;
	x->row = (uint32_t)row;
	x->swz |= (uint64_t)1 << l;
}

/* Words of a lane whose access lies only partly inside a raw buffer: each is checked by itself. */
static void partial(const struct gcn_inst *i, struct gcn_wave *w, int l, uint64_t at, uint64_t inside)
{
	for (unsigned int k = 0; k < i->row->d; k++) {
		uint32_t *r = &w->v[i->dst + k][l];
		void *p = (void *)(uintptr_t)gcn_host(at + 4 * k);

		if (i->row->a == M_LOAD)
			*r = 0;
		if (4 * k + 4 > inside)
			continue;
		if (i->row->a == M_LOAD)
			memcpy(r, p, 4);
		else
			memcpy(p, r, 4);
	}
}

/* Loads into LDS, and its counterpart, one word a lane. */
static void through_lds(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x, const struct gcn_format *f,
                        uint64_t ex)
{
	uint32_t row[1][LANES] = { { 0 } };

	if (i->row->a == M_FMT_LOAD)
		gcn_format_load(row, x, f, 1, 0, ex);
	else if (i->row->a != M_STORE)
		gcn_load_row(row[0], x, i->row->a, ex);
	if (i->row->a != M_STORE) {
		gcn_row_to_lds(i, w, row[0], ex);
		return;
	}
	for (uint32_t l = 0; l < LANES; l++) {
		uint64_t a = (uint64_t)(w->s[SGPR_M0] & 0xffff) + (uint32_t)i->imm + 4 * l;

		if (!(ex >> l & 1))
			continue;
		if (a + 4 <= w->wg->lds_size)
			memcpy(&row[0][l], w->wg->lds + a, 4);
		gcn_write(x, (int)l, 0, &row[0][l], 4);
	}
}

static void transfer(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x, const struct gcn_format *f,
                     uint64_t ex)
{
	unsigned int data = i->s[1].idx;

	if (i->row->a == M_FMT_LOAD || i->row->a == M_FMT_STORE)
		_mm_setcsr(w->mxcsr_now = 0x1f80); /* conversions round to nearest */
	if (i->lds)
		through_lds(i, w, x, f, ex);
	else if (i->row->a == M_FMT_LOAD)
		gcn_format_load(&w->v[i->dst], x, f, i->row->d, i->row->c, ex);
	else if (i->row->a == M_FMT_STORE)
		gcn_format_store(&w->v[data], x, f, i->row->d, i->row->c, ex);
	else if (i->row->a == M_ATOMIC)
		gcn_atomic(i, w, x, ex, data + i->row->d, data, i->glc);
	else
		gcn_access(i, w, x, i->row->a, ex);
}

/* Every page is resident, so the status that TFE asks for is 0. */
static void no_failure(const struct gcn_inst *i, struct gcn_wave *w, uint64_t ex)
{
	unsigned int words = i->row->a == M_FMT_LOAD && i->row->c ? (i->row->d + 1u) / 2 : i->row->d;

	if (i->row->a == M_STORE || i->row->a == M_FMT_STORE || (i->row->a >= M_ST8 && i->row->a <= M_ST16_HI))
		return;
	for (int l = 0; l < LANES; l++)
		if (ex >> l & 1)
			w->v[i->dst + words][l] = 0;
}

const struct gcn_inst *gcn_mubuf(const struct gcn_inst *i, struct gcn_wave *w)
{
	struct vsharp v = vsharp(i, &w->s[i->sdst]);
	uint32_t so = i->s[2].kind == OP_SGPR ? w->s[i->s[2].idx] : (uint32_t)i->s[2].val;
	const uint32_t *addr = w->v[i->s[0].idx];
	uint64_t ex = EXEC(w), left = ex;
	struct gcn_format f = { 0 };
	unsigned int bytes = typed(i, w, &f) ? f.bytes : plain_bytes(i);
	bool by_word = (i->row->a == M_LOAD || i->row->a == M_STORE) && i->row->d > 1;
	struct access x;

	x.swz = x.lds = 0;
	x.dense = false;
	for (int l = 0; l < LANES; l++) {
		uint32_t index = (i->sel[1] ? addr[l] : 0) + (v.add_tid ? (uint32_t)l : 0);
		uint32_t offset = (i->sel[0] ? addr[l + (i->sel[1] ? LANES : 0)] : 0) + (uint32_t)i->imm;
		uint64_t end = (uint64_t)offset + bytes, at = v.base + so + (uint64_t)index * v.stride + offset;
		bool raw = v.stride == 0 || v.add_tid || !i->sel[1], in;

		if (!(ex >> l & 1))
			continue;
		if (v.swizzle) {
			swizzled_lane(i, w, &x, l, &v, so, index, offset, bytes);
			continue;
		}
		/* Range checks: raw by bytes, structured by index and stride. */
		in = raw ? so + end <= v.records : index < v.records && end <= v.stride;
		if (raw && !in && by_word && (uint64_t)so + offset + 4 <= v.records) {
			partial(i, w, l, at, v.records - ((uint64_t)so + offset));
			left &= ~((uint64_t)1 << l);
		}
		x.p[l] = in ? (uint8_t *)(uintptr_t)at : NULL;
	}
	gcn_window_lanes(&x, left & ~x.swz, ALL_LANES);
	transfer(i, w, &x, &f, left);
	if (i->tfe)
		no_failure(i, w, ex);
	return i + 1;
}
