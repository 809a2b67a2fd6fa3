/* SPDX-License-Identifier: MIT */
/*
 * An observer that reads the memory view in every PASS EXIT, the last one included (contract 1: the memory view): what
 * iterate_changes says is compared, byte for byte, with what reading both sides shows. It prints the changed ranges as
 * offsets into their regions, or only their sum when E2E_SUM is set, and what else ought to hold.
 */
#include "tool.h"

#include <pthread.h>

#define MOST 64

static struct {
	kreplay_memory_region_t regions[MOST];
	size_t region_count;
	kreplay_memory_range_t *ranges;
	size_t range_count, range_room;
	uint64_t hash[MOST][2];
	int hashed;
} seen;
static const kreplay_memory_view_t *kept;

static int add_region(const kreplay_memory_region_t *region, void *data)
{
	if (seen.region_count == MOST)
		return 1;
	seen.regions[seen.region_count++] = *region;
	return 0;
}

static int add_range(const kreplay_memory_range_t *range, void *data)
{
	if (seen.range_count == seen.range_room) {
		seen.range_room = seen.range_room ? 2 * seen.range_room : 1024;
		seen.ranges = realloc(seen.ranges, seen.range_room * sizeof(*seen.ranges));
		if (!seen.ranges)
			abort();
	}
	seen.ranges[seen.range_count++] = *range;
	return 0;
}

/* Range number *next of those said must be the next run of bytes that differ. */
static void compare_region(const kreplay_memory_view_t *view, const kreplay_memory_region_t *region, size_t *next)
{
	unsigned char *now = malloc(region->bytes), *before = malloc(region->bytes);

	if (!now || !before ||
	    view->read_current(view, region->address, now, region->bytes) != KREPLAY_STATUS_SUCCESS ||
	    view->read_snapshot(view, region->address, before, region->bytes) != KREPLAY_STATUS_SUCCESS)
		say("UNREADABLE\n");
	else
		for (uint64_t i = 0; i < region->bytes; i++) {
			uint64_t from = i;

			while (i < region->bytes && now[i] != before[i])
				i++;
			if (i == from)
				continue;
			if (*next >= seen.range_count || seen.ranges[*next].address != region->address + from ||
			    seen.ranges[*next].bytes != i - from)
				say("NOT SAID: %llu bytes at %llu\n", (unsigned long long)(i - from),
				    (unsigned long long)from);
			++*next;
		}
	free(now);
	free(before);
}

static void print_ranges(uint64_t pass)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < seen.range_count; i++) {
		size_t r = 0;

		sum += seen.ranges[i].bytes;
		while (r < seen.region_count &&
		       (seen.ranges[i].address < seen.regions[r].address ||
			seen.ranges[i].address + seen.ranges[i].bytes > seen.regions[r].address + seen.regions[r].bytes))
			r++;
		if (r == seen.region_count)
			say("OUTSIDE\n");
		else if (!getenv("E2E_SUM"))
			say("pass %llu: %llu bytes in a region of kind %d\n", (unsigned long long)pass,
			    (unsigned long long)seen.ranges[i].bytes, seen.regions[r].kind);
	}
	say("pass %llu: %llu bytes changed\n", (unsigned long long)pass, (unsigned long long)sum);
}

static void hash_regions(const kreplay_memory_view_t *view)
{
	for (size_t r = 0; r < seen.region_count; r++) {
		uint64_t hash[2] = { 0 };

		if (view->hash_region(view, seen.regions[r].address, hash) != KREPLAY_STATUS_SUCCESS)
			say("NO HASH\n");
		if (seen.hashed && memcmp(hash, seen.hash[r], sizeof(hash)) != 0)
			say("OTHER HASH\n");
		memcpy(seen.hash[r], hash, sizeof(hash));
	}
	seen.hashed = 1;
}

static void *on_another_thread(void *data)
{
	say("other thread %d\n", kept->iterate_regions(kept, add_region, NULL));
	return NULL;
}

static void check_refusals(const kreplay_memory_view_t *view)
{
	unsigned char byte;
	pthread_t thread;

	say("out of scope %d %d\n", view->read_current(view, 1, &byte, 1), view->read_snapshot(view, 1, &byte, 1));
	say("null %d %d\n", view->iterate_regions(view, NULL, NULL), view->iterate_changes(view, NULL, NULL));
	kept = view;
	if (pthread_create(&thread, NULL, on_another_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

static void look(const replay_data *payload)
{
	const kreplay_memory_view_t *view = payload->memory;
	size_t next = 0;

	if (!view || view->size < sizeof(*view)) {
		say("NO VIEW\n");
		return;
	}
	seen.region_count = seen.range_count = 0;
	if (view->iterate_regions(view, add_region, NULL) != KREPLAY_STATUS_SUCCESS ||
	    view->iterate_changes(view, add_range, NULL) != KREPLAY_STATUS_SUCCESS)
		say("NOT ITERATED\n");
	if (payload->snapshot.regions != seen.region_count)
		say("%llu REGIONS IN THE STATISTICS, %zu HERE\n", (unsigned long long)payload->snapshot.regions,
		    seen.region_count);
	for (size_t r = 0; r < seen.region_count; r++) {
		if (r && seen.regions[r].address <= seen.regions[r - 1].address)
			say("NOT BY RISING ADDRESS\n");
		compare_region(view, &seen.regions[r], &next);
	}
	if (next != seen.range_count)
		say("TOO MUCH SAID\n");
	print_ranges(payload->current_pass);
	hash_regions(view);
	if (payload->dispatch_info.dispatch_id == 1 && payload->current_pass == 0)
		check_refusals(view);
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const replay_data *payload = record.payload;
	int entering = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;
	const char *name;

	if (record.operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT && entering) {
		kreplay_query_kernel_name(payload->dispatch_info.kernel_id, 0, &name, NULL);
		say("%s\n", name);
		seen.hashed = 0;
		if (payload->memory)
			say("A VIEW TOO EARLY\n");
	} else if (record.operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT) {
		if (!payload->memory)
			say("NO VIEW IN SNAPSHOT EXIT\n");
	} else if (record.operation == KREPLAY_KERNEL_REPLAY_PASS && !entering) {
		look(payload);
	}
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operations[] = { KREPLAY_KERNEL_REPLAY_PASS,
								   KREPLAY_KERNEL_REPLAY_SNAPSHOT };

	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, operations, 2, on_replay, 1);
	return 0;
}

static void finalize(void *data)
{
	if (kept)
		say("after the window %d\n", kept->iterate_regions(kept, add_region, NULL));
}

TOOL("memory", "E2E_LOG", initialize, finalize)
