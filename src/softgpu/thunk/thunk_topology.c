/* SPDX-License-Identifier: MIT */
/* Nodes: number 0 is the CPU, the GPUs follow. */
#include "thunk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINK_WEIGHT_CPU 20  /* as the kernel driver weighs PCI Express */
#define LINK_WEIGHT_PEER 40

HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *SystemProperties)
{
	CHECK_OPEN();
	if (!SystemProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(SystemProperties, 0, sizeof(*SystemProperties));
	SystemProperties->NumNodes = sg_node_count();
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
	/* Properties are computed, not held: nothing to give back. */
	return HSAKMT_STATUS_SUCCESS;
}

static void put_name(HSAuint16 *out, const char *name)
{
	for (size_t i = 0; name[i] && i < HSA_PUBLIC_NAME_SIZE - 1; i++)
		out[i] = (unsigned char)name[i];
}

static void cpu_name(char *name, size_t size)
{
	char line[256];
	FILE *file = fopen("/proc/cpuinfo", "re");

	snprintf(name, size, "CPU");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		snprintf(name, size, "%s", colon + 2);
		name[strcspn(name, "\n")] = 0;
		break;
	}
	if (file)
		fclose(file);
}

static uint32_t cpu_caches(HsaCacheProperties *out)
{
	static const struct {
		int size, line, ways, level;
	} levels[] = {
		{_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE, _SC_LEVEL1_DCACHE_ASSOC, 1},
		{_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE, _SC_LEVEL2_CACHE_ASSOC, 2},
		{_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE, _SC_LEVEL3_CACHE_ASSOC, 3},
	};
	uint32_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		long bytes = sysconf(levels[i].size);

		/* Level 1 is always there: the runtime asserts that a CPU has a cache. */
		if (bytes <= 0 && i > 0)
			continue;
		if (out) {
			HsaCacheProperties *c = &out[count];

			memset(c, 0, sizeof(*c));
			c->CacheLevel = (HSAuint32)levels[i].level;
			c->CacheSize = bytes > 0 ? (HSAuint32)(bytes / 1024) : 32;
			c->CacheLineSize = (HSAuint32)sysconf(levels[i].line);
			c->CacheAssociativity = (HSAuint32)sysconf(levels[i].ways);
			c->CacheType.ui32.Data = 1;
			c->CacheType.ui32.CPU = 1;
		}
		count++;
	}
	return count;
}

/* A link from the CPU says that it reaches the card's memory: a large BAR. */
static uint32_t link_count(uint32_t node)
{
	return node == SG_CPU_NODE && sg_gpu_info(1)->private_vram ? 0 : sg_node_count() - 1;
}

static void cpu_properties(HsaNodeProperties *p)
{
	char name[HSA_PUBLIC_NAME_SIZE];

	p->NumCPUCores = (HSAuint32)sysconf(_SC_NPROCESSORS_ONLN);
	p->NumMemoryBanks = 1;
	p->NumCaches = cpu_caches(NULL);
	p->NumIOLinks = link_count(SG_CPU_NODE);
	cpu_name(name, sizeof(name));
	put_name(p->MarketingName, name);
}

static void gpu_capability(HSA_CAPABILITY *c, const struct sg_gpu_info *gpu)
{
	c->ui32.QueueSizePowerOfTwo = 1;
	c->ui32.DoorbellType = gpu->doorbell_type & 3;
	c->ui32.SRAM_EDCSupport = gpu->data->sramecc;
	c->ui32.SVMAPISupported = 1;
}

static void gpu_properties(HsaNodeProperties *p, const struct sg_gpu_info *gpu)
{
	const struct sg_gpu_data *d = gpu->data;

	gpu_capability(&p->Capability, gpu);
	p->NumFComputeCores = gpu->compute_units * d->simds_per_cu;
	p->NumMemoryBanks = 3;
	p->NumCaches = 2;
	p->NumIOLinks = link_count(gpu->node);
	p->FComputeIdLo = 0x80000000u + gpu->node * 0x1000;
	p->MaxWavesPerSIMD = d->waves_per_simd;
	p->LDSSizeInKB = d->lds_kib;
	p->WaveFrontSize = 64;
	p->NumShaderBanks = gpu->shader_engines;
	p->NumArrays = d->arrays_per_engine;
	p->NumCUPerArray = gpu->compute_units / (gpu->shader_engines * d->arrays_per_engine);
	p->NumSIMDPerCU = d->simds_per_cu;
	p->MaxSlotsScratchCU = d->scratch_slots_per_cu;
	p->EngineId.ui32.uCode = d->ucode_compute & 0x3ff;
	p->EngineId.ui32.Major = d->gfx_major & 0x3f;
	p->EngineId.ui32.Minor = d->gfx_minor;
	p->EngineId.ui32.Stepping = d->gfx_stepping;
	p->VendorId = 0x1002;
	p->DeviceId = d->device_id;
	p->LocationId = gpu->node << 8; /* bus n, device 0, function 0 */
	p->LocalMemSize = gpu->vram_bytes;
	p->MaxEngineClockMhzFCompute = d->engine_mhz;
	p->DrmRenderMinor = -1;
	put_name(p->MarketingName, d->marketing_name);
	snprintf((char *)p->AMDName, sizeof(p->AMDName), "%s", d->amd_name);
	p->uCodeEngineVersions.uCodeSDMA = d->ucode_sdma & 0x3ff;
	p->NumSdmaEngines = d->sdma_engines;
	p->NumSdmaQueuesPerEngine = 8;
	p->NumCpQueues = 24;
	p->NumGws = SG_GWS_SLOTS;
	p->UniqueID = 0x736f66746770u << 16 | gpu->node;
	p->VGPRSizePerCU = d->vgpr_bytes_per_cu;
	p->SGPRSizePerCU = d->sgpr_bytes_per_cu;
	/* Fields of newer headers: compute dies (ROCr 6.1 multiplies by them), the driver's id, the family (all GFX9). */
	memcpy(p->Reserved, (HSAuint32[3]){1, 0x5000 + gpu->node, 141}, sizeof(p->Reserved));
}

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 NodeId, HsaNodeProperties *NodeProperties)
{
	CHECK_OPEN();
	if (!NodeProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	const struct sg_gpu_info *gpu = sg_gpu_info(NodeId);

	if (!gpu && NodeId != SG_CPU_NODE)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	memset(NodeProperties, 0, sizeof(*NodeProperties));
	if (gpu)
		gpu_properties(NodeProperties, gpu);
	else
		cpu_properties(NodeProperties);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 NodeId, HSAuint32 NumBanks,
                                            HsaMemoryProperties *MemoryProperties)
{
	CHECK_OPEN();
	const struct sg_gpu_info *gpu = sg_gpu_info(NodeId);
	HsaMemoryProperties banks[3];
	uint32_t count = gpu ? 3 : 1;

	if (!gpu && NodeId != SG_CPU_NODE)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!MemoryProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(banks, 0, sizeof(banks));
	if (gpu) {
		banks[0].HeapType = gpu->private_vram ? HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE
		                                      : HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC;
		banks[0].SizeInBytes = gpu->vram_bytes;
		banks[0].Width = gpu->data->memory_bits;
		banks[0].MemoryClockMax = gpu->data->memory_mhz;
		banks[1].HeapType = HSA_HEAPTYPE_GPU_LDS;
		banks[1].SizeInBytes = gpu->data->lds_kib * 1024ull;
		banks[1].VirtualBaseAddress = gpu->lds_aperture;
		banks[2].HeapType = HSA_HEAPTYPE_GPU_SCRATCH;
		banks[2].SizeInBytes = 1ull << 32;
		banks[2].VirtualBaseAddress = gpu->private_aperture;
	} else {
		banks[0].HeapType = HSA_HEAPTYPE_SYSTEM;
		banks[0].SizeInBytes = (HSAuint64)sysconf(_SC_PHYS_PAGES) *
		                       (HSAuint64)sysconf(_SC_PAGESIZE);
		banks[0].Width = 64;
	}
	memcpy(MemoryProperties, banks, (NumBanks < count ? NumBanks : count) * sizeof(banks[0]));
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 NodeId, HSAuint32 ProcessorId,
                                           HSAuint32 NumCaches,
                                           HsaCacheProperties *CacheProperties)
{
	CHECK_OPEN();
	const struct sg_gpu_info *gpu = sg_gpu_info(NodeId);
	HsaCacheProperties caches[3];
	uint32_t count = 2;

	if (!gpu && NodeId != SG_CPU_NODE)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!CacheProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(caches, 0, sizeof(caches));
	if (gpu) {
		for (uint32_t i = 0; i < 2; i++) {
			caches[i].ProcessorIdLow = ProcessorId;
			caches[i].CacheLevel = i + 1;
			caches[i].CacheSize = i ? gpu->data->l2_kib : gpu->data->l1_kib;
			caches[i].CacheLineSize = gpu->data->cache_line;
			caches[i].CacheType.ui32.Data = 1;
			caches[i].CacheType.ui32.HSACU = 1;
		}
	} else {
		count = cpu_caches(caches);
	}
	memcpy(CacheProperties, caches, (NumCaches < count ? NumCaches : count) *
	       sizeof(caches[0]));
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 NodeId, HSAuint32 NumIoLinks,
                                            HsaIoLinkProperties *IoLinkProperties)
{
	uint32_t filled = 0;

	CHECK_OPEN();
	if (NodeId >= sg_node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!IoLinkProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NumIoLinks > link_count(NodeId))
		NumIoLinks = link_count(NodeId);
	for (uint32_t to = 0; to < sg_node_count() && filled < NumIoLinks; to++) {
		HsaIoLinkProperties *link = &IoLinkProperties[filled];

		if (to == NodeId)
			continue;
		memset(link, 0, sizeof(*link));
		link->IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS;
		link->NodeFrom = NodeId;
		link->NodeTo = to;
		link->Weight = NodeId == SG_CPU_NODE || to == SG_CPU_NODE ? LINK_WEIGHT_CPU
		                                                          : LINK_WEIGHT_PEER;
		link->MaximumBandwidth = 31508; /* 16 lanes, fourth generation, MB/s */
		link->MinimumBandwidth = 312;
		filled++;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 NodeId, HsaGpuTileConfig *config)
{
	CHECK_OPEN();
	const struct sg_gpu_info *gpu = sg_gpu_info(NodeId);

	if (!gpu)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!config || !config->TileConfig || !config->MacroTileConfig)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* GFX9 has no tile mode tables; the driver reports zeros of GFX8's lengths. */
	if (config->NumTileConfigs > 32)
		config->NumTileConfigs = 32;
	if (config->NumMacroTileConfigs > 16)
		config->NumMacroTileConfigs = 16;
	memset(config->TileConfig, 0, config->NumTileConfigs * sizeof(HSAuint32));
	memset(config->MacroTileConfig, 0, config->NumMacroTileConfigs * sizeof(HSAuint32));
	config->GbAddrConfig = gpu->data->gb_addr_config;
	config->NumBanks = gpu->data->banks;
	config->NumRanks = gpu->data->ranks;
	return HSAKMT_STATUS_SUCCESS;
}
