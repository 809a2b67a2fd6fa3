/* SPDX-License-Identifier: MIT */
/* Vector memory: what an access is, shared by FLAT, MUBUF and DS. */
#ifndef SOFTGPU_GCN_MEM_H
#define SOFTGPU_GCN_MEM_H

#include <string.h>

#include "inst.h"

/* Row field `a`. Field `d` holds registers moved, `b` the atomic operation. */
enum mem_kind {
	M_NONE, M_LOAD, M_U8, M_I8, M_U16, M_I16,
	M_U8_LO, M_U8_HI, M_I8_LO, M_I8_HI, M_16_LO, M_16_HI,
	M_STORE, M_ST8, M_ST8_HI, M_ST16, M_ST16_HI,
	M_ATOMIC,
	M_FMT_LOAD, M_FMT_STORE, /* row field `d` components, `c` 1: halves, 2: the high half */
};

enum mem_atomic {
	A_SWAP, A_CMPSWAP, A_ADD, A_SUB, A_SMIN, A_UMIN, A_SMAX, A_UMAX, A_AND, A_OR, A_XOR,
	A_INC, A_DEC, A_FADD, A_PKADD, A_FMIN, A_FMAX,
	/* LDS only */
	A_RSUB, A_MSKOR, A_FCMPSWAP, A_WRAP,
};

/* Where each lane accesses. A lane without a place (p NULL) reads 0 and drops
 * writes. Swizzled lanes (scratch) have byte k of the access at
 * p + (off + k) / 4 * row + (off + k) % 4. */
struct access {
	uint8_t *p[LANES];
	uint32_t off[LANES];
	uint64_t swz;
	uint64_t lds;  /* lanes whose place is LDS: only this thread touches it */
	uint32_t row;
	bool dense;    /* all lanes, no special place */
};

/* format.c: elements of typed buffers. */
struct gcn_format {
	const uint8_t *bits; /* of each of four fields, 0: it has no more */
	uint32_t bytes;
	uint16_t sel;        /* V# dst_sel */
	uint8_t nfmt;
};

/* False when the numbers name no format. */
bool gcn_format_get(struct gcn_format *f, unsigned int dfmt, unsigned int nfmt);
void gcn_format_load(uint32_t (*out)[LANES], const struct access *x, const struct gcn_format *f,
                     unsigned int components, unsigned int d16, uint64_t lanes);
void gcn_format_store(uint32_t (*in)[LANES], const struct access *x, const struct gcn_format *f,
                      unsigned int components, unsigned int d16, uint64_t lanes);

void gcn_read(const struct access *x, int lane, unsigned int at, void *out, unsigned int bytes);
void gcn_write(const struct access *x, int lane, unsigned int at, const void *in, unsigned int bytes);
/* A load of up to one word into a row. */
void gcn_load_row(uint32_t *row, const struct access *x, unsigned int kind, uint64_t lanes);
/* Host addresses of global lanes, where they differ. `any`: the addresses of at least these lanes, or'ed. */
void gcn_window_lanes(struct access *x, uint64_t lanes, uint64_t any);
void gcn_row_to_lds(const struct gcn_inst *i, struct gcn_wave *w, const uint32_t *row, uint64_t lanes);
const struct gcn_inst *gcn_mubuf(const struct gcn_inst *i, struct gcn_wave *w); /* buffer.c */
void gcn_access(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x,
                unsigned int kind, uint64_t lanes);
/* One operation by a scalar instruction; returns what was there. */
uint64_t gcn_atomic_word(unsigned int op, void *p, uint64_t d, uint64_t c, bool two);
void gcn_atomic(const struct gcn_inst *i, struct gcn_wave *w, const struct access *x,
                uint64_t lanes, unsigned int cmp_row, unsigned int data_row, bool ret);

#endif
