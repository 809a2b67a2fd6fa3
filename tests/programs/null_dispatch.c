/* SPDX-License-Identifier: MIT */
/*
 * null_dispatch [-l] [-t THREADS] [-r ROUNDS] [COUNT] [BATCH]: how fast is an empty kernel
 * dispatched?
 *
 * Throughput (the default): BATCH dispatches without a signal, each with its own ring of the
 * doorbell, then a barrier packet that is waited for, until COUNT dispatches have run. Latency
 * (-l): every dispatch is waited for. THREADS threads do so at once, each on its own queue and each
 * COUNT times. One line for each round, here in two:
 *
 *	mode=throughput threads=1 count=20000 batch=64
 *		seconds=0.0123 per_second=1626016 ns_each=615.0
 *
 * per_second counts the dispatches of all threads; ns_each is the wall time over the dispatches of
 * one thread.
 */
#include "hsa_app.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct options {
	bool latency;
	uint32_t threads;
	uint32_t rounds;
	uint64_t count;
	uint64_t batch;
};

struct worker {
	pthread_t thread;
	struct hsa_app *app;
	const struct options *options;
	pthread_barrier_t *barrier;
	hsa_queue_t *queue;
	hsa_signal_t done;
	struct hsa_app_kernel kernel;
	void *kernargs;
};

static const struct hsa_app_range range = { .grid = { 64 }, .group = { 64 } };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_throughput(struct worker *worker, uint64_t count)
{
	uint64_t batch = worker->options->batch;

	for (uint64_t done = 0; done < count; done += batch) {
		uint64_t now_due = count - done < batch ? count - done : batch;

		for (uint64_t i = 0; i < now_due; i++)
			hsa_app_dispatch(worker->app, worker->queue, &worker->kernel, &range,
					 worker->kernargs, (hsa_signal_t){ 0 });
		hsa_app_barrier(worker->app, worker->queue, worker->done);
		hsa_app_wait(worker->app, worker->done);
	}
}

static void run_latency(struct worker *worker, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		hsa_app_dispatch(worker->app, worker->queue, &worker->kernel, &range,
				 worker->kernargs, worker->done);
		hsa_app_wait(worker->app, worker->done);
	}
}

static void *work(void *data)
{
	struct worker *worker = data;
	void (*run)(struct worker *, uint64_t) =
		worker->options->latency ? run_latency : run_throughput;

	run(worker, worker->options->batch); /* warms up */
	for (uint32_t i = 0; i < worker->options->rounds; i++) {
		pthread_barrier_wait(worker->barrier);
		run(worker, worker->options->count);
		pthread_barrier_wait(worker->barrier);
	}
	return NULL;
}

static struct options parse(int argc, char **argv)
{
	struct options options = { .threads = 1, .rounds = 1 };
	int option;

	while ((option = getopt(argc, argv, "lt:r:")) != -1) {
		if (option == 'l')
			options.latency = true;
		else if (option == 't')
			options.threads =
				(uint32_t)hsa_app_argument(1, &optarg, 0, "THREADS", 1, 256);
		else if (option == 'r')
			options.rounds =
				(uint32_t)hsa_app_argument(1, &optarg, 0, "ROUNDS", 1, 1u << 20);
		else
			exit(HSA_APP_USAGE);
	}
	options.count = hsa_app_argument(argc, argv, optind, "COUNT", 20000, 1ull << 40);
	options.batch = hsa_app_argument(argc, argv, optind + 1, "BATCH", 64, 1ull << 20);
	return options;
}

static void start(struct worker *worker, struct hsa_app *app, const struct options *options,
		  pthread_barrier_t *barrier)
{
	worker->app = app;
	worker->options = options;
	worker->barrier = barrier;
	worker->kernel = hsa_app_find_kernel(app, "null_kernel");
	worker->kernargs = hsa_app_kernargs(app, &worker->kernel, NULL, 0);
	worker->queue = hsa_app_queue_create(app, 1024);
	worker->done = hsa_app_signal_create(1);
	if (pthread_create(&worker->thread, NULL, work, worker) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
}

static void finish(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	hsa_app_free(worker->kernargs);
	HSA_CHECK(hsa_signal_destroy(worker->done));
	HSA_CHECK(hsa_queue_destroy(worker->queue));
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct worker *workers = hsa_app_calloc(options.threads, sizeof(*workers));
	pthread_barrier_t barrier;
	struct hsa_app app;

	hsa_app_init(&app);
	pthread_barrier_init(&barrier, NULL, options.threads + 1);
	for (uint32_t i = 0; i < options.threads; i++)
		start(&workers[i], &app, &options, &barrier);
	for (uint32_t i = 0; i < options.rounds; i++) {
		double began, seconds;

		pthread_barrier_wait(&barrier);
		began = now();
		pthread_barrier_wait(&barrier);
		seconds = now() - began;
		printf("mode=%s threads=%u count=%" PRIu64 " batch=%" PRIu64
		       " seconds=%.6f per_second=%.0f ns_each=%.1f\n",
		       options.latency ? "latency" : "throughput", options.threads, options.count,
		       options.latency ? 1 : options.batch, seconds,
		       (double)options.count * options.threads / seconds,
		       seconds * 1e9 / (double)options.count);
		fflush(stdout);
	}
	for (uint32_t i = 0; i < options.threads; i++)
		finish(&workers[i]);
	pthread_barrier_destroy(&barrier);
	hsa_app_finish(&app);
	free(workers);
	return HSA_APP_OK;
}
