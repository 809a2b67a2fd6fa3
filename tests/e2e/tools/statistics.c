/* SPDX-License-Identifier: MIT */
/*
 * An observer that holds what SNAPSHOT EXIT and RESTORE EXIT say of themselves against the memory view (contract 2:
 * bytes, regions, tier, seconds; bytes actually written back). It prints the tier and what does not agree.
 */
#include "tool.h"

static struct {
	uint64_t regions, bytes, changed;
	uint64_t dirty, ns; /* sum of the restores */
} seen;

static int add_region(const kreplay_memory_region_t *region, void *data)
{
	seen.regions++;
	seen.bytes += region->bytes;
	return 0;
}

static int add_change(const kreplay_memory_range_t *range, void *data)
{
	seen.changed += range->bytes;
	return 0;
}

static void expect(int right, const char *what, uint64_t got, uint64_t want)
{
	if (!right)
		say("WRONG: %s: %llu, by the view %llu\n", what, (unsigned long long)got, (unsigned long long)want);
}

static void after_snapshot(const replay_data *payload)
{
	const kreplay_phase_stats_t *stats = &payload->snapshot;

	memset(&seen, 0, sizeof(seen));
	payload->memory->iterate_regions(payload->memory, add_region, NULL);
	expect(stats->size == sizeof(*stats), "size", stats->size, sizeof(*stats));
	expect(stats->regions == seen.regions, "regions", stats->regions, seen.regions);
	expect(stats->bytes == seen.bytes, "bytes", stats->bytes, seen.bytes);
	expect(stats->dirty_bytes <= stats->bytes, "bytes taken", stats->dirty_bytes, seen.bytes);
	expect(stats->ns > 0, "nanoseconds", stats->ns, 1);
	say("dispatch %llu: tier %u\n", (unsigned long long)payload->dispatch_info.dispatch_id, stats->tier);
}

/* Whole words or chunks may be written back, not less than what differs, and nothing where nothing does. `full` writes
 * all. */
static void after_restore(const replay_data *payload)
{
	const kreplay_phase_stats_t *stats = &payload->restore;
	int full = getenv("KREPLAY_SNAPSHOT") && strcmp(getenv("KREPLAY_SNAPSHOT"), "full") == 0;

	expect(stats->regions == seen.regions, "regions put back", stats->regions, seen.regions);
	expect(stats->bytes == seen.bytes, "bytes looked at", stats->bytes, seen.bytes);
	expect(stats->dirty_bytes >= seen.changed && stats->dirty_bytes <= seen.bytes, "bytes put back",
	       stats->dirty_bytes, seen.changed);
	expect(full || seen.changed > 0 || stats->dirty_bytes == 0, "bytes put back where nothing differs",
	       stats->dirty_bytes, seen.changed);
	expect(stats->ns > 0, "nanoseconds", stats->ns, 1);
	seen.changed = 0;
	payload->memory->iterate_changes(payload->memory, add_change, NULL);
	expect(seen.changed == 0, "bytes that still differ", seen.changed, 0);
	seen.dirty += stats->dirty_bytes;
	seen.ns += stats->ns;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const replay_data *payload = record.payload;

	if (record.phase != KREPLAY_CALLBACK_PHASE_EXIT)
		return;
	switch (record.operation) {
	case KREPLAY_KERNEL_REPLAY_SNAPSHOT:
		after_snapshot(payload);
		break;
	case KREPLAY_KERNEL_REPLAY_PASS:
		seen.changed = 0;
		payload->memory->iterate_changes(payload->memory, add_change, NULL);
		expect(payload->restore.dirty_bytes == seen.dirty, "sum of bytes put back", payload->restore.dirty_bytes,
		       seen.dirty);
		expect(payload->restore.ns == seen.ns, "sum of nanoseconds", payload->restore.ns, seen.ns);
		if (payload->current_pass == 0)
			say("dispatch %llu: %s\n", (unsigned long long)payload->dispatch_info.dispatch_id,
			    seen.changed ? "changes memory" : "changes nothing");
		break;
	case KREPLAY_KERNEL_REPLAY_RESTORE:
		after_restore(payload);
		break;
	}
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operations[] = { KREPLAY_KERNEL_REPLAY_SNAPSHOT,
								   KREPLAY_KERNEL_REPLAY_PASS,
								   KREPLAY_KERNEL_REPLAY_RESTORE };

	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, operations, 3, on_replay, 1);
	return 0;
}

TOOL("statistics", "E2E_LOG", initialize, NULL)
