/* SPDX-License-Identifier: MIT */
#include "core/tracker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "kreplay/kreplay.h"

/* HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG of newer runtimes (hsa_ext_amd.h): memory
 * for code, which a replay must not touch. */
#define EXECUTABLE_FLAG (1u << 2)

/*
 * Two structures. A hash table by base address, which is all that an allocation
 * and its free need: they must cost next to nothing, since programs make
 * hundreds of thousands. And an index by address for the rest (an address
 * inside an allocation, the regions of a window), which is brought up to date
 * only when it is asked: what was added since waits in `fresh`.
 */
struct slot {
	uintptr_t base; /* also in the allocation, which would have to be fetched */
	struct kr_allocation *allocation; /* NULL: free */
};

struct table {
	struct slot *slot;
	size_t mask, used;
};

struct indexed {
	uintptr_t base;
	struct kr_allocation *allocation;
	uint64_t generation; /* another one in the allocation: that life is over */
};

struct index {
	struct indexed *item;
	size_t count, room;
};

struct agent_list {
	struct kr_agent *agent;
	struct kr_allocation *head;
	struct kr_scope scope;
};

static struct {
	pthread_mutex_t mutex;
	struct table table;
	struct index sorted, fresh;
	struct kr_allocation *unused; /* linked by next; never given back, see `indexed` */
	size_t live;
	uint64_t generation;
	struct agent_list list[64];
	uint64_t host_left_out[4];
	_Atomic unsigned attached;
	_Atomic uint64_t removals;
	_Atomic bool incomplete; /* an allocation could not be noted: nothing may be replayed */
} tracker = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct agent_list *
list_of(struct kr_agent *agent)
{
	for (unsigned i = 0; i < 64; i++) {
		if (tracker.list[i].agent == NULL)
			tracker.list[i].agent = agent;
		if (tracker.list[i].agent == agent)
			return &tracker.list[i];
	}
	return NULL;
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
account(const struct kr_allocation *a, int sign)
{
	struct agent_list *list = a->agent != NULL ? list_of(a->agent) : NULL;
	uint64_t delta = sign > 0 ? a->size : -(uint64_t)a->size;

	if (list == NULL) {
		if (a->left_out >= 0)
			tracker.host_left_out[a->left_out] += delta;
	} else if (a->left_out >= 0) {
		list->scope.left_out[a->left_out] += delta;
	} else {
		list->scope.bytes += delta;
		list->scope.regions += (size_t)sign;
	}
}

/* ---- by base address ---- */

static size_t
hash(uintptr_t base)
{
	return (size_t)(((uint64_t)base >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 24);
}

/* The slot of a base, or the free one where it belongs. */
static size_t
slot_of(uintptr_t base)
{
	size_t i = hash(base) & tracker.table.mask;

	while (tracker.table.slot[i].allocation != NULL && tracker.table.slot[i].base != base)
		i = (i + 1) & tracker.table.mask;
	return i;
}

static struct kr_allocation *
lookup(uintptr_t base)
{
	return tracker.table.slot != NULL ? tracker.table.slot[slot_of(base)].allocation : NULL;
}

static void
set_table(struct slot *slot, size_t mask)
{
	__atomic_store_n(&tracker.table.slot, slot, __ATOMIC_RELAXED); /* for prefetch */
	__atomic_store_n(&tracker.table.mask, mask, __ATOMIC_RELAXED);
}

static bool
reserve_slot(void)
{
	struct table old = tracker.table;
	size_t size = old.slot != NULL ? (old.mask + 1) * 2 : 1024;
	struct slot *slot;

	if (old.slot != NULL && (old.used + 1) * 2 <= old.mask)
		return true;
	slot = calloc(size, sizeof(*slot));
	if (slot == NULL)
		return false;
	set_table(slot, size - 1);
	for (size_t i = 0; old.slot != NULL && i <= old.mask; i++)
		if (old.slot[i].allocation != NULL)
			slot[slot_of(old.slot[i].base)] = old.slot[i];
	free(old.slot);
	return true;
}

/* Takes the entry out and closes the gap: what was probed over it moves up. */
static void
clear_slot(size_t gap)
{
	struct table *t = &tracker.table;

	for (size_t i = (gap + 1) & t->mask; t->slot[i].allocation != NULL; i = (i + 1) & t->mask) {
		size_t home = hash(t->slot[i].base) & t->mask;

		if (((i - home) & t->mask) >= ((i - gap) & t->mask)) {
			t->slot[gap] = t->slot[i];
			gap = i;
		}
	}
	t->slot[gap].allocation = NULL;
	t->used--;
}

/* With the mutex held. */
static void
drop(struct kr_allocation *a)
{
	struct agent_list *list = a->agent != NULL ? list_of(a->agent) : NULL;

	atomic_store_explicit(&tracker.removals, tracker.removals + 1, memory_order_release);
	clear_slot(slot_of(a->base));
	if (a->left_out < 0 && list != NULL) {
		if (a->prev != NULL)
			a->prev->next = a->next;
		else
			list->head = a->next;
		if (a->next != NULL)
			a->next->prev = a->prev;
	}
	account(a, -1);
	tracker.live--;
	/* What goes as soon as it came leaves nothing to be sorted. */
	if (tracker.fresh.count > 0 && tracker.fresh.item[tracker.fresh.count - 1].allocation == a &&
	    tracker.fresh.item[tracker.fresh.count - 1].generation == a->generation)
		tracker.fresh.count--;
	a->generation = 0;
	a->next = tracker.unused;
	tracker.unused = a;
}

/* ---- by any address ---- */

static bool
is_live(const struct indexed *x)
{
	return x->allocation->generation == x->generation;
}

static int
by_base(const void *a, const void *b)
{
	const struct indexed *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

static bool
grow(struct index *index)
{
	size_t room = index->room != 0 ? index->room * 2 : 256;
	struct indexed *grown = realloc(index->item, room * sizeof(*grown));

	if (grown == NULL)
		return false;
	index->item = grown;
	index->room = room;
	return true;
}

static bool
push(struct index *index, uintptr_t base, struct kr_allocation *a, uint64_t generation)
{
	struct indexed *item;

	if (index->count == index->room && !grow(index))
		return false;
	item = &index->item[index->count++];
	item->base = base;
	item->allocation = a;
	item->generation = generation;
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
		struct kr_allocation *next = s->item[i].allocation;

		while (kept > 0) {
			struct kr_allocation *last = s->item[kept - 1].allocation;

			if (last->base + last->size <= next->base)
				break;
			if (last->generation > next->generation) {
				drop(next);
				next = NULL;
				break;
			}
			drop(last);
			kept--;
		}
		if (next != NULL)
			s->item[kept++] = s->item[i];
	}
	s->count = kept;
}

/* Brings the index up to date. False: no memory. */
static bool
settle(void)
{
	struct index *s = &tracker.sorted, *f = &tracker.fresh;
	size_t i, j, k;

	if (f->count == 0)
		return true;
	drop_dead(f);
	drop_dead(s);
	qsort(f->item, f->count, sizeof(*f->item), by_base);
	i = s->count;
	for (j = 0; j < f->count; j++)
		if (!push(s, 0, NULL, 0)) { /* its place; the merge fills it */
			s->count = i;
			return false;
		}
	for (j = f->count, k = s->count; j > 0; k--)
		s->item[k - 1] = i > 0 && s->item[i - 1].base > f->item[j - 1].base ? s->item[--i] : f->item[--j];
	f->count = 0;
	drop_overlapped();
	return true;
}

/* The allocation that holds an address. */
static struct kr_allocation *
lookup_inside(uintptr_t address)
{
	struct kr_allocation *a = lookup(address);
	size_t low = 0, high;

	if (a != NULL)
		return a;
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
	if (low == 0 || !is_live(&tracker.sorted.item[low - 1]))
		return NULL;
	a = tracker.sorted.item[low - 1].allocation;
	return address - a->base < a->size ? a : NULL;
}

/* ---- adding ---- */

static bool
insert(const struct kr_allocation *wanted)
{
	struct agent_list *list = wanted->agent != NULL ? list_of(wanted->agent) : NULL;
	struct kr_allocation *a = tracker.unused;
	size_t place;

	if (a != NULL)
		tracker.unused = a->next;
	else if ((a = malloc(sizeof(*a))) == NULL)
		return false;
	*a = *wanted;
	a->generation = 0;
	if (!reserve_slot()) {
		a->next = tracker.unused;
		tracker.unused = a;
		return false;
	}
	place = slot_of(a->base);
	if (tracker.table.slot[place].allocation != NULL) {
		drop(tracker.table.slot[place].allocation);
		place = slot_of(a->base);
	}
	/* Where nobody asks for the index, what came and went must not pile up. */
	if (tracker.fresh.count > 2 * tracker.live + 1024)
		drop_dead(&tracker.fresh);
	a->generation = ++tracker.generation;
	if (!push(&tracker.fresh, a->base, a, a->generation)) {
		a->generation = 0;
		a->next = tracker.unused;
		tracker.unused = a;
		return false;
	}
	tracker.table.slot[place] = (struct slot){a->base, a};
	tracker.table.used++;
	tracker.live++;
	a->prev = NULL;
	a->next = NULL;
	if (a->left_out < 0 && list != NULL) {
		a->next = list->head;
		if (list->head != NULL)
			list->head->prev = a;
		list->head = a;
	}
	account(a, 1);
	return true;
}

static void
note(const struct kr_allocation *a)
{
	pthread_mutex_lock(&tracker.mutex);
	if (!insert(a))
		atomic_store(&tracker.incomplete, true);
	pthread_mutex_unlock(&tracker.mutex);
}

/* The slot is all that comes from far away: it is on its way while the mutex is taken. */
static void
prefetch(uintptr_t base)
{
	struct slot *slot = __atomic_load_n(&tracker.table.slot, __ATOMIC_RELAXED);
	size_t mask = __atomic_load_n(&tracker.table.mask, __ATOMIC_RELAXED);

	/* Of two tables, perhaps: any address may be prefetched. */
	__builtin_prefetch((void *)((uintptr_t)slot + (hash(base) & mask) * sizeof(*slot)), 1);
}

void
kr_tracker_add(void *base, size_t size, uint64_t pool, uint32_t flags, uint32_t region_kind)
{
	struct kr_allocation a = {.base = (uintptr_t)base, .size = size, .region_kind = region_kind};

	if (base == NULL || size == 0)
		return;
	prefetch(a.base);
	a.kind = kr_pool_kind(pool, &a.agent);
	a.left_out = left_out_class(a.kind, flags);
	note(&a);
}

void
kr_tracker_restore(const struct kr_allocation *removed)
{
	note(removed);
}

bool
kr_tracker_complete(void)
{
	return !atomic_load(&tracker.incomplete);
}

void
kr_tracker_remove(const void *base)
{
	struct kr_allocation *a;

	pthread_mutex_lock(&tracker.mutex);
	a = lookup((uintptr_t)base);
	if (a != NULL)
		drop(a);
	pthread_mutex_unlock(&tracker.mutex);
}

bool
kr_tracker_take(const void *base, struct kr_allocation *taken)
{
	prefetch((uintptr_t)base);
	for (;;) {
		struct kr_agent *closed = NULL;
		struct kr_allocation *a;

		pthread_mutex_lock(&tracker.mutex);
		a = lookup((uintptr_t)base);
		/* A window is closed before it asks for its scope, which takes the mutex: it either knows the allocation and is
		 * seen here, or does not know it. */
		if (a != NULL && a->agent != NULL && kr_agent_is_closed(a->agent)) {
			closed = a->agent;
		} else if (a != NULL) {
			*taken = *a;
			drop(a);
		}
		pthread_mutex_unlock(&tracker.mutex);
		if (closed == NULL)
			return a != NULL;
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
	struct kr_allocation *a;

	pthread_mutex_lock(&tracker.mutex);
	a = inside ? lookup_inside(address) : lookup(address);
	if (a != NULL)
		*found = *a;
	pthread_mutex_unlock(&tracker.mutex);
	return a != NULL;
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
	struct agent_list *list;

	pthread_mutex_lock(&tracker.mutex);
	if (!settle())
		atomic_store(&tracker.incomplete, true);
	list = list_of(agent);
	*scope = list != NULL ? list->scope : (struct kr_scope){0};
	for (int i = 0; i < 4; i++)
		scope->left_out[i] += tracker.host_left_out[i];
	pthread_mutex_unlock(&tracker.mutex);
}

bool
kr_tracker_each(struct kr_agent *agent, bool (*visit)(const struct kr_allocation *, void *), void *data)
{
	struct agent_list *list;
	bool all;

	pthread_mutex_lock(&tracker.mutex);
	all = settle();
	list = list_of(agent);
	for (struct kr_allocation *a = list != NULL ? list->head : NULL; a != NULL && all; a = a->next)
		all = visit(a, data);
	pthread_mutex_unlock(&tracker.mutex);
	return all;
}

void
kr_tracker_clear(void)
{
	pthread_mutex_lock(&tracker.mutex);
	for (size_t i = 0; tracker.table.slot != NULL && i <= tracker.table.mask; i++)
		while (tracker.table.slot[i].allocation != NULL)
			drop(tracker.table.slot[i].allocation);
	tracker.sorted.count = tracker.fresh.count = 0;
	memset(tracker.list, 0, sizeof(tracker.list));
	memset(tracker.host_left_out, 0, sizeof(tracker.host_left_out));
	pthread_mutex_unlock(&tracker.mutex);
}
