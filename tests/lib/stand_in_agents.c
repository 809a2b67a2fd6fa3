/* SPDX-License-Identifier: MIT */
/* Agents, their pools, regions and instruction set. */
#include "stand_in_internal.h"

#include <stdio.h>
#include <string.h>

static hsa_status_t
iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void *), void *data)
{
	visit(STAND_IN_CPU, data);
	visit(STAND_IN_GPU, data);
	visit(STAND_IN_GPU2, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
agent_get_info(hsa_agent_t agent, hsa_agent_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_AGENT_INFO_DEVICE:
		*(hsa_device_type_t *)value =
			agent.handle == STAND_IN_CPU.handle ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
		break;
	case HSA_AGENT_INFO_NAME:
		snprintf(value, 64, "stand-in%u", (unsigned)agent.handle);
		break;
	case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
		*(uint32_t *)value = 1u << 17;
		break;
	case HSA_AGENT_INFO_NODE:
		*(uint32_t *)value = (uint32_t)agent.handle / 10;
		break;
	case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
		*(uint32_t *)value = 4;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_pools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void *), void *data)
{
	for (uint64_t pool = agent.handle + 1; pool <= agent.handle + 2; pool++)
		if (pool <= STAND_IN_DEVICE_POOL2)
			visit((hsa_amd_memory_pool_t){pool}, data);
	return HSA_STATUS_SUCCESS;
}

static uint32_t
pool_flags(uint64_t pool)
{
	switch (pool) {
	case STAND_IN_HOST_POOL:
	case STAND_IN_FINE_POOL:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
	case STAND_IN_KERNARG_POOL:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
	default:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
	}
}

static hsa_status_t
pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
		*(hsa_amd_segment_t *)value = HSA_AMD_SEGMENT_GLOBAL;
		break;
	case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
		*(uint32_t *)value = pool_flags(pool.handle);
		break;
	case HSA_AMD_MEMORY_POOL_INFO_SIZE:
		*(size_t *)value = 4ull << 30;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_regions(hsa_agent_t agent, hsa_status_t (*visit)(hsa_region_t, void *), void *data)
{
	for (uint64_t pool = agent.handle + 1; pool <= agent.handle + 2; pool++)
		if (pool <= STAND_IN_DEVICE_POOL2)
			visit((hsa_region_t){pool}, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
region_get_info(hsa_region_t region, hsa_region_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_REGION_INFO_SEGMENT:
		*(hsa_region_segment_t *)value = HSA_REGION_SEGMENT_GLOBAL;
		break;
	case HSA_REGION_INFO_GLOBAL_FLAGS:
		*(uint32_t *)value = pool_flags(region.handle);
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_isas(hsa_agent_t agent, hsa_status_t (*visit)(hsa_isa_t, void *), void *data)
{
	return visit((hsa_isa_t){1}, data);
}

static hsa_status_t
isa_get_info(hsa_isa_t isa, hsa_isa_info_t info, void *value)
{
	const char *name = stand_in.isa != NULL ? stand_in.isa : "amdgcn-amd-amdhsa--stand-in";

	if (info == HSA_ISA_INFO_NAME_LENGTH)
		*(uint32_t *)value = (uint32_t)strlen(name) + 1;
	else
		memcpy(value, name, strlen(name) + 1);
	return HSA_STATUS_SUCCESS;
}

void
stand_in_put_agents(struct kr_next *next)
{
	next->hsa_agent_iterate_regions = iterate_regions;
	next->hsa_region_get_info = region_get_info;
	next->hsa_amd_agent_iterate_memory_pools = iterate_pools;
	next->hsa_amd_memory_pool_get_info = pool_get_info;
	next->hsa_iterate_agents = iterate_agents;
	next->hsa_agent_get_info = agent_get_info;
	next->hsa_agent_iterate_isas = iterate_isas;
	next->hsa_isa_get_info_alt = isa_get_info;
}
