/* SPDX-License-Identifier: MIT */
/* What contract.c and queue.c share: two queues of one agent with dispatches of `mix`, of which one is replayed. */
#ifndef PAIR_H
#define PAIR_H

#include "scenarios.h"

extern struct hsa_app app;
extern struct mixer mixer, aside; /* `mixer` is replayed */

void begin(uint64_t passes, uint32_t dispatches);
int end(void); /* with the story's status */
void expect(bool right, const char *what);

/* One dispatch of `mix` under its own ring. */
void submit(struct mixer *to, uint32_t amount, hsa_signal_t done);
/* A dispatch of another kernel, and a barrier-OR; then any packet's header, with or without the barrier bit. */
void fill_kernel(struct mixer *to, uint64_t index, const struct hsa_app_kernel *kernel, void *kernargs,
		 hsa_signal_t done);
void fill_or(struct mixer *to, uint64_t index, hsa_signal_t first, hsa_signal_t second);
void publish(struct mixer *to, uint64_t index, hsa_packet_type_t type, bool barrier);

#endif
