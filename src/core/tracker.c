/* SPDX-License-Identifier: MIT */
#include "core/tracker.h"

#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "kreplay/kreplay.h"

/* HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG of newer runtimes (hsa_ext_amd.h): memory
 * for code, which a replay must not touch. */
#define EXECUTABLE_FLAG (1u << 2)

struct agent_list {
	struct kr_agent *agent;
	struct kr_allocation *head;
	struct kr_scope scope;
};

static struct {
	pthread_mutex_t mutex;
	void *tree; /* of kr_allocation, disjoint ranges */
	uint64_t generation;
	struct agent_list list[64];
	uint64_t host_left_out[4];
	_Atomic unsigned attached;
	_Atomic bool incomplete; /* an allocation could not be noted: nothing may be replayed */
} tracker = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Ranges that overlap are equal: a look-up of one address finds its range. */
static int
compare(const void *a, const void *b)
{
	const struct kr_allocation *x = a, *y = b;

	if (x->base + x->size <= y->base)
		return -1;
	return y->base + y->size <= x->base;
}

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

static struct kr_allocation *
lookup(uintptr_t address)
{
	struct kr_allocation key = {.base = address, .size = 1};
	struct kr_allocation **node = tfind(&key, &tracker.tree, compare);

	return node != NULL ? *node : NULL;
}

/* With the mutex held. */
static void
drop(struct kr_allocation *a)
{
	struct agent_list *list = a->agent != NULL ? list_of(a->agent) : NULL;

	tdelete(a, &tracker.tree, compare);
	if (a->left_out < 0 && list != NULL) {
		if (a->prev != NULL)
			a->prev->next = a->next;
		else
			list->head = a->next;
		if (a->next != NULL)
			a->next->prev = a->prev;
	}
	account(a, -1);
	free(a);
}

static void
insert(struct kr_allocation *a)
{
	struct agent_list *list = a->agent != NULL ? list_of(a->agent) : NULL;
	struct kr_allocation **stale;

	pthread_mutex_lock(&tracker.mutex);
	/* What overlaps was freed behind our back. */
	while ((stale = tfind(a, &tracker.tree, compare)) != NULL)
		drop(*stale);
	a->generation = ++tracker.generation;
	if (tsearch(a, &tracker.tree, compare) == NULL) {
		pthread_mutex_unlock(&tracker.mutex);
		free(a);
		atomic_store(&tracker.incomplete, true);
		return;
	}
	if (a->left_out < 0 && list != NULL) {
		a->prev = NULL;
		a->next = list->head;
		if (list->head != NULL)
			list->head->prev = a;
		list->head = a;
	}
	account(a, 1);
	pthread_mutex_unlock(&tracker.mutex);
}

void
kr_tracker_add(void *base, size_t size, uint64_t pool, uint32_t flags, uint32_t region_kind)
{
	struct kr_allocation *a;

	if (base == NULL || size == 0)
		return;
	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		atomic_store(&tracker.incomplete, true);
		return;
	}
	a->base = (uintptr_t)base;
	a->size = size;
	a->region_kind = region_kind;
	a->kind = kr_pool_kind(pool, &a->agent);
	a->left_out = left_out_class(a->kind, flags);
	insert(a);
}

void
kr_tracker_restore(const struct kr_allocation *removed)
{
	struct kr_allocation *a = malloc(sizeof(*a));

	if (a == NULL) {
		atomic_store(&tracker.incomplete, true);
		return;
	}
	*a = *removed;
	insert(a);
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
	if (a != NULL && a->base == (uintptr_t)base)
		drop(a);
	pthread_mutex_unlock(&tracker.mutex);
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

bool
kr_tracker_find(const void *address, struct kr_allocation *found)
{
	struct kr_allocation *a;

	pthread_mutex_lock(&tracker.mutex);
	a = lookup((uintptr_t)address);
	if (a != NULL)
		*found = *a;
	pthread_mutex_unlock(&tracker.mutex);
	return a != NULL;
}

bool
kr_tracker_alive(uintptr_t base, uint64_t generation)
{
	struct kr_allocation a;

	return kr_tracker_find((const void *)base, &a) && a.base == base && a.generation == generation;
}

void
kr_tracker_scope(struct kr_agent *agent, struct kr_scope *scope)
{
	struct agent_list *list;

	pthread_mutex_lock(&tracker.mutex);
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
	bool all = true;

	pthread_mutex_lock(&tracker.mutex);
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
	while (tracker.tree != NULL)
		drop(*(struct kr_allocation **)tracker.tree);
	memset(tracker.list, 0, sizeof(tracker.list));
	memset(tracker.host_left_out, 0, sizeof(tracker.host_left_out));
	pthread_mutex_unlock(&tracker.mutex);
}
