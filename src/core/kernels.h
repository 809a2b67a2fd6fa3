/* SPDX-License-Identifier: MIT */
/*
 * Kernel identities: which kernel a dispatch packet's kernel_object is.
 *
 * Frozen executables are noted; their symbols are listed at the first dispatch
 * of a kernel object that is not known yet, not at load time.
 */
#ifndef KR_KERNELS_H
#define KR_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/next.h"

struct kr_arguments;

struct kr_kernel {
	uint64_t object;
	uint64_t id;         /* from 1, never reused */
	char *name;          /* demangled when that was possible */
	char *mangled;
	uint32_t kernarg_bytes; /* 0: unknown */
	_Atomic uint32_t journal; /* row in the report, 0: none yet */
	uint64_t executable;
	_Atomic bool slow;   /* a pass of it kept a ringing thread for too long: the worker's from now on */
	const struct kr_arguments *arguments; /* NULL: not known */
};

/* Never NULL but for want of memory: an object of unknown origin gets a name
 * that tells its address. Any thread; may call the runtime. */
struct kr_kernel *kr_kernel_of_object(uint64_t object);

/* What the kernel takes; NULL when it is not known, or when no kernel has this id. */
const struct kr_arguments *kr_kernel_arguments(uint64_t kernel_id);

/* Goes up when kernel objects have lost their meaning: what was kept by object
 * is stale then. */
extern _Atomic uint64_t kr_kernels_generation;

void kr_kernels_frozen(hsa_executable_t executable);
void kr_kernels_destroyed(hsa_executable_t executable);

#endif
