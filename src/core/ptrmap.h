/* SPDX-License-Identifier: MIT */
/*
 * A map from non-zero 64-bit handles to pointers, for the look-ups on the
 * dispatch path: reads take no lock and a few nanoseconds. Writers are
 * serialised by the caller. A table that was outgrown stays allocated, since a
 * reader may still be in it: sizes double, so all of them together are less
 * than the live table. Where handles come and go, the table is swept instead:
 * it grows with those that live at once, not with those that ever did.
 */
#ifndef KR_PTRMAP_H
#define KR_PTRMAP_H

#include <stdbool.h>
#include <stdint.h>

struct kr_ptrmap_table;

struct kr_ptrmap {
	struct kr_ptrmap_table *_Atomic table;
	_Atomic uint32_t version; /* odd while the table is swept: who read meanwhile reads again */
};

void *kr_ptrmap_get(const struct kr_ptrmap *map, uint64_t key); /* NULL: absent */
bool kr_ptrmap_put(struct kr_ptrmap *map, uint64_t key, void *value); /* false: no memory */
void kr_ptrmap_remove(struct kr_ptrmap *map, uint64_t key);

#endif
