/* SPDX-License-Identifier: MIT */
/* For builds with a sanitizer, in front of its own: the HSA runtime asks for sizes that are no multiple of the
 * alignment, which the C library allows and the sanitizers end the process for. Weak, since a test's own allocator
 * goes first. */
#include <stdlib.h>

__attribute__((weak, visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
	void *memory = NULL;

	return posix_memalign(&memory, alignment < sizeof(memory) ? sizeof(memory) : alignment, size) == 0 ? memory : NULL;
}
