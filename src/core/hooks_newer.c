/* SPDX-License-Identifier: MIT */
/* What newer runtimes have besides: copies on a chosen engine and in batches, counted queues. */
#include "core/agents.h"
#include "core/copies.h"
#include "core/deferred.h"
#include "core/foreign.h"
#include "core/proxy.h"
#include "core/snapshot.h"

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
	struct kr_agent *agent = kr_foreign_remove(queue);
	hsa_status_t status = kr_next.hsa_amd_counted_queue_release(queue);

	if (status != HSA_STATUS_SUCCESS && agent != NULL)
		kr_foreign_add(queue, agent);
	return status;
}
