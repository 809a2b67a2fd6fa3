/* SPDX-License-Identifier: MIT */
/* A thread that gives back what snapshots retain when no window has come for long. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "core/snapshot/internal.h"

#define IDLE_NS 30000000000u

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	bool running, stop;
} keeper = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *
keep(void *unused)
{
	pthread_mutex_lock(&keeper.mutex);
	while (!keeper.stop) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += IDLE_NS / 1000000000u;
		if (pthread_cond_timedwait(&keeper.changed, &keeper.mutex, &until) == 0 || keeper.stop)
			continue;
		pthread_mutex_unlock(&keeper.mutex);
		kr_snapshot_release_idle(IDLE_NS);
		pthread_mutex_lock(&keeper.mutex);
	}
	pthread_mutex_unlock(&keeper.mutex);
	return NULL;
}

/* Without it, what is retained is retained to the end. */
void
kr_keeper_start(void)
{
	pthread_condattr_t monotonic;
	sigset_t all, mask;

	pthread_mutex_lock(&keeper.mutex);
	/* Not while it is being stopped: the old thread would never hear of it. */
	if (!keeper.running) {
		pthread_condattr_init(&monotonic);
		pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
		pthread_cond_init(&keeper.changed, &monotonic);
		pthread_condattr_destroy(&monotonic);
		keeper.stop = false;
		/* The application's signals are not for this thread. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &mask);
		keeper.running = pthread_create(&keeper.thread, NULL, keep, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
		if (!keeper.running)
			pthread_cond_destroy(&keeper.changed);
	}
	pthread_mutex_unlock(&keeper.mutex);
}

void
kr_snapshot_keeper_stop(void)
{
	pthread_mutex_lock(&keeper.mutex);
	if (!keeper.running || keeper.stop) {
		pthread_mutex_unlock(&keeper.mutex);
		return;
	}
	keeper.stop = true;
	pthread_cond_signal(&keeper.changed);
	pthread_mutex_unlock(&keeper.mutex);
	pthread_join(keeper.thread, NULL);
	pthread_mutex_lock(&keeper.mutex);
	pthread_cond_destroy(&keeper.changed);
	keeper.running = false;
	pthread_mutex_unlock(&keeper.mutex);
}
