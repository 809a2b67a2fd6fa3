/* SPDX-License-Identifier: MIT */
/* What the tool-facing part of the core asks of the engine. Unit tests bring their own. */
#ifndef KR_CORE_ENGINE_H
#define KR_CORE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <kreplay/kreplay.h>

/*
 * Name of a kernel, as its source has it or as its code object has it; NULL when no kernel has this id. The string lives
 * until the process ends. Any thread, also inside a window.
 */
const char *kr_kernel_name(uint64_t kernel_id, bool mangled);

/* Fills every member but size; false when no agent has this handle. */
bool kr_agent_info(uint64_t agent_handle, kreplay_agent_info_t *out);

/* Nanoseconds of the HSA system clock. */
uint64_t kr_timestamp_ns(void);

/* ---- the engine's life; called by the doors ---- */

/* Whether this process wants the engine at all: options, or a tool in the process. */
bool kr_engine_wanted(void);

/* The runtime is up and kr_next is filled: loads the tools. False: nobody takes
 * part, and nothing needs to be wrapped. Once per process. */
bool kr_engine_start(void);

/* The runtime goes down (OnUnload, the last hsa_shut_down): ends tools, lets go of
 * everything of the runtime's. kr_next still works. */
void kr_engine_stop(void);

/* Tools take part and the runtime is up, in this process (not a fork of it). */
bool kr_engine_active(void);

#endif
