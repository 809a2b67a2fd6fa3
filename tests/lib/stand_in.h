/* SPDX-License-Identifier: MIT */
/*
 * A stand-in runtime behind kr_next, for unit tests of the engine: one CPU
 * agent, two GPU agents, memory from calloc, queues that execute a packet in
 * the very call that rings their doorbell. A kernel is a C function whose
 * address is the packet's kernel_object.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdbool.h>

#include "core/aql.h"
#include "core/next.h"

#define STAND_IN_CPU ((hsa_agent_t){10})
#define STAND_IN_GPU ((hsa_agent_t){20})
#define STAND_IN_GPU2 ((hsa_agent_t){30})
/* Pools and regions have the same handles, as in the real runtime. */
#define STAND_IN_HOST_POOL 11u
#define STAND_IN_KERNARG_POOL 12u
#define STAND_IN_DEVICE_POOL 21u
#define STAND_IN_FINE_POOL 22u
#define STAND_IN_DEVICE_POOL2 31u

typedef void (*stand_in_kernel)(void *kernarg);

/* Counts calls; the call numbered `fail_at` (from 1) fails, 0: none does. */
struct stand_in_point {
	unsigned calls, fail_at;
	bool fail_on; /* and so do all after it */
};

struct stand_in {
	struct stand_in_point copy, pool_allocate, signal_create, queue_create, soft_queue_create;
	/* copy_end: the copy is accepted and then fails. run: a dispatch ends in an error of its queue. */
	struct stand_in_point copy_end, run, allow_access, reader_create, executable_create, load_code, freeze, symbol;
	struct stand_in_point memory_free, ipc, lock, pool_access, queue_destroy, counted_release;
	struct stand_in_point vmem_release, vmem_unmap, vmem_access;
	unsigned live_signals, live_queues, live_allocations, live_executables, live_readers;
	uint64_t full_pool;   /* this pool has no room */
	bool quiet_inactivation; /* as the runtime has it; otherwise it is an error of the queue */
	uint64_t largest_pinned; /* bytes of one allocation of the host pool; 0: no limit */
	uint64_t device_room; /* bytes of both device pools together; 0: no limit */
	unsigned executed; /* dispatch packets */
	unsigned barriers; /* barrier packets that were resolved */
	hsa_amd_copy_direction_t rect_direction; /* of the last copy of a box */
	bool threaded;         /* a thread of the device's executes packets, not who rings */
	bool lose_completions; /* dispatches run, but their signals stay as they are */
	uint64_t clock; /* time stamps: goes up by one a reading */

	/* What the loader extension tells of one executable with one code object. */
	const void *image;
	size_t image_size;
	int64_t load_delta;
	bool no_loader;
	const char *isa; /* of all agents; NULL: one that nobody has heard of */
	/* Kernels of any executable that has been made, by the name of their symbols; NULL: none. */
	stand_in_kernel (*kernel_named)(const char *name);
	/* Symbols of any executable. */
	unsigned symbols;
	const char *symbol_name[8];
	uint64_t symbol_object[8];
};

extern struct stand_in stand_in;

/* Fills kr_next; everything counted is zero. */
void stand_in_reset(void);

/* A packet in the usual way of an application: reserve, fill, publish. The
 * doorbell is rung through the engine's hook. */
uint64_t stand_in_dispatch(hsa_queue_t *queue, stand_in_kernel kernel, void *kernarg, hsa_signal_t completion);
uint64_t stand_in_write(hsa_queue_t *queue, stand_in_kernel kernel, void *kernarg, hsa_signal_t completion);
hsa_signal_t stand_in_signal(hsa_signal_value_t initial);

/* What is imported is another process's memory; otherwise it is that of the handle. */
#define STAND_IN_THEIRS (-1)

/* An operation of a batch of copies. */
struct stand_in_batch {
	uint32_t *to;
	const uint32_t *from;
};

#endif
