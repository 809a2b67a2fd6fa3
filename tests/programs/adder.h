/* SPDX-License-Identifier: MIT */
/* What killme, forks and multi share: values on the device, and launches that add to them. */
#ifndef ADDER_H
#define ADDER_H

#include "hsa_app.h"

struct adder {
	struct hsa_app *app;
	struct hsa_app_kernel kernel;
	hsa_queue_t *queue;
	hsa_signal_t done;
	uint32_t *values; /* on the device */
	uint32_t *host;
	void *kernargs;
	uint32_t n;
	uint32_t amount;
	uint32_t launched;
};

/* A queue of its own, and n values that are all 0. Several threads may make their own at once. */
void adder_init(struct adder *adder, struct hsa_app *app, uint32_t n, uint32_t amount);
void adder_finish(struct adder *adder);

/* Adds `amount` to every value on the device and waits. */
void adder_launch(struct adder *adder);
/* True when every value is what the launches so far make it; otherwise one line. */
bool adder_check(struct adder *adder);

#endif
