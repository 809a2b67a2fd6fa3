/* SPDX-License-Identifier: MIT */
#include "core/watcher.h"

#include "core/agents.h"
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/thread.h"

#define FASTEST_NS 1000000u
#define SLOWEST_NS 50000000u

static struct kr_thread watcher = KR_THREAD_INIT;

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
	while (kr_thread_sleep(&watcher, pause)) {
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
	pthread_mutex_lock(&watcher.mutex);
	if (!kr_thread_start(&watcher, watch) && !watcher.running)
		kr_log_once("watcher", KR_LOG_WARN, "queue",
			    "no thread to be had: rings that do not come through the API go unnoticed");
	pthread_mutex_unlock(&watcher.mutex);
}

void
kr_watcher_stop(void)
{
	pthread_mutex_lock(&watcher.mutex);
	kr_thread_stop(&watcher, NULL);
	pthread_mutex_unlock(&watcher.mutex);
}
