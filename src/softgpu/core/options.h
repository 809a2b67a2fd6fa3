/* SPDX-License-Identifier: MIT */
/* The SPEC: which GPUs to present and how. Grammar in docs/softgpu.md. */
#ifndef SOFTGPU_OPTIONS_H
#define SOFTGPU_OPTIONS_H

#include "sg.h"

#define SG_SPEC_VARIABLE "KREPLAY_SOFTGPU"

struct sg_options {
	uint32_t gpu_count;
	const struct sg_gpu_data *gpus[SG_MAX_GPUS];
	uint64_t vram_bytes;     /* 0: as the card, at most half of the host's memory */
	uint32_t compute_units;  /* 0: the default */
	uint32_t threads;        /* 0: one a usable core */
	uint32_t doorbell_type;
	bool private_vram;
	bool random_order;       /* see docs/softgpu.md, "Stricter than hardware" */
	uint64_t seed;
	uint32_t delay_us;       /* longest random delay before a packet */
	uint32_t late_doorbell_us;
};

/* NULL or empty text gives the defaults. False with a one-line reason. */
bool sg_options_parse(const char *text, struct sg_options *options, char *reason, size_t size);

#endif
