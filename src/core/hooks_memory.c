/* SPDX-License-Identifier: MIT */
/* Memory calls: what they tell the tracker, and the reader side of the agent
 * that copies and frees hold for their submission. */
#include "core/agents.h"
#include "core/copies.h"
#include "core/deferred.h"
#include "core/engine.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "kreplay/kreplay.h"

/* ---- allocation ---- */

/* There was no memory. What snapshots retain may be what is missing: the
 * application must not fail for want of that. */
static bool
worth_another_try(hsa_status_t status, uint64_t pool)
{
	struct kr_agent *owner = NULL;

	return status != HSA_STATUS_SUCCESS && kr_pool_kind(pool, &owner) != KR_POOL_UNKNOWN &&
	       kr_snapshot_make_room(status, owner);
}

hsa_status_t
kr_hook_hsa_memory_allocate(hsa_region_t region, size_t size, void **ptr)
{
	hsa_status_t status = kr_next.hsa_memory_allocate(region, size, ptr);

	if (worth_another_try(status, region.handle))
		status = kr_next.hsa_memory_allocate(region, size, ptr);
	if (status == HSA_STATUS_SUCCESS && kr_agents_init())
		kr_tracker_add(*ptr, size, region.handle, 0, KREPLAY_REGION_REGION);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	hsa_status_t status = kr_next.hsa_amd_memory_pool_allocate(pool, size, flags, ptr);

	if (worth_another_try(status, pool.handle))
		status = kr_next.hsa_amd_memory_pool_allocate(pool, size, flags, ptr);
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
	bool known = kr_tracker_take(ptr, &a);
	hsa_status_t status = free_fn(ptr);

	if (status != HSA_STATUS_SUCCESS && known)
		kr_tracker_restore(&a);
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

/* A buffer of another driver or program. */
hsa_status_t
kr_hook_hsa_amd_interop_map_buffer(uint32_t num_agents, hsa_agent_t *agents, int interop_handle, uint32_t flags,
                                   size_t *size, void **ptr, size_t *metadata_size, const void **metadata)
{
	hsa_status_t status = kr_next.hsa_amd_interop_map_buffer(num_agents, agents, interop_handle, flags, size, ptr,
								 metadata_size, metadata);

	if (status == HSA_STATUS_SUCCESS)
		kr_tracker_attach(*ptr);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_interop_unmap_buffer(void *ptr)
{
	hsa_status_t status = kr_next.hsa_amd_interop_unmap_buffer(ptr);

	if (status == HSA_STATUS_SUCCESS)
		kr_tracker_detach(ptr);
	return status;
}

/* The host's own stores to device memory go through no call that a window could
 * hold up, and a restore would take them back. So device memory is said to be
 * out of the host's reach, as it is on a machine without a large BAR, and
 * programs that ask use the copy calls instead (HIP does for small copies). */
hsa_status_t
kr_hook_hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                           hsa_amd_agent_memory_pool_info_t attribute, void *value)
{
	hsa_status_t status = kr_next.hsa_amd_agent_memory_pool_get_info(agent, pool, attribute, value);

	if (status == HSA_STATUS_SUCCESS && attribute == HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS && kr_engine_active() &&
	    kr_agent_find(agent) == NULL && kr_pool_kind(pool.handle, NULL) == KR_POOL_DEVICE)
		*(hsa_amd_memory_pool_access_t *)value = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
	return status;
}

/* ---- host memory made known to agents ---- */

/* Where agents see what is locked at an address. NULL: nothing is; device memory can be given to these calls too. */
static void *
locked_at(const void *address)
{
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	return kr_next.hsa_amd_pointer_info(address, &info, NULL, NULL, NULL) == HSA_STATUS_SUCCESS &&
			       info.type == HSA_EXT_POINTER_TYPE_LOCKED
		       ? info.agentBaseAddress
		       : NULL;
}

/* An allocation that is saved stays one, whatever is said of its address. */
static bool
is_saved(const void *address)
{
	struct kr_allocation a;

	return kr_tracker_find(address, &a) && a.left_out < 0;
}

static void
note_lock(hsa_status_t status, size_t size, void *const *agent_ptr)
{
	hsa_amd_memory_pool_t pool;

	if (status == HSA_STATUS_SUCCESS && agent_ptr != NULL && kr_agents_init() && kr_host_pool(&pool) &&
	    locked_at(*agent_ptr) != NULL && !is_saved(*agent_ptr))
		kr_tracker_add(*agent_ptr, size, pool.handle, 0, KREPLAY_REGION_POOL);
}

hsa_status_t
kr_hook_hsa_amd_memory_lock(void *host_ptr, size_t size, hsa_agent_t *agents, int num_agent, void **agent_ptr)
{
	hsa_status_t status = kr_next.hsa_amd_memory_lock(host_ptr, size, agents, num_agent, agent_ptr);

	/* What may be pinned is limited, and what snapshots hold of the host is. */
	if (kr_snapshot_make_room(status, NULL))
		status = kr_next.hsa_amd_memory_lock(host_ptr, size, agents, num_agent, agent_ptr);
	note_lock(status, size, agent_ptr);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_lock_to_pool(void *host_ptr, size_t size, hsa_agent_t *agents, int num_agent,
                                    hsa_amd_memory_pool_t pool, uint32_t flags, void **agent_ptr)
{
	hsa_status_t status =
		kr_next.hsa_amd_memory_lock_to_pool(host_ptr, size, agents, num_agent, pool, flags, agent_ptr);

	if (kr_snapshot_make_room(status, NULL))
		status = kr_next.hsa_amd_memory_lock_to_pool(host_ptr, size, agents, num_agent, pool, flags, agent_ptr);
	note_lock(status, size, agent_ptr);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_memory_unlock(void *host_ptr)
{
	/* Noted under the agents' address, which need not be the host's. */
	const void *seen = locked_at(host_ptr);

	if (seen != NULL && !is_saved(seen))
		kr_tracker_remove(seen);
	return kr_next.hsa_amd_memory_unlock(host_ptr);
}

/* ---- copies ---- */

static struct kr_agent *
owner_of(const void *address)
{
	struct kr_allocation a;

	return kr_tracker_find(address, &a) ? a.agent : NULL;
}

hsa_status_t
kr_hook_hsa_memory_copy(void *dst, const void *src, size_t size)
{
	struct kr_agent *to = owner_of(dst), *from = owner_of(src);
	hsa_status_t status;

	kr_copy_enter(to, from);
	status = kr_next.hsa_memory_copy(dst, src, size);
	kr_copy_leave(to, from);
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

hsa_status_t
kr_hook_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent,
                                  size_t size, uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                                  hsa_signal_t completion_signal)
{
	struct kr_copy copy = {.kind = KR_COPY_PLAIN,
			       .to = kr_agent_find(dst_agent),
			       .from = kr_agent_find(src_agent),
			       .num_deps = num_dep_signals,
			       .deps = dep_signals,
			       .completion = completion_signal,
			       .dst = dst,
			       .src = src,
			       .dst_agent = dst_agent,
			       .src_agent = src_agent,
			       .size = size};

	return kr_copy_submit(&copy);
}

hsa_status_t
kr_hook_hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset,
                                       const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
                                       const hsa_dim3_t *range, hsa_agent_t copy_agent, hsa_amd_copy_direction_t dir,
                                       uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                                       hsa_signal_t completion_signal)
{
	struct kr_agent *agent = kr_agent_find(copy_agent);
	struct kr_copy copy = {.kind = KR_COPY_RECT,
			       .to = dir == hsaDeviceToHost ? NULL : agent,
			       .from = dir == hsaHostToDevice ? NULL : agent,
			       .num_deps = num_dep_signals,
			       .deps = dep_signals,
			       .completion = completion_signal,
			       .copy_agent = copy_agent,
			       .direction = dir};

	if (dst == NULL || dst_offset == NULL || src == NULL || src_offset == NULL || range == NULL)
		return kr_next.hsa_amd_memory_async_copy_rect(dst, dst_offset, src, src_offset, range, copy_agent, dir,
							      num_dep_signals, dep_signals, completion_signal);
	copy.rect_dst = *dst;
	copy.rect_src = *src;
	copy.dst_offset = *dst_offset;
	copy.src_offset = *src_offset;
	copy.range = *range;
	return kr_copy_submit(&copy);
}
