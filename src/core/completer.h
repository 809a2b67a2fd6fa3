/* SPDX-License-Identifier: MIT */
/*
 * Completions of dispatches that run once while somebody wants their times.
 *
 * The packet gets a signal of ours; a thread of ours waits for it, delivers the
 * record, copies the time stamps to the application's signal and then completes
 * that one. While such a packet is outstanding in a queue, later packets with a
 * completion signal go the same way, so that the application sees completions
 * in no other order than the queue's.
 */
#ifndef KR_COMPLETER_H
#define KR_COMPLETER_H

#include <stdbool.h>

#include "core/proxy.h"

struct kr_tracked {
	const struct kr_dispatch *dispatch; /* NULL: not a dispatch, only its signal counts */
	bool record;                        /* deliver KERNEL_DISPATCH records */
	bool collect;                       /* put the execution into the report */
};

/* Takes a signal for the packet, which the caller then submits. Waits for one
 * up to the deadline (0: for ever) when too many are outstanding. False: time
 * is up (`*gave_up` false) or there is no memory (`*gave_up` true). */
bool kr_completer_track(struct kr_proxy *proxy, union kr_packet *packet, const struct kr_tracked *what,
                        uint64_t deadline, bool *gave_up);

/* A pass that was given up while it runs: when *signal comes, the application's
 * completion is made. *signal becomes a fresh one for the queue's next pass.
 * When it has not come by `end_by` (CLOCK_MONOTONIC; 0: it may take for ever)
 * the process is ended with a diagnosis. False: no memory. */
bool kr_completer_adopt(struct kr_proxy *proxy, hsa_signal_t *signal, hsa_signal_t theirs, uint64_t end_by);

/* Waits until what was tracked in the queue, and has finished, is delivered: what completes after it comes after
 * it. Up to the deadline (CLOCK_MONOTONIC in ns), and no longer than the queue lives. Without a lock: tools'
 * callbacks run meanwhile. */
bool kr_completer_settle(struct kr_proxy *proxy, uint64_t deadline);

/* The queue is gone: what is outstanding in it will not complete any more. */
void kr_completer_forget(struct kr_proxy *proxy);

/* Waits until nothing is outstanding, at most for `ns`; then stops the thread. */
void kr_completer_finish(uint64_t ns);

#endif
