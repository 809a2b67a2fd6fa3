/* SPDX-License-Identifier: MIT */
/*
 * The program that is measured. It knows nothing of kreplay but for one thing: a tool of ours
 * in the same process may leave what a window cost in `bench_window`.
 *
 * It reads commands, a line each, and answers each with a line: "ok NUMBER..." or "error TEXT".
 * Times are in nanoseconds.
 *
 * With BENCH_ONE_CORE in the environment the whole process, the software GPU in it included, keeps to
 * one core.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <time.h>

#include "hsa_app.h"
#include "window.h"

struct client {
	struct hsa_app app;
	struct hsa_app_kernel null, touch;
	void *null_kernargs;
	hsa_queue_t *queue;
	hsa_signal_t done;
	bool one_core;
};

extern struct bench_window bench_window;

double bench_now(void);        /* ns */
double bench_cpu(clockid_t of); /* ns of processor time: of the thread, or of the whole process */
void bench_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* pipeline THREADS COUNT BATCH: time of one dispatch of a thread, when each thread submits COUNT of
 * them to its own queue, BATCH between two waits. Wall time; on one core processor time, which is the
 * same on an idle machine, and which others' work does not change. */
void bench_pipeline(struct client *c, const char *arguments);
/* submit COUNT: what the submission of one dispatch takes the submitting thread, on a queue
 * that stands at a barrier, so that nothing is executed meanwhile. Processor time. */
void bench_submit(struct client *c, const char *arguments);
/* latency COUNT: a dispatch and the wait for it. */
void bench_latency(struct client *c, const char *arguments);

/* live COUNT BYTES: makes that many allocations of device memory, to stay. */
void bench_live(struct client *c, const char *arguments);
/* pair COUNT BYTES: an allocation and its release. */
void bench_pair(struct client *c, const char *arguments);
void bench_turnover(struct client *c, const char *arguments);
/* regions COUNT BYTES PERMILLE: device memory of which a dispatch of `touch` changes that part. */
void bench_regions(struct client *c, const char *arguments);
/* window: one dispatch of `touch` and the wait for it, and what the window cost:
 * WALL PASSES SNAPSHOT RESTORE LINK_BYTES TIER, all but the first 0 when nothing replays. */
void bench_touch(struct client *c, const char *arguments);
/* upstream PASSES memcpy|runtime: the same dispatch, repeated as the vendor's SDK does; who copies. */
void bench_upstream(struct client *c, const char *arguments);
/* memcpy: the bytes of all regions, out and back, once each. */
void bench_memcpy(struct client *c, const char *arguments);

#endif
