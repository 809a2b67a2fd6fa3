/* SPDX-License-Identifier: MIT */
/* A tool inside the test program, and an application on the stand-in runtime:
 * one queue, one cell of device memory, one completion signal. */
#ifndef REPLAY_TOOL_H
#define REPLAY_TOOL_H

#include "engine_test.h"

#include <pthread.h>

#include "kreplay/kreplay.h"

/* What the tool does. */
extern uint64_t want_passes;
extern hsa_queue_t *nested_queue;           /* dispatch here from PASS ENTER */
extern void *free_in_pass;                  /* free this in PASS EXIT */
extern void (*in_pass_exit)(uint64_t pass);
extern void (*in_record)(void); /* of a dispatch that ran once */ /* called in PASS EXIT */

/* What it saw. */
struct replay_saw {
	unsigned config_enter, config_exit, pass_enter, pass_exit, snapshot, restore, records;
	kreplay_outcome_t outcome;
	kreplay_decline_t decline;
	uint32_t flags;
	uint64_t passes, snapshot_bytes, restored_bytes, changed_bytes, record_pass[16], left_out[4];
	unsigned thread_mismatches;
	pthread_t thread;
};
extern struct replay_saw saw;

/* The application. */
extern uint32_t *cell;
extern hsa_queue_t *queue;
extern hsa_signal_t done; /* 1 until the dispatch has completed */

void bump(void *arg); /* kernel: adds one to *(uint32_t *)arg */
void wait_done(void);

int replay_setup(void **state);    /* five passes, *cell is 100 */
int replay_teardown(void **state);

#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown(name, replay_setup, replay_teardown)

#endif
