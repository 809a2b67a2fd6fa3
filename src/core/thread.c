/* SPDX-License-Identifier: MIT */
#include "core/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "core/agents.h"

bool
kr_thread_create(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error == 0;
}

bool
kr_thread_start(struct kr_thread *thread, void *(*run)(void *))
{
	if (thread->running)
		return !thread->stop;
	thread->stop = false;
	thread->running = kr_thread_create(&thread->id, run, NULL);
	return thread->running;
}

bool
kr_thread_stop(struct kr_thread *thread, void (*rouse)(void))
{
	if (!thread->running || thread->stop || pthread_equal(pthread_self(), thread->id))
		return false;
	thread->stop = true;
	if (rouse != NULL)
		rouse();
	else
		pthread_cond_signal(&thread->wake);
	pthread_mutex_unlock(&thread->mutex);
	pthread_join(thread->id, NULL);
	pthread_mutex_lock(&thread->mutex);
	thread->running = false;
	return true;
}

bool
kr_thread_sleep(struct kr_thread *thread, uint64_t ns)
{
	uint64_t until = kr_now_ns() + ns;
	struct timespec ts = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};

	while (!thread->stop &&
	       pthread_cond_clockwait(&thread->wake, &thread->mutex, CLOCK_MONOTONIC, &ts) != ETIMEDOUT)
		;
	return !thread->stop;
}
