/* SPDX-License-Identifier: MIT */
/* What the benchmark's tool tells the program that it is loaded into. */
#ifndef BENCH_WINDOW_H
#define BENCH_WINDOW_H

#include <stdint.h>

/* Holds the address of a struct bench_window, in hexadecimal. */
#define BENCH_WINDOW_VARIABLE "BENCH_WINDOW"

struct bench_window {
	uint64_t windows;     /* so far */
	uint64_t passes;      /* that the last one ran; 0: it was declined */
	uint64_t snapshot_ns;
	uint64_t restore_ns;  /* all of its restores */
	uint64_t link_bytes;  /* over the host link, both ways */
	uint64_t tier;        /* KREPLAY_TIER_*, of the snapshot */
};

#endif
