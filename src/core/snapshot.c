/* SPDX-License-Identifier: MIT */
#include "core/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/code.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/snapshot_internal.h"
#include "core/tracker.h"
#include "options/options.h"

#define ALIGN 256u /* of a region in the buffer: whole lines for the copy engine */

/* ---- pinned host memory ---- */

bool
kr_pinned_alloc(struct kr_agent *agent, size_t size, void **memory)
{
	hsa_amd_memory_pool_t pool;

	if (!kr_host_pool(&pool) ||
	    kr_next.hsa_amd_memory_pool_allocate(pool, size, 0, memory) != HSA_STATUS_SUCCESS)
		return false;
	if (kr_next.hsa_amd_agents_allow_access(1, &agent->handle, NULL, *memory) == HSA_STATUS_SUCCESS)
		return true;
	kr_next.hsa_amd_memory_pool_free(*memory);
	*memory = NULL;
	return false;
}

static bool
reserve(struct kr_snapshot *s, size_t bytes)
{
	/* A little above what is needed, so that a program that grows slowly does
	 * not make us allocate at every window. */
	size_t wanted = bytes + bytes / 8 + (64u << 10);

	if (bytes <= s->capacity)
		return true;
	if (s->buffer != NULL)
		kr_next.hsa_amd_memory_pool_free(s->buffer);
	s->buffer = NULL;
	s->capacity = 0;
	if (!kr_pinned_alloc(s->agent, wanted, (void **)&s->buffer)) {
		wanted = bytes;
		if (!kr_pinned_alloc(s->agent, wanted, (void **)&s->buffer))
			return false;
	}
	s->capacity = wanted;
	return true;
}

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
	if (kr_next.hsa_signal_create(0, 0, NULL, &s->copied) != HSA_STATUS_SUCCESS) {
		free(s);
		return NULL;
	}
	kr_memory_view_init(s);
	agent->snapshot = s;
	return s;
}

void
kr_snapshot_destroy(struct kr_agent *agent)
{
	struct kr_snapshot *s = agent->snapshot;

	if (s == NULL)
		return;
	if (s->buffer != NULL)
		kr_next.hsa_amd_memory_pool_free(s->buffer);
	if (s->scratch != NULL)
		kr_next.hsa_amd_memory_pool_free(s->scratch);
	kr_next.hsa_signal_destroy(s->copied);
	free(s->regions);
	free(s);
	agent->snapshot = NULL;
}

/* ---- copies ---- */

/* One copy, host to device or back; s->copied goes down by one when it is done. */
static hsa_status_t
start_copy(struct kr_snapshot *s, void *to, const void *from, size_t bytes, bool to_host)
{
	hsa_agent_t host = kr_host_agent(), device = s->agent->handle;

	return kr_next.hsa_amd_memory_async_copy(to, to_host ? host : device, from, to_host ? device : host,
						 bytes, 0, NULL, s->copied);
}

/* Waits until s->copied has come down to `left`; false when a copy failed (the
 * runtime makes the signal negative then) or the drain time is over. */
static bool
wait_copies(struct kr_snapshot *s, hsa_signal_value_t left)
{
	uint64_t until = kr_now_ns() + kr_options_get()->drain_timeout_s * 1000000000ull;
	hsa_signal_value_t value;

	do {
		value = kr_next.hsa_signal_wait_scacquire(s->copied, HSA_SIGNAL_CONDITION_LT, left + 1,
							  100000000, HSA_WAIT_STATE_BLOCKED);
	} while (value > left && kr_now_ns() < until);
	return value == left;
}

bool
kr_copy_to_host(struct kr_snapshot *s, void *to, uint64_t from, size_t bytes)
{
	kr_next.hsa_signal_store_relaxed(s->copied, 1);
	return start_copy(s, to, (const void *)(uintptr_t)from, bytes, true) == HSA_STATUS_SUCCESS &&
	       wait_copies(s, 0);
}

/* ---- the regions ---- */

static bool
add_region(struct kr_snapshot *s, struct kr_region region)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct kr_region *grown = realloc(s->regions, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		s->regions = grown;
		s->room = room;
	}
	s->regions[s->count++] = region;
	return true;
}

static bool
visit_allocation(const struct kr_allocation *a, void *data)
{
	return add_region(data, (struct kr_region){.address = a->base,
						   .bytes = a->size,
						   .generation = a->generation,
						   .kind = a->region_kind});
}

static bool
visit_segment(const struct kr_segment *segment, void *data)
{
	return add_region(data, (struct kr_region){.address = segment->address,
						   .bytes = segment->size,
						   .generation = segment->generation,
						   .kind = KREPLAY_REGION_VARIABLE});
}

static int
by_address(const void *a, const void *b)
{
	const struct kr_region *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

bool
kr_region_alive(const struct kr_region *r)
{
	return r->kind == KREPLAY_REGION_VARIABLE ? kr_code_alive(r->generation)
						  : kr_tracker_alive(r->address, r->generation);
}

static uint64_t
available_host_memory(void)
{
	long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

/* Collects the regions and checks them against the budget. */
static kreplay_decline_t
plan(struct kr_snapshot *s, uint64_t *bytes, uint64_t *needed)
{
	*bytes = *needed = 0;
	s->count = 0;
	if (!kr_tracker_complete())
		return KREPLAY_DECLINE_OUT_OF_MEMORY;
	if (!kr_code_known(s->agent))
		return KREPLAY_DECLINE_VARIABLES_UNKNOWN;
	if (!kr_tracker_each(s->agent, visit_allocation, s) || !kr_code_each(s->agent, visit_segment, s))
		return KREPLAY_DECLINE_OUT_OF_MEMORY;
	qsort(s->regions, s->count, sizeof(*s->regions), by_address);
	for (size_t i = 0; i < s->count; i++) {
		s->regions[i].offset = *needed;
		*bytes += s->regions[i].bytes;
		*needed += (s->regions[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
	}
	/* What is retained already counts as available. */
	if (*needed > kr_budget_bytes(kr_options_get()->budget, available_host_memory() + s->capacity))
		return KREPLAY_DECLINE_OVER_BUDGET;
	return reserve(s, *needed) ? KREPLAY_DECLINE_NONE : KREPLAY_DECLINE_OUT_OF_MEMORY;
}

kreplay_decline_t
kr_snapshot_take(struct kr_snapshot *s, kreplay_phase_stats_t *stats)
{
	uint64_t began = kr_now_ns(), bytes, needed;
	kreplay_decline_t why = plan(s, &bytes, &needed);
	size_t started = 0;
	bool ok = true;

	*stats = (kreplay_phase_stats_t){.size = sizeof(*stats)};
	if (why != KREPLAY_DECLINE_NONE)
		goto out;
	kr_next.hsa_signal_store_relaxed(s->copied, (hsa_signal_value_t)s->count);
	for (; started < s->count && ok; started += ok) {
		struct kr_region *r = &s->regions[started];

		ok = start_copy(s, s->buffer + r->offset, (const void *)(uintptr_t)r->address, r->bytes, true) ==
		     HSA_STATUS_SUCCESS;
	}
	/* Those that were started must end before the buffer is used again. */
	if (!wait_copies(s, (hsa_signal_value_t)(s->count - started)) || !ok)
		why = KREPLAY_DECLINE_COPY_FAILED;
	if (why != KREPLAY_DECLINE_NONE)
		goto out;
	s->open = true;
	s->thread = kr_thread_token();
	stats->regions = s->count;
	stats->bytes = stats->dirty_bytes = stats->host_link_bytes = bytes;
	stats->tier = bytes != 0 ? KREPLAY_TIER_PINNED : KREPLAY_TIER_NONE;
out:
	stats->ns = kr_now_ns() - began;
	return why;
}

static void
restore_failed(const struct kr_region *r, const char *what, hsa_status_t status)
{
	kr_log(KR_LOG_ERROR, "restore",
	       "device memory is half restored and cannot be repaired: %s: copying %llu bytes back to 0x%llx: %s",
	       what, (unsigned long long)r->bytes, (unsigned long long)r->address, kr_status_text(status));
	abort();
}

void
kr_snapshot_restore(struct kr_snapshot *s, const char *what, kreplay_phase_stats_t *stats)
{
	uint64_t began = kr_now_ns();
	size_t started = 0;

	*stats = (kreplay_phase_stats_t){.size = sizeof(*stats)};
	if (kr_options_get()->test_no_restore)
		return;
	kr_next.hsa_signal_store_relaxed(s->copied, (hsa_signal_value_t)s->count);
	for (size_t i = 0; i < s->count; i++) {
		struct kr_region *r = &s->regions[i];
		hsa_status_t status;

		/* A callback freed it: its address may be someone else's by now. */
		if (!kr_region_alive(r))
			continue;
		status = start_copy(s, (void *)(uintptr_t)r->address, s->buffer + r->offset, r->bytes, false);
		if (status != HSA_STATUS_SUCCESS)
			restore_failed(r, what, status);
		started++;
		stats->bytes += r->bytes;
	}
	if (!wait_copies(s, (hsa_signal_value_t)(s->count - started)))
		restore_failed(&s->regions[0], what, HSA_STATUS_ERROR);
	stats->regions = started;
	stats->dirty_bytes = stats->host_link_bytes = stats->bytes;
	stats->tier = stats->bytes != 0 ? KREPLAY_TIER_PINNED : KREPLAY_TIER_NONE;
	stats->ns = kr_now_ns() - began;
}

void
kr_snapshot_close(struct kr_snapshot *s)
{
	s->open = false;
}
