/* SPDX-License-Identifier: MIT */
/*
 * Inside of the instruction-set module: rows, predecoded instructions, waves.
 *
 * A row is data (the .def files); the decoder turns code words into an array of
 * gcn_inst, each with its handler and resolved operands; handlers return the
 * next instruction. Lane values are arrays of 64 words, a register pair is two
 * such arrays in a row, so that an operand is always one pointer.
 */
#ifndef SOFTGPU_GCN_INST_H
#define SOFTGPU_GCN_INST_H

#include <setjmp.h>
#include <stdatomic.h>

#include "gcn.h"

#define LANES GCN_WAVE_LANES
#define ALL_LANES (~(uint64_t)0)

/* Which generations have a row. */
enum { ISA_900 = 1, ISA_906 = 2, ISA_90A = 4, ISA_ALL = 7, ISA_DL = 6, ISA_OLD = 3 };

/* Encodings ("microcode formats" of the ISA document). VOP3 rows are those that
 * exist in VOP3 form only. */
enum gcn_enc {
	ENC_SOP2, ENC_SOPK, ENC_SOP1, ENC_SOPC, ENC_SOPP, ENC_SMEM,
	ENC_VOP2, ENC_VOP1, ENC_VOPC, ENC_VOP3, ENC_VOP3P,
	ENC_DS, ENC_FLAT, ENC_GLOBAL, ENC_SCRATCH, ENC_MUBUF, ENC_MTBUF,
	ENC_COUNT,
};

/* Operand types. The width and the place of the sign bit follow from them. */
enum gcn_type {
	T_NONE, T_U32, T_I32, T_F32, T_U64, T_I64, T_F64, T_U16, T_I16, T_F16,
	T_M,   /* one bit a lane, in an SGPR pair */
	T_S32, /* scalar result of a vector instruction */
	T_PK,  /* two 16-bit halves */
	T_PF,  /* two f32 in a register pair */
	T_R4,  /* four registers */
};

/* Row flags. */
enum {
	RF_KOUT = 1,      /* second result: a mask, to VCC or SDST */
	RF_CIN = 2,       /* source C is a mask: VCC in VOP2, SRC2 in VOP3 */
	RF_ACC = 4,       /* source C is the destination */
	RF_MK = 8,        /* literal is source B, VSRC1 is source C (madmk) */
	RF_AK = 16,       /* literal is source C (madak) */
	RF_KEEP16 = 32,   /* 16-bit result keeps the other half */
	RF_CMPX = 64,     /* writes EXEC too */
	RF_FTZ = 128,     /* single precision that never has denormals (mad, mac) */
	RF_CUSTOM = 256,  /* the row's fn does everything; decoder resolves operands */
	RF_KIN = 512,     /* v_div_fmas: VCC is read as a mask in pk */
	RF_NOFP = 1024,   /* float types, but no MXCSR needed */
	RF_MIX = 2048,    /* v_mad_mix: op_sel_hi picks f16 or f32 */
	RF_INTPK = 4096,  /* packed integers: no neg */
	RF_SGPRD = 8192,  /* reads lanes regardless of EXEC */
	RF_DOT = 16384,   /* floats without denormals, rounded to nearest: MODE means nothing */
};

struct gcn_inst;
struct gcn_wave;

typedef const struct gcn_inst *(*gcn_fn)(const struct gcn_inst *, struct gcn_wave *);
typedef void (*gcn_core)(uint32_t *pd, uint32_t *pk, const uint32_t *pa, const uint32_t *pb,
                         const uint32_t *pc, const struct gcn_inst *in,
                         const struct gcn_wave *w);

struct gcn_row {
	const char *name;
	uint8_t enc;
	uint8_t isas;
	uint16_t op;
	uint16_t flags;
	uint8_t d, a, b, c;   /* enum gcn_type; memory rows: see mem.h */
	gcn_core core;
	gcn_fn fn;
};

enum gcn_opnd_kind {
	OP_NONE, OP_VGPR, OP_SGPR, OP_CONST,
	OP_MASK,  /* SGPR pair as one bit a lane */
	OP_SPEC,  /* VCCZ, EXECZ, SCC */
};

struct gcn_opnd {
	const uint32_t *ptr;  /* OP_CONST: value broadcast over two rows of lanes */
	uint64_t val;         /* OP_CONST */
	uint16_t idx;
	uint8_t kind;
	uint8_t type;
};

enum { FORM_PLAIN, FORM_VOP3, FORM_SDWA, FORM_DPP };

struct gcn_inst {
	gcn_fn fn;
	gcn_core core;
	struct gcn_opnd s[3];
	uint16_t dst;        /* VGPR row, or SGPR */
	uint16_t sdst;       /* second result */
	uint8_t dwords;      /* VGPR rows a result covers */
	uint8_t fp;          /* index into gcn_wave.mxcsr, 0: leave */
	uint8_t clamp, omod;
	uint8_t neg, abs, opsel, opsel_hi;
	uint8_t form;
	uint8_t sel[3], sext; /* SDWA: source 0, source 1, destination */
	uint8_t dst_unused;
	uint16_t dpp_ctrl;
	uint8_t row_mask, bank_mask, bound_ctrl;
	uint8_t glc, lds, tfe; /* memory forms */
	uint8_t dfmt, nfmt;    /* MTBUF */
	int32_t imm;
	uint8_t size;        /* bytes of code */
	_Atomic(const struct gcn_inst *) target; /* branch, or inline cache of an indirect one */
	uint64_t target_pc;
	uint64_t pc;
	const struct gcn_row *row;
	uint32_t word[2];
};

enum { WAVE_FREE, WAVE_RUN, WAVE_BARRIER, WAVE_DONE };

#define SGPR_FLAT_SCRATCH 102
#define SGPR_VCC 106
#define SGPR_M0 124
#define SGPR_EXEC 126
#define MODE_GPR_IDX_EN (1u << 27)
#define MODE_VSKIP (1u << 28)
#define MODE_CSP 29 /* first of three bits */
#define VGPR_ROWS (512 + 40) /* 256 architected, 256 accumulation, room for tuples */
#define ACC_BASE 256

struct gcn_wave {
	_Alignas(64) uint32_t v[VGPR_ROWS][LANES];
	_Alignas(64) uint32_t t[4][4 * LANES]; /* operand and result staging */
	uint32_t s[160];     /* by operand number, 0..127; the rest is slack */
	uint32_t scc;
	uint32_t mode;
	uint32_t mxcsr[5];   /* [1] f32, [2] f64 and f16, [3] f32 flushed, [4] f32 flushed, to nearest */
	uint32_t mxcsr_now;
	const struct gcn_inst *cur;
	uint64_t pc;         /* where to go on, when cur is not current */
	struct gcn_wg *wg;
	uint32_t index;
	uint32_t state;
	bool stop;           /* leave the loop after this instruction */
	bool slept;
	bool apart;          /* inside gcn_run_apart */
	bool gws_queued;     /* waits in ds_gws_barrier for another release than this: */
	uint32_t gws_release;
	int64_t budget;
};

struct gcn_program;

struct gcn_wg {
	const struct gcn_launch *launch;
	struct gcn_wave *wave[GCN_MAX_WAVES];
	unsigned int waves, live;
	unsigned int next;
	uint8_t *lds;
	size_t lds_size, lds_alloc;
	uint8_t *scratch;
	size_t wave_scratch, scratch_alloc;
	struct gcn_program *program;
	uint64_t instructions;
	struct gcn_fault fault;
	struct gcn_wave *faulted; /* the wave a SIGSEGV found */
	uint32_t id[3];
	bool dead;
	sigjmp_buf jmp;
};

static inline uint64_t gcn_get64(const uint32_t *s)
{
	return s[0] | (uint64_t)s[1] << 32;
}

static inline void gcn_set64(uint32_t *s, uint64_t v)
{
	s[0] = (uint32_t)v;
	s[1] = (uint32_t)(v >> 32);
}

#define EXEC(w) gcn_get64(&(w)->s[SGPR_EXEC])
#define VCC(w) gcn_get64(&(w)->s[SGPR_VCC])

/* See gcn_set_window(). */
struct gcn_window {
	uint64_t base, size, delta;
};
extern struct gcn_window gcn_window;

uint64_t gcn_host_high(uint64_t a); /* wg.c */

static inline uint64_t gcn_host(uint64_t a)
{
	if (a >> 47)
		return gcn_host_high(a);
	return a - gcn_window.base < gcn_window.size ? a + gcn_window.delta : a;
}

/* program.c */
struct gcn_program *gcn_program_get(enum gcn_isa isa);
void gcn_program_put(struct gcn_program *p);
bool gcn_program_current(const struct gcn_program *p, enum gcn_isa isa);
const struct gcn_inst *gcn_program_find(struct gcn_program *p, uint64_t pc, struct gcn_wave *w);

/* decode.c */
struct gcn_consts; /* broadcast constants of one block */
const uint32_t *gcn_const(struct gcn_consts **list, uint32_t lo, uint32_t hi);
void gcn_consts_free(struct gcn_consts *list);
/* Decodes the instruction in word[0..3], of which `words` can be read; returns
 * its size in bytes. What has no row becomes an instruction that faults. */
unsigned int gcn_decode(struct gcn_inst *in, enum gcn_isa isa, uint64_t pc, const uint32_t *word,
                        struct gcn_consts **consts);
/* For the tests: row of each family, and "" or why the table is not sound. */
const char *gcn_table_check(void);
const struct gcn_row *gcn_rows(unsigned int family, size_t *count);

/* wg.c */
_Noreturn void gcn_raise(struct gcn_wave *w, enum gcn_fault_kind kind, uint64_t address,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void gcn_mode_changed(struct gcn_wave *w);
void gcn_wave_fault(const siginfo_t *info); /* comes back when no wave runs on this thread */

/* Handlers the decoder needs by name. */
const struct gcn_inst *gcn_illegal(const struct gcn_inst *i, struct gcn_wave *w);
const struct gcn_inst *gcn_link(const struct gcn_inst *i, struct gcn_wave *w);
const struct gcn_inst *gcn_run_apart(const struct gcn_inst *i, struct gcn_wave *w);
const struct gcn_inst *gcn_goto(const struct gcn_inst *i, struct gcn_wave *w, uint64_t pc);

/* Lane code, compiled once for each level of the host's vector unit. */
struct gcn_lanes {
	const char *name;
	const struct gcn_row *rows[4];
	size_t count[4];
	gcn_fn plain, mask, carry, general, packed;
};
extern const struct gcn_lanes gcn_lanes_base, gcn_lanes_avx2, gcn_lanes_avx512;
const struct gcn_lanes *gcn_lanes(void);

extern const struct gcn_row gcn_sop_rows[], gcn_smem_rows[], gcn_mem_rows[], gcn_ds_rows[],
	gcn_mfma_rows[];
extern const size_t gcn_sop_count, gcn_smem_count, gcn_mem_count, gcn_ds_count, gcn_mfma_count;

#endif
