/* SPDX-License-Identifier: MIT */
/*
 * scenarios MODE [ARGUMENT]: one client for many small stories, each a function here. It checks itself as the examples do and
 * ends with the line "scenarios: MODE ok".
 *
 * Some stories have to happen at a certain point of a replay window. Then the tool scenario_driver.so is loaded, finds the
 * functions below in the program, and asks them what to replay and tells them of every callback; without that tool nothing
 * calls them. The client itself calls nothing of kreplay.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "../adder.h"

#include <kreplay/kreplay.h>
#include <pthread.h>
#include <semaphore.h>

/* --- what the tool calls --- */

/* How often the dispatch is to run; 0 leaves it alone. */
uint64_t scenario_passes(const kreplay_kernel_dispatch_info_t *info);
void scenario_callback(int operation, int phase,
		       const kreplay_callback_tracing_kernel_replay_data_t *payload);

/* --- what a story sets and reads --- */

struct scenario {
	uint64_t passes;     /* of each dispatch that is chosen; 0 at the start */
	uint64_t every;      /* only each that many-th; 0 is all */
	hsa_queue_t *queue;  /* only those of this queue; NULL is all */
	void (*after_first)(void); /* in PASS EXIT of the first pass */
	void (*after_last)(void);  /* in PASS EXIT of the last pass of a fixed count */
	/* in every callback of a dispatch that is chosen */
	void (*on_callback)(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload);
	_Atomic uint64_t replayed, declined, windows; /* CONFIG EXIT counted */
	_Atomic uint32_t flags;                       /* all that came up */
	_Atomic int decline;                          /* the last reason */
	uint64_t left_out_host;                       /* of the last */
};

extern struct scenario scenario;

/* --- helpers --- */

/* A thread that does something when it is told to. */
struct helper {
	pthread_t thread;
	sem_t go, done;
	void (*work)(void *);
	void *data;
	bool busy; /* told to, and not waited for yet */
	bool stop;
};

void helper_start(struct helper *helper, void (*work)(void *), void *data);
/* Tells it to, and waits that long for it to be done: in vain when something holds it up, as a window must. */
void helper_poke(struct helper *helper, unsigned milliseconds);
/* Waits until it is done, however long; nothing when it was not told to or was waited for. */
void helper_wait(struct helper *helper);
void helper_stop(struct helper *helper);

/* Values and a queue, and dispatches of `mix` that are written packet by packet. */
struct mixer {
	struct hsa_app *app;
	struct hsa_app_kernel kernel;
	hsa_queue_t *queue;
	hsa_signal_t done; /* 1 */
	uint32_t *values, *host;
	char *kernargs; /* one block of 64 bytes a dispatch */
	uint32_t dispatches, most;
	uint32_t want; /* what every value must be */
};

enum { MIXER_VALUES = 256 };

void mixer_init(struct mixer *mixer, struct hsa_app *app, uint32_t queue_packets, uint32_t most_dispatches);
/* Reserves that many slots, waits until they are free, and returns the first one's index. */
uint64_t mixer_reserve(struct mixer *mixer, uint32_t count);
/* Fills the slot but for its header. Counted in `want` now, so fill in the order of the slots. */
void mixer_fill(struct mixer *mixer, uint64_t index, uint32_t amount, hsa_signal_t done);
void mixer_fill_barrier(struct mixer *mixer, uint64_t index, hsa_signal_t dependency, hsa_signal_t done);
void *mixer_slot(struct mixer *mixer, uint64_t index);
void mixer_publish(struct mixer *mixer, uint64_t index);
void mixer_publish_barrier(struct mixer *mixer, uint64_t index);
void mixer_ring(struct mixer *mixer, uint64_t index);
bool mixer_check(struct mixer *mixer);
void mixer_finish(struct mixer *mixer);

/* Every GPU as an app of its own, with its pool and its copy of the kernels. */
#define MOST_AGENTS 16
uint32_t agents_init(struct hsa_app *apps);
void agents_finish(struct hsa_app *apps, uint32_t count);

/* Waits for 0 and leaves it. */
void wait_zero(struct hsa_app *app, hsa_signal_t signal);

/* --- the stories, by file --- */

#define STORIES(STORY)                                                                                       \
	/* packets.c */                                                                                      \
	STORY(one_doorbell) STORY(out_of_order) STORY(wrap_around) STORY(many_threads) STORY(nearly_full)     \
	STORY(vendor_packet) STORY(unknown_packet) STORY(ring_by_pointer) STORY(ring_from_device)             \
	STORY(overwritten)                                                                                    \
	/* isolation.c */                                                                                     \
	STORY(other_queue) STORY(freed_in_callback) STORY(freed_by_thread) STORY(same_address)                \
	STORY(spin_on_queue) STORY(host_handshake) STORY(host_handshake_thread) STORY(dependency_later)        \
	STORY(parked_queue) STORY(copies) STORY(copy_after_kernel) STORY(destroyed_queue) STORY(agents)        \
	STORY(nested) STORY(nested_same_queue) STORY(nested_other_agent)                                        \
	/* life.c */                                                                                          \
	STORY(cycles) STORY(live_return) STORY(live_exit) STORY(live__exit) STORY(term_in_window)              \
	STORY(exit_in_window) STORY(many) STORY(times) STORY(prints) STORY(prints_once) STORY(variables) STORY(vfork_exec)        \
	/* contract.c */                                                                                      \
	STORY(one_completion) STORY(in_flight) STORY(own_predecessor) STORY(parked_or) STORY(handed_over)       \
	STORY(crowd) STORY(stuck_pass) STORY(stuck_for_ever) STORY(drain_timeout) STORY(copies_in_flight)                              \
	STORY(nested_unreplayed) STORY(locked_device)                                                                             \
	/* queue.c */                                                                                         \
	STORY(unordered) STORY(barrier_or) STORY(queue_full) STORY(queue_calls) STORY(queue_error)             \
	/* scope.c */                                                                                         \
	STORY(scopes) STORY(peer_memory) STORY(ipc_memory)

#define STORY(name) int story_##name(int argc, char **argv);
STORIES(STORY)
#undef STORY

#endif
