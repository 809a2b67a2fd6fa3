/* SPDX-License-Identifier: MIT */
/* One side of a comparison: a client process, alive for as long as its row is measured, so that the
 * sides can take turns every few milliseconds. */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define SIDE_VALUES 8
#define MOST_ROUNDS 128

struct side {
	pid_t pid;
	FILE *to, *from;
	double value[SIDE_VALUES];   /* of the last answer */
	double taken[MOST_ROUNDS];   /* what the rounds gave */
};

/* How the client is run. All with the software GPU. */
enum side_kind {
	SIDE_BARE,
	SIDE_PRELOAD,   /* with kreplay through LD_PRELOAD */
	SIDE_TOOLS,     /* with kreplay through HSA_TOOLS_LIB */
	SIDE_INTERCEPT, /* with the runtime's own intercept queue */
};

void side_setup(const char *build); /* the build directory, absolute */
const char *side_build(void);

/* `settings` are more environment, "NAME=VALUE", up to a NULL. */
bool side_start(struct side *side, enum side_kind kind, const char *const *settings);
/* Sends a line, reads the answer into `value`. False, with a line on stderr, when there is none. */
bool side_ask(struct side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));
void side_stop(struct side *side);

#endif
