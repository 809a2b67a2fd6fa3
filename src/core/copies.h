/* SPDX-License-Identifier: MIT */
/*
 * Copies of the application's: the reader side of the agents that they touch,
 * and a note of the engines that asynchronous ones use, for the fences of the
 * next window.
 */
#ifndef KR_COPIES_H
#define KR_COPIES_H

#include "core/agents.h"

/* Two agents in one order for everybody, the same one once; NULL is no agent. */
void kr_copy_enter(struct kr_agent *a, struct kr_agent *b);
void kr_copy_leave(struct kr_agent *a, struct kr_agent *b);

/* Inside the reader side: a window that opens later finds the note. `engine`:
 * one bit, or 0 for the engine that the runtime takes for the direction. */
void kr_copy_note(struct kr_agent *to, struct kr_agent *from, uint32_t engine);
void kr_copy_note_any(struct kr_agent *agent);

/* Waits for the copies that were noted. By the agent's writer. The runtime's
 * copy engines work in order, so a copy of a few bytes of ours ends when all
 * those submitted to its engine before it have ended; nothing of the
 * application's is changed. False: time is up, or there is no memory. */
bool kr_copy_fence(struct kr_agent *agent, uint64_t deadline);
void kr_copy_fence_destroy(struct kr_agent *agent);

#endif
