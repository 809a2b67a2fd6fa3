/* SPDX-License-Identifier: MIT */
/* The memory view: an open snapshot as tools see it. */
#include <string.h>

#include "core/hash.h"
#include "core/snapshot_internal.h"

static struct kr_snapshot *
open_view(const kreplay_memory_view_t *view, kreplay_status_t *status)
{
	struct kr_snapshot *s = (struct kr_snapshot *)(uintptr_t)view;

	*status = KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	if (view == NULL)
		return NULL;
	*status = KREPLAY_STATUS_ERROR_NOT_AVAILABLE;
	if (!s->open || s->thread != kr_thread_token())
		return NULL;
	*status = KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES;
	if (s->scratch == NULL && !kr_pinned_alloc(s->agent, KR_VIEW_CHUNK, (void **)&s->scratch))
		return NULL;
	*status = KREPLAY_STATUS_SUCCESS;
	return s;
}

/* The region that holds all of [address, address + bytes), or NULL. */
static const struct kr_region *
region_of(const struct kr_snapshot *s, uint64_t address, uint64_t bytes)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kr_region *r = &s->regions[middle];

		if (address < r->address)
			high = middle;
		else if (address - r->address >= r->bytes)
			low = middle + 1;
		else
			return bytes <= r->bytes - (address - r->address) && kr_region_alive(r) ? r : NULL;
	}
	return NULL;
}

static kreplay_status_t
iterate_regions(const kreplay_memory_view_t *view, kreplay_memory_region_cb_t callback, void *data)
{
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL || callback == NULL)
		return s == NULL ? status : KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < s->count; i++) {
		kreplay_memory_region_t region = {.size = sizeof(region),
						  .address = s->regions[i].address,
						  .bytes = s->regions[i].bytes,
						  .kind = (kreplay_region_kind_t)s->regions[i].kind,
						  .argument = -1};

		if (kr_region_alive(&s->regions[i]) && callback(&region, data) != 0)
			break;
	}
	return KREPLAY_STATUS_SUCCESS;
}

/* Ranges under construction: neighbours are merged before the tool sees them. */
struct changes {
	kreplay_memory_range_cb_t callback;
	void *data;
	uint64_t begin, end; /* pending; empty when equal */
	bool stopped;
};

static void
report_pending(struct changes *c)
{
	kreplay_memory_range_t range = {.address = c->begin, .bytes = c->end - c->begin};

	if (c->begin != c->end && !c->stopped)
		c->stopped = c->callback(&range, c->data) != 0;
	c->begin = c->end = 0;
}

static void
add_change(struct changes *c, uint64_t begin, uint64_t end)
{
	if (c->begin != c->end && begin == c->end) {
		c->end = end;
		return;
	}
	report_pending(c);
	c->begin = begin;
	c->end = end;
}

static void
compare_chunk(struct changes *c, uint64_t address, const char *now, const char *then, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && !c->stopped) {
		size_t block = bytes - i < 4096 ? bytes - i : 4096;
		size_t end = i + block;

		if (memcmp(now + i, then + i, block) == 0) {
			i = end;
			continue;
		}
		while (i < end && !c->stopped) {
			size_t from;

			while (i < end && now[i] == then[i])
				i++;
			from = i;
			while (i < end && now[i] != then[i])
				i++;
			if (i > from)
				add_change(c, address + from, address + i);
		}
	}
}

static kreplay_status_t
iterate_changes(const kreplay_memory_view_t *view, kreplay_memory_range_cb_t callback, void *data)
{
	struct changes c = {.callback = callback, .data = data};
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL || callback == NULL)
		return s == NULL ? status : KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < s->count && !c.stopped; i++) {
		const struct kr_region *r = &s->regions[i];

		if (!kr_region_alive(r))
			continue;
		for (uint64_t at = 0; at < r->bytes && !c.stopped; at += KR_VIEW_CHUNK) {
			size_t bytes = r->bytes - at < KR_VIEW_CHUNK ? r->bytes - at : KR_VIEW_CHUNK;

			if (!kr_copy_to_host(s, s->scratch, r->address + at, bytes))
				return KREPLAY_STATUS_ERROR;
			compare_chunk(&c, r->address + at, s->scratch, s->buffer + r->offset + at, bytes);
		}
		report_pending(&c);
	}
	return KREPLAY_STATUS_SUCCESS;
}

static kreplay_status_t
read_current(const kreplay_memory_view_t *view, uint64_t address, void *dst, uint64_t bytes)
{
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL)
		return status;
	if (dst == NULL || region_of(s, address, bytes) == NULL)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	for (uint64_t at = 0; at < bytes; at += KR_VIEW_CHUNK) {
		size_t step = bytes - at < KR_VIEW_CHUNK ? bytes - at : KR_VIEW_CHUNK;

		if (!kr_copy_to_host(s, s->scratch, address + at, step))
			return KREPLAY_STATUS_ERROR;
		memcpy((char *)dst + at, s->scratch, step);
	}
	return KREPLAY_STATUS_SUCCESS;
}

static kreplay_status_t
read_snapshot(const kreplay_memory_view_t *view, uint64_t address, void *dst, uint64_t bytes)
{
	const struct kr_region *r;
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL)
		return status;
	r = region_of(s, address, bytes);
	if (dst == NULL || r == NULL)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	memcpy(dst, s->buffer + r->offset + (address - r->address), bytes);
	return KREPLAY_STATUS_SUCCESS;
}

static kreplay_status_t
hash_region(const kreplay_memory_view_t *view, uint64_t region_address, uint64_t hash[2])
{
	struct kr_hash h = KR_HASH_INIT;
	const struct kr_region *r;
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL)
		return status;
	r = region_of(s, region_address, 1);
	if (hash == NULL || r == NULL || r->address != region_address)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	for (uint64_t at = 0; at < r->bytes; at += KR_VIEW_CHUNK) {
		size_t bytes = r->bytes - at < KR_VIEW_CHUNK ? r->bytes - at : KR_VIEW_CHUNK;

		if (!kr_copy_to_host(s, s->scratch, r->address + at, bytes))
			return KREPLAY_STATUS_ERROR;
		kr_hash_add(&h, s->scratch, bytes);
	}
	kr_hash_finish(&h, hash);
	return KREPLAY_STATUS_SUCCESS;
}

void
kr_memory_view_init(struct kr_snapshot *s)
{
	s->view = (kreplay_memory_view_t){.size = sizeof(s->view),
					  .iterate_regions = iterate_regions,
					  .iterate_changes = iterate_changes,
					  .read_current = read_current,
					  .read_snapshot = read_snapshot,
					  .hash_region = hash_region};
}

const kreplay_memory_view_t *
kr_snapshot_view(struct kr_snapshot *s)
{
	return &s->view;
}
