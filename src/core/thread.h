/* SPDX-License-Identifier: MIT */
/*
 * Threads of ours. The application's signals are not for them: they start with all of them blocked. One that serves the
 * whole process is made at its first need, and ends by a flag that it looks at between two waits.
 */
#ifndef KR_THREAD_H
#define KR_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* False: no thread to be had. */
bool kr_thread_create(pthread_t *thread, void *(*run)(void *), void *arg);

struct kr_thread {
	pthread_mutex_t mutex; /* guards what follows, and whatever its module keeps */
	pthread_cond_t wake;   /* for those that sleep in kr_thread_sleep */
	pthread_t id;
	bool running, stop;
};

#define KR_THREAD_INIT {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER}

/* With the mutex held, as all of these. True: it runs, from now on or already. A thread that is being stopped
 * would never hear of what is wanted of it, so that is false, as when no thread is to be had. */
bool kr_thread_start(struct kr_thread *thread, void *(*run)(void *));

/* Sets `stop`, calls `rouse` (NULL: it sleeps in kr_thread_sleep) and joins, without the mutex meanwhile. True: it
 * is gone, and nobody has started another since. False: it does not run, somebody else is at it, or it is the
 * caller itself. */
bool kr_thread_stop(struct kr_thread *thread, void (*rouse)(void));

/* On the thread itself, until it is to stop or so much time has passed. False: stop. */
bool kr_thread_sleep(struct kr_thread *thread, uint64_t ns);

#endif
