/* SPDX-License-Identifier: MIT */
#include "core/watcher.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "core/agents.h"
#include "core/log.h"
#include "core/proxy_internal.h"

#define FASTEST_NS 1000000u
#define SLOWEST_NS 50000000u

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop;
} watcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* True when a queue had something that nobody rang for. */
static bool
look(void)
{
	struct kr_agent *agent;
	bool found = false;

	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		pthread_mutex_lock(&agent->mutex);
		for (struct kr_proxy *p = agent->queues; p != NULL; p = p->next_on_agent) {
			found |= kr_proxy_look(p);
			kr_proxy_refresh(p);
		}
		pthread_mutex_unlock(&agent->mutex);
	}
	return found;
}

static void *
watch(void *unused)
{
	uint64_t pause = FASTEST_NS;

	pthread_mutex_lock(&watcher.mutex);
	while (!watcher.stop) {
		uint64_t until = kr_now_ns() + pause;
		struct timespec ts = {.tv_sec = (time_t)(until / 1000000000u),
				      .tv_nsec = (long)(until % 1000000000u)};

		pthread_cond_clockwait(&watcher.wake, &watcher.mutex, CLOCK_MONOTONIC, &ts);
		if (watcher.stop)
			break;
		pthread_mutex_unlock(&watcher.mutex);
		pause = look() ? FASTEST_NS : pause * 2 < SLOWEST_NS ? pause * 2 : SLOWEST_NS;
		pthread_mutex_lock(&watcher.mutex);
	}
	pthread_mutex_unlock(&watcher.mutex);
	return NULL;
}

void
kr_watcher_start(void)
{
	sigset_t all, old;

	pthread_mutex_lock(&watcher.mutex);
	/* Not while it is being stopped: the old thread would never hear of it. */
	if (!watcher.running) {
		watcher.stop = false;
		/* The application's signals are not for our threads. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		watcher.running = pthread_create(&watcher.thread, NULL, watch, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (!watcher.running)
			kr_log_once("watcher", KR_LOG_WARN, "queue",
				    "no thread to be had: rings that do not come through the API go unnoticed");
	}
	pthread_mutex_unlock(&watcher.mutex);
}

void
kr_watcher_stop(void)
{
	pthread_mutex_lock(&watcher.mutex);
	if (!watcher.running || watcher.stop) {
		pthread_mutex_unlock(&watcher.mutex);
		return;
	}
	watcher.stop = true;
	pthread_cond_signal(&watcher.wake);
	pthread_mutex_unlock(&watcher.mutex);
	pthread_join(watcher.thread, NULL);
	pthread_mutex_lock(&watcher.mutex);
	watcher.running = false;
	pthread_mutex_unlock(&watcher.mutex);
}
