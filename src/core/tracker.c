/* SPDX-License-Identifier: MIT */
#include "core/tracker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/lock.h"
#include "kreplay/kreplay.h"

/* HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG of newer runtimes (hsa_ext_amd.h): memory
 * for code, which a replay must not touch. */
#define EXECUTABLE_FLAG (1u << 2)

/*
 * Three structures. What has just been allocated is `pending`, since much of it is freed at once, and then nothing else
 * has to be touched. The rest is in a hash table by base address, which is all that a free needs: allocations and frees
 * must cost next to nothing, since programs make hundreds of thousands. And there is an index by address for what
 * is asked seldom (an address inside an allocation, the regions of a window), which is brought up to date only then: what
 * was added since waits in `fresh`, unless that is so much that the index had better be made anew.
 */
struct entry {
	uintptr_t base; /* 0: free */
	size_t size;
	uint64_t generation; /* another one in the table: that life is over */
	uint8_t list;        /* of its owner, 0 for host memory */
	uint8_t kind, region_kind;
	int8_t left_out;
};

struct table {
	struct entry *slot;
	size_t mask, used;
};

struct index {
	struct entry *item;
	size_t count, room;
};

/* An owner, and the sums of its allocations. The first is the host. */
struct list {
	struct kr_agent *agent;
	struct kr_scope scope;
};

/* What comes from a pool is. */
struct pool {
	uint64_t handle;
	enum kr_pool_kind kind;
	uint8_t list;
};

#define MAX_LISTS 65
#define MAX_PENDING 8

static struct {
	_Alignas(64) struct kr_lock lock;
	unsigned pending_count;
	struct pool last; /* most allocations are from the pool of the one before */
	struct table table;
	_Alignas(64) struct entry pending[MAX_PENDING]; /* two a cache line */
	struct index sorted, fresh;
	bool stale; /* the index is to be made from the table */
	uint64_t generation;
	struct list list[MAX_LISTS];
	unsigned lists; /* without the host's */
	_Atomic unsigned attached;
	_Atomic uint64_t removals;
	_Atomic bool incomplete; /* an allocation could not be noted: nothing may be replayed */
} tracker;

/* 0: there is none. */
static uint8_t
list_of(const struct kr_agent *agent)
{
	for (unsigned i = 1; i <= tracker.lists; i++)
		if (tracker.list[i].agent == agent)
			return (uint8_t)i;
	return 0;
}

/* The same, made when there is none yet. */
static uint8_t
list_for(struct kr_agent *agent)
{
	uint8_t list = list_of(agent);

	if (list != 0)
		return list;
	if (tracker.lists + 1 == MAX_LISTS) {
		atomic_store(&tracker.incomplete, true);
		return 0;
	}
	tracker.list[++tracker.lists].agent = agent;
	return (uint8_t)tracker.lists;
}

static int
left_out_class(enum kr_pool_kind kind, uint32_t flags)
{
	if (flags & EXECUTABLE_FLAG)
		return KREPLAY_LEFT_OUT_EXECUTABLE;
	switch (kind) {
	case KR_POOL_DEVICE:
		return -1;
	case KR_POOL_KERNARG:
		return KREPLAY_LEFT_OUT_KERNARG;
	case KR_POOL_FINE_GRAINED:
		return KREPLAY_LEFT_OUT_FINE_GRAINED;
	default:
		return KREPLAY_LEFT_OUT_HOST;
	}
}

/* Adds (sign 1) or takes away (-1) an allocation from the sums. */
static void
account(const struct entry *e, int sign)
{
	struct kr_scope *scope = &tracker.list[e->list].scope;
	uint64_t delta = sign > 0 ? e->size : -(uint64_t)e->size;

	if (e->left_out >= 0) {
		scope->left_out[e->left_out] += delta;
	} else {
		scope->bytes += delta;
		scope->regions += (size_t)sign;
	}
}

static void
tell(const struct entry *e, struct kr_allocation *told)
{
	*told = (struct kr_allocation){.base = e->base,
				       .size = e->size,
				       .kind = e->kind,
				       .region_kind = e->region_kind,
				       .left_out = e->left_out,
				       .generation = e->generation,
				       .agent = tracker.list[e->list].agent};
}

/* ---- by base address ---- */

/* Neighbours in memory, down to pages, are neighbours in the table: programs often free in the order of their
 * allocations, and the table is larger than the caches. */
static size_t
hash(uintptr_t base)
{
	uint64_t block = ((uint64_t)base >> 16) * UINT64_C(0x9e3779b97f4a7c15) >> 24;

	return (size_t)(block << 4 | (base >> 12 & 15));
}

/* The slot of a base, or the free one where it belongs. */
static inline __attribute__((always_inline)) size_t
slot_of(uintptr_t base)
{
	size_t i = hash(base) & tracker.table.mask;

	while (tracker.table.slot[i].base != 0 && tracker.table.slot[i].base != base)
		i = (i + 1) & tracker.table.mask;
	return i;
}

/* In the table. */
static struct entry *
lookup(uintptr_t base)
{
	struct entry *e = tracker.table.slot != NULL ? &tracker.table.slot[slot_of(base)] : NULL;

	return e != NULL && e->base != 0 ? e : NULL;
}

static void
set_table(struct entry *slot, size_t mask)
{
	__atomic_store_n(&tracker.table.slot, slot, __ATOMIC_RELAXED); /* for prefetch */
	__atomic_store_n(&tracker.table.mask, mask, __ATOMIC_RELAXED);
}

static bool
reserve_slot(void)
{
	struct table old = tracker.table;
	size_t size = old.slot != NULL ? (old.mask + 1) * 2 : 1024;
	struct entry *slot;

	if (old.slot != NULL && (old.used + 1) * 2 <= old.mask)
		return true;
	slot = calloc(size, sizeof(*slot));
	if (slot == NULL)
		return false;
	set_table(slot, size - 1);
	for (size_t i = 0; old.slot != NULL && i <= old.mask; i++)
		if (old.slot[i].base != 0)
			slot[slot_of(old.slot[i].base)] = old.slot[i];
	free(old.slot);
	return true;
}

/* Takes the entry out and closes the gap: what was probed over it moves up. */
static void
clear_slot(size_t gap)
{
	struct table *t = &tracker.table;

	for (size_t i = (gap + 1) & t->mask; t->slot[i].base != 0; i = (i + 1) & t->mask) {
		size_t home = hash(t->slot[i].base) & t->mask;

		if (((i - home) & t->mask) >= ((i - gap) & t->mask)) {
			t->slot[gap] = t->slot[i];
			gap = i;
		}
	}
	t->slot[gap].base = 0;
	t->used--;
}

/* Out of the table, where it is. */
static void
drop(struct entry *e)
{
	atomic_store_explicit(&tracker.removals, tracker.removals + 1, memory_order_release);
	account(e, -1);
	clear_slot((size_t)(e - tracker.table.slot));
}

/* ---- by any address ---- */

static bool
is_live(const struct entry *item)
{
	const struct entry *e = lookup(item->base);

	return e != NULL && e->generation == item->generation;
}

static int
by_base(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

static bool
grow(struct index *index)
{
	size_t room = index->room != 0 ? index->room * 2 : 256;
	struct entry *grown = realloc(index->item, room * sizeof(*grown));

	if (grown == NULL)
		return false;
	index->item = grown;
	index->room = room;
	return true;
}

static bool
push(struct index *index, const struct entry *e)
{
	if (index->count == index->room && !grow(index))
		return false;
	index->item[index->count++] = *e;
	return true;
}

static void
drop_dead(struct index *index)
{
	size_t kept = 0;

	for (size_t i = 0; i < index->count; i++)
		if (is_live(&index->item[i]))
			index->item[kept++] = index->item[i];
	index->count = kept;
}

/* Of two that overlap, the older was freed behind our back. */
static void
drop_overlapped(void)
{
	struct index *s = &tracker.sorted;
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct entry *next = &s->item[i];

		while (kept > 0) {
			const struct entry *last = &s->item[kept - 1];

			if (last->base + last->size <= next->base)
				break;
			if (last->generation > next->generation) {
				drop(lookup(next->base));
				next = NULL;
				break;
			}
			drop(lookup(last->base));
			kept--;
		}
		if (next != NULL)
			s->item[kept++] = *next;
	}
	s->count = kept;
}

/* From `pending` to the table and to what waits for the index. */
static bool
enter(const struct entry *e)
{
	struct entry *older;

	if (!reserve_slot())
		return false;
	older = lookup(e->base);
	if (older != NULL)
		drop(older);
	tracker.table.slot[slot_of(e->base)] = *e;
	tracker.table.used++;
	account(e, 1);
	if (!tracker.stale && (tracker.fresh.count > tracker.table.used / 4 + 1024 || !push(&tracker.fresh, e)))
		tracker.stale = true;
	return true;
}

/* The slot is all that comes from far away. With or without the lock. */
static void
prefetch(uintptr_t base)
{
	struct entry *slot = __atomic_load_n(&tracker.table.slot, __ATOMIC_RELAXED);
	size_t mask = __atomic_load_n(&tracker.table.mask, __ATOMIC_RELAXED);

	/* Of two tables, perhaps: any address may be prefetched. */
	__builtin_prefetch((void *)((uintptr_t)slot + (hash(base) & mask) * sizeof(*slot)), 1);
}

/* Before all that looks at more than one address. */
static void
enter_pending(void)
{
	for (unsigned i = 0; i < tracker.pending_count; i++)
		prefetch(tracker.pending[i].base);
	for (unsigned i = 0; i < tracker.pending_count; i++)
		if (!enter(&tracker.pending[i]))
			atomic_store(&tracker.incomplete, true);
	tracker.pending_count = 0;
}

/* What is in the table, in any order. */
static bool
collect(struct index *index)
{
	index->count = 0;
	for (size_t i = 0; tracker.table.slot != NULL && i <= tracker.table.mask; i++)
		if (tracker.table.slot[i].base != 0 && !push(index, &tracker.table.slot[i]))
			return false;
	return true;
}

/* Merges what is fresh, sorted, into the index. */
static bool
merge(struct index *s, const struct index *f)
{
	static const struct entry place;
	size_t i = s->count, j, k;

	for (j = 0; j < f->count; j++)
		if (!push(s, &place)) {
			s->count = i;
			return false;
		}
	for (k = s->count; j > 0; k--)
		s->item[k - 1] = i > 0 && s->item[i - 1].base > f->item[j - 1].base ? s->item[--i] : f->item[--j];
	return true;
}

/* Brings the index up to date. False: no memory. */
static bool
settle(void)
{
	struct index *s = &tracker.sorted, *f = &tracker.fresh;

	enter_pending();
	if (tracker.stale) {
		if (!collect(s)) {
			s->count = 0;
			return false;
		}
		qsort(s->item, s->count, sizeof(*s->item), by_base);
	} else if (f->count > 0) {
		drop_dead(f);
		drop_dead(s);
		qsort(f->item, f->count, sizeof(*f->item), by_base);
		if (!merge(s, f))
			return false;
	} else {
		return true;
	}
	tracker.stale = false;
	f->count = 0;
	drop_overlapped();
	return true;
}

/* The allocation that holds an address. */
static const struct entry *
lookup_inside(uintptr_t address)
{
	const struct entry *e;
	size_t low = 0, high;

	if (!settle()) {
		atomic_store(&tracker.incomplete, true);
		return NULL;
	}
	/* The last whose base is not above the address. */
	for (high = tracker.sorted.count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (tracker.sorted.item[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	e = &tracker.sorted.item[low - 1];
	return address - e->base < e->size && is_live(e) ? e : NULL;
}

/* ---- adding ---- */

/* With the lock held. Written where it stays: of what was stored a byte at a time a copy of whole words has to wait. */
static inline void
note(uintptr_t base, size_t size, uint8_t list, enum kr_pool_kind kind, uint32_t region_kind, int left_out)
{
	if (tracker.pending_count == MAX_PENDING)
		enter_pending();
	tracker.pending[tracker.pending_count++] = (struct entry){.base = base,
								  .size = size,
								  .generation = ++tracker.generation,
								  .list = list,
								  .kind = (uint8_t)kind,
								  .region_kind = (uint8_t)region_kind,
								  .left_out = (int8_t)left_out};
}

static void
look_up_pool(uint64_t handle)
{
	struct kr_agent *agent = NULL;

	tracker.last.kind = kr_pool_kind(handle, &agent);
	tracker.last.list = agent != NULL ? list_for(agent) : 0;
	tracker.last.handle = handle;
}

void
kr_tracker_add(void *base, size_t size, uint64_t pool, uint32_t flags, uint32_t region_kind)
{
	if (base == NULL || size == 0)
		return;
	kr_lock(&tracker.lock);
	if (tracker.last.handle != pool)
		look_up_pool(pool);
	note((uintptr_t)base, size, tracker.last.list, tracker.last.kind, region_kind,
	     left_out_class(tracker.last.kind, flags));
	kr_unlock(&tracker.lock);
}

void
kr_tracker_restore(const struct kr_allocation *removed)
{
	kr_lock(&tracker.lock);
	note(removed->base, removed->size, removed->agent != NULL ? list_for(removed->agent) : 0, removed->kind,
	     removed->region_kind, removed->left_out);
	kr_unlock(&tracker.lock);
}

bool
kr_tracker_complete(void)
{
	return !atomic_load(&tracker.incomplete);
}

/* ---- taking ---- */

/* The newest of `count` pending ones with this base. */
static struct entry *
lookup_pending(uintptr_t base, size_t count)
{
	while (count-- > 0)
		if (tracker.pending[count].base == base)
			return &tracker.pending[count];
	return NULL;
}

/* From wherever it is; older lives of the address too, which were freed behind our back. */
static inline void
forget(struct entry *pending, uintptr_t base)
{
	struct entry *e;

	while (pending != NULL) {
		const struct entry *last = &tracker.pending[--tracker.pending_count];

		for (e = pending; e < last; e++)
			e[0] = e[1];
		pending = lookup_pending(base, (size_t)(pending - tracker.pending));
	}
	if ((e = lookup(base)) != NULL)
		drop(e);
}

void
kr_tracker_remove(const void *base)
{
	kr_lock(&tracker.lock);
	forget(lookup_pending((uintptr_t)base, tracker.pending_count), (uintptr_t)base);
	kr_unlock(&tracker.lock);
}

bool
kr_tracker_take(const void *base, struct kr_allocation *taken)
{
	for (;;) {
		struct kr_agent *closed = NULL;
		struct entry *pending;
		const struct entry *e;

		kr_lock(&tracker.lock);
		pending = lookup_pending((uintptr_t)base, tracker.pending_count);
		e = pending != NULL ? pending : lookup((uintptr_t)base);
		if (e != NULL) {
			tell(e, taken);
			/* A window is closed before it asks for its scope, which takes the lock: it either knows the allocation and
			 * is seen here, or does not know it. */
			if (taken->agent != NULL && kr_agent_is_closed(taken->agent))
				closed = taken->agent;
			else
				forget(pending, (uintptr_t)base);
		}
		kr_unlock(&tracker.lock);
		if (closed == NULL)
			return e != NULL;
		kr_agent_wait_open(closed, 0);
	}
}

void
kr_tracker_attach(const void *base)
{
	atomic_fetch_add(&tracker.attached, base != NULL);
}

void
kr_tracker_detach(const void *base)
{
	if (atomic_load(&tracker.attached) > 0)
		atomic_fetch_sub(&tracker.attached, base != NULL);
}

unsigned
kr_tracker_attached(void)
{
	return atomic_load(&tracker.attached);
}

static bool
find(uintptr_t address, bool inside, struct kr_allocation *found)
{
	const struct entry *e;

	kr_lock(&tracker.lock);
	enter_pending();
	e = lookup(address);
	if (e == NULL && inside)
		e = lookup_inside(address);
	if (e != NULL)
		tell(e, found);
	kr_unlock(&tracker.lock);
	return e != NULL;
}

bool
kr_tracker_find(const void *address, struct kr_allocation *found)
{
	return find((uintptr_t)address, true, found);
}

uint64_t
kr_tracker_removals(void)
{
	return atomic_load(&tracker.removals);
}

bool
kr_tracker_alive(uintptr_t base, uint64_t generation)
{
	struct kr_allocation a;

	return find(base, false, &a) && a.generation == generation;
}

void
kr_tracker_scope(struct kr_agent *agent, struct kr_scope *scope)
{
	uint8_t list;

	kr_lock(&tracker.lock);
	if (!settle())
		atomic_store(&tracker.incomplete, true);
	list = list_of(agent);
	*scope = list != 0 ? tracker.list[list].scope : (struct kr_scope){0};
	for (int i = 0; i < 4; i++)
		scope->left_out[i] += tracker.list[0].scope.left_out[i];
	kr_unlock(&tracker.lock);
}

bool
kr_tracker_each(struct kr_agent *agent, bool (*visit)(const struct kr_allocation *, void *), void *data)
{
	uint8_t list;
	bool all;

	kr_lock(&tracker.lock);
	all = settle();
	list = list_of(agent);
	for (size_t i = 0; i < tracker.sorted.count && list != 0 && all; i++) {
		const struct entry *e = &tracker.sorted.item[i];
		struct kr_allocation a;

		if (e->list != list || e->left_out >= 0 || !is_live(e))
			continue;
		tell(e, &a);
		all = visit(&a, data);
	}
	kr_unlock(&tracker.lock);
	return all;
}

void
kr_tracker_clear(void)
{
	kr_lock(&tracker.lock);
	atomic_store(&tracker.removals, tracker.removals + 1);
	if (tracker.table.slot != NULL)
		memset(tracker.table.slot, 0, (tracker.table.mask + 1) * sizeof(*tracker.table.slot));
	tracker.table.used = 0;
	tracker.pending_count = 0;
	tracker.sorted.count = tracker.fresh.count = 0;
	tracker.stale = false;
	atomic_store(&tracker.attached, 0);
	tracker.lists = 0;
	tracker.last = (struct pool){0};
	memset(tracker.list, 0, sizeof(tracker.list));
	kr_unlock(&tracker.lock);
}
