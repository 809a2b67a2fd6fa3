/* SPDX-License-Identifier: MIT */
/* Runner of vectors.py: code, registers before, registers after. One wave of 64 lanes. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "inst.h"

struct item {
	char name[8];
	int reg, lane;
	unsigned long long value;
};

static uint32_t *code;
static uint32_t memory[4096];

static bool read_item(struct item *t)
{
	return scanf("%7s %d %d %llx", t->name, &t->reg, &t->lane, &t->value) == 4;
}

static uint64_t *pair(const char *name, struct gcn_wave *w)
{
	return (uint64_t *)(void *)(!strcmp(name, "vcc") ? &w->s[SGPR_VCC] : &w->s[SGPR_EXEC]);
}

static uint32_t *single(const struct item *t, struct gcn_wave *w)
{
	if (!strcmp(t->name, "scc"))
		return &w->scc;
	if (!strcmp(t->name, "m0"))
		return &w->s[SGPR_M0];
	if (!strcmp(t->name, "mode"))
		return &w->mode;
	return !strcmp(t->name, "s") ? &w->s[t->reg] : NULL;
}

static void set(const struct item *t, struct gcn_wave *w)
{
	uint32_t *v = w->v[t->reg + (t->name[0] == 'a' ? ACC_BASE : 0)], *s = single(t, w);

	if (s) {
		*s = (uint32_t)t->value;
		if (!strcmp(t->name, "mode"))
			gcn_mode_changed(w);
	} else if (!strcmp(t->name, "vcc") || !strcmp(t->name, "exec")) {
		*pair(t->name, w) = t->value;
	} else {
		for (int l = 0; l < LANES; l++)
			if (t->lane < 0 || t->lane == l)
				v[l] = t->name[0] == 'L' ? (uint32_t)l : (uint32_t)t->value;
	}
}

static bool check(const struct item *t, struct gcn_wave *w, unsigned int line)
{
	const uint32_t *v = w->v[t->reg + (t->name[0] == 'a' ? ACC_BASE : 0)], *s = single(t, w);

	if (!strcmp(t->name, "vcc") || !strcmp(t->name, "exec") || s) {
		uint64_t got = s ? *s : *pair(t->name, w);

		if (got == t->value)
			return true;
		printf("line %u: %s%d is %llx, not %llx\n", line, t->name, t->reg, (unsigned long long)got, t->value);
		return false;
	}
	for (int l = 0; l < LANES; l++)
		if ((t->lane < 0 ? EXEC(w) >> l & 1 : t->lane == l) && v[l] != (uint32_t)t->value) {
			printf("line %u: %s%d[%d] is %08x, not %08llx\n", line, t->name, t->reg, l, v[l], t->value);
			return false;
		}
	return true;
}

static bool run(unsigned int line, unsigned int isa, unsigned int sets, unsigned int wants)
{
	struct gcn_launch l = {
		.isa = (enum gcn_isa)isa, .grid_size = { 64, 1, 1 }, .workgroup_size = { 64, 1, 1 },
		.entry = (uint64_t)(uintptr_t)code, .vgpr_count = 512, .accum_offset = 256, .sgpr_count = 104,
		.mode = 0x3f0, .sgpr_private_segment_buffer = -1, .sgpr_flat_scratch_init = -1,
		.lds_bytes = 4096, .private_bytes = 256, .user_sgpr_count = 2,
		.lds_aperture = (uint64_t)1 << 48, .private_aperture = (uint64_t)2 << 48,
	};
	const uint32_t id[3] = { 0, 0, 0 };
	struct gcn_wg *wg = gcn_wg_create();
	struct gcn_fault f;
	struct item t;
	bool ok = true;

	/* s[0:1]: 16 KiB of memory holding its own word numbers. */
	l.user_sgpr[0] = (uint32_t)(uintptr_t)memory;
	l.user_sgpr[1] = (uint32_t)((uint64_t)(uintptr_t)memory >> 32);
	for (uint32_t k = 0; k < 4096; k++)
		memory[k] = k;
	gcn_program_invalidate(l.entry, 4096);
	if (!gcn_wg_start(wg, &l, id, &f))
		return false;
	for (; sets; sets--)
		if (read_item(&t))
			set(&t, wg->wave[0]);
	if (gcn_wg_run(wg, 100000, &f) != GCN_DONE) {
		printf("line %u: %s\n", line, f.text);
		ok = false;
	}
	for (; wants; wants--)
		if (read_item(&t) && ok)
			ok = check(&t, wg->wave[0], line);
	gcn_wg_destroy(wg);
	return ok;
}

int main(void)
{
	unsigned int line, isa, words, sets, wants, bad = 0, count = 0;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (scanf("%u %u %u %u %u", &line, &isa, &words, &sets, &wants) == 5) {
		for (unsigned int k = 0; k < words && k < 1000; k++)
			if (scanf("%x", &code[k]) != 1)
				return 2;
		code[words] = 0xbf810000; /* s_endpgm */
		bad += !run(line, isa, sets, wants);
		count++;
	}
	printf("%u vectors, %u wrong\n", count, bad);
	return bad != 0 || count == 0;
}
