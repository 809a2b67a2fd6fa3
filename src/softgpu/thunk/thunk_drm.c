/* SPDX-License-Identifier: MIT */
/*
 * ROCr 6.1 asks the thunk for a GPU's libdrm device and hands that to libdrm_amdgpu. The devices here are ours, so the
 * two functions of libdrm_amdgpu that take one are too: this library stands before libdrm_amdgpu in the runtime's list.
 * A device of anybody else goes on to the real function.
 */
#include "thunk.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* One a node; libdrm's clients only pass the address around. */
static struct device {
	uint32_t node;
} devices[SG_MAX_NODES];

/* struct amdgpu_gpu_info of libdrm's amdgpu.h, as large as there and with the fields that have a meaning here. */
struct gpu_info {
	uint32_t asic_id;           /* PCI device */
	uint32_t chip_rev, chip_external_rev, family_id;
	uint64_t ids_flags;
	uint64_t max_engine_clk, max_memory_clk; /* kHz */
	uint32_t shader_engines, arrays_per_engine;
	uint32_t graphics[6];
	uint32_t counter_kHz;       /* of the clock that shaders and packets read */
	uint32_t more_graphics[85];
};
_Static_assert(sizeof(struct gpu_info) == 416, "libdrm's struct amdgpu_gpu_info");

EXPORTED HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 NodeId, void **DeviceHandle);
EXPORTED int amdgpu_query_gpu_info(void *device, void *info);
EXPORTED int amdgpu_bo_import(void *device, int type, uint32_t shared_handle, void *output);

HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 NodeId, void **DeviceHandle)
{
	CHECK_OPEN();
	if (!DeviceHandle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!sg_gpu_info(NodeId))
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	__atomic_store_n(&devices[NodeId].node, NodeId, __ATOMIC_RELAXED);
	*DeviceHandle = &devices[NodeId];
	return HSAKMT_STATUS_SUCCESS;
}

static const struct sg_gpu_info *gpu_of(const void *device)
{
	const struct device *d = device;

	return d > devices && d < devices + SG_MAX_NODES ? sg_gpu_info((uint32_t)(d - devices)) : NULL;
}

int amdgpu_query_gpu_info(void *device, void *info)
{
	const struct sg_gpu_info *gpu = gpu_of(device);

	if (!gpu) {
		int (*next)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "amdgpu_query_gpu_info");

		return next ? next(device, info) : -EINVAL;
	}
	struct gpu_info out = {
		.asic_id = gpu->data->device_id,
		.max_engine_clk = gpu->data->engine_mhz * 1000ull,
		.shader_engines = gpu->shader_engines,
		.counter_kHz = SG_CLOCK_HZ / 1000,
	};

	memcpy(info, &out, sizeof(out));
	return 0;
}

int amdgpu_bo_import(void *device, int type, uint32_t shared_handle, void *output)
{
	if (!gpu_of(device)) {
		int (*next)(void *, int, uint32_t, void *) =
			(int (*)(void *, int, uint32_t, void *))dlsym(RTLD_NEXT, "amdgpu_bo_import");

		return next ? next(device, type, shared_handle, output) : -EINVAL;
	}
	sg_log("amdgpu_bo_import is not supported");
	return -ENOTSUP;
}
