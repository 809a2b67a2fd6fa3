/* SPDX-License-Identifier: MIT */
/*
 * Loaded code objects: where their writable segments are. What a kernel keeps
 * in module-scope variables is in there, a `static` one too that no symbol
 * lists, so segments are asked for and not symbols.
 */
#ifndef KR_CODE_H
#define KR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents.h"

struct kr_segment {
	uint64_t address; /* on the device */
	uint64_t size;
	uint64_t generation;
};

/* After a successful load: takes note of the code objects of the executable
 * that are new. May call the runtime. */
void kr_code_loaded(hsa_executable_t executable);
void kr_code_destroyed(hsa_executable_t executable);

/* False when a code object of the agent could not be read: its variables are
 * unknown and no window may open. */
bool kr_code_known(struct kr_agent *agent);
bool kr_code_each(struct kr_agent *agent, bool (*visit)(const struct kr_segment *, void *), void *data);
bool kr_code_alive(uint64_t generation);
uint64_t kr_code_removals(void); /* grows with every code object that goes */
void kr_code_clear(void);

/* Bytes of the agent's code objects that hold data which no kernel may write, constants above all. */
uint64_t kr_code_read_only(struct kr_agent *agent);

/* The writable PT_LOAD segments of an ELF image in memory, as offsets from its
 * virtual address 0, and the bytes of those that are neither writable nor code.
 * Returns how many are writable, at most `room` of them stored; -1 when it is no
 * ELF image that can be read. */
int kr_code_writable(const void *image, size_t size, struct kr_segment *segments, int room, uint64_t *read_only);

#endif
