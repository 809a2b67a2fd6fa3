/* SPDX-License-Identifier: MIT */
/* Scalar ALU, program control and scalar memory. */
#include <string.h>
#include <time.h>

#include "mem.h"

#define SCC (w->scc)

#define CT_U32 uint32_t
#define CT_I32 int32_t
#define CT_U64 uint64_t
#define CT_I64 int64_t
#define CT_NONE uint32_t

static inline uint32_t rd32(const struct gcn_opnd *o, const struct gcn_wave *w)
{
	if (__builtin_expect(o->kind == OP_SGPR, 1))
		return w->s[o->idx];
	if (o->kind == OP_CONST)
		return (uint32_t)o->val;
	if (o->idx == 251)
		return VCC(w) == 0;
	return o->idx == 252 ? EXEC(w) == 0 : w->scc;
}

static inline uint64_t rd64(const struct gcn_opnd *o, const struct gcn_wave *w)
{
	return o->kind == OP_SGPR ? gcn_get64(&w->s[o->idx]) :
	       o->kind == OP_CONST ? o->val : rd32(o, w);
}

#define RD_U32(o) rd32(o, w)
#define RD_I32(o) (int32_t)rd32(o, w)
#define RD_U64(o) rd64(o, w)
#define RD_I64(o) (int64_t)rd64(o, w)
#define RD_NONE(o) 0
#define WR_U32(v) (w->s[i->dst] = (v))
#define WR_I32(v) (w->s[i->dst] = (uint32_t)(v))
#define WR_U64(v) gcn_set64(&w->s[i->dst], v)
#define WR_I64(v) gcn_set64(&w->s[i->dst], (uint64_t)(v))
#define WR_NONE(v) (void)(v)

static inline uint64_t bfe_u64(uint64_t v, unsigned int off, unsigned int width, unsigned int bits)
{
	if (!width)
		return 0;
	v >>= off;
	return width >= bits ? v : v & (((uint64_t)1 << width) - 1);
}

static inline uint64_t bfe_i64(uint64_t v, unsigned int off, unsigned int width, unsigned int bits)
{
	if (!width)
		return 0;
	if (width > bits - off)
		width = bits - off;
	v >>= off;
	return (uint64_t)((int64_t)(v << (64 - width)) >> (64 - width));
}

static inline uint64_t brev64(uint64_t v)
{
	v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
	v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
	return __builtin_bswap64(v);
}

static inline uint32_t popcount64(uint64_t v)
{
	return (uint32_t)__builtin_popcountll(v);
}

static inline int32_t first1(uint64_t v)
{
	return v ? __builtin_ctzll(v) : -1;
}

/* s_flbit_i32: sign-equal bits from the top, -1 when all are equal. */
static inline int32_t sign_bits(int64_t v, int bits)
{
	uint64_t u = (uint64_t)(v < 0 ? ~v : v);

	return u ? __builtin_clzll(u) - (64 - bits) : -1;
}

static uint64_t quad_any(uint64_t v, uint64_t fill)
{
	uint64_t r = 0;

	for (int q = 0; q < 64; q += 4)
		if (v >> q & 0xf)
			r |= fill << q;
	return r;
}

static uint64_t quadmask(uint64_t v)
{
	uint64_t r = 0;

	for (int q = 0; q < 16; q++)
		r |= (uint64_t)((v >> 4 * q & 0xf) != 0) << q;
	return r;
}

static uint64_t replicate(uint32_t v)
{
	uint64_t r = 0;

	for (int b = 0; b < 32; b++)
		r |= (uint64_t)(v >> b & 1) * 3 << 2 * b;
	return r;
}

static unsigned int movrel(struct gcn_wave *w, unsigned int base, unsigned int words)
{
	uint64_t n = (uint64_t)base + w->s[SGPR_M0];

	/* Out of range reads and writes SGPR 0 on hardware; programs never mean it. */
	if (n + words > 104)
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "s_movrel outside the SGPRs");
	return (unsigned int)n;
}

const struct gcn_inst *gcn_goto(const struct gcn_inst *i, struct gcn_wave *w, uint64_t pc)
{
	struct gcn_inst *m = (struct gcn_inst *)i;
	const struct gcn_inst *t = atomic_load_explicit(&m->target, memory_order_acquire);

	if (t && t->pc == pc)
		return t;
	t = gcn_program_find(w->wg->program, pc, w);
	atomic_store_explicit(&m->target, t, memory_order_release);
	return t;
}

static inline const struct gcn_inst *branch(const struct gcn_inst *i, struct gcn_wave *w)
{
	const struct gcn_inst *t = atomic_load_explicit(&i->target, memory_order_acquire);

	return __builtin_expect(t != NULL, 1) ? t : gcn_goto(i, w, i->target_pc);
}

/* Not an instruction: leads from the end of a decoded block to the next one. */
const struct gcn_inst *gcn_link(const struct gcn_inst *i, struct gcn_wave *w)
{
	w->budget++;
	return branch(i, w);
}

static const struct gcn_inst *end_wave(const struct gcn_inst *i, struct gcn_wave *w)
{
	w->state = WAVE_DONE;
	w->stop = true;
	return i;
}

static const struct gcn_inst *barrier(const struct gcn_inst *i, struct gcn_wave *w)
{
	if (w->wg->waves > 1) {
		w->state = WAVE_BARRIER;
		w->stop = true;
	}
	return i + 1;
}

static const struct gcn_inst *send_message(const struct gcn_inst *i, struct gcn_wave *w)
{
	const struct gcn_launch *l = w->wg->launch;
	unsigned int id = (unsigned int)i->imm & 15;

	/* MSG_INTERRUPT; the others belong to graphics and to wave save. */
	if (id != 1)
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "s_sendmsg %u is not implemented", id);
	if (l->interrupt)
		l->interrupt(l->interrupt_arg, w->s[SGPR_M0] & 0xffffff);
	return i + 1;
}

static const struct gcn_inst *trap(const struct gcn_inst *i, struct gcn_wave *w)
{
	w->wg->fault.trap_id = (uint8_t)i->imm;
	gcn_raise(w, GCN_FAULT_TRAP, 0, "s_trap %u", (unsigned int)i->imm & 255);
}

/* Hardware registers, ISA "Hardware Registers" (s_getreg_b32). */
static uint32_t read_hwreg(const struct gcn_inst *i, struct gcn_wave *w, unsigned int id)
{
	const struct gcn_launch *l = w->wg->launch;

	switch (id) {
	case 1:
		return w->mode;
	case 2: /* STATUS: SCC, EXECZ, VCCZ, IN_TG, VALID */
		return w->scc | (uint32_t)(EXEC(w) == 0) << 9 | (uint32_t)(VCC(w) == 0) << 10 |
		       (uint32_t)(w->wg->waves > 1) << 11 | 1u << 16;
	case 3: /* TRAPSTS: no exception is ever recorded */
	case 7: /* IB_STS: nothing outstanding */
		return 0;
	case 4: /* HW_ID: a wave is known by its slot only */
		return w->index & 15;
	case 5:
		return (((l->vgpr_count + 3) / 4 - 1) & 63) << 8 | (((l->sgpr_count + 7) / 8 - 1) & 15) << 24;
	case 6:
		return (uint32_t)((w->wg->lds_size + 255) / 256 & 511) << 12;
	case 15:
		return (uint32_t)(l->private_aperture >> 48) | (uint32_t)(l->lds_aperture >> 48) << 16;
	default:
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: hardware register %u", i->row->name, id);
	}
}

static uint32_t get_hwreg(const struct gcn_inst *i, struct gcn_wave *w, uint32_t k)
{
	uint32_t v = read_hwreg(i, w, k & 63) >> (k >> 6 & 31);
	unsigned int bits = (k >> 11) + 1;

	return bits == 32 ? v : v & ((1u << bits) - 1);
}

static void set_hwreg(const struct gcn_inst *i, struct gcn_wave *w, uint32_t k, uint32_t v)
{
	unsigned int off = k >> 6 & 31, bits = (k >> 11) + 1;
	uint32_t m = (bits == 32 ? ~0u : (1u << bits) - 1) << off;

	switch (k & 63) {
	case 1:
		w->mode = (w->mode & ~m) | (v << off & m);
		gcn_mode_changed(w);
		return;
	case 3:
		return; /* TRAPSTS: clearing what is never set */
	default:
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: hardware register %u", i->row->name, k & 63);
	}
}

/* VGPR indexing, ISA "S_SET_GPR_IDX_ON": M0[7:0] is added to the VGPR numbers
 * that M0[15:12] selects. Such stretches are a few moves, so they run here on
 * adjusted copies of their instructions rather than slowing all others. */
static void set_gpr_idx(struct gcn_wave *w, uint32_t index, uint32_t mode)
{
	w->s[SGPR_M0] = (w->s[SGPR_M0] & ~0xf0ffu) | index | mode << 12;
}

static uint16_t indexed(struct gcn_wave *w, uint32_t reg)
{
	uint32_t n = reg + (w->s[SGPR_M0] & 255);

	/* Hardware takes v0 when out of range; no compiler means that. */
	if ((reg < ACC_BASE) != (n < ACC_BASE))
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "VGPR index %u out of range", n);
	return (uint16_t)n;
}

static const struct gcn_inst *run_indexed(const struct gcn_inst *i, struct gcn_wave *w)
{
	struct gcn_inst t[2];
	const struct gcn_inst *next;
	uint32_t mode = w->s[SGPR_M0] >> 12;

	memcpy(&t[0], i, sizeof(t[0]));
	for (int k = 0; k < 3; k++) {
		bool acc = k == 2 && (i->row->flags & RF_ACC);

		if (t[0].s[k].kind == OP_VGPR && (mode >> (acc ? 3 : k) & 1))
			t[0].s[k].idx = indexed(w, t[0].s[k].idx);
	}
	if ((mode & 8) && i->row->d != T_M && i->row->d != T_S32 && i->row->d != T_NONE)
		t[0].dst = indexed(w, t[0].dst);
	next = t[0].fn(t, w);
	return next == &t[1] ? i + 1 : next;
}

/* Both bits of MODE that change what other instructions do are set for a few of them, which run here. A wave that
 * waits, or whose turn ends, comes back to it from the run loop. */
const struct gcn_inst *gcn_run_apart(const struct gcn_inst *i, struct gcn_wave *w)
{
	if (w->apart) /* an instruction in the loop below */
		return i;
	w->apart = true;
	for (int n = 0; (w->mode & (MODE_GPR_IDX_EN | MODE_VSKIP)) && !w->stop; n++) {
		bool vector = i->row && i->row->enc >= ENC_VOP2;

		w->cur = i;
		if (n == 1000)
			w->stop = true;
		else if (vector && (w->mode & MODE_VSKIP))
			i++;
		else if (vector && (w->mode & MODE_GPR_IDX_EN) && i->fn != gcn_illegal && i->row->enc <= ENC_VOP3P)
			i = run_indexed(i, w);
		else
			i = i->fn(i, w);
	}
	w->apart = false;
	return i;
}

static const struct gcn_inst *next_in_mode(const struct gcn_inst *i, struct gcn_wave *w)
{
	return w->mode & (MODE_GPR_IDX_EN | MODE_VSKIP) ? gcn_run_apart(i + 1, w) : i + 1;
}

/* The branch stack of S_CBRANCH_x_FORK: four SGPRs an entry, the mask and where its lanes go on. The side with fewer
 * lanes runs first, so that six entries are enough for 64 lanes. */
static const struct gcn_inst *fork_lanes(const struct gcn_inst *i, struct gcn_wave *w, uint64_t mask, uint64_t target)
{
	uint64_t ex = EXEC(w), pass = mask & ex, fail = ~mask & ex, next = i->pc + i->size;
	unsigned int csp = w->mode >> MODE_CSP;
	bool fail_first = popcount64(fail) < popcount64(pass);

	if (pass == ex)
		return gcn_goto(i, w, target);
	if (fail == ex)
		return i + 1;
	if (csp > 5)
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: the branch stack is full", i->row->name);
	gcn_set64(&w->s[4 * csp], fail_first ? pass : fail);
	gcn_set64(&w->s[4 * csp + 2], fail_first ? target : next);
	gcn_set64(&w->s[SGPR_EXEC], fail_first ? fail : pass);
	w->mode += 1u << MODE_CSP;
	return fail_first ? i + 1 : gcn_goto(i, w, target);
}

static const struct gcn_inst *join_lanes(const struct gcn_inst *i, struct gcn_wave *w, uint32_t saved)
{
	unsigned int csp = w->mode >> MODE_CSP;

	if (csp == saved)
		return i + 1;
	if (!csp)
		gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "s_cbranch_join: the branch stack is empty");
	w->mode -= 1u << MODE_CSP;
	gcn_set64(&w->s[SGPR_EXEC], gcn_get64(&w->s[4 * (csp - 1)]));
	return gcn_goto(i, w, gcn_get64(&w->s[4 * (csp - 1) + 2]));
}

/* No debugger and no trap handler is there to end it, so a halt is the end of the queue rather than a hang. */
static _Noreturn void halt(const struct gcn_inst *i, struct gcn_wave *w)
{
	gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: the wave halts, and no debugger is there to let it go on", i->row->name);
}

static _Noreturn void privileged(const struct gcn_inst *i, struct gcn_wave *w)
{
	gcn_raise(w, GCN_FAULT_ILLEGAL, 0, "%s: only a trap handler may use it", i->row->name);
}

#define SAVEEXEC(expr) do { \
		uint64_t x = EXEC(w), n = (expr); \
		d = x; \
		gcn_set64(&w->s[i->dst], d); \
		gcn_set64(&w->s[SGPR_EXEC], n); \
		SCC = n != 0; \
		return i + 1; \
	} while (0)

#define FN(name) static const struct gcn_inst *f_##name(const struct gcn_inst *i, struct gcn_wave *w)

#define S2(op, isas, name, TD, TA, TB, ...) FN(name) { \
		CT_##TA a = RD_##TA(&i->s[0]); \
		CT_##TB b = RD_##TB(&i->s[1]); \
		CT_##TD d; \
		__VA_ARGS__ \
		WR_##TD(d); \
		return i + 1; \
	}
#define S1(op, isas, name, TD, TA, ...) FN(name) { \
		CT_##TA a = RD_##TA(&i->s[0]); \
		CT_##TD d = 0; \
		(void)a; \
		__VA_ARGS__ \
		WR_##TD(d); \
		return i + 1; \
	}
#define SC(op, isas, name, TA, TB, ...) FN(name) { \
		CT_##TA a = RD_##TA(&i->s[0]); \
		CT_##TB b = RD_##TB(&i->s[1]); \
		SCC = (__VA_ARGS__) != 0; \
		return i + 1; \
	}
#define SK(op, isas, name, ...) FN(name) { \
		uint32_t *sd = &w->s[i->dst]; \
		int32_t k = i->imm; \
		(void)k; \
		(void)sd; \
		__VA_ARGS__ \
		return i + 1; \
	}
#define SP(op, isas, name, ...) FN(name) { (void)w; __VA_ARGS__ }
#define SG(enc, op, name, TA, ...) FN(name) { \
		CT_##TA a = RD_##TA(&i->s[0]); \
		(void)a; \
		__VA_ARGS__ \
	}
#include "sop.def"
#undef SG
#undef S2
#undef S1
#undef SC
#undef SK
#undef SP

#define S2(op, isas, name, TD, TA, TB, ...) \
	{ #name, ENC_SOP2, isas, op, 0, T_##TD, T_##TA, T_##TB, 0, NULL, f_##name },
#define S1(op, isas, name, TD, TA, ...) \
	{ #name, ENC_SOP1, isas, op, 0, T_##TD, T_##TA, 0, 0, NULL, f_##name },
#define SC(op, isas, name, TA, TB, ...) \
	{ #name, ENC_SOPC, isas, op, 0, 0, T_##TA, T_##TB, 0, NULL, f_##name },
#define SK(op, isas, name, ...) { #name, ENC_SOPK, isas, op, 0, 0, 0, 0, 0, NULL, f_##name },
#define SP(op, isas, name, ...) { #name, ENC_SOPP, isas, op, 0, 0, 0, 0, 0, NULL, f_##name },
#define SG(enc, op, name, TA, ...) { #name, enc, ISA_ALL, op, 0, 0, T_##TA, 0, 0, NULL, f_##name },
const struct gcn_row gcn_sop_rows[] = {
#include "sop.def"
};
const size_t gcn_sop_count = sizeof(gcn_sop_rows) / sizeof(gcn_sop_rows[0]);

/* Scalar memory. i->s[0] is SBASE, i->s[1] the offset register or none. */

static uint64_t smem_offset(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t off = (uint64_t)(int64_t)i->imm;

	if (i->s[1].kind != OP_NONE)
		off += rd32(&i->s[1], w);
	return off;
}

static const struct gcn_inst *smem_load(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t a = (gcn_get64(&w->s[i->s[0].idx]) + smem_offset(i, w)) & ~(uint64_t)3;

	memcpy(&w->s[i->dst], (const void *)gcn_host(a), 4u * i->row->d);
	return i + 1;
}

static const struct gcn_inst *smem_store(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t a = (gcn_get64(&w->s[i->s[0].idx]) + smem_offset(i, w)) & ~(uint64_t)3;

	memcpy((void *)gcn_host(a), &w->s[i->dst], 4u * i->row->d);
	return i + 1;
}

/* s_buffer_*: V# in four SGPRs; outside NUM_RECORDS reads 0 and drops writes. */
static bool sbuf_word(const uint32_t *v, uint64_t off, uint32_t **p)
{
	uint64_t stride = v[1] >> 16 & 0x3fff, limit = stride ? stride * v[2] : v[2];

	*p = (uint32_t *)gcn_host((gcn_get64(v) & 0xffffffffffff) + off);
	return off + 4 <= limit;
}

static const struct gcn_inst *sbuf_load(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t off = smem_offset(i, w) & ~(uint64_t)3;
	uint32_t v[4], r[16], *p;

	memcpy(v, &w->s[i->s[0].idx], sizeof(v));
	for (unsigned int k = 0; k < i->row->d; k++)
		r[k] = sbuf_word(v, off + 4 * k, &p) ? *p : 0;
	memcpy(&w->s[i->dst], r, 4u * i->row->d);
	return i + 1;
}

static const struct gcn_inst *sbuf_store(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t off = smem_offset(i, w) & ~(uint64_t)3;
	const uint32_t *v = &w->s[i->s[0].idx];
	uint32_t *p;

	for (unsigned int k = 0; k < i->row->d; k++)
		if (sbuf_word(v, off + 4 * k, &p))
			*p = w->s[i->dst + k];
	return i + 1;
}

/* S_SCRATCH_x: a register counts in units of 64 bytes, as offsets of waves do. */
static uint64_t scratch_address(const struct gcn_inst *i, struct gcn_wave *w)
{
	uint64_t off = (uint64_t)(int64_t)i->imm;

	if (i->s[1].kind != OP_NONE)
		off += 64 * (uint64_t)rd32(&i->s[1], w);
	return gcn_host((gcn_get64(&w->s[i->s[0].idx]) + off) & ~(uint64_t)3);
}

static const struct gcn_inst *smem_scratch_load(const struct gcn_inst *i, struct gcn_wave *w)
{
	memcpy(&w->s[i->dst], (const void *)scratch_address(i, w), 4u * i->row->d);
	return i + 1;
}

static const struct gcn_inst *smem_scratch_store(const struct gcn_inst *i, struct gcn_wave *w)
{
	memcpy((void *)scratch_address(i, w), &w->s[i->dst], 4u * i->row->d);
	return i + 1;
}

/* Once a wave, whatever EXEC is. Data is in SDATA, after it what is compared; row field c: through a V#. */
static const struct gcn_inst *smem_atomic(const struct gcn_inst *i, struct gcn_wave *w)
{
	bool two = i->row->d == 2;
	uint32_t *s = &w->s[i->dst];
	uint64_t data = two ? gcn_get64(s) : s[0], cmp = two ? gcn_get64(s + 2) : s[1], old = 0;
	uint64_t off = smem_offset(i, w);
	bool inside = true;
	void *p;

	if (i->row->c) {
		uint32_t *first, *last;

		off &= ~(uint64_t)3;
		inside = sbuf_word(&w->s[i->s[0].idx], off, &first) &&
		         sbuf_word(&w->s[i->s[0].idx], off + 4 * (i->row->d - 1u), &last);
		p = first;
	} else {
		p = (void *)gcn_host((gcn_get64(&w->s[i->s[0].idx]) + off) & ~(uint64_t)3);
	}
	if (inside)
		old = gcn_atomic_word(i->row->b, p, data, cmp, two);
	if (i->glc && two)
		gcn_set64(s, old);
	else if (i->glc)
		s[0] = (uint32_t)old;
	return i + 1;
}

static const struct gcn_inst *smem_nothing(const struct gcn_inst *i, struct gcn_wave *w)
{
	(void)w;
	return i + 1;
}

/* Both counters run at 1 GHz; the real-time one is the system counter. */
static const struct gcn_inst *smem_time(const struct gcn_inst *i, struct gcn_wave *w)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	gcn_set64(&w->s[i->dst], (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	return i + 1;
}

#define SMA1(op, name, words, atom, buf) { #name, ENC_SMEM, ISA_ALL, op, 0, words, 0, atom, buf, NULL, smem_atomic },
#define SMA(op, n, atom) \
	SMA1(0x40 + (op), s_buffer_atomic_##n, 1, atom, 1) \
	SMA1(0x60 + (op), s_buffer_atomic_##n##_x2, 2, atom, 1) \
	SMA1(0x80 + (op), s_atomic_##n, 1, atom, 0) \
	SMA1(0xa0 + (op), s_atomic_##n##_x2, 2, atom, 0)
#define SM(op, name, words, fn) { #name, ENC_SMEM, ISA_ALL, op, 0, words, 0, 0, 0, NULL, fn },
const struct gcn_row gcn_smem_rows[] = {
	SM(0x00, s_load_dword, 1, smem_load)
	SM(0x01, s_load_dwordx2, 2, smem_load)
	SM(0x02, s_load_dwordx4, 4, smem_load)
	SM(0x03, s_load_dwordx8, 8, smem_load)
	SM(0x04, s_load_dwordx16, 16, smem_load)
	SM(0x08, s_buffer_load_dword, 1, sbuf_load)
	SM(0x09, s_buffer_load_dwordx2, 2, sbuf_load)
	SM(0x0a, s_buffer_load_dwordx4, 4, sbuf_load)
	SM(0x0b, s_buffer_load_dwordx8, 8, sbuf_load)
	SM(0x0c, s_buffer_load_dwordx16, 16, sbuf_load)
	SM(0x10, s_store_dword, 1, smem_store)
	SM(0x11, s_store_dwordx2, 2, smem_store)
	SM(0x12, s_store_dwordx4, 4, smem_store)
	SM(0x18, s_buffer_store_dword, 1, sbuf_store)
	SM(0x19, s_buffer_store_dwordx2, 2, sbuf_store)
	SM(0x1a, s_buffer_store_dwordx4, 4, sbuf_store)
	SM(0x20, s_dcache_inv, 0, smem_nothing)
	SM(0x21, s_dcache_wb, 0, smem_nothing)
	SM(0x22, s_dcache_inv_vol, 0, smem_nothing)
	SM(0x23, s_dcache_wb_vol, 0, smem_nothing)
	SM(0x24, s_memtime, 2, smem_time)
	SM(0x25, s_memrealtime, 2, smem_time)
	SM(0x05, s_scratch_load_dword, 1, smem_scratch_load)
	SM(0x06, s_scratch_load_dwordx2, 2, smem_scratch_load)
	SM(0x07, s_scratch_load_dwordx4, 4, smem_scratch_load)
	SM(0x15, s_scratch_store_dword, 1, smem_scratch_store)
	SM(0x16, s_scratch_store_dwordx2, 2, smem_scratch_store)
	SM(0x17, s_scratch_store_dwordx4, 4, smem_scratch_store)
	SM(0x26, s_atc_probe, 0, smem_nothing) /* prefetches, which a program cannot see */
	SM(0x27, s_atc_probe_buffer, 0, smem_nothing)
	SMA(0x00, swap, A_SWAP)
	SMA(0x01, cmpswap, A_CMPSWAP)
	SMA(0x02, add, A_ADD)
	SMA(0x03, sub, A_SUB)
	SMA(0x04, smin, A_SMIN)
	SMA(0x05, umin, A_UMIN)
	SMA(0x06, smax, A_SMAX)
	SMA(0x07, umax, A_UMAX)
	SMA(0x08, and, A_AND)
	SMA(0x09, or, A_OR)
	SMA(0x0a, xor, A_XOR)
	SMA(0x0b, inc, A_INC)
	SMA(0x0c, dec, A_DEC)
	SM(0x28, s_dcache_discard, 0, smem_nothing)
	SM(0x29, s_dcache_discard_x2, 0, smem_nothing)
};
const size_t gcn_smem_count = sizeof(gcn_smem_rows) / sizeof(gcn_smem_rows[0]);
