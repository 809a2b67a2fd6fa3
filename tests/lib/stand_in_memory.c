/* SPDX-License-Identifier: MIT */
/* Memory, and the copy engine. */
#include "stand_in_internal.h"

#include <stdlib.h>
#include <string.h>

/* Sizes of device memory, for a device of a certain size. */
#define MAX_ON_DEVICE 16384
static struct {
	void *base;
	size_t size;
} on_device[MAX_ON_DEVICE];
static uint64_t device_used;

static bool
has_room(uint64_t pool, size_t size)
{
	if (pool == stand_in.full_pool ||
	    (pool == STAND_IN_HOST_POOL && stand_in.largest_pinned != 0 && size > stand_in.largest_pinned))
		return false;
	return (pool != STAND_IN_DEVICE_POOL && pool != STAND_IN_DEVICE_POOL2) || stand_in.device_room == 0 ||
	       device_used + size <= stand_in.device_room;
}

static void
note_size(uint64_t pool, void *base, size_t size)
{
	if (pool != STAND_IN_DEVICE_POOL && pool != STAND_IN_DEVICE_POOL2)
		return;
	pthread_mutex_lock(&stand_in_mutex);
	for (unsigned i = 0; i < MAX_ON_DEVICE; i++)
		if (on_device[i].base == NULL) {
			on_device[i].base = base;
			on_device[i].size = size;
			device_used += size;
			break;
		}
	pthread_mutex_unlock(&stand_in_mutex);
}

static void
forget_size(const void *base)
{
	pthread_mutex_lock(&stand_in_mutex);
	for (unsigned i = 0; i < MAX_ON_DEVICE && base != NULL; i++)
		if (on_device[i].base == base) {
			on_device[i].base = NULL;
			device_used -= on_device[i].size;
			break;
		}
	pthread_mutex_unlock(&stand_in_mutex);
}

static hsa_status_t
pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	if (stand_in_fails(&stand_in.pool_allocate) || !has_room(pool.handle, size))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*ptr = calloc(1, size);
	if (stand_in.device_room != 0)
		note_size(pool.handle, *ptr, size);
	__atomic_add_fetch(&stand_in.live_allocations, 1, __ATOMIC_SEQ_CST);
	return *ptr != NULL ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t
memory_allocate(hsa_region_t region, size_t size, void **ptr)
{
	return pool_allocate((hsa_amd_memory_pool_t){region.handle}, size, 0, ptr);
}

static hsa_status_t
memory_free(void *ptr)
{
	if (stand_in_fails(&stand_in.memory_free))
		return HSA_STATUS_ERROR;
	if (device_used != 0)
		forget_size(ptr);
	free(ptr);
	__atomic_sub_fetch(&stand_in.live_allocations, 1, __ATOMIC_SEQ_CST);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_copy(void *dst, const void *src, size_t size)
{
	memcpy(dst, src, size);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_fill(void *ptr, uint32_t value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint32_t *)ptr)[i] = value;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
async_copy(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size, uint32_t n,
           const hsa_signal_t *deps, hsa_signal_t completion)
{
	if (stand_in_fails(&stand_in.copy))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	pthread_mutex_lock(&stand_in_mutex);
	if (stand_in_fails(&stand_in.copy_end)) {
		__atomic_store_n(&kr_signal_amd(completion)->value, -1, __ATOMIC_SEQ_CST);
		stand_in_signal_changed();
	} else {
		memcpy(dst, src, size);
		if (completion.handle != 0)
			kr_next.hsa_signal_subtract_screlease(completion, 1);
	}
	pthread_mutex_unlock(&stand_in_mutex);
	return HSA_STATUS_SUCCESS;
}

static char *
place_in(const hsa_pitched_ptr_t *p, const hsa_dim3_t *at, uint32_t y, uint32_t z)
{
	return (char *)p->base + (at->z + z) * p->slice + (at->y + y) * p->pitch + at->x;
}

static hsa_status_t
async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset, const hsa_pitched_ptr_t *src,
                const hsa_dim3_t *src_offset, const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t dir,
                uint32_t n, const hsa_signal_t *deps, hsa_signal_t completion)
{
	if (dst == NULL || dst_offset == NULL || src == NULL || src_offset == NULL || range == NULL)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	stand_in.rect_direction = dir;
	pthread_mutex_lock(&stand_in_mutex);
	for (uint32_t z = 0; z < range->z; z++)
		for (uint32_t y = 0; y < range->y; y++)
			memcpy(place_in(dst, dst_offset, y, z), place_in(src, src_offset, y, z), range->x);
	pthread_mutex_unlock(&stand_in_mutex);
	if (completion.handle != 0)
		kr_next.hsa_signal_subtract_screlease(completion, 1);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
allow_access(uint32_t n, const hsa_agent_t *agents, const uint32_t *flags, const void *ptr)
{
	return stand_in_fails(&stand_in.allow_access) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
ipc_attach(const hsa_amd_ipc_memory_t *handle, size_t len, uint32_t n, const hsa_agent_t *agents, void **ptr)
{
	*ptr = (void *)(uintptr_t)0x1000;
	return stand_in_fails(&stand_in.ipc) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

static hsa_status_t
interop_map(uint32_t n, hsa_agent_t *agents, int handle, uint32_t flags, size_t *size, void **ptr, size_t *metadata_size,
            const void **metadata)
{
	*size = 64;
	return ipc_attach(NULL, *size, n, agents, ptr);
}

static hsa_status_t
ipc_detach(void *ptr)
{
	return stand_in_fails(&stand_in.ipc) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

/* All memory is the host's, so every agent reaches all of it. */
static hsa_status_t
pool_access(hsa_agent_t agent, hsa_amd_memory_pool_t pool, hsa_amd_agent_memory_pool_info_t info, void *value)
{
	*(hsa_amd_memory_pool_access_t *)value = HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
	return stand_in_fails(&stand_in.pool_access) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

static const void *locked; /* the last that was, until it is unlocked */

static hsa_status_t
memory_lock(void *host, size_t size, hsa_agent_t *agents, int n, void **agent_ptr)
{
	if (agent_ptr != NULL)
		*agent_ptr = host;
	if (stand_in_fails(&stand_in.lock))
		return HSA_STATUS_ERROR;
	locked = host;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_lock_to_pool(void *host, size_t size, hsa_agent_t *agents, int n, hsa_amd_memory_pool_t pool, uint32_t flags,
                    void **agent_ptr)
{
	return memory_lock(host, size, agents, n, agent_ptr);
}

static hsa_status_t
pointer_info(const void *ptr, hsa_amd_pointer_info_t *info, void *(*alloc)(size_t), uint32_t *count, hsa_agent_t **agents)
{
	info->type = ptr == locked ? HSA_EXT_POINTER_TYPE_LOCKED : HSA_EXT_POINTER_TYPE_UNKNOWN;
	info->agentBaseAddress = (void *)(uintptr_t)ptr;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_unlock(void *host)
{
	locked = host == locked ? NULL : locked;
	return HSA_STATUS_SUCCESS;
}

void
stand_in_reset_memory(void)
{
	memset(on_device, 0, sizeof(on_device));
	device_used = 0;
	locked = NULL;
}

void
stand_in_put_memory(struct kr_next *next)
{
	next->hsa_memory_allocate = memory_allocate;
	next->hsa_memory_free = memory_free;
	next->hsa_memory_copy = memory_copy;
	next->hsa_amd_memory_pool_allocate = pool_allocate;
	next->hsa_amd_memory_pool_free = memory_free;
	next->hsa_amd_memory_async_copy = async_copy;
	next->hsa_amd_memory_async_copy_rect = async_copy_rect;
	next->hsa_amd_memory_fill = memory_fill;
	next->hsa_amd_agent_memory_pool_get_info = pool_access;
	next->hsa_amd_memory_lock = memory_lock;
	next->hsa_amd_memory_lock_to_pool = memory_lock_to_pool;
	next->hsa_amd_memory_unlock = memory_unlock;
	next->hsa_amd_pointer_info = pointer_info;
	next->hsa_amd_ipc_memory_attach = ipc_attach;
	next->hsa_amd_ipc_memory_detach = ipc_detach;
	next->hsa_amd_interop_map_buffer = interop_map;
	next->hsa_amd_interop_unmap_buffer = ipc_detach;
	next->hsa_amd_agents_allow_access = allow_access;
}
