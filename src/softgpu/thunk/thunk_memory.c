/* SPDX-License-Identifier: MIT */
#include "thunk.h"

#include <string.h>

HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 PreferredNode, HSAuint64 SizeInBytes,
                                HsaMemFlags MemFlags, void **MemoryAddress)
{
	CHECK_OPEN();
	if (!MemoryAddress)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (MemFlags.ui32.GDSMemory || MemFlags.ui32.AQLQueueMemory) {
		/* GFX8 rings mapped twice, and global data share: not on these cards. */
		sg_log("hsaKmtAllocMemory: flags 0x%x are not supported", MemFlags.Value);
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	struct sg_alloc_request request = {
		.node = PreferredNode,
		.size = SizeInBytes,
		.flags = MemFlags.Value,
		.scratch = MemFlags.ui32.Scratch,
		.executable = MemFlags.ui32.ExecuteAccess,
		/* The runtime asks for non-paged system memory where it means to share. */
		.shareable = PreferredNode == SG_CPU_NODE && MemFlags.ui32.NonPaged,
		.fixed = MemFlags.ui32.FixedAddress ? *MemoryAddress : NULL,
	};

	return thunk_status(sg_memory_alloc(&request, MemoryAddress));
}

HSAKMT_STATUS hsaKmtFreeMemory(void *MemoryAddress, HSAuint64 SizeInBytes)
{
	(void)SizeInBytes;
	CHECK_OPEN();
	return thunk_status(sg_memory_free(MemoryAddress));
}

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes)
{
	CHECK_OPEN();
	if (!AvailableBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return thunk_status(sg_memory_available(Node, AvailableBytes));
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *MemoryAddress, HSAuint64 MemorySizeInBytes)
{
	CHECK_OPEN();
	return thunk_status(sg_memory_register(MemoryAddress, MemorySizeInBytes, 0, NULL, 0));
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                          HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	CHECK_OPEN();
	return thunk_status(sg_memory_register(MemoryAddress, MemorySizeInBytes, 0, NodeArray,
	                                       NumberOfNodes));
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                            HsaMemFlags MemFlags)
{
	CHECK_OPEN();
	return thunk_status(sg_memory_register(MemoryAddress, MemorySizeInBytes, MemFlags.Value,
	                                       NULL, 0));
}

HSAKMT_STATUS hsaKmtDeregisterMemory(void *MemoryAddress)
{
	CHECK_OPEN();
	return thunk_status(sg_memory_deregister(MemoryAddress));
}

static HSAKMT_STATUS map(void *address, HSAuint64 size, HSAuint64 *alternate,
                         const HSAuint32 *nodes, HSAuint64 count)
{
	CHECK_OPEN();
	struct sg_memory_info info;
	enum sg_status status = sg_memory_map(address, size, nodes, count);

	/* Memory of ours is where the host sees it. What the client registered is elsewhere, as with the kernel driver:
	 * HIP cannot tell a registered range from its device address when the two are one. */
	if (status == SG_OK && alternate) {
		*alternate = (HSAuint64)(uintptr_t)address;
		if (sg_memory_query(address, &info) == SG_OK && info.kind == SG_MEM_USER)
			*alternate |= GCN_HOST_BIT;
	}
	return status == SG_NOT_FOUND ? HSAKMT_STATUS_INVALID_PARAMETER : thunk_status(status);
}

HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                   HSAuint64 *AlternateVAGPU)
{
	return map(MemoryAddress, MemorySizeInBytes, AlternateVAGPU, NULL, 0);
}

HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                        HSAuint64 *AlternateVAGPU, HsaMemMapFlags MemMapFlags,
                                        HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	(void)MemMapFlags;
	if (NumberOfNodes && !NodeArray)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return map(MemoryAddress, MemorySizeInBytes, AlternateVAGPU, NodeArray, NumberOfNodes);
}

HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *MemoryAddress)
{
	CHECK_OPEN();
	enum sg_status status = sg_memory_unmap(MemoryAddress);

	return status == SG_NOT_FOUND ? HSAKMT_STATUS_INVALID_PARAMETER : thunk_status(status);
}

_Static_assert(sizeof(HsaSharedMemoryHandle) == SG_SHARE_WORDS * sizeof(uint32_t),
               "handle size");

HSAKMT_STATUS hsaKmtShareMemory(void *MemoryAddress, HSAuint64 SizeInBytes,
                                HsaSharedMemoryHandle *SharedMemoryHandle)
{
	CHECK_OPEN();
	if (!SharedMemoryHandle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return thunk_status(sg_memory_share(MemoryAddress, SizeInBytes, *SharedMemoryHandle));
}

HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *SharedMemoryHandle,
                                                void **MemoryAddress, HSAuint64 *SizeInBytes,
                                                HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	CHECK_OPEN();
	if (!SharedMemoryHandle || !MemoryAddress || !SizeInBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	uint64_t size;
	enum sg_status status = sg_memory_import(*SharedMemoryHandle, NodeArray, NumberOfNodes,
	                                         MemoryAddress, &size);

	if (status == SG_OK)
		*SizeInBytes = size;
	return thunk_status(status);
}

HSAKMT_STATUS hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *SharedMemoryHandle,
                                         void **MemoryAddress, HSAuint64 *SizeInBytes)
{
	return hsaKmtRegisterSharedHandleToNodes(SharedMemoryHandle, MemoryAddress, SizeInBytes, 0,
	                                         NULL);
}

/* Of a device address of registered memory, or of the memory itself. */
static const void *host_pointer(const void *pointer)
{
	return (const void *)((uintptr_t)pointer & ~(uintptr_t)GCN_HOST_BIT);
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *Pointer, HsaPointerInfo *PointerInfo)
{
	static const HSA_POINTER_TYPE types[] = {
		[SG_MEM_NONE] = HSA_POINTER_UNKNOWN,
		[SG_MEM_SYSTEM] = HSA_POINTER_ALLOCATED,
		[SG_MEM_VRAM] = HSA_POINTER_ALLOCATED,
		[SG_MEM_SCRATCH] = HSA_POINTER_ALLOCATED,
		[SG_MEM_USER] = HSA_POINTER_REGISTERED_USER,
		[SG_MEM_IMPORTED] = HSA_POINTER_REGISTERED_SHARED,
	};
	struct sg_memory_info info;

	if (!PointerInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(PointerInfo, 0, sizeof(*PointerInfo));
	CHECK_OPEN();
	if (sg_memory_query(host_pointer(Pointer), &info) != SG_OK)
		return HSAKMT_STATUS_ERROR;
	PointerInfo->Type = types[info.kind];
	PointerInfo->Node = info.node;
	PointerInfo->MemFlags.Value = info.flags;
	PointerInfo->CPUAddress = info.host_access ? (void *)(uintptr_t)info.base : NULL;
	PointerInfo->GPUAddress = info.kind == SG_MEM_USER ? info.base | GCN_HOST_BIT : info.base;
	PointerInfo->SizeInBytes = info.size;
	PointerInfo->NRegisteredNodes = info.registered_count;
	PointerInfo->RegisteredNodes = info.registered_nodes;
	PointerInfo->NMappedNodes = info.mapped_count;
	PointerInfo->MappedNodes = info.mapped_nodes;
	PointerInfo->UserData = info.user_data;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *Pointer, void *UserData)
{
	CHECK_OPEN();
	return thunk_status(sg_memory_set_user_data(host_pointer(Pointer), UserData));
}

/* For device-side AddressSanitizer: a page of the host in place of a device
 * page. Device memory is host memory already, so nothing has to change. */
HSAKMT_STATUS hsaKmtReplaceAsanHeaderPage(void *addr)
{
	struct sg_memory_info info;

	CHECK_OPEN();
	return sg_memory_query(addr, &info) == SG_OK && info.host_access
	               ? HSAKMT_STATUS_SUCCESS
	               : HSAKMT_STATUS_INVALID_PARAMETER;
}

HSAKMT_STATUS hsaKmtReturnAsanHeaderPage(void *addr)
{
	return hsaKmtReplaceAsanHeaderPage(addr);
}
