/* SPDX-License-Identifier: MIT */
/*
 * The memory tracker: which addresses are whose allocation. Fed by the
 * allocation hooks, read by windows. Any thread. An allocation and its free cost a
 * look into a hash table each; a look-up of an inner address is O(log n).
 */
#ifndef KR_TRACKER_H
#define KR_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents.h"

struct kr_allocation {
	uintptr_t base;
	size_t size;
	enum kr_pool_kind kind;
	uint32_t region_kind;    /* KREPLAY_REGION_POOL or _REGION */
	int32_t left_out;        /* KREPLAY_LEFT_OUT class, -1: in scope */
	uint64_t generation;     /* tells an address from its next life */
	struct kr_agent *agent;  /* owner, NULL for host memory */
};

void kr_tracker_add(void *base, size_t size, uint64_t pool, uint32_t flags, uint32_t region_kind);
void kr_tracker_remove(const void *base);
/*
 * For a free: takes out the allocation that begins at `base`. Waits for the window that is open on its agent, unless it is this
 * thread's. Afterwards the memory may go at any time: a window that opens from here on does not know it. False: none is known.
 */
bool kr_tracker_take(const void *base, struct kr_allocation *taken);
void kr_tracker_restore(const struct kr_allocation *taken); /* the free failed */
void kr_tracker_attach(const void *base);  /* memory of another process */
void kr_tracker_detach(const void *base);
unsigned kr_tracker_attached(void);

/* False when memory was too short to note an allocation: no window may open. */
bool kr_tracker_complete(void);

/* The allocation that holds an address; a copy. False: none known. */
bool kr_tracker_find(const void *address, struct kr_allocation *found);
bool kr_tracker_alive(uintptr_t base, uint64_t generation);
/* Grows with every allocation that goes: while it stands, all that were alive still are. */
uint64_t kr_tracker_removals(void);

struct kr_scope {
	size_t regions;
	uint64_t bytes;
	uint64_t left_out[4]; /* by KREPLAY_LEFT_OUT class */
};
/* Sums what is in scope for an agent. */
void kr_tracker_scope(struct kr_agent *agent, struct kr_scope *scope);
/* Calls for each allocation in scope until false is returned; under the
 * tracker's lock, so the callback must not call the runtime. */
bool kr_tracker_each(struct kr_agent *agent, bool (*visit)(const struct kr_allocation *, void *), void *data);
void kr_tracker_clear(void);

#endif
