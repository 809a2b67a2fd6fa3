/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of an agent's memory in scope: taken, compared, written back,
 * and kept, so that the next one takes only what has changed since.
 *
 * Copies lie in memory of the agent itself, in pinned or in pageable host
 * memory; docs/snapshot.md says which and when. Device memory is never touched
 * by the host: it need not be host accessible.
 *
 * Functions without another note: the thread that holds the agent's writer side.
 */
#ifndef KR_SNAPSHOT_H
#define KR_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents.h"
#include "kreplay/kreplay.h"

struct kr_snapshot; /* one an agent, retained */

struct kr_snapshot *kr_snapshot_of(struct kr_agent *agent); /* makes it; NULL: no memory */
void kr_snapshot_destroy(struct kr_agent *agent);

/* The arguments of the dispatch at hand, before kr_snapshot_take: with --scope
 * kernargs they say what is in scope. NULL: not known, everything is. */
void kr_snapshot_arguments(struct kr_snapshot *s, const char *what, const void *block, size_t bytes);

kreplay_decline_t kr_snapshot_take(struct kr_snapshot *s, kreplay_phase_stats_t *stats);

/* Whether this window's snapshot is, all or in part, plain copies of the
 * runtime's: no kernel of ours for the agent, or --snapshot full. */
bool kr_snapshot_is_plain(const struct kr_snapshot *s);

/* Writes the snapshot back. Does not return when that fails part-way: the
 * memory is mixed then and nothing can repair it. `what` names the dispatch
 * for the diagnosis. */
void kr_snapshot_restore(struct kr_snapshot *s, const char *what, kreplay_phase_stats_t *stats);

/* The memory view of the contract; open from take to kr_snapshot_close, on
 * this thread. */
const kreplay_memory_view_t *kr_snapshot_view(struct kr_snapshot *s);
void kr_snapshot_close(struct kr_snapshot *s);

/* An allocation of the application's has failed. Gives back what snapshots
 * retain, of this owner (NULL: host memory, of all agents), once their windows
 * are closed; true when there was anything, so that trying again may help. Any
 * thread, no lock held. */
bool kr_snapshot_yield(struct kr_agent *owner);

/* The same after a call that takes memory of `owner`, if `status` says that there was none. Any thread, no lock held. */
bool kr_snapshot_make_room(hsa_status_t status, struct kr_agent *owner);

/* Gives back what snapshots that were last used `idle_ns` ago or longer retain.
 * Any thread, no lock held. Returns how many did. */
unsigned kr_snapshot_release_idle(uint64_t idle_ns);

/* The thread that does so every now and then comes with the first snapshot, and
 * has to go before the runtime does. Any thread. */
void kr_snapshot_keeper_stop(void);

/* Most memory that all snapshots together have held at a time. Any thread. */
void kr_snapshot_peaks(uint64_t *host_bytes, uint64_t *device_bytes);

/* Pinned host memory that the agent can reach, not counted as a snapshot's. */
bool kr_pinned_alloc(struct kr_agent *agent, size_t size, void **memory);

#endif
