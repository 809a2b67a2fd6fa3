/* SPDX-License-Identifier: MIT */
/*
 * Types of runtime functions that the oldest supported header does not declare,
 * under names of our own so that a newer header may be there as well. Source:
 * the runtime's public header hsa_ext_amd.h of ROCm 6 and 7. Enums are the
 * integers that they are passed as; an allocation handle is one 64-bit word, and
 * permissions are those of hsa_access_permission_t, 0 for none.
 */
#ifndef KR_NEWER_H
#define KR_NEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

struct kr_vmem_handle {
	uint64_t handle;
};

struct kr_vmem_access {
	uint32_t permission;
	hsa_agent_t agent;
};

typedef hsa_status_t kr_type_hsa_amd_memory_async_copy_on_engine(
	void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size,
	uint32_t num_dep_signals, const hsa_signal_t *dep_signals, hsa_signal_t completion_signal,
	uint32_t engine /* one bit */, bool force_copy_on_sdma);
typedef hsa_status_t kr_type_hsa_amd_memory_async_batch_copy(const void *ops, uint32_t num_ops,
							     uint32_t num_dep_signals,
							     const hsa_signal_t *dep_signals);
typedef hsa_status_t kr_type_hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, uint32_t type,
							uint64_t flags, struct kr_vmem_handle *handle);
typedef hsa_status_t kr_type_hsa_amd_vmem_handle_release(struct kr_vmem_handle handle);
typedef hsa_status_t kr_type_hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, struct kr_vmem_handle *handle);
typedef hsa_status_t kr_type_hsa_amd_vmem_retain_alloc_handle(struct kr_vmem_handle *handle, void *va);
typedef hsa_status_t kr_type_hsa_amd_vmem_map(void *va, size_t size, size_t in_offset,
					      struct kr_vmem_handle handle, uint64_t flags);
typedef hsa_status_t kr_type_hsa_amd_vmem_unmap(void *va, size_t size);
typedef hsa_status_t kr_type_hsa_amd_vmem_set_access(void *va, size_t size, const struct kr_vmem_access *access,
						     size_t count);
typedef hsa_status_t kr_type_hsa_amd_queue_get_info(hsa_queue_t *queue, uint32_t attribute, void *value);
typedef hsa_status_t kr_type_hsa_amd_counted_queue_acquire(hsa_agent_t agent, uint32_t type, uint32_t priority,
							   void (*callback)(hsa_status_t, hsa_queue_t *, void *),
							   void *data, uint64_t flags, hsa_queue_t **queue);
typedef hsa_status_t kr_type_hsa_amd_counted_queue_release(hsa_queue_t *queue);

#endif
