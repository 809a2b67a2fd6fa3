/* SPDX-License-Identifier: MIT */
/* What newer runtimes have besides. Handles of virtual memory are counted as theirs are: one lives for as long as it is
 * referenced or mapped, and the next one has its value. */
#include "stand_in_internal.h"

#include <string.h>

#define MAX_HANDLES 64

static struct {
	unsigned references, mappings;
} memory[MAX_HANDLES];

static struct {
	char *va;
	size_t size; /* 0: free */
	unsigned handle;
} mapping[MAX_HANDLES];

static unsigned
index_of(uint64_t handle)
{
	return (unsigned)(handle / 16 - 1);
}

static bool
is_alive(uint64_t handle)
{
	unsigned i = index_of(handle);

	return handle != 0 && i < MAX_HANDLES && memory[i].references + memory[i].mappings > 0;
}

static hsa_status_t
new_handle(struct kr_vmem_handle *handle)
{
	for (unsigned i = 0; i < MAX_HANDLES; i++) {
		if (memory[i].references + memory[i].mappings > 0)
			continue;
		memory[i].references = 1;
		handle->handle = 16 * (i + 1);
		return HSA_STATUS_SUCCESS;
	}
	return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t
handle_create(hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags, struct kr_vmem_handle *handle)
{
	return new_handle(handle);
}

static hsa_status_t
handle_release(struct kr_vmem_handle handle)
{
	if (stand_in_fails(&stand_in.vmem_release) || !is_alive(handle.handle) ||
	    memory[index_of(handle.handle)].references == 0)
		return HSA_STATUS_ERROR_INVALID_ALLOCATION;
	memory[index_of(handle.handle)].references--;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
import_handle(int fd, struct kr_vmem_handle *handle)
{
	if (fd == STAND_IN_THEIRS)
		return new_handle(handle);
	if (!is_alive((uint64_t)fd))
		return HSA_STATUS_ERROR_INVALID_ALLOCATION;
	handle->handle = (uint64_t)fd;
	memory[index_of(handle->handle)].references++;
	return HSA_STATUS_SUCCESS;
}

/* The place of the mapping that begins there. */
static unsigned
mapping_at(const char *va)
{
	unsigned i = 0;

	while (i < MAX_HANDLES && (mapping[i].size == 0 || mapping[i].va != va))
		i++;
	return i;
}

/* Whether mappings cover the range, without a gap and without more. */
static bool
is_mapped(const char *va, size_t size)
{
	const char *at = va;
	unsigned i;

	while (at < va + size && (i = mapping_at(at)) < MAX_HANDLES)
		at += mapping[i].size;
	return at == va + size;
}

static hsa_status_t
retain_handle(struct kr_vmem_handle *handle, void *va)
{
	unsigned i = mapping_at(va);

	if (i == MAX_HANDLES)
		return HSA_STATUS_ERROR_INVALID_ALLOCATION;
	memory[mapping[i].handle].references++;
	handle->handle = 16 * (mapping[i].handle + 1);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
map(void *va, size_t size, size_t in_offset, struct kr_vmem_handle handle, uint64_t flags)
{
	unsigned i = 0;

	if (va == NULL || !is_alive(handle.handle))
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	while (mapping[i].size != 0)
		i++;
	mapping[i].va = va;
	mapping[i].size = size;
	mapping[i].handle = index_of(handle.handle);
	memory[mapping[i].handle].mappings++;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
unmap(void *va, size_t size)
{
	if (stand_in_fails(&stand_in.vmem_unmap) || !is_mapped(va, size))
		return HSA_STATUS_ERROR_INVALID_ALLOCATION;
	for (char *at = va; at < (char *)va + size;) {
		unsigned i = mapping_at(at);

		memory[mapping[i].handle].mappings--;
		at += mapping[i].size;
		mapping[i].size = 0;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
set_access(void *va, size_t size, const struct kr_vmem_access *access, size_t count)
{
	if (!is_mapped(va, size))
		return HSA_STATUS_ERROR_INVALID_ALLOCATION;
	return stand_in_fails(&stand_in.vmem_access) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

static hsa_status_t
copy_on_engine(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size, uint32_t num_deps,
	       const hsa_signal_t *deps, hsa_signal_t done, uint32_t engine, bool force)
{
	return kr_next.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_deps, deps, done);
}

static hsa_status_t
batch_copy(const void *ops, uint32_t num_ops, uint32_t num_deps, const hsa_signal_t *deps)
{
	const struct stand_in_batch *batch = ops;

	for (uint32_t i = 0; i < num_ops; i++)
		*batch[i].to = *batch[i].from;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
counted_acquire(hsa_agent_t agent, uint32_t type, uint32_t priority,
		void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint64_t flags, hsa_queue_t **queue)
{
	return kr_next.hsa_queue_create(agent, 64, type, callback, data, 0, 0, queue);
}

static hsa_status_t
counted_release(hsa_queue_t *queue)
{
	return stand_in_fails(&stand_in.counted_release) ? HSA_STATUS_ERROR : kr_next.hsa_queue_destroy(queue);
}

void
stand_in_reset_newer(void)
{
	memset(memory, 0, sizeof(memory));
	memset(mapping, 0, sizeof(mapping));
}

void
stand_in_put_newer(struct kr_next *next)
{
	next->hsa_amd_memory_async_copy_on_engine = copy_on_engine;
	next->hsa_amd_memory_async_batch_copy = batch_copy;
	next->hsa_amd_vmem_handle_create = handle_create;
	next->hsa_amd_vmem_handle_release = handle_release;
	next->hsa_amd_vmem_import_shareable_handle = import_handle;
	next->hsa_amd_vmem_retain_alloc_handle = retain_handle;
	next->hsa_amd_vmem_map = map;
	next->hsa_amd_vmem_unmap = unmap;
	next->hsa_amd_vmem_set_access = set_access;
	next->hsa_amd_counted_queue_acquire = counted_acquire;
	next->hsa_amd_counted_queue_release = counted_release;
}
