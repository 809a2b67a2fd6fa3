/* SPDX-License-Identifier: MIT */
/*
 * Agents and their memory pools, enumerated once at the first need, and the
 * per-agent lock of the contract's section 4.
 *
 * A window holds the writer side. Submissions to a queue of the agent are
 * readers: the queue's own `owner` word says so (proxy.h), since taking it is
 * already a full barrier. Copies, fills, frees and executables are readers
 * counted here.
 */
#ifndef KR_AGENTS_H
#define KR_AGENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/next.h"

struct kr_proxy;
struct kr_allocation;
struct kr_snapshot;
struct kr_fence;

struct kr_agent {
	hsa_agent_t handle;
	hsa_device_type_t type;
	char name[64]; /* "gfx90a" */
	char isa[64];  /* "amdgcn-amd-amdhsa--gfx90a:..." */
	uint32_t node, compute_units;
	uint64_t memory_bytes; /* coarse-grained device memory */

	/* The lock. `writer` is the token of the thread whose window is open. */
	_Atomic uintptr_t writer;
	_Atomic uint32_t readers; /* copies, fills, frees in their submission */
	_Atomic uint32_t waiting; /* threads that the open window keeps from going on */
	pthread_mutex_t mutex;    /* guards what follows and goes with `changed` */
	pthread_cond_t changed;   /* the writer left, or a reader did */
	bool window;              /* taken: one at a time */
	uint32_t kept;            /* of `waiting`, those that are no writers */
	uint32_t owed;            /* of those, how many the next window has to let pass first */

	struct kr_proxy *queues; /* guarded by `mutex` */
	_Atomic bool writes_peers;  /* it was given access to another agent's memory */
	_Atomic bool unseen_queues; /* a queue without a proxy could not even be noted */

	/* Engines of asynchronous copies since the last fence, by direction, see copies.c. */
	_Atomic uint64_t copied[3];

	struct kr_snapshot *snapshot; /* retained between windows; the writer's */
	struct kr_fence *fence;       /* likewise, see copies.h */
	uint64_t reentered;           /* dispatches made by callbacks of the open window; the writer's */
	hsa_amd_memory_pool_t device_pool; /* coarse-grained, 0: none */
	struct kr_agent *retired; /* of an earlier life of the runtime */
};

extern _Atomic bool kr_agents_ready;
bool kr_agents_enumerate(void);

/* The agent table; enumerates on first use. False when the runtime refuses. */
static inline bool
kr_agents_init(void)
{
	return atomic_load_explicit(&kr_agents_ready, memory_order_acquire) || kr_agents_enumerate();
}

void kr_agents_finish(void);
struct kr_agent *kr_agent_find(hsa_agent_t handle); /* NULL: not a GPU agent of this system */
struct kr_agent *kr_agent_at(unsigned index);       /* GPU agents, in the runtime's order; NULL past the end */

/* Host memory: pinned buffers of ours, and the region of soft queues. */
bool kr_host_pool(hsa_amd_memory_pool_t *pool);
bool kr_host_region(hsa_region_t *region);
hsa_agent_t kr_host_agent(void);

/* What an allocation from a pool (or region: the same handles) is. */
enum kr_pool_kind {
	KR_POOL_UNKNOWN,
	KR_POOL_DEVICE,       /* coarse-grained, owned by a GPU agent: in scope */
	KR_POOL_FINE_GRAINED, /* owned by a GPU agent */
	KR_POOL_KERNARG,
	KR_POOL_HOST,
};
enum kr_pool_kind kr_pool_kind(uint64_t handle, struct kr_agent **owner);

/* This thread's token for `writer`: never 0. */
uintptr_t kr_thread_token(void);

/* Reader side for copies and frees: blocks while another thread's window is
 * open on the agent. NULL is no agent and does nothing. */
void kr_agent_enter(struct kr_agent *agent);
void kr_agent_leave(struct kr_agent *agent);

/* Waits until no other thread's window is open on the agent. `deadline` is
 * CLOCK_MONOTONIC in ns, 0 for ever. False: still open. */
bool kr_agent_wait_open(struct kr_agent *agent, uint64_t deadline);

/* Writer side. Waits for the previous window up to the deadline, then stops
 * new readers and waits for those inside their submission (bounded: they call
 * the runtime, never a tool). */
bool kr_agent_write_lock(struct kr_agent *agent, uint64_t deadline);
void kr_agent_write_unlock(struct kr_agent *agent);
bool kr_agent_is_writer(const struct kr_agent *agent);

/* A window is open, and it is another thread's. */
static inline bool
kr_agent_is_closed(const struct kr_agent *agent)
{
	uintptr_t writer = atomic_load(&agent->writer);

	return writer != 0 && writer != kr_thread_token();
}

uint64_t kr_now_ns(void); /* CLOCK_MONOTONIC */

#endif
