/* SPDX-License-Identifier: MIT */
/* --scope kernargs: only what the arguments of the kernel point into. */
#include <string.h>

#include "core/log.h"
#include "core/snapshot/internal.h"
#include "core/tracker.h"

void
kr_snapshot_arguments(struct kr_snapshot *s, const char *what, const void *block, size_t bytes)
{
	struct kr_allocation a;
	uintptr_t at = (uintptr_t)block;

	s->what = what;
	s->arguments = NULL;
	s->argument_bytes = 0;
	if (!kr_options_get()->scope_kernargs || bytes == 0)
		return;
	/* The host may read it only when it is known to be host memory. */
	if (!kr_tracker_find(block, &a) || (a.kind != KR_POOL_KERNARG && a.kind != KR_POOL_HOST) ||
	    a.size - (at - a.base) < bytes) {
		kr_log_once("scope-unread", KR_LOG_WARN, "scope",
			    "the arguments of %s cannot be read: everything is in scope", what);
		return;
	}
	s->arguments = block;
	s->argument_bytes = bytes;
}

/* Every aligned word of the block is taken for a pointer, also those inside
 * structures passed by value, of which metadata says nothing. */
bool
kr_scope_wants(const struct kr_snapshot *s, uint64_t address, uint64_t bytes)
{
	const char *block = s->arguments;

	if (!kr_options_get()->scope_kernargs || block == NULL)
		return true;
	for (size_t at = 0; at + sizeof(uint64_t) <= s->argument_bytes; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, block + at, sizeof(word));
		if (word - address < bytes)
			return true;
	}
	return false;
}

void
kr_scope_violation(const struct kr_snapshot *s, const struct kr_region *r, uint32_t chunk)
{
	uint32_t bytes;
	uint64_t from = r->address + kr_chunk_span(r, chunk, &bytes);
	const char *what = s->what != NULL ? s->what : "?";
	char key[160] = "scope ";

	kr_log(KR_LOG_DEBUG, "scope", "%s wrote outside its arguments, at 0x%llx to 0x%llx", what,
	       (unsigned long long)from, (unsigned long long)(from + bytes));
	strncat(key, what, sizeof(key) - strlen(key) - 1);
	kr_log_once(key, KR_LOG_WARN, "scope",
		    "%s wrote memory that none of its arguments points into, at 0x%llx to 0x%llx: --scope kernargs "
		    "is wrong for it, and its passes did not start from the same memory",
		    what, (unsigned long long)from, (unsigned long long)(from + bytes));
}
