/* SPDX-License-Identifier: MIT */
#include "core/ptrmap.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct slot {
	_Atomic uint64_t key; /* 0: not used; a removed key stays until a sweep, with value NULL */
	void *_Atomic value;
};

struct kr_ptrmap_table {
	struct kr_ptrmap_table *outgrown;
	uint32_t mask;
	uint32_t used; /* slots with a key, removed ones included */
	struct slot slots[];
};

static uint32_t
hash(uint64_t key)
{
	/* Handles are addresses: the low bits say little. Fibonacci hashing. */
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static struct slot *
find(struct kr_ptrmap_table *table, uint64_t key)
{
	for (uint32_t i = hash(key);; i++) {
		struct slot *s = &table->slots[i & table->mask];
		uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);

		if (k == key || k == 0)
			return s;
	}
}

void *
kr_ptrmap_get(const struct kr_ptrmap *map, uint64_t key)
{
	struct kr_ptrmap_table *table = atomic_load_explicit(&map->table, memory_order_acquire);

	if (table == NULL)
		return NULL;
	for (;;) {
		uint32_t version = atomic_load_explicit(&map->version, memory_order_acquire);
		struct slot *s = find(table, key);
		void *value = atomic_load_explicit(&s->value, memory_order_acquire);
		/* The empty slot that ends a probe has no value either. */
		bool found = atomic_load_explicit(&s->key, memory_order_acquire) == key;

		/* What a sweep writes is written by releases: who has read any of it sees the version that goes with it. */
		if (version % 2 == 0 && atomic_load_explicit(&map->version, memory_order_relaxed) == version)
			return found ? value : NULL;
		if (version % 2 != 0)
			sched_yield();
		table = atomic_load_explicit(&map->table, memory_order_acquire);
	}
}

static void
insert(struct kr_ptrmap_table *table, uint64_t key, void *value)
{
	struct slot *s = find(table, key);

	if (atomic_load_explicit(&s->key, memory_order_relaxed) == 0)
		table->used++;
	atomic_store_explicit(&s->value, value, memory_order_release);
	atomic_store_explicit(&s->key, key, memory_order_release);
}

static uint32_t
live(const struct kr_ptrmap_table *table)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i <= table->mask; i++)
		count += atomic_load_explicit(&table->slots[i].value, memory_order_relaxed) != NULL;
	return count;
}

/* With twice the room, or the first of all. */
static bool
grow(struct kr_ptrmap *map, struct kr_ptrmap_table *old)
{
	uint32_t size = old != NULL ? (old->mask + 1) * 2 : 64;
	struct kr_ptrmap_table *table = calloc(1, sizeof(*table) + size * sizeof(struct slot));

	if (table == NULL)
		return false;
	table->mask = size - 1;
	table->outgrown = old;
	for (uint32_t i = 0; old != NULL && i <= old->mask; i++) {
		void *value = atomic_load_explicit(&old->slots[i].value, memory_order_relaxed);

		if (value != NULL)
			insert(table, atomic_load_explicit(&old->slots[i].key, memory_order_relaxed), value);
	}
	atomic_store_explicit(&map->table, table, memory_order_release);
	return true;
}

/* Where most keys are removed ones: these go, and the others are put anew. */
static bool
sweep(struct kr_ptrmap *map, struct kr_ptrmap_table *table, uint32_t count)
{
	struct kept {
		uint64_t key;
		void *value;
	} *kept = malloc((count + 1) * sizeof(*kept));
	uint32_t n = 0;

	if (kept == NULL)
		return false;
	atomic_store_explicit(&map->version, map->version + 1, memory_order_relaxed);
	for (uint32_t i = 0; i <= table->mask; i++) {
		struct slot *s = &table->slots[i];

		kept[n] = (struct kept){atomic_load_explicit(&s->key, memory_order_relaxed),
					atomic_load_explicit(&s->value, memory_order_relaxed)};
		n += kept[n].value != NULL;
		atomic_store_explicit(&s->value, NULL, memory_order_release);
		atomic_store_explicit(&s->key, 0, memory_order_release);
	}
	table->used = 0;
	for (uint32_t i = 0; i < n; i++)
		insert(table, kept[i].key, kept[i].value);
	atomic_store_explicit(&map->version, map->version + 1, memory_order_release);
	free(kept);
	return true;
}

static bool
make_room(struct kr_ptrmap *map, struct kr_ptrmap_table *table)
{
	uint32_t count = table != NULL ? live(table) : 0;

	/* A quarter is free afterwards, so that the next time is not soon. */
	return table != NULL && count * 4 <= table->mask + 1 ? sweep(map, table, count) : grow(map, table);
}

bool
kr_ptrmap_put(struct kr_ptrmap *map, uint64_t key, void *value)
{
	struct kr_ptrmap_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);

	if (table == NULL || (table->used + 1) * 2 > table->mask) {
		if (!make_room(map, table))
			return false;
		table = atomic_load_explicit(&map->table, memory_order_relaxed);
	}
	insert(table, key, value);
	return true;
}

void
kr_ptrmap_remove(struct kr_ptrmap *map, uint64_t key)
{
	struct kr_ptrmap_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
	struct slot *s;

	if (table == NULL)
		return;
	s = find(table, key);
	if (atomic_load_explicit(&s->key, memory_order_relaxed) == key)
		atomic_store_explicit(&s->value, NULL, memory_order_release);
}
