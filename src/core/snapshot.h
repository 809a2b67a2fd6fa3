/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of an agent's memory in scope: taken, compared, written back.
 *
 * Plain and full: one pinned host buffer, filled and emptied by the copy
 * engine, kept between windows at its high-water mark. Device memory is never
 * touched by the host: it need not be host accessible.
 *
 * All functions: the thread that holds the agent's writer side.
 */
#ifndef KR_SNAPSHOT_H
#define KR_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents.h"
#include "kreplay/kreplay.h"

struct kr_region {
	uint64_t address, bytes;
	uint64_t offset;     /* in the buffer */
	uint64_t generation; /* of the tracker or the code list: dead regions are left alone */
	uint32_t kind;       /* KREPLAY_REGION_* */
};

struct kr_snapshot; /* one an agent, retained */

struct kr_snapshot *kr_snapshot_of(struct kr_agent *agent); /* makes it; NULL: no memory */
void kr_snapshot_destroy(struct kr_agent *agent);

kreplay_decline_t kr_snapshot_take(struct kr_snapshot *s, kreplay_phase_stats_t *stats);

/* Writes the snapshot back. Does not return when that fails part-way: the
 * memory is mixed then and nothing can repair it. `what` names the dispatch
 * for the diagnosis. */
void kr_snapshot_restore(struct kr_snapshot *s, const char *what, kreplay_phase_stats_t *stats);

/* The memory view of the contract; open from take to kr_snapshot_close, on
 * this thread. */
const kreplay_memory_view_t *kr_snapshot_view(struct kr_snapshot *s);
void kr_snapshot_close(struct kr_snapshot *s);

#endif
