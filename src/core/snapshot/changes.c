/* SPDX-License-Identifier: MIT */
/*
 * The ranges that differ from an open snapshot. The kernels that snapshots are
 * compared with say which chunks; for these another one says which bytes, a bit
 * each, and what crosses the link is an eighth of the chunks. The kernel reads
 * the copy where it lies, pinned host memory included; a copy in pageable memory
 * is brought to the device first. Regions without kernels are compared here.
 *
 * What a tool's callback may do meanwhile, looking at the view again included,
 * changes nothing of what is under way: all of that is in memory of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/internal.h"

#define MASK_BYTES (KR_STAGE_BYTES / 4) /* of bits, at the start of the staging buffer */
#define THEN_AT (KR_STAGE_BYTES / 2)    /* copies from pageable memory, in its second half */
#define PIECE_BYTES 65536u
#define WHOLE UINT32_MAX

/* A chunk that differs, or a region that nothing is known of. */
struct dirty {
	uint32_t region, chunk;
};

struct piece {
	uint64_t address;
	uint32_t region, bytes;
	uint32_t skew;   /* bits before its first byte's */
	uint32_t begins; /* its bits, as an offset in bytes, a multiple of 8 */
};

struct changes {
	struct kr_snapshot *s;
	kreplay_memory_range_cb_t callback;
	void *data;
	uint64_t begin, end; /* pending; empty when equal */
	uint32_t region;     /* of what is pending */
	bool stopped;

	struct piece *pieces; /* KR_STAGE_PIECES */
	uint32_t count;
	unsigned char *masks; /* MASK_BYTES */
	size_t used, staged;  /* of the masks, of the staged copies */
};

/* ---- ranges from bits ---- */

static void
report_pending(struct changes *c)
{
	kreplay_memory_range_t range = {.address = c->begin, .bytes = c->end - c->begin};

	if (c->begin != c->end && !c->stopped)
		c->stopped = c->callback(&range, c->data) != 0;
	c->begin = c->end = 0;
}

/* Neighbours are merged before the tool sees them, but not over a region's end. */
static void
add_change(struct changes *c, uint32_t region, uint64_t begin, uint64_t end)
{
	if (c->begin != c->end && begin == c->end && region == c->region) {
		c->end = end;
		return;
	}
	report_pending(c);
	c->region = region;
	c->begin = begin;
	c->end = end;
}

/* The first bit from `at` on that is `set`; `end` when there is none. */
static uint64_t
next_bit(const unsigned char *mask, uint64_t at, uint64_t end, bool set)
{
	while (at < end) {
		uint64_t word, first = at / 64 * 64;

		memcpy(&word, mask + first / 8, sizeof(word));
		if (!set)
			word = ~word;
		if (end - first < 64) /* what is behind the end was never set */
			word &= (UINT64_C(1) << (end - first)) - 1;
		word >>= at % 64;
		if (word != 0)
			return at + (unsigned)__builtin_ctzll(word);
		at = first + 64;
	}
	return end;
}

static void
report_piece(struct changes *c, const struct piece *p)
{
	const unsigned char *mask = c->masks + p->begins;
	uint64_t at = p->skew, end = at + p->bytes;

	while (at < end && !c->stopped) {
		uint64_t from = next_bit(mask, at, end, true);

		at = next_bit(mask, from, end, false);
		if (from < at)
			add_change(c, p->region, p->address + from - p->skew, p->address + at - p->skew);
	}
}

/* ---- bits from the kernel ---- */

static bool
run_kernel(struct changes *c)
{
	struct kr_snapshot *s = c->s;
	char *kernels = kr_stage_for_kernels(s);
	struct kr_job job = {.chunks = (uint64_t)(uintptr_t)s->pieces,
			     .marks = (uint64_t)(uintptr_t)kernels,
			     .count = c->count};

	if (c->staged != 0 && kernels != s->stage &&
	    (!kr_copy_start(s, kernels + THEN_AT, s->stage + THEN_AT, c->staged, KR_TO_DEVICE) || !kr_copy_wait(s)))
		return false;
	if (!kr_device_start(s->device, KR_KERNEL_DIFF, job) || !kr_device_wait(s->device))
		return false;
	if (kernels != s->stage && !kr_fetch(s, 0, kernels, c->used))
		return false;
	memcpy(c->masks, s->stage, c->used);
	return true;
}

static bool
flush(struct changes *c)
{
	bool ok = c->count == 0 || run_kernel(c);
	uint32_t count = ok ? c->count : 0;

	c->count = 0;
	c->used = c->staged = 0;
	for (uint32_t i = 0; i < count && !c->stopped; i++) {
		kr_plan_refresh(c->s); /* a callback may have freed memory */
		if (!c->s->regions[c->pieces[i].region].dead)
			report_piece(c, &c->pieces[i]);
	}
	return ok;
}

static bool
add_piece(struct changes *c, uint32_t region, uint64_t offset, uint32_t bytes)
{
	struct kr_snapshot *s = c->s;
	const struct kr_region *r = &s->regions[region];
	uint64_t memory = r->address + offset;
	uint32_t skew = (uint32_t)(memory & 15u);
	size_t mask = (skew + bytes + 63u) / 64 * 8, room = (skew + bytes + 15u) & ~(size_t)15u;
	bool stage = r->place == KR_IN_PAGEABLE;
	char *copy = r->copy + offset;

	if ((c->count == KR_STAGE_PIECES || c->used + mask > MASK_BYTES ||
	     (stage && THEN_AT + c->staged + room > KR_STAGE_BYTES)) &&
	    !flush(c))
		return false;
	if (c->stopped || r->dead)
		return true;
	if (stage) {
		size_t at = THEN_AT + c->staged + skew; /* as far from a 16-byte border */

		memcpy(s->stage + at, copy, bytes);
		copy = kr_stage_for_kernels(s) + at;
		c->staged += room;
	}
	s->pieces[c->count] = (struct kr_chunk){.memory = memory,
						.copy = (uint64_t)(uintptr_t)copy,
						.bytes = bytes,
						.slot = (uint32_t)(c->used / 2)};
	c->pieces[c->count++] = (struct piece){
		.address = memory, .region = region, .bytes = bytes, .skew = skew, .begins = (uint32_t)c->used};
	c->used += mask;
	return true;
}

static bool
add_chunk(struct changes *c, struct dirty dirty)
{
	const struct kr_region *r = &c->s->regions[dirty.region];
	uint32_t bytes;
	uint64_t at = kr_chunk_span(r, dirty.chunk, &bytes);

	while (bytes > 0 && !c->stopped) {
		uint32_t step = PIECE_BYTES - (uint32_t)((r->address + at) & 15u);

		step = step < bytes ? step : bytes;
		if (!add_piece(c, dirty.region, at, step))
			return false;
		at += step;
		bytes -= step;
	}
	return true;
}

/* ---- bits without a kernel ---- */

static void
compare(unsigned char *mask, const char *now, const char *then, size_t bytes)
{
	memset(mask, 0, (bytes + 63) / 64 * 8);
	for (size_t block = 0; block < bytes; block += 512) {
		size_t end = bytes - block < 512 ? bytes : block + 512;

		if (memcmp(now + block, then + block, end - block) == 0)
			continue;
		for (size_t i = block; i < end; i++)
			mask[i / 8] |= (unsigned char)((now[i] != then[i]) << i % 8);
	}
}

static bool
look_at(struct changes *c, uint32_t region)
{
	struct kr_snapshot *s = c->s;
	const struct kr_region *r = &s->regions[region];

	for (uint64_t at = 0; at < r->bytes && !c->stopped && !r->dead; at += THEN_AT) {
		size_t bytes = r->bytes - at < THEN_AT ? r->bytes - at : THEN_AT;
		struct piece piece = {.address = r->address + at, .region = region, .bytes = (uint32_t)bytes};
		const char *then = r->copy + at;

		if (r->place == KR_IN_DEVICE && !kr_fetch(s, THEN_AT, then, bytes))
			return false;
		if (r->place == KR_IN_DEVICE)
			then = s->stage + THEN_AT;
		if (!kr_fetch(s, 0, (const void *)(uintptr_t)(r->address + at), bytes))
			return false;
		compare(c->masks, s->stage, then, bytes);
		report_piece(c, &piece);
		kr_plan_refresh(s);
	}
	return true;
}

/* ---- all of it ---- */

/* Has the kernels mark every chunk that differs. */
static bool
mark(struct kr_snapshot *s)
{
	if (!s->list_current && !kr_chunks_build(s))
		return false;
	if (s->chunk_count == 0)
		return true;
	return kr_chunks_start(s, KR_KERNEL_SYNC, 0, s->synced, KR_JOB_TO_MEMORY | KR_JOB_LOOK) &&
	       kr_chunks_start(s, KR_KERNEL_HASH, s->synced, s->chunk_count - s->synced, 0) &&
	       kr_device_wait(s->device);
}

/* What there is to look at, by address; takes the marks away. NULL: no memory. */
static struct dirty *
collect(struct kr_snapshot *s, size_t *count)
{
	struct dirty *list;
	size_t most = s->count + 1;

	for (uint32_t i = 0; i < s->chunk_count; i++)
		most += s->marks[i] != 0;
	list = malloc(most * sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < s->count && list != NULL; i++) {
		const struct kr_region *r = &s->regions[i];

		if (r->dead || r->watched)
			continue;
		if (r->chunks == 0)
			list[(*count)++] = (struct dirty){(uint32_t)i, WHOLE};
		for (uint32_t k = 0; k < r->chunks; k++)
			if (s->marks[r->first + k] != 0)
				list[(*count)++] = (struct dirty){(uint32_t)i, k};
	}
	if (s->marks != NULL)
		memset(s->marks, 0, s->chunk_count * sizeof(*s->marks));
	return list;
}

kreplay_status_t
kr_changes_each(struct kr_snapshot *s, kreplay_memory_range_cb_t callback, void *data)
{
	struct changes c = {.s = s, .callback = callback, .data = data};
	bool ok = mark(s), memory;
	struct dirty *list;
	size_t count;

	list = collect(s, &count);
	c.pieces = malloc(KR_STAGE_PIECES * sizeof(*c.pieces));
	c.masks = malloc(MASK_BYTES);
	memory = list != NULL && c.pieces != NULL && c.masks != NULL;
	for (size_t i = 0; i < count && ok && memory && !c.stopped; i++) {
		if (list[i].chunk == WHOLE)
			ok = flush(&c) && look_at(&c, list[i].region);
		else
			ok = add_chunk(&c, list[i]);
	}
	if (ok && memory && !c.stopped && flush(&c))
		report_pending(&c);
	else if (!c.stopped)
		ok = false;
	free(list);
	free(c.pieces);
	free(c.masks);
	if (!memory)
		return KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES;
	return ok ? KREPLAY_STATUS_SUCCESS : KREPLAY_STATUS_ERROR;
}
