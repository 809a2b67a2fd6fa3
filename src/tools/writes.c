/* SPDX-License-Identifier: MIT */
/*
 * writes: what a dispatch changed, as its first pass left it. An unchanged allocation is listed when an argument points to
 * it, and counted otherwise. A byte that was written with the value that it had cannot be told from one that was not
 * written, which is why nothing is called read-only here.
 */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/* Runs of changed bytes with a shorter gap between them are one range. */
#define MERGE_GAP 64
/* Of one allocation, in the report's file; all are counted. */
#define RANGES_LISTED 64
#define REGIONS_LISTED 256

struct region {
	kreplay_memory_region_t region;
	uint64_t bytes;  /* changed */
	uint64_t ranges; /* after merging */
	kreplay_memory_range_t list[RANGES_LISTED];
	uint64_t end; /* of the last range */
};

struct map {
	struct region *regions; /* by address */
	size_t count, room, at;
	bool failed;
};

static int add_region(const kreplay_memory_region_t *region, void *data)
{
	struct map *map = data;

	if (map->count == map->room) {
		size_t room = map->room ? 2 * map->room : 64;
		struct region *grown = realloc(map->regions, room * sizeof *grown);

		if (!grown) {
			map->failed = true;
			return 1;
		}
		map->regions = grown;
		map->room = room;
	}
	map->regions[map->count] = (struct region){ .region = *region };
	map->count++;
	return 0;
}

static void add_to(struct region *region, uint64_t begin, uint64_t bytes)
{
	region->bytes += bytes;
	if (region->ranges > 0 && begin - region->end < MERGE_GAP) {
		if (region->ranges <= RANGES_LISTED)
			region->list[region->ranges - 1].bytes = begin + bytes - region->list[region->ranges - 1].address;
	} else {
		if (region->ranges < RANGES_LISTED)
			region->list[region->ranges] = (kreplay_memory_range_t){ begin, bytes };
		region->ranges++;
	}
	region->end = begin + bytes;
}

/* Both lists rise, so that each is walked once. A range may go on in the next region. */
static int add_change(const kreplay_memory_range_t *range, void *data)
{
	uint64_t at = range->address, end = range->address + range->bytes;
	struct map *map = data;

	while (at < end && map->at < map->count) {
		struct region *region = &map->regions[map->at];
		uint64_t limit = region->region.address + region->region.bytes;

		if (at >= limit) {
			map->at++;
			continue;
		}
		if (at < region->region.address)
			at = region->region.address;
		if (at >= end)
			break;
		add_to(region, at, (end < limit ? end : limit) - at);
		at = end < limit ? end : limit;
	}
	return 0;
}

static const char *state_of(const struct region *region)
{
	return region->bytes ? "changed" : "unchanged";
}

static void add_region_json(struct text *out, kreplay_kernel_id_t kernel, const struct region *region)
{
	uint64_t listed = region->ranges < RANGES_LISTED ? region->ranges : RANGES_LISTED;

	text_add(out, "{\"address\": \"0x%llx\", \"bytes\": %llu, \"kind\": \"%s\", ",
		 (unsigned long long)region->region.address, (unsigned long long)region->region.bytes,
		 region_kind_name(region->region.kind));
	text_add_argument_json(out, kernel, region->region.argument);
	text_add(out, "\"state\": \"%s\", \"changed_bytes\": %llu, \"range_count\": %llu, \"ranges\": [",
		 state_of(region), (unsigned long long)region->bytes, (unsigned long long)region->ranges);
	for (uint64_t i = 0; i < listed; i++)
		text_add(out, "%s[%llu, %llu]", i ? ", " : "",
			 (unsigned long long)(region->list[i].address - region->region.address),
			 (unsigned long long)region->list[i].bytes);
	text_add(out, "]}");
}

static void add_region_text(struct text *out, kreplay_kernel_id_t kernel, const struct region *region)
{
	char bytes[32], all[32];

	format_bytes(all, region->region.bytes);
	if (region->bytes)
		text_add(out, "\nchanged    %s of %s (%.1f%%) in %llu range%s at 0x%llx, ",
			 format_bytes(bytes, region->bytes), all,
			 100.0 * (double)region->bytes / (double)region->region.bytes,
			 (unsigned long long)region->ranges, region->ranges == 1 ? "" : "s",
			 (unsigned long long)region->region.address);
	else
		text_add(out, "\n%-10s %s at 0x%llx, ", state_of(region), all,
			 (unsigned long long)region->region.address);
	if (region->region.kind == KREPLAY_REGION_VARIABLE)
		text_add(out, "module-scope variables");
	else
		text_add_argument(out, kernel, region->region.argument);
}

static void report(const kreplay_callback_tracing_kernel_replay_data_t *payload, const struct map *map, bool first)
{
	kreplay_kernel_id_t kernel = payload->dispatch_info.kernel_id;
	uint64_t changed = 0, total = 0, others = 0, listed = 0;
	struct text text = { 0 }, data = { 0 };
	char bytes[32], all[32];
	kreplay_report_note_t note = {
		.size = sizeof note,
		.topic = "writes",
		.kernel_id = kernel,
		.dispatch_id = payload->dispatch_info.dispatch_id,
		.pass = 0,
	};

	for (size_t i = 0; i < map->count; i++) {
		changed += map->regions[i].bytes;
		total += map->regions[i].region.bytes;
	}
	text_add(&data, "{\"changed_bytes\": %llu, \"bytes\": %llu, \"regions\": [", (unsigned long long)changed,
		 (unsigned long long)total);
	text_add(&text, "changed %s of the %s in scope", format_bytes(bytes, changed), format_bytes(all, total));
	for (size_t i = 0; i < map->count; i++) {
		const struct region *region = &map->regions[i];

		/* all are listed unless that would be more than anybody reads */
		if (listed < REGIONS_LISTED || region->bytes) {
			text_add(&data, "%s", listed ? ", " : "");
			add_region_json(&data, kernel, region);
			listed++;
		}
		if (region->bytes || region->region.argument >= 0)
			add_region_text(&text, kernel, region);
		else
			others++;
	}
	if (others)
		text_add(&text, "\nunchanged  %llu other allocation%s", (unsigned long long)others,
			 others == 1 ? "" : "s");
	text_add(&data, "], \"regions_left_out\": %llu}", (unsigned long long)(map->count - listed));
	note.text = first && !text.failed ? text.data : NULL;
	note.data = data.failed ? NULL : data.data;
	write_note(&note);
	text_free(&text);
	text_free(&data);
}

/* Whether this is the first dispatch of the kernel; for kernels beyond the table it always is. */
static bool is_first(kreplay_kernel_id_t kernel)
{
	static unsigned char seen[1 << 13];
	uint64_t bit = kernel % 8, byte = kernel / 8;

	return byte >= sizeof seen || !(__atomic_fetch_or(&seen[byte], 1u << bit, __ATOMIC_RELAXED) >> bit & 1);
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const kreplay_callback_tracing_kernel_replay_data_t *payload = record.payload;
	const kreplay_memory_view_t *memory = payload->memory;
	struct map map = { 0 };

	(void)user_data;
	(void)data;
	if (record.phase != KREPLAY_CALLBACK_PHASE_EXIT || payload->current_pass != 0 || !memory ||
	    payload->decline != KREPLAY_DECLINE_NONE)
		return;
	if (memory->iterate_regions(memory, add_region, &map) == KREPLAY_STATUS_SUCCESS && !map.failed &&
	    memory->iterate_changes(memory, add_change, &map) == KREPLAY_STATUS_SUCCESS)
		report(payload, &map, is_first(payload->dispatch_info.kernel_id));
	free(map.regions);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operation = KREPLAY_KERNEL_REPLAY_PASS;

	(void)finalize_func;
	return observe("writes", &operation, 1, on_replay, data);
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, NULL, NULL };

	(void)priority;
	client_id->name = "writes";
	return version_fits("writes", version, runtime_version) ? &result : NULL;
}
