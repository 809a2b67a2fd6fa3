/* SPDX-License-Identifier: MIT */
/*
 * Fences behind asynchronous copies. The runtime's copy engines work in order,
 * one for each direction, so a copy of a few bytes of ours ends when all those
 * submitted before it have ended. Nothing of the application's is changed.
 */
#ifndef KR_FENCE_H
#define KR_FENCE_H

#include <stdbool.h>

#include "core/agents.h"

/* Waits for the copies that the agent's flags say were submitted. By the
 * agent's writer. False: time is up, or there is no memory. */
bool kr_fence_copies(struct kr_agent *agent, uint64_t deadline);
void kr_fence_destroy(struct kr_agent *agent);

#endif
