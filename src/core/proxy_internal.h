/* SPDX-License-Identifier: MIT */
/* Between proxy.c (packets), queues.c (life of a proxy), worker.c and window.c. */
#ifndef KR_PROXY_INTERNAL_H
#define KR_PROXY_INTERNAL_H

#include "core/proxy.h"

/* Everything submitted to the hardware queue has finished. By the owner, or by
 * the agent's writer. */
void kr_proxy_set_idle(struct kr_proxy *proxy);

/* Goes on where a ringing thread stopped. On the worker. */
void kr_proxy_finish_ring(struct kr_proxy *proxy);

/* A look from outside: packets that were there at the last look already, without
 * a ring, go to the worker. True when there are any. With the agent's mutex. */
bool kr_proxy_look(struct kr_proxy *proxy);

/* For the end of the runtime, see queues.c. `deadline` is CLOCK_MONOTONIC in ns. */
void kr_proxy_abandon_all(uint64_t deadline);

/* Gives the parked queue to its worker, which is made when there is none yet.
 * Where no thread can be made, the caller does the work itself. */
void kr_worker_take_over(struct kr_proxy *proxy);
void kr_worker_init(struct kr_proxy *proxy);
void kr_worker_finish(struct kr_proxy *proxy); /* joins */

#endif
