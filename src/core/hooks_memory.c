/* SPDX-License-Identifier: MIT */
/* Memory calls: what they tell the tracker, and the reader side of the agent
 * that copies and frees hold for their submission. */
#include "core/agents.h"
#include "core/tracker.h"
#include "kreplay/kreplay.h"

/* ---- allocation ---- */

hsa_status_t
kr_hook_hsa_memory_allocate(hsa_region_t region, size_t size, void **ptr)
{
	hsa_status_t status = kr_next.hsa_memory_allocate(region, size, ptr);

	if (status == HSA_STATUS_SUCCESS && kr_agents_init())
		kr_tracker_add(*ptr, size, region.handle, 0, KREPLAY_REGION_REGION);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	hsa_status_t status = kr_next.hsa_amd_memory_pool_allocate(pool, size, flags, ptr);

	if (status == HSA_STATUS_SUCCESS && kr_agents_init())
		kr_tracker_add(*ptr, size, pool.handle, flags, KREPLAY_REGION_POOL);
	return status;
}

/* Both kinds of free. Out of the tracker first: as soon as the runtime has the
 * memory back, another thread may be given the same address. */
static hsa_status_t
release(void *ptr, hsa_status_t (*free_fn)(void *))
{
	struct kr_allocation a;
	struct kr_agent *agent = NULL;
	bool known = kr_tracker_find(ptr, &a) && a.base == (uintptr_t)ptr;
	hsa_status_t status;

	if (known)
		agent = a.agent;
	kr_agent_enter(agent);
	if (known)
		kr_tracker_remove(ptr);
	status = free_fn(ptr);
	if (status != HSA_STATUS_SUCCESS && known)
		kr_tracker_restore(&a);
	kr_agent_leave(agent);
	return status;
}

hsa_status_t
kr_hook_hsa_memory_free(void *ptr)
{
	return release(ptr, kr_next.hsa_memory_free);
}

hsa_status_t
kr_hook_hsa_amd_memory_pool_free(void *ptr)
{
	return release(ptr, kr_next.hsa_amd_memory_pool_free);
}

hsa_status_t
kr_hook_hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t *handle, size_t len, uint32_t num_agents,
                                  const hsa_agent_t *mapping_agents, void **mapped_ptr)
{
	hsa_status_t status = kr_next.hsa_amd_ipc_memory_attach(handle, len, num_agents, mapping_agents, mapped_ptr);

	if (status == HSA_STATUS_SUCCESS)
		kr_tracker_attach(*mapped_ptr);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_ipc_memory_detach(void *mapped_ptr)
{
	hsa_status_t status = kr_next.hsa_amd_ipc_memory_detach(mapped_ptr);

	if (status == HSA_STATUS_SUCCESS)
		kr_tracker_detach(mapped_ptr);
	return status;
}

/* ---- copies ---- */

static struct kr_agent *
owner_of(const void *address)
{
	struct kr_allocation a;

	return kr_tracker_find(address, &a) ? a.agent : NULL;
}

/* Two agents, in one order for everybody; the same one once. */
static void
enter_both(struct kr_agent *a, struct kr_agent *b)
{
	kr_agent_enter(a < b ? a : b);
	if (a != b)
		kr_agent_enter(a < b ? b : a);
}

static void
leave_both(struct kr_agent *a, struct kr_agent *b)
{
	kr_agent_leave(a);
	if (a != b)
		kr_agent_leave(b);
}

hsa_status_t
kr_hook_hsa_memory_copy(void *dst, const void *src, size_t size)
{
	struct kr_agent *to = owner_of(dst), *from = owner_of(src);
	hsa_status_t status;

	enter_both(to, from);
	status = kr_next.hsa_memory_copy(dst, src, size);
	leave_both(to, from);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_fill(void *ptr, uint32_t value, size_t count)
{
	struct kr_agent *to = owner_of(ptr);
	hsa_status_t status;

	kr_agent_enter(to);
	status = kr_next.hsa_amd_memory_fill(ptr, value, count);
	kr_agent_leave(to);
	return status;
}

/* Inside the reader side: a window that opens later finds the flag. */
static void
note_copy(struct kr_agent *to, struct kr_agent *from)
{
	if (to != NULL && from == NULL)
		atomic_store(&to->copied_from_host, true);
	if (from != NULL && to == NULL)
		atomic_store(&from->copied_to_host, true);
	if (to != NULL && from != NULL) {
		atomic_store(&to->copied_inside, true);
		atomic_store(&from->copied_inside, true);
	}
}

hsa_status_t
kr_hook_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent,
                                  size_t size, uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                                  hsa_signal_t completion_signal)
{
	struct kr_agent *to = kr_agent_find(dst_agent), *from = kr_agent_find(src_agent);
	hsa_status_t status;

	enter_both(to, from);
	note_copy(to, from);
	status = kr_next.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals,
						   completion_signal);
	leave_both(to, from);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset,
                                       const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
                                       const hsa_dim3_t *range, hsa_agent_t copy_agent, hsa_amd_copy_direction_t dir,
                                       uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                                       hsa_signal_t completion_signal)
{
	struct kr_agent *agent = kr_agent_find(copy_agent);
	struct kr_agent *to = dir == hsaHostToDevice || dir == hsaDeviceToDevice ? agent : NULL;
	struct kr_agent *from = dir == hsaDeviceToHost || dir == hsaDeviceToDevice ? agent : NULL;
	hsa_status_t status;

	kr_agent_enter(agent);
	note_copy(to, from);
	status = kr_next.hsa_amd_memory_async_copy_rect(dst, dst_offset, src, src_offset, range, copy_agent, dir,
							num_dep_signals, dep_signals, completion_signal);
	kr_agent_leave(agent);
	return status;
}
