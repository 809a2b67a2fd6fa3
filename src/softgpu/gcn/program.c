/* SPDX-License-Identifier: MIT */
/*
 * Predecoded code. A program is everything decoded for one generation since
 * the last invalidation; work-groups hold a reference. Invalidation starts a
 * new program, so nothing that runs loses its instructions.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inst.h"

#define BLOCK_MAX 256   /* instructions; longer runs continue in the next block */
#define BUCKETS 4096

struct block {
	struct block *next;
	uint64_t start, end;
	struct gcn_consts *consts;
	struct gcn_inst inst[];
};

struct gcn_program {
	unsigned int refs; /* under `lock`; the current one holds a reference */
	enum gcn_isa isa;
	uint64_t start, end; /* hull of all blocks */
	struct block *bucket[BUCKETS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gcn_program *current[3];

static void unref_locked(struct gcn_program *p)
{
	if (!p || --p->refs)
		return;
	for (size_t b = 0; b < BUCKETS; b++)
		while (p->bucket[b]) {
			struct block *k = p->bucket[b];

			p->bucket[b] = k->next;
			gcn_consts_free(k->consts);
			free(k);
		}
	free(p);
}

struct gcn_program *gcn_program_get(enum gcn_isa isa)
{
	struct gcn_program *p;

	pthread_mutex_lock(&lock);
	p = current[isa];
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (p) {
			p->refs = 1;
			p->isa = isa;
			p->start = ~(uint64_t)0;
			current[isa] = p;
		}
	}
	if (p)
		p->refs++;
	pthread_mutex_unlock(&lock);
	return p;
}

void gcn_program_put(struct gcn_program *p)
{
	pthread_mutex_lock(&lock);
	unref_locked(p);
	pthread_mutex_unlock(&lock);
}

bool gcn_program_current(const struct gcn_program *p, enum gcn_isa isa)
{
	bool r;

	pthread_mutex_lock(&lock);
	r = current[isa] == p;
	pthread_mutex_unlock(&lock);
	return r;
}

void gcn_program_invalidate(uint64_t start, uint64_t size)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++) {
		struct gcn_program *p = current[i];

		if (!p || p->start >= start + size || p->end <= start)
			continue;
		current[i] = NULL;
		unref_locked(p);
	}
	pthread_mutex_unlock(&lock);
}

static size_t bucket_of(uint64_t pc)
{
	return (size_t)((pc >> 2) * 0x9e3779b97f4a7c15 >> 52) % BUCKETS;
}

static struct block *lookup_locked(struct gcn_program *p, uint64_t pc)
{
	struct block *b = p->bucket[bucket_of(pc)];

	while (b && b->start != pc)
		b = b->next;
	return b;
}

static bool ends_block(const struct gcn_inst *in)
{
	unsigned int op;

	if (in->fn == gcn_illegal)
		return true;
	op = in->row->op;
	if (in->row->enc == ENC_SOPP)
		return op == 0x01 || op == 0x02 || op == 0x1b || op == 0x1e;
	return in->row->enc == ENC_SOP1 && (op == 0x1d || op == 0x1e);
}

/* Code is read as it lies in memory; a fault here unwinds to gcn_wg_run, so no
 * lock is held and nothing is allocated. Words beyond the page of the last
 * instruction are read only when an instruction needs them. */
static void read_words(uint32_t out[4], uint64_t pc)
{
	size_t left = (4096 - (pc & 4095)) / 4, n = left < 3 ? left : 3;

	memset(out, 0, 16);
	for (size_t k = 0; k < n; k++)
		out[k] = ((const volatile uint32_t *)gcn_host(pc))[k];
}

static struct block *decode_block(struct gcn_program *p, uint64_t pc)
{
	struct gcn_inst tmp;
	uint32_t words[BLOCK_MAX + 2][4];
	struct gcn_consts *consts = NULL;
	struct gcn_consts *scratch = NULL;
	struct block *b;
	unsigned int n = 0;
	uint64_t at = pc;

	/* First pass only finds the extent: what it allocates must not be lost when
	 * reading faults, so sizes come from a decode into a list freed at once. */
	do {
		unsigned int size;

		read_words(words[n], at);
		size = gcn_decode(&tmp, p->isa, at, words[n], &scratch);
		gcn_consts_free(scratch);
		scratch = NULL;
		if (size > 4 && (at & 4095) + size > 4096)
			for (unsigned int k = 1; k < size / 4; k++)
				words[n][k] = ((const volatile uint32_t *)gcn_host(at))[k];
		at += size;
		n++;
	} while (!ends_block(&tmp) && n < BLOCK_MAX);
	b = aligned_alloc(64, (sizeof(*b) + (n + 1) * sizeof(b->inst[0]) + 63) & ~(size_t)63);
	if (!b)
		return NULL;
	at = pc;
	for (unsigned int k = 0; k < n; k++)
		at += gcn_decode(&b->inst[k], p->isa, at, words[k], &consts);
	memset(&b->inst[n], 0, sizeof(b->inst[n]));
	b->inst[n].fn = gcn_link;
	b->inst[n].pc = b->inst[n].target_pc = at;
	b->consts = consts;
	b->start = pc;
	b->end = at;
	return b;
}

const struct gcn_inst *gcn_program_find(struct gcn_program *p, uint64_t pc, struct gcn_wave *w)
{
	struct block *b, *have;

	if (pc & 3)
		gcn_raise(w, GCN_FAULT_ILLEGAL, pc, "program counter 0x%llx is not aligned",
		          (unsigned long long)pc);
	pthread_mutex_lock(&lock);
	b = lookup_locked(p, pc);
	pthread_mutex_unlock(&lock);
	if (b)
		return b->inst;
	w->pc = pc;
	b = decode_block(p, pc);
	if (!b)
		gcn_raise(w, GCN_FAULT_RESOURCE, pc, "no memory for decoded code");
	pthread_mutex_lock(&lock);
	have = lookup_locked(p, pc);
	if (!have) {
		b->next = p->bucket[bucket_of(pc)];
		p->bucket[bucket_of(pc)] = b;
		if (b->start < p->start)
			p->start = b->start;
		if (b->end > p->end)
			p->end = b->end;
	}
	pthread_mutex_unlock(&lock);
	if (have) {
		gcn_consts_free(b->consts);
		free(b);
		return have->inst;
	}
	return b->inst;
}
