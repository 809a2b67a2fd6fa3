/* SPDX-License-Identifier: MIT */
/* Bytes on their way: the copy engine's copies, and the staging between the
 * kernels, which gather and scatter, and the engine, which likes large pieces. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/snapshot/internal.h"

#define PIECE_BYTES 65536u /* of a run in the staging buffer: what one work-group moves */

/* ---- the copy engine ----
 *
 * `copied` is KR_NO_COPIES plus the copies under way. A copy that fails makes it
 * negative, and what others then add or take away does not bring it back up. */

bool
kr_copy_start(struct kr_snapshot *s, void *to, const void *from, size_t bytes, enum kr_direction direction)
{
	hsa_agent_t host = kr_host_agent(), device = s->agent->handle;

	kr_next.hsa_signal_add_relaxed(s->copied, 1);
	if (kr_next.hsa_amd_memory_async_copy(to, direction == KR_TO_HOST ? host : device, from,
					      direction == KR_TO_DEVICE ? host : device, bytes, 0, NULL,
					      s->copied) == HSA_STATUS_SUCCESS)
		return true;
	kr_next.hsa_signal_subtract_relaxed(s->copied, 1);
	return false;
}

/* False when a copy failed (the runtime makes the signal negative then) or the
 * drain time is over. */
bool
kr_copy_wait(struct kr_snapshot *s)
{
	uint64_t until = kr_now_ns() + kr_options_get()->drain_timeout_s * 1000000000ull;
	hsa_signal_value_t value;

	do {
		value = kr_next.hsa_signal_wait_scacquire(s->copied, HSA_SIGNAL_CONDITION_LT, KR_NO_COPIES + 1, 100000000,
							  HSA_WAIT_STATE_BLOCKED);
	} while (value > KR_NO_COPIES && kr_now_ns() < until);
	return value == KR_NO_COPIES;
}

bool
kr_copy_idle(struct kr_snapshot *s)
{
	hsa_signal_value_t value = kr_next.hsa_signal_load_scacquire(s->copied);

	/* After a failure. Should one of that window's copies still be under way, it
	 * spoils the count, and the next window is declined for it; the engines work
	 * in order, so what it writes is written over. */
	if (value < KR_NO_COPIES)
		kr_next.hsa_signal_store_relaxed(s->copied, KR_NO_COPIES);
	return value <= KR_NO_COPIES;
}

/* ---- staging ---- */

void
kr_stage_drop(struct kr_snapshot *s)
{
	kr_memory_free(KR_IN_PINNED, s->stage, KR_STAGE_BYTES);
	kr_memory_free(KR_IN_DEVICE, s->stage_device, KR_STAGE_BYTES);
	kr_memory_free(KR_IN_PINNED, s->pieces, KR_STAGE_PIECES * sizeof(*s->pieces));
	free(s->piece_copy);
	s->stage = s->stage_device = NULL;
	s->pieces = NULL;
	s->piece_copy = NULL;
	s->stage_tried = false;
	s->piece_count = 0;
	s->staged = 0;
}

bool
kr_stage_ready(struct kr_snapshot *s)
{
	if (s->stage != NULL)
		return true;
	s->piece_copy = malloc(KR_STAGE_PIECES * sizeof(*s->piece_copy));
	if (s->piece_copy == NULL ||
	    !kr_memory_alloc(s->agent, KR_IN_PINNED, KR_STAGE_PIECES * sizeof(*s->pieces), (void **)&s->pieces) ||
	    !kr_memory_alloc(s->agent, KR_IN_PINNED, KR_STAGE_BYTES, (void **)&s->stage)) {
		kr_stage_drop(s);
		return false;
	}
	return true;
}

/* On the device; when there is no room
 * for it, the pinned one, which the kernels reach over the link. */
char *
kr_stage_for_kernels(struct kr_snapshot *s)
{
	if (!s->stage_tried)
		kr_memory_alloc(s->agent, KR_IN_DEVICE, KR_STAGE_BYTES, (void **)&s->stage_device);
	s->stage_tried = true;
	return s->stage_device != NULL ? s->stage_device : s->stage;
}

bool
kr_fetch(struct kr_snapshot *s, size_t at, const void *from, size_t bytes)
{
	return kr_copy_start(s, s->stage + at, from, bytes, KR_TO_HOST) && kr_copy_wait(s);
}

/* ---- whole regions ---- */

/* Pageable memory is nothing that an engine can be given. */
static bool
through_stage(struct kr_snapshot *s, char *host, uint64_t device, uint64_t bytes, bool taking)
{
	if (!kr_stage_ready(s))
		return false;
	for (uint64_t at = 0; at < bytes; at += KR_STAGE_BYTES) {
		size_t step = bytes - at < KR_STAGE_BYTES ? bytes - at : KR_STAGE_BYTES;

		if (taking) {
			if (!kr_fetch(s, 0, (const void *)(uintptr_t)(device + at), step))
				return false;
			memcpy(host + at, s->stage, step);
		} else {
			memcpy(s->stage, host + at, step);
			if (!kr_copy_start(s, (void *)(uintptr_t)(device + at), s->stage, step, KR_TO_DEVICE) ||
			    !kr_copy_wait(s))
				return false;
		}
	}
	return true;
}

bool
kr_copy_region(struct kr_snapshot *s, const struct kr_region *r, bool taking, uint64_t *link)
{
	void *memory = (void *)(uintptr_t)r->address;

	if (r->place != KR_IN_DEVICE)
		*link += r->bytes;
	if (r->place == KR_IN_PAGEABLE)
		return through_stage(s, r->copy, r->address, r->bytes, taking);
	return kr_copy_start(s, taking ? r->copy : memory, taking ? memory : r->copy, r->bytes,
			     r->place == KR_IN_DEVICE ? KR_INSIDE : taking ? KR_TO_HOST : KR_TO_DEVICE);
}

/* ---- runs of chunks ---- */

/* One filling of the staging buffer, there and back. */
bool
kr_move_flush(struct kr_snapshot *s, bool taking)
{
	char *kernels = s->stage_device != NULL ? s->stage_device : s->stage;
	struct kr_job job = {.chunks = (uint64_t)(uintptr_t)s->pieces,
			     .count = s->piece_count,
			     .mode = taking ? KR_JOB_TO_COPY : KR_JOB_TO_MEMORY};
	size_t staged = s->staged;

	s->piece_count = 0;
	s->staged = 0;
	if (job.count == 0)
		return true;
	if (!taking) {
		for (uint32_t i = 0; i < job.count; i++)
			memcpy(s->stage + ((char *)(uintptr_t)s->pieces[i].copy - kernels), s->piece_copy[i],
			       s->pieces[i].bytes);
		if (kernels != s->stage &&
		    (!kr_copy_start(s, kernels, s->stage, staged, KR_TO_DEVICE) || !kr_copy_wait(s)))
			return false;
	}
	if (!kr_device_start(s->device, KR_KERNEL_COPY, job) || !kr_device_wait(s->device))
		return false;
	if (taking) {
		if (kernels != s->stage && !kr_fetch(s, 0, kernels, staged))
			return false;
		for (uint32_t i = 0; i < job.count; i++)
			memcpy(s->piece_copy[i], s->stage + ((char *)(uintptr_t)s->pieces[i].copy - kernels),
			       s->pieces[i].bytes);
	}
	return true;
}

static bool
stage_piece(struct kr_snapshot *s, uint64_t memory, char *copy, uint32_t bytes, bool taking)
{
	/* At the same offset from a 16-byte border, as the kernels want it. */
	size_t at = s->staged + (memory & 15u);

	if (s->piece_count == KR_STAGE_PIECES || at + bytes > KR_STAGE_BYTES) {
		if (!kr_move_flush(s, taking))
			return false;
		at = memory & 15u;
	}
	s->pieces[s->piece_count] = (struct kr_chunk){.memory = memory,
						      .copy = (uint64_t)(uintptr_t)(kr_stage_for_kernels(s) + at),
						      .bytes = bytes};
	s->piece_copy[s->piece_count++] = copy;
	s->staged = (at + bytes + 15u) & ~(size_t)15u;
	return true;
}

bool
kr_move_run(struct kr_snapshot *s, const struct kr_region *r, uint64_t offset, uint64_t bytes, bool taking)
{
	uint64_t memory = r->address + offset;
	char *copy = r->copy + offset;

	if (r->place == KR_IN_PINNED && bytes >= KR_DIRECT_BYTES)
		return taking ? kr_copy_start(s, copy, (const void *)(uintptr_t)memory, bytes, KR_TO_HOST)
			      : kr_copy_start(s, (void *)(uintptr_t)memory, copy, bytes, KR_TO_DEVICE);
	if (!kr_stage_ready(s))
		return false;
	while (bytes > 0) {
		/* Up to a border, so that a piece in the middle is whole units. */
		uint32_t step = PIECE_BYTES - (memory & 15u);

		if (bytes < step)
			step = (uint32_t)bytes;
		if (!stage_piece(s, memory, copy, step, taking))
			return false;
		memory += step;
		copy += step;
		bytes -= step;
	}
	return true;
}
