/* SPDX-License-Identifier: MIT */
/* The work list of the kernels: every region cut into chunks. */
#include <string.h>

#include "core/snapshot/internal.h"

/* Chunks end at multiples of their size from the 16-byte border below the
 * region, so that only the first begins and only the last ends off a border. */
uint64_t
kr_chunk_span(const struct kr_region *r, uint32_t i, uint32_t *bytes)
{
	uint64_t skew = r->address & 15u;
	uint64_t begin = i == 0 ? 0 : (uint64_t)i * r->chunk_bytes - skew;
	uint64_t end = (uint64_t)(i + 1) * r->chunk_bytes - skew;

	*bytes = (uint32_t)((end < r->bytes ? end : r->bytes) - begin);
	return begin;
}

uint32_t
kr_chunk_count(const struct kr_region *r)
{
	return (uint32_t)((r->bytes + (r->address & 15u) + r->chunk_bytes - 1) / r->chunk_bytes);
}

void
kr_chunks_drop(struct kr_snapshot *s)
{
	if (s->list_device != 0 && s->list_device != (uint64_t)(uintptr_t)s->list)
		kr_memory_free(KR_IN_DEVICE, (void *)(uintptr_t)s->list_device, s->list_bytes);
	kr_memory_free(KR_IN_PINNED, s->list, s->list_bytes);
	kr_memory_free(KR_IN_PINNED, s->marks, s->marks_bytes);
	s->list = NULL;
	s->marks = NULL;
	s->list_device = 0;
	s->chunk_count = s->chunk_room = 0;
	s->list_current = false;
}

static bool
reserve(struct kr_snapshot *s, uint32_t count)
{
	uint32_t room = count + count / 8 + 256;
	void *device;

	if (count <= s->chunk_room)
		return true;
	kr_chunks_drop(s);
	s->list_bytes = room * sizeof(*s->list);
	s->marks_bytes = room * sizeof(*s->marks);
	if (!kr_memory_alloc(s->agent, KR_IN_PINNED, s->list_bytes, (void **)&s->list) ||
	    !kr_memory_alloc(s->agent, KR_IN_PINNED, s->marks_bytes, (void **)&s->marks)) {
		kr_chunks_drop(s);
		return false;
	}
	memset(s->marks, 0, s->marks_bytes);
	/* Without room on the device the kernels read the list where it is. */
	if (kr_memory_alloc(s->agent, KR_IN_DEVICE, s->list_bytes, &device))
		s->list_device = (uint64_t)(uintptr_t)device;
	else
		s->list_device = (uint64_t)(uintptr_t)s->list;
	s->chunk_room = room;
	return true;
}

/* Which of the list's three parts a region's chunks are in; -1: none. */
static int
part_of(const struct kr_region *r)
{
	if (r->chunks == 0 || r->dead)
		return -1;
	if (r->hashes != 0)
		return 2;
	return r->fresh;
}

/* Sets the chunks of one region; true when one of them is another than before. */
static bool
put_region(struct kr_snapshot *s, struct kr_region *r, uint32_t first)
{
	bool changed = false;

	r->first = first;
	for (uint32_t i = 0; i < r->chunks; i++) {
		struct kr_chunk *slot = &s->list[first + i], chunk = {.slot = first + i};
		uint64_t offset = kr_chunk_span(r, i, &chunk.bytes);

		chunk.memory = r->address + offset;
		chunk.copy = r->hashes != 0 ? r->hashes + 16u * (uint64_t)i : (uint64_t)(uintptr_t)r->copy + offset;
		if (memcmp(slot, &chunk, sizeof(chunk)) != 0) {
			*slot = chunk;
			changed = true;
		}
	}
	return changed;
}

bool
kr_chunks_build(struct kr_snapshot *s)
{
	uint64_t total = 0;
	bool changed;
	uint32_t at = 0;

	for (size_t i = 0; i < s->count; i++)
		total += part_of(&s->regions[i]) >= 0 ? s->regions[i].chunks : 0;
	if (total > UINT32_MAX / 2 || !reserve(s, (uint32_t)total))
		return false;
	changed = !s->list_current || total != s->chunk_count;
	s->list_current = false;
	for (int part = 0; part < 3; part++) {
		for (size_t i = 0; i < s->count; i++)
			if (part_of(&s->regions[i]) == part) {
				changed |= put_region(s, &s->regions[i], at);
				at += s->regions[i].chunks;
			}
		if (part == 0)
			s->kept = at;
		if (part == 1)
			s->synced = at;
	}
	s->chunk_count = at;
	if (changed && at != 0 && s->list_device != (uint64_t)(uintptr_t)s->list &&
	    (!kr_copy_start(s, (void *)(uintptr_t)s->list_device, s->list, at * sizeof(*s->list), KR_TO_DEVICE) ||
	     !kr_copy_wait(s)))
		return false;
	s->list_current = true;
	return true;
}

bool
kr_chunks_start(struct kr_snapshot *s, enum kr_device_kernel kernel, uint32_t first, uint32_t count, uint32_t mode)
{
	struct kr_job job = {.chunks = s->list_device + first * sizeof(struct kr_chunk),
			     .marks = (uint64_t)(uintptr_t)s->marks,
			     .count = count,
			     .mode = mode};

	return kr_device_start(s->device, kernel, job);
}
