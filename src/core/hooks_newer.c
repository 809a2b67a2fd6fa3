/* SPDX-License-Identifier: MIT */
/* What newer runtimes have besides: copies on a chosen engine and in batches,
 * virtual-memory mappings, counted queues. */
#include <pthread.h>

#include "core/agents.h"
#include "core/copies.h"
#include "core/deferred.h"
#include "core/foreign.h"
#include "core/proxy.h"
#include "core/ptrmap.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "kreplay/kreplay.h"

/* ---- copies ---- */

hsa_status_t
kr_hook_hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent,
                                            size_t size, uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                                            hsa_signal_t completion_signal, uint32_t engine, bool force)
{
	struct kr_copy copy = {.kind = KR_COPY_ENGINE,
			       .to = kr_agent_find(dst_agent),
			       .from = kr_agent_find(src_agent),
			       .num_deps = num_dep_signals,
			       .deps = dep_signals,
			       .completion = completion_signal,
			       .dst = dst,
			       .src = src,
			       .dst_agent = dst_agent,
			       .src_agent = src_agent,
			       .size = size,
			       .engine = engine,
			       .force = force};

	return kr_copy_submit(&copy);
}

hsa_status_t
kr_hook_hsa_amd_memory_async_batch_copy(const void *ops, uint32_t num_ops, uint32_t num_dep_signals,
                                        const hsa_signal_t *dep_signals)
{
	struct kr_agent *agent;
	hsa_status_t status;

	/* Which agents and engines the batch uses is its own affair: all of them. */
	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		kr_agent_enter(agent);
		kr_copy_note_any(agent);
	}
	status = kr_next.hsa_amd_memory_async_batch_copy(ops, num_ops, num_dep_signals, dep_signals);
	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++)
		kr_agent_leave(agent);
	return status;
}

/* ---- virtual memory ---- */

/* Pools of live handles: handle -> pool. */
static struct kr_ptrmap pools;
static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER;

hsa_status_t
kr_hook_hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags,
                                   struct kr_vmem_handle *handle)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_handle_create(pool, size, type, flags, handle);
	struct kr_agent *owner = NULL;

	if (kr_pool_kind(pool.handle, &owner) != KR_POOL_UNKNOWN && kr_snapshot_make_room(status, owner))
		status = kr_next.hsa_amd_vmem_handle_create(pool, size, type, flags, handle);
	if (status == HSA_STATUS_SUCCESS) {
		pthread_mutex_lock(&pools_mutex);
		kr_ptrmap_put(&pools, handle->handle, (void *)(uintptr_t)pool.handle);
		pthread_mutex_unlock(&pools_mutex);
	}
	return status;
}

hsa_status_t
kr_hook_hsa_amd_vmem_map(void *va, size_t size, size_t in_offset, struct kr_vmem_handle handle, uint64_t flags)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_map(va, size, in_offset, handle, flags);
	uint64_t pool = (uint64_t)(uintptr_t)kr_ptrmap_get(&pools, handle.handle);

	if (status != HSA_STATUS_SUCCESS || !kr_agents_init())
		return status;
	/* A handle that was not made here is another process's memory. */
	if (pool != 0)
		kr_tracker_add(va, size, pool, 0, KREPLAY_REGION_VMEM);
	else
		kr_tracker_attach(va);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_vmem_unmap(void *va, size_t size)
{
	struct kr_allocation a;
	bool known = kr_tracker_take(va, &a);
	hsa_status_t status = kr_next.hsa_amd_vmem_unmap(va, size);

	if (status != HSA_STATUS_SUCCESS && known)
		kr_tracker_restore(&a);
	if (status == HSA_STATUS_SUCCESS && !known)
		kr_tracker_detach(va);
	return status;
}

/* ---- queues ---- */

hsa_status_t
kr_hook_hsa_amd_queue_get_info(hsa_queue_t *queue, uint32_t attribute, void *value)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	return kr_next.hsa_amd_queue_get_info(p != NULL ? p->hw : queue, attribute, value);
}

hsa_status_t
kr_hook_hsa_amd_counted_queue_acquire(hsa_agent_t agent, uint32_t type, uint32_t priority,
                                      void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                      uint64_t flags, hsa_queue_t **queue)
{
	struct kr_agent *owner = kr_agent_find(agent);
	hsa_status_t status =
		kr_next.hsa_amd_counted_queue_acquire(agent, type, priority, callback, data, flags, queue);

	if (owner != NULL && kr_snapshot_make_room(status, owner))
		status = kr_next.hsa_amd_counted_queue_acquire(agent, type, priority, callback, data, flags, queue);
	/* Shared by all who acquire it: no proxy, but a window drains it. */
	if (status == HSA_STATUS_SUCCESS && owner != NULL)
		kr_foreign_add(*queue, owner);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_counted_queue_release(hsa_queue_t *queue)
{
	kr_foreign_remove(queue);
	return kr_next.hsa_amd_counted_queue_release(queue);
}
