/* SPDX-License-Identifier: MIT */
/*
 * multi [THREADS] [QUEUES] [LAUNCHES]: THREADS threads, each with QUEUES queues of its own on the
 * one GPU, and LAUNCHES launches on every queue, all adding in place. Every value is checked at the
 * end.
 */
#include "adder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
	pthread_t thread;
	struct hsa_app *app;
	uint32_t id;
	uint32_t queues;
	uint32_t launches;
	bool right;
};

static void *work(void *data)
{
	struct worker *worker = data;
	struct adder *adders = hsa_app_calloc(worker->queues, sizeof(*adders));

	for (uint32_t q = 0; q < worker->queues; q++)
		adder_init(&adders[q], worker->app, 512, worker->id * worker->queues + q + 1);
	for (uint32_t i = 0; i < worker->launches; i++)
		for (uint32_t q = 0; q < worker->queues; q++)
			adder_launch(&adders[q]);
	worker->right = true;
	for (uint32_t q = 0; q < worker->queues; q++) {
		worker->right &= adder_check(&adders[q]);
		adder_finish(&adders[q]);
	}
	free(adders);
	return NULL;
}

int main(int argc, char **argv)
{
	uint32_t threads = (uint32_t)hsa_app_argument(argc, argv, 1, "THREADS", 4, 256);
	uint32_t queues = (uint32_t)hsa_app_argument(argc, argv, 2, "QUEUES", 2, 64);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 3, "LAUNCHES", 10, 1u << 20);
	struct worker *workers = hsa_app_calloc(threads, sizeof(*workers));
	bool right = true;
	struct hsa_app app;

	hsa_app_init(&app);
	for (uint32_t i = 0; i < threads; i++) {
		workers[i] = (struct worker){
			.app = &app, .id = i, .queues = queues, .launches = launches
		};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start thread %u", i);
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		right &= workers[i].right;
	}
	if (!right)
		return HSA_APP_FAILED;
	printf("multi: ok (%u threads, %u queues, %u launches)\n", threads, threads * queues,
	       threads * queues * launches);
	hsa_app_finish(&app);
	free(workers);
	return HSA_APP_OK;
}
