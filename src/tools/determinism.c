/* SPDX-License-Identifier: MIT */
/*
 * determinism: whether a kernel leaves the same memory each time. Every region is hashed after every pass and compared with
 * what pass 0 left. To say what differs, the bytes that pass 0 changed are kept for the length of the window: what it left
 * is those over the snapshot.
 */
#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kept bytes of one window; beyond it a difference is still found, and only its bytes are not shown. */
#define MOST_KEPT (UINT64_C(1) << 30)
/* Notes of one dispatch; what comes after is counted. */
#define MOST_NOTES 16
#define CHUNK (UINT64_C(1) << 20)
/* Changes with a shorter gap between them are read at once. */
#define NEAR 4096

struct kept {
	uint64_t address, bytes;
	uint64_t offset; /* in `bytes` of the window */
	uint64_t region; /* its place among the regions */
};

struct hashed {
	kreplay_memory_region_t region;
	uint64_t hash[2];
};

/* One window. Windows of several agents run at once, each on a thread of its own. */
struct window {
	kreplay_dispatch_id_t dispatch;
	const kreplay_memory_view_t *memory;
	struct hashed *regions;
	size_t region_count, region_room;
	struct kept *ranges; /* what pass 0 changed, by address */
	size_t range_count, range_room;
	unsigned char *bytes;
	uint64_t byte_count, byte_room;
	bool unusable;   /* no memory, or pass 0 could not be looked at */
	bool incomplete; /* not all of what pass 0 changed was kept */
	unsigned notes;
	uint64_t differences; /* pairs of pass and region */
	uint64_t at;          /* region that the walk over the changes has come to */
};

static _Thread_local struct window here;

static bool grow(void **array, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room : 64;
	void *grown;

	if (count <= *room)
		return true;
	while (wanted < count)
		wanted *= 2;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

static void begin_window(kreplay_dispatch_id_t dispatch)
{
	here.dispatch = dispatch;
	here.region_count = here.range_count = 0;
	here.at = 0;
	here.byte_count = 0;
	here.unusable = here.incomplete = false;
	here.notes = 0;
	here.differences = 0;
	/* one large window is no reason to keep its memory for ever */
	if (here.byte_room > (UINT64_C(64) << 20)) {
		free(here.bytes);
		here.bytes = NULL;
		here.byte_room = 0;
	}
}

/* --- pass 0 --- */

static int hash_first(const kreplay_memory_region_t *region, void *data)
{
	struct hashed *hashed;

	(void)data;
	if (!grow((void **)&here.regions, &here.region_room, here.region_count + 1, sizeof *here.regions)) {
		here.unusable = true;
		return 1;
	}
	hashed = &here.regions[here.region_count];
	hashed->region = *region;
	if (here.memory->hash_region(here.memory, region->address, hashed->hash) != KREPLAY_STATUS_SUCCESS) {
		here.unusable = true;
		return 1;
	}
	here.region_count++;
	return 0;
}

/* Notes a piece of one region that pass 0 changed; its bytes are read when all are known. */
static bool keep_piece(uint64_t address, uint64_t bytes, uint64_t region)
{
	struct kept *last = here.range_count ? &here.ranges[here.range_count - 1] : NULL;
	uint64_t gap = last && last->region == region ? address - (last->address + last->bytes) : UINT64_MAX;

	/* the bytes of a short gap, which pass 0 left as they were, take less than a range of their own */
	if (gap <= sizeof(struct kept)) {
		last->bytes += gap + bytes;
		here.byte_count += gap + bytes;
	} else {
		if (!grow((void **)&here.ranges, &here.range_room, here.range_count + 1, sizeof *here.ranges))
			return false;
		here.ranges[here.range_count++] = (struct kept){ address, bytes, here.byte_count, region };
		here.byte_count += bytes;
	}
	return here.byte_count <= MOST_KEPT;
}

/* Ranges and regions rise, so that each is walked once. A range may go on in the next region. */
static int keep_range(const kreplay_memory_range_t *range, void *data)
{
	uint64_t at = range->address, end = range->address + range->bytes;

	(void)data;
	while (at < end && here.at < here.region_count) {
		const kreplay_memory_region_t *region = &here.regions[here.at].region;
		uint64_t limit = region->address + region->bytes;

		if (at >= limit) {
			here.at++;
			continue;
		}
		at = at < region->address ? region->address : at;
		limit = end < limit ? end : limit;
		if (at < limit && !keep_piece(at, limit - at, here.at)) {
			here.incomplete = true;
			return 1;
		}
		at = limit;
	}
	return 0;
}

/* Ranges [first, end) lie close together in one region: one read for all of them. */
static bool read_span(size_t first, size_t end, unsigned char *span)
{
	const struct kept *from = &here.ranges[first], *last = &here.ranges[end - 1];

	if (end - first == 1)
		return here.memory->read_current(here.memory, from->address, here.bytes + from->offset, from->bytes) ==
		       KREPLAY_STATUS_SUCCESS;
	if (here.memory->read_current(here.memory, from->address, span, last->address + last->bytes - from->address) !=
	    KREPLAY_STATUS_SUCCESS)
		return false;
	for (const struct kept *one = from; one <= last; one++)
		memcpy(here.bytes + one->offset, span + (one->address - from->address), one->bytes);
	return true;
}

/* A read has a cost of its own, which for a few bytes is most of it. */
static bool read_kept(void)
{
	unsigned char *span = malloc(CHUNK);
	size_t room = here.byte_room;
	bool done = span && grow((void **)&here.bytes, &room, here.byte_count, 1);

	here.byte_room = room;
	for (size_t first = 0, end; done && first < here.range_count; first = end) {
		const struct kept *from = &here.ranges[first];

		for (end = first + 1; end < here.range_count; end++) {
			const struct kept *next = &here.ranges[end], *last = next - 1;

			if (next->region != from->region || next->address - (last->address + last->bytes) >= NEAR ||
			    next->address + next->bytes - from->address > CHUNK)
				break;
		}
		done = read_span(first, end, span);
	}
	free(span);
	return done;
}

static void look_first(void)
{
	if (here.memory->iterate_regions(here.memory, hash_first, NULL) != KREPLAY_STATUS_SUCCESS)
		here.unusable = true;
	if (here.unusable)
		return;
	if (here.memory->iterate_changes(here.memory, keep_range, NULL) != KREPLAY_STATUS_SUCCESS ||
	    here.incomplete || !read_kept())
		here.incomplete = true;
}

/* --- later passes --- */

/* What pass 0 left in [address, address + bytes), which lies in one region. */
static bool read_first(uint64_t address, unsigned char *out, uint64_t bytes)
{
	size_t low = 0, high = here.range_count;

	if (here.memory->read_snapshot(here.memory, address, out, bytes) != KREPLAY_STATUS_SUCCESS)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (here.ranges[middle].address + here.ranges[middle].bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < here.range_count && here.ranges[low].address < address + bytes; low++) {
		const struct kept *kept = &here.ranges[low];
		uint64_t from = kept->address > address ? kept->address : address;
		uint64_t to = kept->address + kept->bytes < address + bytes ? kept->address + kept->bytes : address + bytes;

		memcpy(out + (from - address), here.bytes + kept->offset + (from - kept->address), to - from);
	}
	return true;
}

struct difference {
	uint64_t bytes;      /* that differ */
	uint64_t offset;     /* of the first */
	uint64_t value_at;   /* of what is shown: the offset, rounded down to 8 */
	unsigned shown;      /* bytes of it, at most 8 */
	unsigned char first[8], now[8];
};

static void compare_chunk(struct difference *difference, uint64_t offset, const unsigned char *first,
			  const unsigned char *now, uint64_t bytes)
{
	if (memcmp(first, now, bytes) == 0)
		return;
	for (uint64_t i = 0; i < bytes; i++) {
		if (first[i] == now[i])
			continue;
		if (difference->bytes++ == 0) {
			uint64_t at = i & ~UINT64_C(7);

			difference->offset = offset + i;
			difference->value_at = offset + at;
			difference->shown = bytes - at < 8 ? (unsigned)(bytes - at) : 8;
			memcpy(difference->first, first + at, difference->shown);
			memcpy(difference->now, now + at, difference->shown);
		}
	}
}

static bool find_difference(const kreplay_memory_region_t *region, struct difference *difference)
{
	unsigned char *first = malloc(CHUNK), *now = malloc(CHUNK);
	bool done = first && now && !here.incomplete;

	memset(difference, 0, sizeof *difference);
	for (uint64_t at = 0; done && at < region->bytes; at += CHUNK) {
		uint64_t bytes = region->bytes - at < CHUNK ? region->bytes - at : CHUNK;

		done = read_first(region->address + at, first, bytes) &&
		       here.memory->read_current(here.memory, region->address + at, now, bytes) == KREPLAY_STATUS_SUCCESS;
		if (done)
			compare_chunk(difference, at, first, now, bytes);
	}
	free(first);
	free(now);
	return done;
}

/* --- saying so --- */

static void add_hex(struct text *out, const unsigned char *bytes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		text_add(out, "%02x", bytes[i]);
}

/* The 4 bytes that hold the first that differs. */
static uint32_t word_of(const struct difference *difference, const unsigned char *bytes)
{
	uint32_t word = 0;
	unsigned at = (unsigned)(difference->offset - difference->value_at) & 4;

	memcpy(&word, bytes + at, difference->shown >= at + 4 ? 4 : 0);
	return word;
}

static float float_of(uint32_t word)
{
	float value;

	memcpy(&value, &word, sizeof value);
	return value;
}

static double double_of(const unsigned char *bytes)
{
	double value;

	memcpy(&value, bytes, sizeof value);
	return value;
}

/* JSON has no NaN and no infinity. */
static void add_number_json(struct text *out, const char *name, double value)
{
	if (value - value == 0)
		text_add(out, "\"%s\": %.17g, ", name, value);
	else
		text_add(out, "\"%s\": null, ", name);
}

static void add_value_json(struct text *out, const char *name, const struct difference *difference,
			   const unsigned char *bytes)
{
	uint32_t word = word_of(difference, bytes);

	text_add(out, "\"%s\": {", name);
	add_number_json(out, "f32", (double)float_of(word));
	add_number_json(out, "f64", double_of(bytes));
	text_add(out, "\"i32\": %" PRId32 ", \"hex\": \"", (int32_t)word);
	add_hex(out, bytes, difference->shown);
	text_add(out, "\"}");
}

static void add_values(struct text *text, struct text *data, const struct difference *difference)
{
	uint32_t first = word_of(difference, difference->first), now = word_of(difference, difference->now);

	text_add(text, "\n%" PRIu64 " byte%s differ%s, the first at offset 0x%" PRIx64 "; at 0x%" PRIx64 ":",
		 difference->bytes, difference->bytes == 1 ? "" : "s", difference->bytes == 1 ? "s" : "",
		 difference->offset, difference->value_at);
	text_add(text, "\nhex ");
	add_hex(text, difference->first, difference->shown);
	text_add(text, " -> ");
	add_hex(text, difference->now, difference->shown);
	text_add(text, "   i32 %" PRId32 " -> %" PRId32 "   f32 %.9g -> %.9g   f64 %.17g -> %.17g", (int32_t)first,
		 (int32_t)now, (double)float_of(first), (double)float_of(now), double_of(difference->first),
		 double_of(difference->now));
	text_add(data, "\"differing_bytes\": %" PRIu64 ", \"first_offset\": %" PRIu64 ", \"value_offset\": %" PRIu64 ", ",
		 difference->bytes, difference->offset, difference->value_at);
	add_value_json(data, "reference", difference, difference->first);
	text_add(data, ", ");
	add_value_json(data, "value", difference, difference->now);
}

static void report(const kreplay_callback_tracing_kernel_replay_data_t *payload, const kreplay_memory_region_t *region)
{
	kreplay_kernel_id_t kernel = payload->dispatch_info.kernel_id;
	struct text text = { 0 }, data = { 0 };
	struct difference difference;
	char bytes[32];
	kreplay_report_note_t note = {
		.size = sizeof note,
		.topic = "determinism",
		.severity = KREPLAY_REPORT_FINDING,
		.kernel_id = kernel,
		.dispatch_id = payload->dispatch_info.dispatch_id,
		.pass = payload->current_pass,
	};

	text_add(&text, "dispatch %" PRIu64 ", pass %" PRIu64 " left other bytes than pass 0 in the %s at 0x%" PRIx64 " (%s), ",
		 note.dispatch_id, note.pass,
		 region->kind == KREPLAY_REGION_VARIABLE ? "module-scope variables" : "allocation", region->address,
		 format_bytes(bytes, region->bytes));
	text_add_argument(&text, kernel, region->argument);
	text_add(&data, "{\"address\": \"0x%" PRIx64 "\", \"bytes\": %" PRIu64 ", \"kind\": \"%s\", ", region->address,
		 region->bytes, region_kind_name(region->kind));
	text_add_argument_json(&data, kernel, region->argument);
	if (find_difference(region, &difference) && difference.bytes)
		add_values(&text, &data, &difference);
	else
		text_add(&data, "\"differing_bytes\": null");
	text_add(&data, "}");
	note.text = text.failed ? NULL : text.data;
	note.data = data.failed ? NULL : data.data;
	write_note(&note);
	text_free(&text);
	text_free(&data);
}

static void look_again(const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	for (size_t i = 0; i < here.region_count; i++) {
		const struct hashed *hashed = &here.regions[i];
		uint64_t hash[2];

		/* freed since: nobody's business any more */
		if (here.memory->hash_region(here.memory, hashed->region.address, hash) != KREPLAY_STATUS_SUCCESS ||
		    (hash[0] == hashed->hash[0] && hash[1] == hashed->hash[1]))
			continue;
		here.differences++;
		if (here.notes < MOST_NOTES) {
			here.notes++;
			report(payload, &hashed->region);
		}
	}
}

/* --- the tool --- */

static uint64_t dispatches_checked, dispatches_differing;

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const kreplay_callback_tracing_kernel_replay_data_t *payload = record.payload;
	uint64_t before;

	(void)user_data;
	(void)data;
	if (record.phase != KREPLAY_CALLBACK_PHASE_EXIT || !payload->memory ||
	    payload->decline != KREPLAY_DECLINE_NONE)
		return;
	here.memory = payload->memory;
	if (payload->current_pass == 0) {
		begin_window(payload->dispatch_info.dispatch_id);
		look_first();
		return;
	}
	if (here.unusable || here.dispatch != payload->dispatch_info.dispatch_id)
		return;
	before = here.differences;
	look_again(payload);
	if (payload->current_pass == 1)
		__atomic_add_fetch(&dispatches_checked, 1, __ATOMIC_RELAXED);
	if (before == 0 && here.differences)
		__atomic_add_fetch(&dispatches_differing, 1, __ATOMIC_RELAXED);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operation = KREPLAY_KERNEL_REPLAY_PASS;

	(void)finalize_func;
	return observe("determinism", &operation, 1, on_replay, data);
}

static void finalize(void *data)
{
	struct text text = { 0 }, json = { 0 };
	kreplay_report_note_t note = { .size = sizeof note, .topic = "determinism", .pass = KREPLAY_NO_PASS };

	(void)data;
	text_add(&text, "%" PRIu64 " dispatch%s compared: ", dispatches_checked, dispatches_checked == 1 ? "" : "es");
	if (dispatches_checked && !dispatches_differing)
		text_add(&text, "all passes agree");
	else
		text_add(&text, "the passes of %" PRIu64 " differ", dispatches_differing);
	text_add(&json, "{\"dispatches\": %" PRIu64 ", \"differing\": %" PRIu64 "}", dispatches_checked,
		 dispatches_differing);
	note.text = text.failed ? NULL : text.data;
	note.data = json.failed ? NULL : json.data;
	write_note(&note);
	text_free(&text);
	text_free(&json);
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, finalize, NULL };

	(void)priority;
	client_id->name = "determinism";
	return version_fits("determinism", version, runtime_version) ? &result : NULL;
}
