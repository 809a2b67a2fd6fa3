/* SPDX-License-Identifier: MIT */
/* Shared by snapshot.c and memory_view.c. */
#ifndef KR_SNAPSHOT_INTERNAL_H
#define KR_SNAPSHOT_INTERNAL_H

#include "core/snapshot.h"

#define KR_VIEW_CHUNK (4u << 20) /* bytes of device memory looked at in one go */

struct kr_snapshot {
	kreplay_memory_view_t view; /* first: the view's functions get this address */
	struct kr_agent *agent;
	char *buffer;
	size_t capacity;
	struct kr_region *regions; /* by address */
	size_t count, room;
	hsa_signal_t copied;
	char *scratch; /* KR_VIEW_CHUNK bytes, pinned; made at the first look */
	bool open;
	uintptr_t thread;
};

bool kr_pinned_alloc(struct kr_agent *agent, size_t size, void **memory);
bool kr_copy_to_host(struct kr_snapshot *s, void *to, uint64_t from, size_t bytes);
bool kr_region_alive(const struct kr_region *r);
void kr_memory_view_init(struct kr_snapshot *s);

#endif
