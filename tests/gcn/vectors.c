/* SPDX-License-Identifier: MIT */
/*
 * Runs instruction vectors: code, registers and memory before, registers and
 * memory after; one wave of 64 lanes. Made by vectors.py and model/make.py.
 *
 * Input, for each vector: a line of text that is printed when it fails; number,
 * generation, words of code, items before, items after; the code; the items.
 * An item is NAME REGISTER LANE VALUE:
 *   v a           VGPR; lane -1 all lanes (after: those in EXEC), -2 all 64 lanes,
 *                 their values follow; L: as v, the lane number
 *   s m0 vcc exec scc mode
 *   m l           word REGISTER of the memory at s[0:1], of LDS
 *   f d e         with lane -3: a VGPR of floats in which the 64 values that follow
 *                 may be VALUE units in the last place off; d is a register pair
 *   fault         (after) the fault kind REGISTER with trap number VALUE is expected
 *
 * usage: vectors [FILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inst.h"

#define MEMORY_WORDS 4096

struct item {
	char name[8];
	int reg, lane;
	unsigned long long value;
	uint64_t each[LANES];
};

struct vector {
	char text[256];
	unsigned int line, isa, words, sets, wants;
};

static FILE *in;
static uint32_t *code;
static uint32_t memory[MEMORY_WORDS];
static struct gcn_wg *wg;

static bool read_item(struct item *t)
{
	if (fscanf(in, "%7s %d %d %llx", t->name, &t->reg, &t->lane, &t->value) != 4)
		return false;
	for (int l = 0; t->lane < -1 && l < LANES; l++) {
		unsigned long long v;

		if (fscanf(in, "%llx", &v) != 1)
			return false;
		t->each[l] = v;
	}
	return true;
}

static uint32_t *vgpr(const struct item *t, struct gcn_wave *w)
{
	return w->v[t->reg + (t->name[0] == 'a' ? ACC_BASE : 0)];
}

/* 32-bit places, else NULL. */
static uint32_t *single(const struct item *t, struct gcn_wave *w)
{
	if (!strcmp(t->name, "scc"))
		return &w->scc;
	if (!strcmp(t->name, "m0"))
		return &w->s[SGPR_M0];
	if (!strcmp(t->name, "mode"))
		return &w->mode;
	if (!strcmp(t->name, "m"))
		return &memory[t->reg];
	if (!strcmp(t->name, "l"))
		return (uint32_t *)(void *)(wg->lds + 4 * t->reg);
	return !strcmp(t->name, "s") ? &w->s[t->reg] : NULL;
}

static uint32_t *pair(const struct item *t, struct gcn_wave *w)
{
	return !strcmp(t->name, "vcc") ? &w->s[SGPR_VCC] : !strcmp(t->name, "exec") ? &w->s[SGPR_EXEC] : NULL;
}

static void set(const struct item *t, struct gcn_wave *w)
{
	uint32_t *s = single(t, w), *p = pair(t, w);

	if (s) {
		*s = (uint32_t)t->value;
		if (s == &w->mode)
			gcn_mode_changed(w);
	} else if (p) {
		gcn_set64(p, t->value);
	} else {
		for (int l = 0; l < LANES; l++)
			if (t->lane < 0 || t->lane == l)
				vgpr(t, w)[l] = t->name[0] == 'L' ? (uint32_t)l :
				                (uint32_t)(t->lane == -2 ? t->each[l] : t->value);
	}
}

/* Distance of two floats of one sign in units in the last place; NaNs are alike. */
static uint64_t ulps(uint64_t a, uint64_t b, unsigned int bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1), m = sign - 1;
	uint64_t inf = bits == 64 ? 0x7ff0000000000000 : bits == 32 ? 0x7f800000 : 0x7c00;

	if ((a & m) > inf || (b & m) > inf)
		return (a & m) > inf && (b & m) > inf ? 0 : UINT64_MAX;
	if ((a ^ b) & sign)
		return !(a & m) && !(b & m) ? 0 : (a & m) + (b & m);
	return a > b ? a - b : b - a;
}

static bool check_near(const struct item *t, struct gcn_wave *w)
{
	unsigned int bits = t->name[0] == 'd' ? 64 : t->name[0] == 'f' ? 32 : 16;

	for (int l = 0; l < LANES; l++) {
		uint64_t got = w->v[t->reg][l] | (bits == 64 ? (uint64_t)w->v[t->reg + 1][l] << 32 : 0);

		if (ulps(got, t->each[l], bits) > t->value) {
			printf("v%d[%d] is %llx, not within %llu of %llx\n", t->reg, l, (unsigned long long)got,
			       t->value, (unsigned long long)t->each[l]);
			return false;
		}
	}
	return true;
}

static bool check(const struct item *t, struct gcn_wave *w)
{
	const uint32_t *s = single(t, w), *p = pair(t, w), *v;

	if (s || p) {
		unsigned long long got = s ? *s : gcn_get64(p);

		if (got == t->value)
			return true;
		printf("%s%d is %llx, not %llx\n", t->name, t->reg, got, t->value);
		return false;
	}
	if (t->lane == -3)
		return check_near(t, w);
	v = vgpr(t, w);
	for (int l = 0; l < LANES; l++) {
		uint32_t want = (uint32_t)(t->lane == -2 ? t->each[l] : t->value);

		if (t->lane == -1 ? !(EXEC(w) >> l & 1) : t->lane >= 0 && t->lane != l)
			continue;
		if (v[l] != want) {
			printf("%s%d[%d] is %08x, not %08x\n", t->name, t->reg, l, v[l], want);
			return false;
		}
	}
	return true;
}

static bool start(unsigned int isa)
{
	static struct gcn_gws gws;
	static struct gcn_launch l;
	const uint32_t id[3] = { 0, 0, 0 };
	struct gcn_fault f;

	l = (struct gcn_launch){
		.isa = (enum gcn_isa)isa, .grid_size = { 64, 1, 1 }, .workgroup_size = { 64, 1, 1 },
		.entry = (uint64_t)(uintptr_t)code, .vgpr_count = 512, .accum_offset = 256, .sgpr_count = 104,
		.mode = 0x3f0, .sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1,
		.lds_bytes = 4096, .private_bytes = 256, .user_sgpr_count = 2,
		.lds_aperture = (uint64_t)1 << 48, .private_aperture = (uint64_t)2 << 48, .gws = &gws,
	};
	memset(&gws, 0, sizeof(gws));
	/* s[0:1]: 16 KiB of memory holding its own word numbers. */
	l.user_sgpr[0] = (uint32_t)(uintptr_t)memory;
	l.user_sgpr[1] = (uint32_t)((uint64_t)(uintptr_t)memory >> 32);
	for (uint32_t k = 0; k < MEMORY_WORDS; k++)
		memory[k] = k;
	gcn_program_invalidate(l.entry, 4096);
	return gcn_wg_start(wg, &l, id, &f);
}

static bool run(const struct vector *v)
{
	struct gcn_fault f = { .kind = GCN_FAULT_NONE };
	enum gcn_status status = GCN_YIELD;
	bool ok = start(v->isa), faulted, expected = false;
	int turns = 10;
	struct item t;

	for (unsigned int k = 0; k < v->sets; k++)
		if (!read_item(&t))
			exit(2);
		else if (ok)
			set(&t, wg->wave[0]);
	if (ok)
		while ((status = gcn_wg_run(wg, 100000, &f)) == GCN_YIELD && turns--)
			; /* s_sleep gives up the rest of a turn */
	faulted = status == GCN_FAULT;
	for (unsigned int k = 0; k < v->wants; k++) {
		if (!read_item(&t))
			exit(2);
		if (!strcmp(t.name, "fault")) {
			expected = true;
			ok &= f.kind == (enum gcn_fault_kind)t.reg && f.trap_id == t.value;
		} else if (ok && !faulted) {
			ok = check(&t, wg->wave[0]);
		}
	}
	if (faulted && !expected)
		puts(f.text);
	ok &= faulted == expected && status != GCN_YIELD;
	if (!ok)
		printf("%u: %s\n", v->line, v->text);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned int bad = 0, count = 0;
	struct vector v;

	in = argc > 1 ? fopen(argv[1], "r") : stdin;
	wg = gcn_wg_create();
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!in || !wg || code == MAP_FAILED)
		return 2;
	while (fscanf(in, " %255[^\n]", v.text) == 1) {
		if (fscanf(in, "%u %u %u %u %u", &v.line, &v.isa, &v.words, &v.sets, &v.wants) != 5 || v.words > 1000)
			return 2;
		for (unsigned int k = 0; k < v.words; k++)
			if (fscanf(in, "%x", &code[k]) != 1)
				return 2;
		code[v.words] = 0xbf810000; /* s_endpgm */
		bad += !run(&v);
		count++;
	}
	gcn_wg_destroy(wg);
	printf("%u vectors, %u wrong\n", count, bad);
	return bad != 0 || count == 0;
}
