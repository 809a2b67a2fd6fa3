/* SPDX-License-Identifier: MIT */
/* What the log says of windows and of waits. */
#ifndef KR_DIAGNOSIS_H
#define KR_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

struct kr_agent;
struct kr_proxy;
struct kr_replay;

/* One line of key=value pairs at level info: everything about one window. */
void kr_diagnose_window(const struct kr_replay *replay);

/* A wait under observation: zero it, and call kr_wait_longer in each turn of the
 * loop. After a second it says once, at level info, what waits for whom. */
struct kr_wait {
	uint64_t began, said;
};
void kr_wait_longer(struct kr_wait *wait, const struct kr_proxy *who, const char *what);

/* One line for each queue of the agent at level warn. Any thread that may read
 * the queues: the agent's writer, or a queue's owner for its own. */
void kr_diagnose_agent(struct kr_agent *agent);

#endif
