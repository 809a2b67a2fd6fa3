/* SPDX-License-Identifier: MIT */
#include "gpus.h"

#include <string.h>

#define GIB (1ull << 30)

static const struct sg_gpu_data rows[] = {
	{
		.name = "gfx90a",
		.marketing_name = "AMD Instinct MI210 (software)",
		.amd_name = "aldebaran",
		.isa = GCN_GFX90A,
		.gfx_major = 9, .gfx_minor = 0, .gfx_stepping = 10,
		.device_id = 0x740f,
		.ucode_compute = 71, .ucode_sdma = 8,
		.compute_units = 104, .simds_per_cu = 4,
		.shader_engines = 8, .arrays_per_engine = 1,
		.waves_per_simd = 8, .scratch_slots_per_cu = 32,
		.lds_kib = 64,
		.vgpr_bytes_per_cu = 524288, .sgpr_bytes_per_cu = 12800,
		.vgpr_granule = 8,
		.engine_mhz = 1700,
		.vram_bytes = 64 * GIB, .memory_bits = 4096, .memory_mhz = 1600,
		.l1_kib = 16, .l2_kib = 8192, .cache_line = 128,
		.sdma_engines = 2,
		.gb_addr_config = 0x22014042, .banks = 16, .ranks = 1,
		.sramecc = true, .unified_vgprs = true,
	},
	{
		.name = "gfx906",
		.marketing_name = "AMD Radeon Instinct MI50 (software)",
		.amd_name = "vega20",
		.isa = GCN_GFX906,
		.gfx_major = 9, .gfx_minor = 0, .gfx_stepping = 6,
		.device_id = 0x66a1,
		.ucode_compute = 472, .ucode_sdma = 145,
		.compute_units = 60, .simds_per_cu = 4,
		.shader_engines = 4, .arrays_per_engine = 1,
		.waves_per_simd = 10, .scratch_slots_per_cu = 32,
		.lds_kib = 64,
		.vgpr_bytes_per_cu = 262144, .sgpr_bytes_per_cu = 12800,
		.vgpr_granule = 4,
		.engine_mhz = 1725,
		.vram_bytes = 16 * GIB, .memory_bits = 4096, .memory_mhz = 1000,
		.l1_kib = 16, .l2_kib = 4096, .cache_line = 64,
		.sdma_engines = 2,
		.gb_addr_config = 0x2a114042, .banks = 16, .ranks = 1,
		.sramecc = true, .unified_vgprs = false,
	},
	{
		.name = "gfx900",
		.marketing_name = "AMD Radeon Instinct MI25 (software)",
		.amd_name = "vega10",
		.isa = GCN_GFX900,
		.gfx_major = 9, .gfx_minor = 0, .gfx_stepping = 0,
		.device_id = 0x6860,
		.ucode_compute = 468, .ucode_sdma = 430,
		.compute_units = 64, .simds_per_cu = 4,
		.shader_engines = 4, .arrays_per_engine = 1,
		.waves_per_simd = 10, .scratch_slots_per_cu = 32,
		.lds_kib = 64,
		.vgpr_bytes_per_cu = 262144, .sgpr_bytes_per_cu = 12800,
		.vgpr_granule = 4,
		.engine_mhz = 1500,
		.vram_bytes = 16 * GIB, .memory_bits = 2048, .memory_mhz = 945,
		.l1_kib = 16, .l2_kib = 4096, .cache_line = 64,
		.sdma_engines = 2,
		.gb_addr_config = 0x2a114042, .banks = 16, .ranks = 1,
		.sramecc = false, .unified_vgprs = false,
	},
};

const struct sg_gpu_data *sg_gpu_data_find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length))
			return &rows[i];
	}
	return NULL;
}

const struct sg_gpu_data *sg_gpu_data_at(size_t index)
{
	return index < sizeof(rows) / sizeof(rows[0]) ? &rows[index] : NULL;
}
