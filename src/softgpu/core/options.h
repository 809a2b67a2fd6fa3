/* SPDX-License-Identifier: MIT */
/* The SPEC: which GPUs to present and how. Grammar in docs/softgpu.md. */
#ifndef SOFTGPU_OPTIONS_H
#define SOFTGPU_OPTIONS_H

#include "sg.h"

#define SG_SPEC_VARIABLE "KREPLAY_SOFTGPU"

enum sg_injection { SG_INJECT_ALLOC, SG_INJECT_COPY, SG_INJECT_QUEUE, SG_INJECT_HANG, SG_INJECTIONS };

struct sg_options {
	uint32_t gpu_count;
	const struct sg_gpu_data *gpus[SG_MAX_GPUS];
	uint64_t vram_bytes;     /* 0: as the card, at most half of the host's memory */
	uint32_t compute_units;  /* 0: the default */
	uint32_t threads;        /* 0: one a usable core */
	uint32_t doorbell_type;
	/* See docs/softgpu.md, "Stricter than hardware". */
	bool private_vram;
	bool reorder;
	uint32_t delay_us;       /* longest random delay, before a start and before a completion */
	uint64_t seed;
	uint32_t inject[SG_INJECTIONS]; /* which call of each kind goes wrong; 0: none */
};

/* NULL or empty text gives the defaults. False with a one-line reason. */
bool sg_options_parse(const char *text, struct sg_options *options, char *reason, size_t size);

#endif
