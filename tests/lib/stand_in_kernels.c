/* SPDX-License-Identifier: MIT */
#include "stand_in_kernels.h"

#include <string.h>

#include "core/device/layout.h"
#include "hash_reference.h"

static void
run_copy(void *kernarg)
{
	const struct kr_job *job = kernarg;
	const struct kr_chunk *chunk = (const struct kr_chunk *)(uintptr_t)job->chunks;

	for (uint32_t i = 0; i < job->count; i++, chunk++) {
		void *memory = (void *)(uintptr_t)chunk->memory, *copy = (void *)(uintptr_t)chunk->copy;

		if (job->mode & KR_JOB_TO_COPY)
			memcpy(copy, memory, chunk->bytes);
		else
			memcpy(memory, copy, chunk->bytes);
	}
}

/* Units of 16 bytes from the first border on; single bytes before and behind. */
static void
run_sync(void *kernarg)
{
	const struct kr_job *job = kernarg;
	const struct kr_chunk *chunk = (const struct kr_chunk *)(uintptr_t)job->chunks;

	for (uint32_t i = 0; i < job->count; i++, chunk++) {
		unsigned char *from = (unsigned char *)(uintptr_t)(job->mode & KR_JOB_TO_COPY ? chunk->memory : chunk->copy);
		unsigned char *to = (unsigned char *)(uintptr_t)(job->mode & KR_JOB_TO_COPY ? chunk->copy : chunk->memory);
		uint32_t at = 0, written = 0;

		while (at < chunk->bytes) {
			uint32_t step = ((uintptr_t)from + at) % 16 == 0 && chunk->bytes - at >= 16 ? 16 : 1;

			if (memcmp(from + at, to + at, step) != 0) {
				written += step;
				if (!(job->mode & KR_JOB_LOOK))
					memcpy(to + at, from + at, step);
			}
			at += step;
		}
		if (written != 0)
			((uint32_t *)(uintptr_t)job->marks)[chunk->slot] = written;
	}
}

static void
run_hash(void *kernarg)
{
	const struct kr_job *job = kernarg;
	const struct kr_chunk *chunk = (const struct kr_chunk *)(uintptr_t)job->chunks;

	for (uint32_t i = 0; i < job->count; i++, chunk++) {
		uint64_t *kept = (uint64_t *)(uintptr_t)chunk->copy, hash[2];

		hash_reference(chunk->memory, (const void *)(uintptr_t)chunk->memory, chunk->bytes, hash);
		if (memcmp(kept, hash, sizeof(hash)) == 0)
			continue;
		((uint32_t *)(uintptr_t)job->marks)[chunk->slot] = chunk->bytes;
		if (job->mode & KR_JOB_TAKE)
			memcpy(kept, hash, sizeof(hash));
	}
}

/* A bit for each byte from the border of 16 below the chunk on. */
static void
run_diff(void *kernarg)
{
	const struct kr_job *job = kernarg;
	const struct kr_chunk *chunk = (const struct kr_chunk *)(uintptr_t)job->chunks;

	for (uint32_t i = 0; i < job->count; i++, chunk++) {
		const unsigned char *memory = (const unsigned char *)(uintptr_t)chunk->memory;
		const unsigned char *copy = (const unsigned char *)(uintptr_t)chunk->copy;
		unsigned char *bits = (unsigned char *)(uintptr_t)job->marks + 2 * (size_t)chunk->slot;
		uint32_t skew = chunk->memory & 15;

		memset(bits, 0, (skew + chunk->bytes + 15) / 16 * 2);
		for (uint32_t k = 0; k < chunk->bytes; k++)
			if (memory[k] != copy[k])
				bits[(skew + k) / 8] |= (unsigned char)(1u << (skew + k) % 8);
	}
}

stand_in_kernel
stand_in_snapshot_kernel(const char *name)
{
	if (strcmp(name, "kreplay_copy.kd") == 0)
		return run_copy;
	if (strcmp(name, "kreplay_sync.kd") == 0)
		return run_sync;
	if (strcmp(name, "kreplay_diff.kd") == 0)
		return run_diff;
	return strcmp(name, "kreplay_hash.kd") == 0 ? run_hash : NULL;
}
