/* SPDX-License-Identifier: MIT */
/*
 * Hardware queues that the application has without a proxy: cooperative ones,
 * which the runtime shares between its callers, and those for which no proxy
 * could be made. Their dispatches are not seen, but a window must still have
 * the agent for itself: a ring of such a queue takes the agent's reader side,
 * and a window drains it with a barrier packet.
 */
#ifndef KR_FOREIGN_H
#define KR_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/agents.h"

void kr_foreign_add(hsa_queue_t *queue, struct kr_agent *agent);
/* The queue's agent, for kr_foreign_add when it stays after all; NULL: it was not known. */
struct kr_agent *kr_foreign_remove(const hsa_queue_t *queue);

/* The agent of the queue whose doorbell this is; NULL: none. A load when there
 * are no such queues. */
struct kr_agent *kr_foreign_of_doorbell(hsa_signal_t signal);

/* By the agent's writer: waits until they are at rest. */
bool kr_foreign_drain(struct kr_agent *agent, uint64_t deadline);

#endif
