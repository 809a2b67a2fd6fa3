/* SPDX-License-Identifier: MIT */
/* A window's snapshot, from plan to restore. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/snapshot/internal.h"

struct kr_snapshot *
kr_snapshot_of(struct kr_agent *agent)
{
	struct kr_snapshot *s = agent->snapshot;

	if (s != NULL)
		return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->agent = agent;
	if (kr_next.hsa_signal_create(KR_NO_COPIES, 0, NULL, &s->copied) != HSA_STATUS_SUCCESS) {
		free(s);
		return NULL;
	}
	for (int i = 0; i < KR_PLACES; i++)
		s->store[i] = (struct kr_store){.agent = agent, .place = (enum kr_place)i};
	s->hashes[0] = (struct kr_store){.agent = agent, .place = KR_IN_DEVICE};
	s->hashes[1] = (struct kr_store){.agent = agent, .place = KR_IN_PINNED};
	kr_view_init(s);
	agent->snapshot = s;
	return s;
}

void
kr_snapshot_destroy(struct kr_agent *agent)
{
	struct kr_snapshot *s = agent->snapshot;

	kr_snapshot_keeper_stop();
	/* What still writes keeps its memory. */
	if (s == NULL || !kr_copy_idle(s))
		return;
	kr_plan_drop(s);
	kr_device_close(s->device);
	kr_next.hsa_signal_destroy(s->copied);
	free(s);
	agent->snapshot = NULL;
}

bool
kr_snapshot_is_plain(const struct kr_snapshot *s)
{
	return s->plain;
}

static uint32_t
tier_of(const struct kr_snapshot *s)
{
	static const uint32_t tiers[KR_PLACES] = {KREPLAY_TIER_DEVICE, KREPLAY_TIER_PINNED, KREPLAY_TIER_PAGEABLE};
	uint32_t tier = KREPLAY_TIER_NONE;

	for (size_t i = 0; i < s->count; i++) {
		const struct kr_region *r = &s->regions[i];

		if (r->watched || r->dead)
			continue;
		if (tier != KREPLAY_TIER_NONE && tier != tiers[r->place])
			return KREPLAY_TIER_MIXED;
		tier = tiers[r->place];
	}
	return tier;
}

/* ---- moving what the marks say ---- */

/* The hashed regions' dirty chunks, in runs. `r->fresh`: all of them. */
static bool
move_region(struct kr_snapshot *s, const struct kr_region *r, bool taking, kreplay_phase_stats_t *stats)
{
	uint64_t begin = 0, end = 0; /* of the run at hand */

	for (uint32_t i = 0; i < r->chunks; i++) {
		uint32_t *mark = &s->marks[r->first + i], bytes;
		uint64_t offset;
		bool dirty = *mark != 0 || (taking && r->fresh);

		*mark = 0;
		if (!dirty)
			continue;
		offset = kr_chunk_span(r, i, &bytes);
		stats->dirty_bytes += bytes;
		stats->host_link_bytes += bytes;
		if (offset != end) {
			if (end > begin && !kr_move_run(s, r, begin, end - begin, taking))
				return false;
			begin = offset;
		}
		end = offset + bytes;
	}
	return end == begin || kr_move_run(s, r, begin, end - begin, taking);
}

static void
check_watched(struct kr_snapshot *s, const struct kr_region *r, bool taking)
{
	for (uint32_t i = 0; i < r->chunks; i++) {
		uint32_t *mark = &s->marks[r->first + i];

		if (*mark != 0 && !taking)
			kr_scope_violation(s, r, i);
		*mark = 0;
	}
}

/* After the kernels: counts what they wrote, and moves what crosses the link.
 * The copies started here still have to be waited for. */
static bool
settle(struct kr_snapshot *s, bool taking, kreplay_phase_stats_t *stats)
{
	for (uint32_t i = 0; i < s->synced; i++)
		if (s->marks[i] != 0) {
			stats->dirty_bytes += s->marks[i];
			s->marks[i] = 0;
		}
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (r->hashes == 0 || r->chunks == 0 || r->dead)
			continue;
		if (r->watched)
			check_watched(s, r, taking);
		else if (!move_region(s, r, taking, stats))
			return false;
	}
	return kr_move_flush(s, taking);
}

/* ---- taking ---- */

static bool
run_kernels_to_take(struct kr_snapshot *s)
{
	if (s->chunk_count == 0)
		return true;
	return kr_chunks_start(s, KR_KERNEL_SYNC, 0, s->kept, KR_JOB_TO_COPY) &&
	       kr_chunks_start(s, KR_KERNEL_COPY, s->kept, s->synced - s->kept, KR_JOB_TO_COPY) &&
	       kr_chunks_start(s, KR_KERNEL_HASH, s->synced, s->chunk_count - s->synced, KR_JOB_TAKE);
}

static bool
take(struct kr_snapshot *s, kreplay_phase_stats_t *stats)
{
	bool ok = run_kernels_to_take(s);

	for (size_t i = 0; i < s->count && ok; i++) {
		struct kr_region *r = &s->regions[i];

		if (r->watched)
			continue;
		if (r->chunks == 0)
			ok = kr_copy_region(s, r, true, &stats->host_link_bytes);
		if (r->chunks == 0 || (r->fresh && r->place == KR_IN_DEVICE))
			stats->dirty_bytes += r->bytes;
	}
	/* Those that were started must end before anything is used again. */
	if (s->device != NULL && !kr_device_wait(s->device))
		ok = false;
	if (ok)
		ok = settle(s, true, stats);
	return kr_copy_wait(s) && ok;
}

static void
open_device(struct kr_snapshot *s)
{
	if (s->device_tried || kr_options_get()->snapshot_mode == KR_SNAPSHOT_FULL)
		return;
	s->device_tried = true;
	s->device = kr_device_open(s->agent);
}

kreplay_decline_t
kr_snapshot_take(struct kr_snapshot *s, kreplay_phase_stats_t *stats)
{
	uint64_t began = kr_now_ns();
	kreplay_decline_t why;

	*stats = (kreplay_phase_stats_t){.size = sizeof(*stats)};
	if (!kr_copy_idle(s))
		return KREPLAY_DECLINE_COPY_FAILED;
	open_device(s);
	if (s->device == NULL && kr_options_get()->verify_scope)
		kr_log_once("verify-scope", KR_LOG_WARN, "scope",
			    "--verify-scope needs kernels of ours, and there are none for %s: nothing is verified",
			    s->agent->name);
	why = kr_plan(s);
	if (why == KREPLAY_DECLINE_NONE && !kr_chunks_build(s))
		why = KREPLAY_DECLINE_OUT_OF_MEMORY;
	if (why == KREPLAY_DECLINE_NONE && !take(s, stats))
		why = KREPLAY_DECLINE_COPY_FAILED;
	s->used_at = kr_now_ns();
	if (why != KREPLAY_DECLINE_NONE) {
		kr_plan_forget(s);
		/* Later windows do without the kernels. */
		if (s->device != NULL && kr_device_failed(s->device)) {
			kr_device_close(s->device);
			s->device = NULL;
		}
		stats->dirty_bytes = stats->host_link_bytes = 0;
		goto out;
	}
	for (size_t i = 0; i < s->count; i++) {
		s->regions[i].fresh = false;
		stats->regions += !s->regions[i].watched;
	}
	kr_keeper_start();
	s->open = true;
	s->thread = kr_thread_token();
	stats->bytes = s->bytes;
	stats->tier = tier_of(s);
out:
	stats->ns = kr_now_ns() - began;
	return why;
}

/* ---- restoring ---- */

_Noreturn static void
restore_failed(const struct kr_snapshot *s, const struct kr_region *r, const char *what, const char *how)
{
	if (r != NULL)
		kr_log(KR_LOG_ERROR, "restore",
		       "device memory is half restored and cannot be repaired: %s: %s %llu bytes at 0x%llx failed", what,
		       how, (unsigned long long)r->bytes, (unsigned long long)r->address);
	else
		kr_log(KR_LOG_ERROR, "restore",
		       "device memory is half restored and cannot be repaired: %s: %s %zu regions (%llu bytes) failed",
		       what, how, s->count, (unsigned long long)s->bytes);
	abort();
}

void
kr_snapshot_restore(struct kr_snapshot *s, const char *what, kreplay_phase_stats_t *stats)
{
	uint64_t began = kr_now_ns();

	*stats = (kreplay_phase_stats_t){.size = sizeof(*stats)};
	if (kr_options_get()->test_no_restore)
		return;
	/* A callback freed something: its address may be someone else's by now. */
	kr_plan_refresh(s);
	if (!s->list_current && !kr_chunks_build(s))
		restore_failed(s, NULL, what, "listing");
	if (s->chunk_count != 0 &&
	    (!kr_chunks_start(s, KR_KERNEL_SYNC, 0, s->synced, KR_JOB_TO_MEMORY) ||
	     !kr_chunks_start(s, KR_KERNEL_HASH, s->synced, s->chunk_count - s->synced, 0)))
		restore_failed(s, NULL, what, "comparing");
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];

		if (r->dead || r->watched)
			continue;
		stats->regions++;
		stats->bytes += r->bytes;
		if (r->chunks != 0)
			continue;
		stats->dirty_bytes += r->bytes;
		if (!kr_copy_region(s, r, false, &stats->host_link_bytes))
			restore_failed(s, r, what, "copying back");
	}
	if (s->device != NULL && !kr_device_wait(s->device))
		restore_failed(s, NULL, what, "comparing");
	if (!settle(s, false, stats) || !kr_copy_wait(s))
		restore_failed(s, NULL, what, "copying back");
	stats->tier = tier_of(s);
	stats->ns = kr_now_ns() - began;
}

/* ---- the end, and giving back ---- */

void
kr_snapshot_close(struct kr_snapshot *s)
{
	/* The last pass has no restore in which to look. */
	if (s->open && kr_options_get()->verify_scope && s->chunk_count > s->synced && s->device != NULL &&
	    kr_chunks_start(s, KR_KERNEL_HASH, s->synced, s->chunk_count - s->synced, 0) && kr_device_wait(s->device))
		for (size_t i = 0; i < s->count; i++)
			if (s->regions[i].watched && s->regions[i].chunks != 0 && !s->regions[i].dead)
				check_watched(s, &s->regions[i], false);
	if (s->open && s->marks != NULL && kr_options_get()->verify_scope)
		memset(s->marks, 0, s->marks_bytes);
	s->open = false;
	s->used_at = kr_now_ns();
}

static bool
retains(const struct kr_snapshot *s, enum kr_place place)
{
	if (place == KR_IN_DEVICE)
		return s->store[place].bytes + s->hashes[0].bytes != 0 || s->stage_device != NULL;
	return s->store[KR_IN_PINNED].bytes + s->store[KR_IN_PAGEABLE].bytes + s->hashes[1].bytes != 0 || s->stage != NULL;
}

/* By the writer, with no window open. */
static bool
release(struct kr_agent *agent, enum kr_place place)
{
	struct kr_snapshot *s = agent->snapshot;

	if (s == NULL || s->open || !retains(s, place) || !kr_copy_idle(s))
		return false;
	kr_plan_drop(s);
	return true;
}

bool
kr_snapshot_yield(struct kr_agent *owner)
{
	uint64_t until = kr_now_ns() + kr_options_get()->drain_timeout_s * 1000000000ull;
	struct kr_agent *agent;
	bool some = false;

	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		if ((owner != NULL && owner != agent) || agent->snapshot == NULL || kr_agent_is_writer(agent))
			continue;
		if (!kr_agent_write_lock(agent, until))
			continue;
		some |= release(agent, owner != NULL ? KR_IN_DEVICE : KR_IN_PINNED);
		kr_agent_write_unlock(agent);
	}
	return some;
}

bool
kr_snapshot_make_room(hsa_status_t status, struct kr_agent *owner)
{
	return status == HSA_STATUS_ERROR_OUT_OF_RESOURCES && kr_snapshot_yield(owner);
}

unsigned
kr_snapshot_release_idle(uint64_t idle_ns)
{
	struct kr_agent *agent;
	unsigned released = 0;

	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		/* A window that is open now is not idle. */
		if (agent->snapshot == NULL || !kr_agent_write_lock(agent, kr_now_ns() + 1000000))
			continue;
		if (agent->snapshot != NULL && kr_now_ns() - agent->snapshot->used_at >= idle_ns)
			released += release(agent, KR_IN_DEVICE) || release(agent, KR_IN_PINNED);
		kr_agent_write_unlock(agent);
	}
	return released;
}
