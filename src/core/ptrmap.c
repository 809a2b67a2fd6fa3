/* SPDX-License-Identifier: MIT */
#include "core/ptrmap.h"

#include <stdatomic.h>
#include <stdlib.h>

struct slot {
	_Atomic uint64_t key; /* 0: never used; a removed key stays, with value NULL */
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
	struct slot *s;

	if (table == NULL)
		return NULL;
	s = find(table, key);
	/* The empty slot that ends a probe has no value either. */
	return atomic_load_explicit(&s->key, memory_order_relaxed) == key
	           ? atomic_load_explicit(&s->value, memory_order_acquire)
	           : NULL;
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

static bool
grow(struct kr_ptrmap *map, struct kr_ptrmap_table *old)
{
	uint32_t live = 0, size = 64;
	struct kr_ptrmap_table *table;

	for (uint32_t i = 0; old != NULL && i <= old->mask; i++)
		live += atomic_load_explicit(&old->slots[i].value, memory_order_relaxed) != NULL;
	while (size < live * 4)
		size *= 2;
	table = calloc(1, sizeof(*table) + size * sizeof(struct slot));
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

bool
kr_ptrmap_put(struct kr_ptrmap *map, uint64_t key, void *value)
{
	struct kr_ptrmap_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);

	if (table == NULL || (table->used + 1) * 2 > table->mask) {
		if (!grow(map, table))
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
