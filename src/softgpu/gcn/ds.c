/* SPDX-License-Identifier: MIT */
/* LDS and the lane exchanges that share its encoding. */
#include "mem.h"

/* Outside the allocation reads give 0 and writes are dropped. */
static void ds_places(struct gcn_wave *w, const uint32_t *addr, uint32_t off, unsigned int bytes,
                      struct access *x)
{
	for (int l = 0; l < LANES; l++) {
		uint32_t a = addr[l] + off;

		x->p[l] = (uint64_t)a + bytes <= w->wg->lds_size ? w->wg->lds + a : NULL;
	}
	x->swz = 0;
	x->lds = ALL_LANES;
	x->dense = false;
}

static const struct gcn_inst *ds_plain(const struct gcn_inst *i, struct gcn_wave *w)
{
	unsigned int kind = i->row->a;
	unsigned int bytes = kind == M_LOAD || kind == M_STORE ? 4u * i->row->d :
	                     kind == M_U8 || kind == M_I8 || kind == M_ST8 || kind == M_ST8_HI ||
	                     (kind >= M_U8_LO && kind <= M_I8_HI) ? 1 : 2;
	struct access x;

	ds_places(w, w->v[i->s[0].idx], (uint32_t)i->imm, bytes, &x);
	gcn_access(i, w, &x, kind, EXEC(w));
	return i + 1;
}

/* read2, write2, wrxchg2: two accesses, offsets in units (row field c). */
static const struct gcn_inst *ds_two(const struct gcn_inst *i, struct gcn_wave *w)
{
	unsigned int regs = i->row->d, unit = i->row->c == 64 ? regs * 256 : regs * 4;
	uint64_t ex = EXEC(w);
	struct access x[2];
	uint32_t t[4][LANES];

	for (unsigned int h = 0; h < 2; h++)
		ds_places(w, w->v[i->s[0].idx], ((uint32_t)i->imm >> 8 * h & 255) * unit, 4 * regs, &x[h]);
	memset(t, 0, sizeof(t));
	for (int l = 0; l < LANES; l++) {
		if (!(ex >> l & 1))
			continue;
		for (unsigned int h = 0; h < 2; h++)
			for (unsigned int k = 0; k < regs && x[h].p[l]; k++) {
				if (i->row->a != M_STORE)
					memcpy(&t[h * regs + k][l], x[h].p[l] + 4 * k, 4);
				if (i->row->a != M_LOAD)
					memcpy(x[h].p[l] + 4 * k, &w->v[i->s[1 + h].idx + k][l], 4);
			}
	}
	if (i->row->a == M_STORE)
		return i + 1;
	for (unsigned int k = 0; k < 2 * regs; k++)
		for (int l = 0; l < LANES; l++)
			if (ex >> l & 1)
				w->v[i->dst + k][l] = t[k][l];
	return i + 1;
}

/* Row field c: returns the old value. With two data operands DATA0 is the one
 * compared (or the mask) and DATA1 the new one, against the order in FLAT. */
static const struct gcn_inst *ds_atomic(const struct gcn_inst *i, struct gcn_wave *w)
{
	unsigned int op = i->row->b;
	bool two = op == A_CMPSWAP || op == A_FCMPSWAP || op == A_MSKOR || op == A_WRAP;
	struct access x;

	ds_places(w, w->v[i->s[0].idx], (uint32_t)i->imm, 4u * i->row->d, &x);
	gcn_atomic(i, w, &x, EXEC(w), i->s[1].idx, i->s[two ? 2 : 1].idx, i->row->c);
	return i + 1;
}

/* Each half of the data whose top bit is set replaces a word, less that bit. */
static const struct gcn_inst *ds_condxchg(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t ex = EXEC(w);

	for (int l = 0; l < LANES; l++) {
		uint32_t a = (w->v[i->s[0].idx][l] + (uint32_t)i->imm) & ~7u, old[2] = { 0, 0 };
		bool in = (uint64_t)a + 8 <= w->wg->lds_size;

		if (!(ex >> l & 1))
			continue;
		if (in)
			memcpy(old, w->wg->lds + a, 8);
		for (unsigned int k = 0; k < 2; k++) {
			uint32_t d = w->v[i->s[1].idx + k][l], v = d & 0x7fffffff;

			if (in && d >> 31)
				memcpy(w->wg->lds + a + 4 * k, &v, 4);
		}
		w->v[i->dst][l] = old[0];
		w->v[i->dst + 1][l] = old[1];
	}
	return i + 1;
}

static void put(struct gcn_wave *w, unsigned int dst, const uint32_t *t, uint64_t ex)
{
	for (int l = 0; l < LANES; l++)
		if (ex >> l & 1)
			w->v[dst][l] = t[l];
}

static const struct gcn_inst *ds_swizzle(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t off = (uint32_t)i->imm, t[LANES];
	const uint32_t *s = w->v[i->s[0].idx];
	uint64_t ex = EXEC(w);

	for (int l = 0; l < LANES; l++) {
		int from, in = l & 31;

		if (off >= 0xe000) { /* FFT: bits in reverse order, as many as the mask leaves */
			int mask = off & 31, turned = 0;

			for (int b = 0; b < 5; b++)
				turned |= (in >> b & 1) << (4 - b);
			from = turned >> __builtin_popcount((unsigned int)mask) | (in & mask);
		} else if (off >= 0xc000) { /* rotate */
			int mask = off & 31, n = off >> 5 & 31;

			from = (in & mask) | ((off >> 10 & 1 ? in - n : in + n) & 31 & ~mask);
		} else if (off & 0x8000) { /* quad permute */
			from = (in & ~3) | (off >> 2 * (in & 3) & 3);
		} else {
			from = ((in & (int)(off & 31)) | (int)(off >> 5 & 31)) ^ (int)(off >> 10 & 31);
		}
		from |= l & 32;
		t[l] = ex >> from & 1 ? s[from] : 0;
	}
	put(w, i->dst, t, ex);
	return i + 1;
}

static const struct gcn_inst *ds_permute(const struct gcn_inst *i, struct gcn_wave *w)
{
	const uint32_t *addr = w->v[i->s[0].idx], *s = w->v[i->s[1].idx];
	uint64_t ex = EXEC(w);
	uint32_t t[LANES] = { 0 };

	for (int l = 0; l < LANES; l++)
		if (ex >> l & 1)
			t[(addr[l] + (uint32_t)i->imm) / 4 & 63] = s[l];
	put(w, i->dst, t, ex);
	return i + 1;
}

static const struct gcn_inst *ds_bpermute(const struct gcn_inst *i, struct gcn_wave *w)
{
	const uint32_t *addr = w->v[i->s[0].idx], *s = w->v[i->s[1].idx];
	uint64_t ex = EXEC(w);
	uint32_t t[LANES];

	for (int l = 0; l < LANES; l++) {
		uint32_t from = (addr[l] + (uint32_t)i->imm) / 4 & 63;

		t[l] = ex >> from & 1 ? s[from] : 0;
	}
	put(w, i->dst, t, ex);
	return i + 1;
}

/* ds_append, ds_consume: M0[31:16] is the base; the old counter goes to all lanes. */
static const struct gcn_inst *ds_counter(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t a = (w->s[SGPR_M0] >> 16) + (uint32_t)i->imm, old = 0, now, t[LANES];
	uint64_t ex = EXEC(w);
	uint32_t n = (uint32_t)__builtin_popcountll(ex);

	if ((uint64_t)a + 4 <= w->wg->lds_size) {
		memcpy(&old, w->wg->lds + a, 4);
		now = i->row->b ? old + n : old - n;
		memcpy(w->wg->lds + a, &now, 4);
	}
	for (int l = 0; l < LANES; l++)
		t[l] = old;
	put(w, i->dst, t, ex);
	return i + 1;
}

/* Address from M0 and the lane instead of a register. */
static const struct gcn_inst *ds_addtid(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t addr[LANES];
	struct access x;

	for (uint32_t l = 0; l < LANES; l++)
		addr[l] = (w->s[SGPR_M0] & 0xffff) + 4 * l;
	ds_places(w, addr, (uint32_t)i->imm, 4, &x);
	gcn_access(i, w, &x, i->row->a, EXEC(w));
	return i + 1;
}

static const struct gcn_inst *ds_nothing(const struct gcn_inst *i, struct gcn_wave *w)
{
	(void)w;
	return i + 1;
}

/* Global wave sync. The resource is M0[21:16] plus the offset, the value that of the
 * first active lane (GFX9 ISA, "DS_GWS_INIT" and "DS_GWS_BARRIER"). */
static _Atomic uint64_t *gws_resource(const struct gcn_inst *i, struct gcn_wave *w, uint32_t *value)
{
	uint64_t ex = EXEC(w);

	if (!w->wg->launch->gws)
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: the queue has no global wave sync", i->row->name);
	*value = w->v[i->s[0].idx][ex ? __builtin_ctzll(ex) : 0];
	return &w->wg->launch->gws->resource[((w->s[SGPR_M0] >> 16) + (uint32_t)i->imm) & 63];
}

static const struct gcn_inst *gws_init(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t value;
	_Atomic uint64_t *resource = gws_resource(i, w, &value);

	atomic_store(resource, (atomic_load(resource) & ~(uint64_t)UINT32_MAX) | value);
	return i + 1;
}

/* Each wave brings the count for the barrier after this one. */
static const struct gcn_inst *gws_barrier(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t value;
	_Atomic uint64_t *resource = gws_resource(i, w, &value);
	uint64_t old = atomic_load(resource), now;

	if (!w->gws_queued) {
		do {
			bool last = !(uint32_t)old;

			now = last ? ((old >> 32) + 1) << 32 | value : old - 1;
		} while (!atomic_compare_exchange_weak(resource, &old, now));
		w->gws_release = (uint32_t)(old >> 32);
		w->gws_queued = true;
		old = now;
	}
	if ((uint32_t)(old >> 32) == w->gws_release) {
		w->slept = w->stop = true;
		return i; /* and looks again */
	}
	w->gws_queued = false;
	return i + 1;
}

/* Semaphores use the same resource: the low half counts, the high half tells waiting waves of a release of all. */
static const struct gcn_inst *gws_signal(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t value, n;
	_Atomic uint64_t *resource = gws_resource(i, w, &value);
	uint64_t old = atomic_load(resource);

	n = i->row->op == 0x9b ? value : 1;
	while (!atomic_compare_exchange_weak(resource, &old, (old & ~(uint64_t)UINT32_MAX) | (uint32_t)(old + n)))
		;
	return i + 1;
}

static const struct gcn_inst *gws_release(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t value;

	atomic_fetch_add(gws_resource(i, w, &value), (uint64_t)1 << 32);
	return i + 1;
}

static const struct gcn_inst *gws_wait(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint32_t value;
	_Atomic uint64_t *resource = gws_resource(i, w, &value);
	uint64_t old = atomic_load(resource);

	if (!w->gws_queued) {
		w->gws_queued = true;
		w->gws_release = (uint32_t)(old >> 32);
	}
	while ((uint32_t)(old >> 32) == w->gws_release) {
		if (!(uint32_t)old) {
			w->slept = w->stop = true;
			return i; /* and looks again */
		}
		if (atomic_compare_exchange_weak(resource, &old, old - 1))
			break;
	}
	w->gws_queued = false;
	return i + 1;
}

#define ROW(op, name, regs, kind, atom, c, fn) { name, ENC_DS, ISA_ALL, op, 0, regs, kind, atom, c, NULL, fn },
#define ROWI(isas, op, name, regs, kind, atom, c, fn) \
	{ name, ENC_DS, isas, op, 0, regs, kind, atom, c, NULL, fn },
/* Four forms of an atomic: 32 and 64 bits, without and with the old value. */
#define ATOM(op, n, t32, t64, atom) \
	ROW(op, "ds_" n "_" t32, 1, M_ATOMIC, atom, 0, ds_atomic) \
	ROW((op) + 0x20, "ds_" n "_rtn_" t32, 1, M_ATOMIC, atom, 1, ds_atomic) \
	ROW((op) + 0x40, "ds_" n "_" t64, 2, M_ATOMIC, atom, 0, ds_atomic) \
	ROW((op) + 0x60, "ds_" n "_rtn_" t64, 2, M_ATOMIC, atom, 1, ds_atomic)
#define PLAIN(op, name, regs, kind) ROW(op, name, regs, kind, 0, 0, ds_plain)
#define TWO(op, name, regs, kind, unit) ROW(op, name, regs, kind, 0, unit, ds_two)
#define GWS(op, name, fn) { name, ENC_DS, ISA_ALL, op, 1, 0, 0, 0, 0, NULL, fn },
const struct gcn_row gcn_ds_rows[] = {
#include "ds.def"
};
const size_t gcn_ds_count = sizeof(gcn_ds_rows) / sizeof(gcn_ds_rows[0]);
