/* SPDX-License-Identifier: MIT */
/* Queue calls: each takes the application's queue pointer to the hardware queue. */
#include "core/agents.h"
#include "core/engine.h"
#include "core/foreign.h"
#include "core/proxy.h"

/* The hardware queue behind a queue of the application, or the queue itself. */
static hsa_queue_t *
behind(const hsa_queue_t *queue)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	return p != NULL ? p->hw : (hsa_queue_t *)(uintptr_t)queue;
}

hsa_status_t
kr_hook_hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                         uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	if (!kr_engine_active())
		return kr_next.hsa_queue_create(agent, size, type, callback, data, private_segment_size,
						group_segment_size, queue);
	/* A cooperative queue is the runtime's own, shared by all who ask for one. */
	if (type == HSA_QUEUE_TYPE_COOPERATIVE)
		return kr_queue_create_plain(agent, size, type, callback, data, private_segment_size,
					     group_segment_size, queue);
	return kr_proxy_create(agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

hsa_status_t
kr_hook_hsa_queue_destroy(hsa_queue_t *queue)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);
	struct kr_agent *agent;
	hsa_status_t status;

	if (p != NULL)
		return kr_proxy_destroy(p);
	agent = kr_foreign_remove(queue);
	status = kr_next.hsa_queue_destroy(queue);
	if (status != HSA_STATUS_SUCCESS && agent != NULL)
		kr_foreign_add(queue, agent);
	return status;
}

hsa_status_t
kr_hook_hsa_queue_inactivate(hsa_queue_t *queue)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	return p != NULL ? kr_proxy_inactivate(p) : kr_next.hsa_queue_inactivate(queue);
}

uint64_t
kr_hook_hsa_queue_load_read_index_scacquire(const hsa_queue_t *queue)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	return p != NULL ? kr_proxy_refresh(p) : kr_next.hsa_queue_load_read_index_scacquire(queue);
}

uint64_t
kr_hook_hsa_queue_load_read_index_relaxed(const hsa_queue_t *queue)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	return p != NULL ? kr_proxy_refresh(p) : kr_next.hsa_queue_load_read_index_relaxed(queue);
}

hsa_status_t
kr_hook_hsa_amd_queue_cu_set_mask(const hsa_queue_t *queue, uint32_t bits, const uint32_t *mask)
{
	return kr_next.hsa_amd_queue_cu_set_mask(behind(queue), bits, mask);
}

hsa_status_t
kr_hook_hsa_amd_queue_cu_get_mask(const hsa_queue_t *queue, uint32_t bits, uint32_t *mask)
{
	return kr_next.hsa_amd_queue_cu_get_mask(behind(queue), bits, mask);
}

hsa_status_t
kr_hook_hsa_amd_queue_set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
	return kr_next.hsa_amd_queue_set_priority(behind(queue), priority);
}

hsa_status_t
kr_hook_hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable)
{
	struct kr_proxy *p = kr_proxy_of_queue(queue);

	if (p == NULL)
		return kr_next.hsa_amd_profiling_set_profiler_enabled(queue, enable);
	/* Ours stays on. What the application reads back is its own wish. */
	AMD_HSA_BITS_SET(p->soft_amd->queue_properties, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING, (uint32_t)(enable != 0));
	return HSA_STATUS_SUCCESS;
}
