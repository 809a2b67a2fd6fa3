/* SPDX-License-Identifier: MIT */
#include "stand_in_internal.h"

#include <string.h>

struct stand_in stand_in;
pthread_mutex_t stand_in_mutex;
pthread_cond_t stand_in_changed;

bool
stand_in_fails(struct stand_in_point *point)
{
	unsigned call = __atomic_add_fetch(&point->calls, 1, __ATOMIC_SEQ_CST);

	return point->fail_at != 0 && (call == point->fail_at || (point->fail_on && call > point->fail_at));
}

/* ---- the system ---- */

static hsa_status_t
init(void)
{
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
system_get_info(hsa_system_info_t info, void *value)
{
	*(uint64_t *)value = info == HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY ? 1000000000u : ++stand_in.clock;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
status_string(hsa_status_t status, const char **text)
{
	*text = status == HSA_STATUS_SUCCESS ? "success" : "stand-in error";
	return HSA_STATUS_SUCCESS;
}

/* Once: threads of the engine's may wait here from one test to the next. */
static void
init_locks(void)
{
	pthread_mutexattr_t recursive;
	pthread_condattr_t monotonic;
	pthread_t device;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&stand_in_mutex, &recursive);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&stand_in_changed, &monotonic);
	pthread_create(&device, NULL, stand_in_run_device, NULL);
	pthread_detach(device);
}

static void
put_system(struct kr_next *next)
{
	next->hsa_init = init;
	next->hsa_shut_down = init;
	next->hsa_system_get_info = system_get_info;
	next->hsa_status_string = status_string;
}

void
stand_in_reset(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct kr_next next = {0};

	pthread_once(&once, init_locks);
	memset(&stand_in, 0, sizeof(stand_in));
	stand_in_reset_queues();
	stand_in_reset_memory();
	stand_in_reset_newer();
	put_system(&next);
	stand_in_put_signals(&next);
	stand_in_put_queues(&next);
	stand_in_put_memory(&next);
	stand_in_put_agents(&next);
	stand_in_put_code(&next);
	stand_in_put_newer(&next);
	kr_next = next; /* at once: threads of the engine's call through it */
}

/* The doors are not in a unit test; the API table names their hooks all the same. */
hsa_status_t
kr_hook_hsa_init(void)
{
	return init();
}

hsa_status_t
kr_hook_hsa_shut_down(void)
{
	return init();
}
