/* SPDX-License-Identifier: MIT */
/* Between the stand-in runtime's files. */
#ifndef STAND_IN_INTERNAL_H
#define STAND_IN_INTERNAL_H

#include <pthread.h>

#include "stand_in.h"

/* One lock for all state that threads share; signal changes wake everybody. */
extern pthread_mutex_t stand_in_mutex;
extern pthread_cond_t stand_in_changed;

/* Counts the call; true: it is to fail. */
bool stand_in_fails(struct stand_in_point *point);

/* Whatever changed may resolve a barrier or be a doorbell. */
void stand_in_signal_changed(void);

/* The device: executes what can be executed, with the mutex held; and its own thread. */
void stand_in_run_queues(void);
void *stand_in_run_device(void *unused);

void stand_in_reset_queues(void);
void stand_in_reset_memory(void);
void stand_in_reset_newer(void);

void stand_in_put_signals(struct kr_next *next);
void stand_in_put_queues(struct kr_next *next);
void stand_in_put_memory(struct kr_next *next);
void stand_in_put_agents(struct kr_next *next);
void stand_in_put_code(struct kr_next *next);
void stand_in_put_newer(struct kr_next *next);

#endif
