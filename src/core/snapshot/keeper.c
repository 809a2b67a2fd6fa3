/* SPDX-License-Identifier: MIT */
/* A thread that gives back what snapshots retain when no window has come for long. */
#include "core/snapshot/internal.h"
#include "core/thread.h"

#define IDLE_NS 30000000000u

static struct kr_thread keeper = KR_THREAD_INIT;

static void *
keep(void *unused)
{
	pthread_mutex_lock(&keeper.mutex);
	while (kr_thread_sleep(&keeper, IDLE_NS)) {
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
	pthread_mutex_lock(&keeper.mutex);
	kr_thread_start(&keeper, keep);
	pthread_mutex_unlock(&keeper.mutex);
}

void
kr_snapshot_keeper_stop(void)
{
	pthread_mutex_lock(&keeper.mutex);
	kr_thread_stop(&keeper, NULL);
	pthread_mutex_unlock(&keeper.mutex);
}
