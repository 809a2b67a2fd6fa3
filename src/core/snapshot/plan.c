/* SPDX-License-Identifier: MIT */
/* What is in scope, and where the copy of each region goes. */
#include <stdlib.h>
#include <string.h>

#include "core/code.h"
#include "core/log.h"
#include "core/snapshot/internal.h"
#include "core/tracker.h"

#define SMALLEST_CHUNK 1024u

/* ---- collecting ---- */

static bool
add_region(struct kr_snapshot *s, struct kr_region region, bool wanted)
{
	region.place = KR_NOWHERE;
	region.fresh = true;
	region.watched = !wanted;
	if (region.watched && !kr_options_get()->verify_scope)
		return true;
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct kr_region *grown = realloc(s->regions, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		s->regions = grown;
		s->room = room;
	}
	s->regions[s->count++] = region;
	return true;
}

static bool
visit_allocation(const struct kr_allocation *a, void *data)
{
	struct kr_region region = {
		.address = a->base, .bytes = a->size, .generation = a->generation, .kind = a->region_kind};

	return a->size == 0 || add_region(data, region, kr_scope_wants(data, a->base, a->size));
}

static bool
visit_segment(const struct kr_segment *segment, void *data)
{
	struct kr_region region = {.address = segment->address,
				   .bytes = segment->size,
				   .generation = segment->generation,
				   .kind = KREPLAY_REGION_VARIABLE};

	/* Variables are reached without an argument. */
	return add_region(data, region, true);
}

static int
by_address(const void *a, const void *b)
{
	const struct kr_region *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Sorted, and usually sorted the other way round before: a list grows at its head. */
static void
sort_regions(struct kr_snapshot *s)
{
	size_t up = 0, down = 0;

	for (size_t i = 1; i < s->count; i++) {
		up += s->regions[i - 1].address < s->regions[i].address;
		down += s->regions[i - 1].address > s->regions[i].address;
	}
	if (down == 0)
		return;
	if (up != 0) {
		qsort(s->regions, s->count, sizeof(*s->regions), by_address);
		return;
	}
	for (size_t i = 0; i < s->count / 2; i++) {
		struct kr_region r = s->regions[i];

		s->regions[i] = s->regions[s->count - 1 - i];
		s->regions[s->count - 1 - i] = r;
	}
}

static kreplay_decline_t
collect(struct kr_snapshot *s)
{
	s->count = 0;
	if (!kr_tracker_complete())
		return KREPLAY_DECLINE_OUT_OF_MEMORY;
	if (!kr_code_known(s->agent))
		return KREPLAY_DECLINE_VARIABLES_UNKNOWN;
	s->removals = kr_tracker_removals();
	s->code_removals = kr_code_removals();
	if (!kr_tracker_each(s->agent, visit_allocation, s) || !kr_code_each(s->agent, visit_segment, s))
		return KREPLAY_DECLINE_OUT_OF_MEMORY;
	sort_regions(s);
	s->bytes = 0;
	for (size_t i = 0; i < s->count; i++)
		s->bytes += s->regions[i].watched ? 0 : s->regions[i].bytes;
	return KREPLAY_DECLINE_NONE;
}

/* ---- carrying over ---- */

static void
give_back(struct kr_snapshot *s, struct kr_region *r)
{
	if (r->place != KR_NOWHERE)
		kr_store_give(&s->store[r->place], kr_region_slot(r), kr_slot_bytes(r->bytes));
	if (r->hashes != 0)
		kr_store_give(&s->hashes[r->hashes_on_host], (void *)(uintptr_t)r->hashes, 16u * (size_t)kr_chunk_count(r));
	r->place = KR_NOWHERE;
	r->copy = NULL;
	r->hashes = 0;
}

/* A region of the same place and length takes over its predecessor's copy, even
 * when it is another allocation by now: what the copy says is compared with the
 * memory before it is believed. */
static void
carry_over(struct kr_snapshot *s)
{
	size_t j = 0;

	for (size_t i = 0; i < s->former_count; i++) {
		struct kr_region *old = &s->former[i], *r;

		while (j < s->count && s->regions[j].address < old->address)
			j++;
		r = j < s->count && s->regions[j].address == old->address ? &s->regions[j] : NULL;
		if (r == NULL || r->bytes != old->bytes || r->watched != old->watched || r->place != KR_NOWHERE ||
		    r->hashes != 0) {
			give_back(s, old);
			continue;
		}
		r->place = old->place;
		r->copy = old->copy;
		r->hashes = old->hashes;
		r->hashes_on_host = old->hashes_on_host;
		r->chunk_bytes = old->chunk_bytes;
		r->fresh = old->fresh;
	}
	s->former_count = 0;
}

void
kr_plan_forget(struct kr_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->regions[i].fresh = true;
	if (s->marks != NULL)
		memset(s->marks, 0, s->marks_bytes);
}

void
kr_plan_drop(struct kr_snapshot *s)
{
	for (int i = 0; i < KR_PLACES; i++)
		kr_store_release(&s->store[i]);
	for (int i = 0; i < 2; i++)
		kr_store_release(&s->hashes[i]);
	kr_chunks_drop(s);
	kr_stage_drop(s);
	free(s->regions);
	free(s->former);
	s->regions = s->former = NULL;
	s->count = s->room = s->former_count = s->former_room = 0;
}

/* ---- room ---- */

struct room {
	struct kr_snapshot *s;
	bool host_known; /* looked up when it is first asked for: that takes a few files */
	uint64_t most[KR_PLACES]; /* bytes of copies; pinned: all of the host's */
	uint64_t used[KR_PLACES];
	uint64_t both; /* a budget in bytes is one pot */
};

static uint64_t
device_room(struct kr_snapshot *s)
{
	struct kr_scope scope;
	uint64_t taken;

	kr_tracker_scope(s->agent, &scope);
	taken = scope.bytes + scope.left_out[KREPLAY_LEFT_OUT_FINE_GRAINED] + scope.left_out[KREPLAY_LEFT_OUT_EXECUTABLE];
	return s->agent->memory_bytes > taken ? s->agent->memory_bytes - taken : 0;
}

static uint64_t
held(const struct kr_snapshot *s, enum kr_place place)
{
	return place == KR_IN_DEVICE ? s->store[place].bytes
				     : s->store[KR_IN_PINNED].bytes + s->store[KR_IN_PAGEABLE].bytes;
}

static void
measure_room(struct kr_snapshot *s, struct room *room)
{
	struct kr_budget budget = kr_options_get()->budget;
	enum kr_snapshot_mode mode = kr_options_get()->snapshot_mode;

	*room = (struct room){.s = s, .both = budget.percent == 0 ? budget.bytes : UINT64_MAX};
	/* What is retained already counts as available. */
	if (mode == KR_SNAPSHOT_AUTO || mode == KR_SNAPSHOT_DEVICE)
		room->most[KR_IN_DEVICE] = kr_budget_bytes(budget, device_room(s));
	room->host_known = mode == KR_SNAPSHOT_DEVICE;
}

static void
measure_host(struct room *room)
{
	room->host_known = true;
	room->most[KR_IN_PINNED] = kr_budget_bytes(kr_options_get()->budget,
						   kr_host_memory_available() + held(room->s, KR_IN_PINNED));
}

static bool
fits(struct room *room, enum kr_place place, uint64_t bytes)
{
	if (place == KR_IN_PAGEABLE)
		place = KR_IN_PINNED;
	if (place == KR_IN_PINNED && !room->host_known)
		measure_host(room);
	if (room->used[place] + bytes > room->most[place] ||
	    room->used[KR_IN_DEVICE] + room->used[KR_IN_PINNED] + bytes > room->both)
		return false;
	room->used[place] += bytes;
	return true;
}

/* ---- placing ---- */

static bool
is_placed(const struct kr_region *r)
{
	return r->watched || r->copy != NULL;
}

/* Decides the tier of every region without a place; nothing is allocated yet. */
static bool
assign(struct kr_snapshot *s, struct room *room)
{
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (!r->watched && r->copy != NULL && !fits(room, r->place, kr_slot_bytes(r->bytes)))
			return false;
	}
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (is_placed(r))
			continue;
		if (fits(room, KR_IN_DEVICE, kr_slot_bytes(r->bytes)))
			r->place = KR_IN_DEVICE;
		else if (fits(room, KR_IN_PINNED, kr_slot_bytes(r->bytes)))
			r->place = KR_IN_PINNED;
		else
			return false;
	}
	return true;
}

/* Everything starts anew: copies that were kept, or holes between them, stand in
 * the way of the budget. */
static void
start_over(struct kr_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		r->place = KR_NOWHERE;
		r->copy = NULL;
		r->hashes = 0;
		r->fresh = true;
	}
	for (int i = 0; i < KR_PLACES; i++)
		kr_store_release(&s->store[i]);
	for (int i = 0; i < 2; i++)
		kr_store_release(&s->hashes[i]);
}

static bool
in_both(const struct kr_snapshot *s, const struct room *room, uint64_t more)
{
	return held(s, KR_IN_DEVICE) + held(s, KR_IN_PINNED) + more <= room->both;
}

/* A slot for the region in the tier that it was assigned; `more` is what this
 * region and those behind it need. */
static bool
place_in(struct kr_snapshot *s, struct kr_region *r, uint64_t more, const struct room *room)
{
	enum kr_place pot = r->place == KR_IN_PAGEABLE ? KR_IN_PINNED : r->place;
	struct kr_store *store = &s->store[r->place];
	size_t bytes = kr_slot_bytes(r->bytes);
	char *slot = kr_store_take(store, bytes);
	uint64_t grown = held(s, pot) + more + KR_SLOT_ALIGN;

	if (slot == NULL && grown <= room->most[pot] && in_both(s, room, more)) {
		/* A little above what is needed, so that a program that grows slowly
		 * does not make us allocate at every window. */
		bool ok = grown + more / 8 <= room->most[pot] && in_both(s, room, more + more / 8) &&
			  kr_store_grow(store, more + more / 8);

		if (ok || kr_store_grow(store, more))
			slot = kr_store_take(store, bytes);
	}
	/* The copies of one window may well be apart. */
	if (slot == NULL && held(s, pot) + bytes <= room->most[pot] && in_both(s, room, bytes) &&
	    kr_store_grow(store, bytes))
		slot = kr_store_take(store, bytes);
	if (slot != NULL)
		r->copy = slot + (r->address & 15u);
	return slot != NULL;
}

/* Allocates for what was assigned; a tier that does not hold it after all gives
 * way to the next. */
static bool
allocate(struct kr_snapshot *s, struct room *room)
{
	uint64_t more[KR_PLACES] = {0};
	bool device_only = kr_options_get()->snapshot_mode == KR_SNAPSHOT_DEVICE;

	for (size_t i = 0; i < s->count; i++)
		if (!is_placed(&s->regions[i]))
			more[s->regions[i].place] += kr_slot_bytes(s->regions[i].bytes);
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];
		size_t bytes = kr_slot_bytes(r->bytes);

		while (!is_placed(r)) {
			uint64_t rest = more[r->place];

			if (place_in(s, r, rest, room)) {
				more[r->place] -= bytes;
				break;
			}
			more[r->place] -= bytes;
			if (device_only || r->place == KR_IN_PAGEABLE)
				return false;
			if (r->place == KR_IN_DEVICE && !fits(room, KR_IN_PINNED, bytes))
				return false;
			r->place++;
			more[r->place] += bytes;
			if (r->place == KR_IN_PAGEABLE)
				kr_log_once("pageable", KR_LOG_WARN, "snapshot",
					    "no pinned memory for the snapshot: pageable memory, which is slower");
		}
	}
	return true;
}

/* Room for the hashes of a region. The kernels reach them over the link as well,
 * which is slower, but little: it is 16 bytes a chunk. */
static void
give_hashes(struct kr_snapshot *s, struct kr_region *r)
{
	size_t bytes = 16u * (size_t)kr_chunk_count(r);
	void *hashes = NULL;

	for (int i = 0; i < 2 && hashes == NULL; i++) {
		hashes = kr_store_take(&s->hashes[i], bytes);
		if (hashes == NULL && kr_store_grow(&s->hashes[i], bytes))
			hashes = kr_store_take(&s->hashes[i], bytes);
		r->hashes_on_host = i != 0;
	}
	r->hashes = (uint64_t)(uintptr_t)hashes;
	r->fresh = true;
}

/* Whether the kernels look after a region, and how it is cut for them. */
static void
cut(struct kr_snapshot *s, struct kr_region *r)
{
	uint32_t most = (uint32_t)kr_options_get()->chunk_bytes, bytes = most;

	r->chunks = 0;
	if (s->device == NULL)
		return;
	if (r->place == KR_IN_DEVICE) {
		r->chunk_bytes = most;
		r->chunks = kr_chunk_count(r);
		return;
	}
	/* A small write in a region should not move much of it over the link. */
	if (r->hashes == 0) {
		while (bytes > SMALLEST_CHUNK && bytes > r->bytes / 64)
			bytes /= 2;
		r->chunk_bytes = bytes;
		give_hashes(s, r);
	}
	r->chunks = r->hashes != 0 ? kr_chunk_count(r) : 0;
}

static kreplay_decline_t
place_all(struct kr_snapshot *s)
{
	struct room room;
	size_t placed = 0;

	/* What is kept was within the budget when it was allocated. */
	while (placed < s->count && is_placed(&s->regions[placed]))
		placed++;
	if (placed == s->count)
		return KREPLAY_DECLINE_NONE;
	measure_room(s, &room);
	if (!assign(s, &room))
		return KREPLAY_DECLINE_OVER_BUDGET;
	return allocate(s, &room) ? KREPLAY_DECLINE_NONE : KREPLAY_DECLINE_OUT_OF_MEMORY;
}

kreplay_decline_t
kr_plan(struct kr_snapshot *s)
{
	struct kr_region *swap = s->former;
	size_t swap_room = s->former_room;
	kreplay_decline_t why;

	s->former = s->regions;
	s->former_count = s->count;
	s->former_room = s->room;
	s->regions = swap;
	s->room = swap_room;
	why = collect(s);
	carry_over(s);
	if (why != KREPLAY_DECLINE_NONE)
		return why;
	why = place_all(s);
	if (why != KREPLAY_DECLINE_NONE && s->store[KR_IN_DEVICE].bytes + held(s, KR_IN_PINNED) != 0) {
		start_over(s);
		why = place_all(s);
	}
	s->plain = false;
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (!is_placed(r)) { /* on the way to a decline */
			r->place = KR_NOWHERE;
			continue;
		}
		cut(s, r);
		s->plain |= r->chunks == 0 && !r->watched;
	}
	return why;
}

/* ---- during a window ---- */

static bool
is_alive(const struct kr_region *r)
{
	return r->kind == KREPLAY_REGION_VARIABLE ? kr_code_alive(r->generation)
						  : kr_tracker_alive(r->address, r->generation);
}

bool
kr_plan_refresh(struct kr_snapshot *s)
{
	bool some = false;

	if (s->removals == kr_tracker_removals() && s->code_removals == kr_code_removals())
		return false;
	s->removals = kr_tracker_removals();
	s->code_removals = kr_code_removals();
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (!r->dead && !is_alive(r)) {
			r->dead = some = true;
			/* What comes to that address next is not what the copy tells of. */
			r->fresh = true;
			s->list_current = false;
		}
	}
	return some;
}
