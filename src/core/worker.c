/* SPDX-License-Identifier: MIT */
/* A queue's worker thread: takes over when a ringing thread would have to wait
 * for long. Made at the first need, sleeps in between. */
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/thread.h"

static void *
work(void *arg)
{
	struct kr_proxy *p = arg;

	pthread_mutex_lock(&p->mutex);
	for (;;) {
		while (!p->handed && !p->stop)
			pthread_cond_wait(&p->wake, &p->mutex);
		if (!p->handed)
			break;
		p->handed = false;
		pthread_mutex_unlock(&p->mutex);
		kr_proxy_finish_ring(p);
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

/* With the mutex held. */
static bool
start(struct kr_proxy *p)
{
	if (!p->has_worker)
		p->has_worker = kr_thread_create(&p->worker, work, p);
	return p->has_worker;
}

void
kr_worker_take_over(struct kr_proxy *p)
{
	bool started;

	pthread_mutex_lock(&p->mutex);
	started = start(p);
	if (started) {
		p->handed = true;
		pthread_cond_signal(&p->wake);
	}
	pthread_mutex_unlock(&p->mutex);
	if (!started) {
		kr_log_once("worker", KR_LOG_WARN, "queue", "no thread to be had: a dispatching thread waits instead");
		kr_proxy_finish_ring(p);
	}
}

void
kr_worker_init(struct kr_proxy *p)
{
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->wake, NULL);
}

void
kr_worker_finish(struct kr_proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->stop = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	if (p->has_worker)
		pthread_join(p->worker, NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->mutex);
}
