/* SPDX-License-Identifier: MIT */
/* The parts of a snapshot, for the files of this folder. */
#ifndef KR_SNAPSHOT_INTERNAL_H
#define KR_SNAPSHOT_INTERNAL_H

#include "core/device/layout.h"
#include "core/snapshot.h"
#include "options/options.h"

#define KR_STAGE_BYTES (8u << 20)   /* of a staging buffer */
#define KR_STAGE_PIECES 4096u       /* at most, in one filling of it */
#define KR_DIRECT_BYTES (256u << 10) /* a run of this length is a copy of its own */
#define KR_SLOT_ALIGN 256u          /* of a region's copy: whole lines for the copy engine */

/* ---- memory.c: where copies lie, and what that adds up to ---- */

enum kr_place { KR_IN_DEVICE, KR_IN_PINNED, KR_IN_PAGEABLE, KR_PLACES, KR_NOWHERE = KR_PLACES };

/* Counted in the peaks. `bytes` as it was when allocating. */
bool kr_memory_alloc(struct kr_agent *agent, enum kr_place place, size_t bytes, void **memory);
void kr_memory_free(enum kr_place place, void *memory, size_t bytes);
uint64_t kr_host_memory_available(void);
/* cgroup.c. What the control groups leave; UINT64_MAX: no limit. Paths begin below `at`, "" but for tests. */
uint64_t kr_cgroup_room(const char *at);
/* The number after `key` in a file of lines; UINT64_MAX when there is none. */
uint64_t kr_number_in(const char *path, const char *key);

struct kr_extent {
	char *base;
	size_t bytes;
};

/* Memory in a few large segments, handed out in slots. */
struct kr_store {
	struct kr_agent *agent;
	enum kr_place place;
	struct kr_extent *segments, *holes; /* holes: what is free, by address */
	size_t segment_count, segment_room, hole_count, hole_room;
	uint64_t bytes; /* of all segments */
};

void *kr_store_take(struct kr_store *store, size_t bytes); /* NULL: no hole is that large */
void kr_store_give(struct kr_store *store, void *slot, size_t bytes);
bool kr_store_grow(struct kr_store *store, size_t bytes);
void kr_store_release(struct kr_store *store); /* all of it */

/* ---- device.c: the kernels ---- */

enum kr_device_kernel { KR_KERNEL_COPY, KR_KERNEL_SYNC, KR_KERNEL_HASH, KR_KERNEL_DIFF, KR_DEVICE_KERNELS };

struct kr_device;

/* NULL: none for this agent's ISA, or the runtime refuses. */
struct kr_device *kr_device_open(struct kr_agent *agent);
void kr_device_close(struct kr_device *d);
/* Jobs run in any order among themselves, those of one wait at the same time. */
bool kr_device_start(struct kr_device *d, enum kr_device_kernel kernel, struct kr_job job);
bool kr_device_wait(struct kr_device *d);
bool kr_device_failed(const struct kr_device *d); /* for good */

/* ---- plan.c: regions and where their copies go ---- */

struct kr_region {
	uint64_t address, bytes;
	uint64_t generation; /* of the tracker or the code list: dead regions are left alone */
	uint32_t kind;       /* KREPLAY_REGION_* */
	enum kr_place place;
	bool fresh;          /* its copy (and hashes) say nothing yet */
	bool dead;           /* freed by a callback of this window */
	bool watched;        /* out of scope; hashed to see whether it is left alone */
	char *copy;          /* of its first byte */
	bool hashes_on_host; /* there was no room on the device for them */
	uint64_t hashes;     /* an address for the kernels, two words a chunk; 0: none */
	uint32_t chunk_bytes;
	uint32_t first, chunks; /* in the chunk list; 0 chunks: the runtime's copies */
};

#define KR_NO_COPIES (INT64_C(1) << 40)

struct kr_snapshot {
	kreplay_memory_view_t view; /* first: the view's functions get this address */
	struct kr_agent *agent;
	struct kr_store store[KR_PLACES], hashes[2]; /* hashes: on the device, and pinned */
	struct kr_region *regions, *former; /* by address; of this window and of the one before */
	size_t count, room, former_count, former_room;
	uint64_t bytes; /* in scope */

	struct kr_device *device;
	bool device_tried;

	/* chunks.c. In `list`: device tier kept, device tier fresh, hashed. */
	struct kr_chunk *list; /* pinned */
	uint64_t list_device;  /* its copy for the kernels, or `list` itself */
	uint32_t *marks;       /* pinned; all 0 between uses */
	size_t list_bytes, marks_bytes;
	uint32_t chunk_count, chunk_room, kept, synced; /* kept <= synced <= chunk_count */
	bool list_current;

	/* copy.c */
	hsa_signal_t copied; /* KR_NO_COPIES and the copies under way, see copy.c */
	char *stage;         /* pinned, KR_STAGE_BYTES */
	char *stage_device;  /* the same on the device, NULL: none */
	bool stage_tried;
	struct kr_chunk *pieces; /* pinned, KR_STAGE_PIECES */
	uint32_t piece_count;
	size_t staged;
	char **piece_copy; /* where each piece's bytes are on the host */

	const char *what;
	const void *arguments;
	size_t argument_bytes;
	uint64_t removals, code_removals; /* when the regions were last known to be alive */
	uint64_t used_at;                 /* CLOCK_MONOTONIC */
	bool open, plain;
	uintptr_t thread;
};

kreplay_decline_t kr_plan(struct kr_snapshot *s);
void kr_plan_forget(struct kr_snapshot *s); /* copies say nothing any more; keeps the memory */
void kr_plan_drop(struct kr_snapshot *s);   /* gives all memory back */
bool kr_plan_refresh(struct kr_snapshot *s); /* marks regions that a callback has freed; true: there are new ones */
static inline char *
kr_region_slot(const struct kr_region *r)
{
	return r->copy - (r->address & 15u);
}
static inline size_t
kr_slot_bytes(uint64_t bytes)
{
	return (bytes + 15u + KR_SLOT_ALIGN - 1) / KR_SLOT_ALIGN * KR_SLOT_ALIGN;
}

/* ---- chunks.c ---- */

bool kr_chunks_build(struct kr_snapshot *s); /* from the regions; uploads when it changed */
void kr_chunks_drop(struct kr_snapshot *s);
uint32_t kr_chunk_count(const struct kr_region *r);
/* Chunk `i` of a region: its offset and length. */
uint64_t kr_chunk_span(const struct kr_region *r, uint32_t i, uint32_t *bytes);
bool kr_chunks_start(struct kr_snapshot *s, enum kr_device_kernel kernel, uint32_t first, uint32_t count, uint32_t mode);

/* ---- copy.c ---- */

enum kr_direction { KR_TO_HOST, KR_TO_DEVICE, KR_INSIDE };

bool kr_copy_start(struct kr_snapshot *s, void *to, const void *from, size_t bytes, enum kr_direction direction);
bool kr_copy_wait(struct kr_snapshot *s);
bool kr_copy_idle(struct kr_snapshot *s); /* nothing of an earlier window is under way */
bool kr_stage_ready(struct kr_snapshot *s);
void kr_stage_drop(struct kr_snapshot *s);
/* The kernels' side of the staging buffer, which is ready. */
char *kr_stage_for_kernels(struct kr_snapshot *s);
/* A whole region by the runtime's copies, that have still to be waited for. Adds to *link. */
bool kr_copy_region(struct kr_snapshot *s, const struct kr_region *r, bool taking, uint64_t *link);
/* Moves a run of bytes of a host-tier region, direct or staged; flush at the end. */
bool kr_move_run(struct kr_snapshot *s, const struct kr_region *r, uint64_t offset, uint64_t bytes, bool taking);
bool kr_move_flush(struct kr_snapshot *s, bool taking);
/* To the staging buffer at `at`, and waits. */
bool kr_fetch(struct kr_snapshot *s, size_t at, const void *from, size_t bytes);

/* ---- keeper.c ---- */

void kr_keeper_start(void);

/* ---- changes.c, view.c, scope.c ---- */

kreplay_status_t kr_changes_each(struct kr_snapshot *s, kreplay_memory_range_cb_t callback, void *data);

void kr_view_init(struct kr_snapshot *s);
bool kr_scope_wants(const struct kr_snapshot *s, uint64_t address, uint64_t bytes);
void kr_scope_violation(const struct kr_snapshot *s, const struct kr_region *r, uint32_t chunk);

#endif
