/* SPDX-License-Identifier: MIT */
/* The memory view: an open snapshot as tools see it. */
#include <string.h>

#include "core/arguments.h"
#include "core/hash.h"
#include "core/snapshot/internal.h"

#define LOOK_BYTES (KR_STAGE_BYTES / 2) /* looked at in one go; the other half is for what it was */
#define HASH_CHUNK 65536u               /* whatever the options say, so that a region's hash stays comparable */

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
	if (!kr_stage_ready(s))
		return NULL;
	*status = KREPLAY_STATUS_SUCCESS;
	kr_plan_refresh(s);
	return s;
}

/* What a failed copy leaves is not to spoil the restore that follows. */
static kreplay_status_t
failed(struct kr_snapshot *s, kreplay_status_t status)
{
	kr_copy_idle(s); /* does away with it */
	return status;
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
			return bytes <= r->bytes - (address - r->address) && !r->dead && !r->watched ? r : NULL;
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
						  .argument = kr_argument_into(s->regions[i].address,
									   s->regions[i].bytes)};

		if (!s->regions[i].dead && !s->regions[i].watched && callback(&region, data) != 0)
			break;
	}
	return KREPLAY_STATUS_SUCCESS;
}

/* Part of a region's copy, in host memory: where it lies, or in the second half
 * of the staging buffer. NULL: the copy from the device failed. */
static const char *
copy_on_host(struct kr_snapshot *s, const struct kr_region *r, uint64_t at, size_t bytes)
{
	if (r->place != KR_IN_DEVICE)
		return r->copy + at;
	return kr_fetch(s, LOOK_BYTES, r->copy + at, bytes) ? s->stage + LOOK_BYTES : NULL;
}

static kreplay_status_t
iterate_changes(const kreplay_memory_view_t *view, kreplay_memory_range_cb_t callback, void *data)
{
	kreplay_status_t status;
	struct kr_snapshot *s = open_view(view, &status);

	if (s == NULL || callback == NULL)
		return s == NULL ? status : KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	status = kr_changes_each(s, callback, data);
	return status == KREPLAY_STATUS_SUCCESS ? status : failed(s, status);
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
	for (uint64_t at = 0; at < bytes; at += LOOK_BYTES) {
		size_t step = bytes - at < LOOK_BYTES ? bytes - at : LOOK_BYTES;

		if (!kr_fetch(s, 0, (const void *)(uintptr_t)(address + at), step))
			return failed(s, KREPLAY_STATUS_ERROR);
		memcpy((char *)dst + at, s->stage, step);
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
	for (uint64_t at = 0; at < bytes; at += LOOK_BYTES) {
		size_t step = bytes - at < LOOK_BYTES ? bytes - at : LOOK_BYTES;
		const char *then = copy_on_host(s, r, address - r->address + at, step);

		if (then == NULL)
			return failed(s, KREPLAY_STATUS_ERROR);
		memcpy((char *)dst + at, then, step);
	}
	return KREPLAY_STATUS_SUCCESS;
}

/* The kernels hash the chunks, and what crosses the link is 16 bytes for each.
 * Into the staging buffer; the marks, of no interest here, into its other half. */
static bool
hash_on_device(struct kr_snapshot *s, const struct kr_region *region, struct kr_hash *h)
{
	struct kr_region r = {.address = region->address, .bytes = region->bytes, .chunk_bytes = HASH_CHUNK};
	uint32_t count = kr_chunk_count(&r), n;
	char *hashes = kr_stage_for_kernels(s);

	for (uint32_t first = 0; first < count; first += n) {
		struct kr_job job = {.chunks = (uint64_t)(uintptr_t)s->pieces,
				     .marks = (uint64_t)(uintptr_t)(s->stage + LOOK_BYTES),
				     .mode = KR_JOB_TAKE};

		n = count - first < KR_STAGE_PIECES ? count - first : KR_STAGE_PIECES;
		job.count = n;
		for (uint32_t i = 0; i < n; i++) {
			struct kr_chunk *p = &s->pieces[i];

			*p = (struct kr_chunk){.copy = (uint64_t)(uintptr_t)hashes + 16u * (uint64_t)i, .slot = i};
			p->memory = r.address + kr_chunk_span(&r, first + i, &p->bytes);
		}
		if (!kr_device_start(s->device, KR_KERNEL_HASH, job) || !kr_device_wait(s->device) ||
		    (hashes != s->stage && !kr_fetch(s, 0, hashes, 16u * (size_t)n)))
			return false;
		kr_hash_add(h, s->stage, 16u * (size_t)n);
	}
	return true;
}

static bool
hash_on_host(struct kr_snapshot *s, const struct kr_region *r, struct kr_hash *h)
{
	for (uint64_t at = 0; at < r->bytes; at += LOOK_BYTES) {
		size_t bytes = r->bytes - at < LOOK_BYTES ? r->bytes - at : LOOK_BYTES;

		if (!kr_fetch(s, 0, (const void *)(uintptr_t)(r->address + at), bytes))
			return false;
		kr_hash_add(h, s->stage, bytes);
	}
	return true;
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
	if (s->device != NULL ? !hash_on_device(s, r, &h) : !hash_on_host(s, r, &h))
		return failed(s, KREPLAY_STATUS_ERROR);
	kr_hash_finish(&h, hash);
	return KREPLAY_STATUS_SUCCESS;
}

void
kr_view_init(struct kr_snapshot *s)
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
