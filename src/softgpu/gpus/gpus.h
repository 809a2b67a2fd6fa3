/* SPDX-License-Identifier: MIT */
/*
 * Device data: what each card that the software GPU can pose as says of itself.
 *
 * A new card of a known instruction set is a new row in gpus.c, nothing else.
 */
#ifndef SOFTGPU_GPUS_H
#define SOFTGPU_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "../gcn/gcn.h"

struct sg_gpu_data {
	const char *name;           /* instruction set name, as the SPEC writes it */
	const char *marketing_name;
	const char *amd_name;
	enum gcn_isa isa;
	uint8_t gfx_major, gfx_minor, gfx_stepping;
	uint16_t device_id;         /* PCI */
	uint16_t ucode_compute;     /* firmware versions, as the kernel driver reports them */
	uint16_t ucode_sdma;

	uint32_t compute_units;
	uint32_t simds_per_cu;
	uint32_t shader_engines;
	uint32_t arrays_per_engine;
	uint32_t waves_per_simd;
	uint32_t scratch_slots_per_cu;
	uint32_t lds_kib;
	uint32_t vgpr_bytes_per_cu;
	uint32_t sgpr_bytes_per_cu;
	uint32_t vgpr_granule;      /* registers one step of GRANULATED_WORKITEM_VGPR_COUNT means */
	uint32_t engine_mhz;
	uint64_t vram_bytes;
	uint32_t memory_bits;       /* bus width */
	uint32_t memory_mhz;
	uint32_t l1_kib, l2_kib, cache_line;
	uint32_t sdma_engines;
	uint32_t gb_addr_config;    /* GB_ADDR_CONFIG, for image addressing */
	uint32_t banks, ranks;
	bool sramecc;
	bool unified_vgprs;         /* accumulation VGPRs share the file (gfx90a) */
};

/* NULL when no row has that name. */
const struct sg_gpu_data *sg_gpu_data_find(const char *name, size_t length);

/* Rows in order; NULL past the end. */
const struct sg_gpu_data *sg_gpu_data_at(size_t index);

#endif
