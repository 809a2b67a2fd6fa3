/* SPDX-License-Identifier: MIT */
/* Dispatches of an empty kernel. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define MOST_THREADS 64
#define BLOCKED_BATCH 200 /* well below the size of a queue */

static const struct hsa_app_range one_wave = { .grid = { 64 }, .group = { 64 } };

/* ---- pipeline ---- */

struct lane {
	pthread_t thread;
	struct client *client;
	pthread_barrier_t *barrier;
	hsa_queue_t *queue;
	hsa_signal_t done;
	uint64_t count, batch;
	bool yields; /* waits by giving the core away: the device runs on the same one */
};

static void wait_for(struct lane *lane)
{
	while (lane->yields && hsa_signal_load_scacquire(lane->done) > 0)
		sched_yield();
	hsa_app_wait(&lane->client->app, lane->done);
}

static void submit_and_wait(struct lane *lane, uint64_t count)
{
	struct client *c = lane->client;

	for (uint64_t left = count; left;) {
		uint64_t now_due = left < lane->batch ? left : lane->batch;

		for (uint64_t i = 0; i < now_due; i++)
			hsa_app_dispatch(&c->app, lane->queue, &c->null, &one_wave, c->null_kernargs,
					 (hsa_signal_t){ 0 });
		hsa_app_barrier(&c->app, lane->queue, lane->done);
		wait_for(lane);
		left -= now_due;
	}
}

static void *drive(void *data)
{
	struct lane *lane = data;

	submit_and_wait(lane, 2 * lane->batch); /* wakes the device */
	pthread_barrier_wait(lane->barrier);
	submit_and_wait(lane, lane->count);
	pthread_barrier_wait(lane->barrier);
	return NULL;
}

/* The queues stay from one command to the next. */
static void prepare(struct client *c, struct lane *lane, unsigned index)
{
	static hsa_queue_t *queues[MOST_THREADS];
	static hsa_signal_t signals[MOST_THREADS];

	if (!queues[index]) {
		queues[index] = hsa_app_queue_create(&c->app, 1024);
		signals[index] = hsa_app_signal_create(1);
	}
	lane->client = c;
	lane->queue = queues[index];
	lane->done = signals[index];
}

void bench_pipeline(struct client *c, const char *arguments)
{
	static struct lane lanes[MOST_THREADS];
	pthread_barrier_t barrier;
	uint64_t count, batch;
	clockid_t clock = c->one_core ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	unsigned threads;
	double began, took;

	if (sscanf(arguments, "%u %" SCNu64 " %" SCNu64, &threads, &count, &batch) != 3 || !threads ||
	    threads > MOST_THREADS || !count || !batch) {
		bench_answer("error pipeline THREADS COUNT BATCH");
		return;
	}
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		prepare(c, &lanes[i], i);
		lanes[i].barrier = &barrier;
		lanes[i].count = count;
		lanes[i].batch = batch;
		lanes[i].yields = c->one_core;
		if (pthread_create(&lanes[i].thread, NULL, drive, &lanes[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	}
	pthread_barrier_wait(&barrier);
	began = bench_cpu(clock);
	pthread_barrier_wait(&barrier);
	took = bench_cpu(clock) - began;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(lanes[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
	bench_answer("ok %.2f", took / (double)count);
}

/* ---- submit ---- */

/* A barrier packet that holds the queue until `gate` is 0. */
static void close_gate(struct client *c, hsa_signal_t gate)
{
	uint64_t index = hsa_queue_add_write_index_screlease(c->queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)c->queue->base_address + (index & (c->queue->size - 1));
	uint32_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
			  1u << HSA_PACKET_HEADER_BARRIER;

	/* The queue is empty: every batch is waited for. */
	memset((char *)packet + 4, 0, sizeof(*packet) - 4);
	packet->dep_signal[0] = gate;
	__atomic_store_n((uint32_t *)packet, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(c->queue->doorbell_signal, (hsa_signal_value_t)index);
}

void bench_submit(struct client *c, const char *arguments)
{
	hsa_signal_t gate = hsa_app_signal_create(1);
	uint64_t count = strtoull(arguments, NULL, 10), batches = count / BLOCKED_BATCH;
	double took = 0;

	for (uint64_t b = 0; b <= batches; b++) {
		double began;

		hsa_signal_store_screlease(gate, 1);
		close_gate(c, gate);
		began = bench_cpu(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned i = 0; i < BLOCKED_BATCH; i++)
			hsa_app_dispatch(&c->app, c->queue, &c->null, &one_wave, c->null_kernargs,
					 (hsa_signal_t){ 0 });
		took += b ? bench_cpu(CLOCK_THREAD_CPUTIME_ID) - began : 0; /* the first one warms up */
		hsa_app_barrier(&c->app, c->queue, c->done);
		hsa_signal_store_screlease(gate, 0);
		hsa_app_wait(&c->app, c->done);
	}
	HSA_CHECK(hsa_signal_destroy(gate));
	if (!batches)
		bench_answer("error submit COUNT, at least %u", BLOCKED_BATCH);
	else
		bench_answer("ok %.2f", took / (double)(batches * BLOCKED_BATCH));
}

/* ---- latency ---- */

static void dispatch_and_wait(struct client *c)
{
	hsa_app_dispatch(&c->app, c->queue, &c->null, &one_wave, c->null_kernargs, c->done);
	hsa_app_wait(&c->app, c->done);
}

void bench_latency(struct client *c, const char *arguments)
{
	uint64_t count = strtoull(arguments, NULL, 10);
	double began;

	for (unsigned i = 0; i < 20; i++)
		dispatch_and_wait(c);
	began = bench_now();
	for (uint64_t i = 0; i < count; i++)
		dispatch_and_wait(c);
	bench_answer("ok %.2f", (bench_now() - began) / (double)count);
}
