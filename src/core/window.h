/* SPDX-License-Identifier: MIT */
/*
 * The window: the agent brought to rest, its memory saved, the dispatch run
 * over and over. The mechanics behind replay.h, on HSA.
 */
#ifndef KR_WINDOW_H
#define KR_WINDOW_H

#include <stdint.h>

struct kr_proxy;
struct kr_agent;

enum kr_window_result {
	KR_WINDOW_DONE,     /* replayed; the application has its completion */
	KR_WINDOW_DECLINED, /* nothing ran: forward the packet, then end the replay */
	KR_WINDOW_LATER,    /* the deadline came before the agent was at rest: call again */
};

/* Replays the packet in hand of a parked queue. `deadline` is CLOCK_MONOTONIC
 * in ns; 0: the caller can wait, and the drain time bounds it. */
enum kr_window_result kr_window_run(struct kr_proxy *proxy, uint64_t deadline);

/* A callback on this thread dispatches on the agent. */
void kr_window_reentered(struct kr_agent *agent);

#endif
