/* SPDX-License-Identifier: MIT */
#include "core/completer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/agents.h"
#include "core/collector.h"
#include "core/log.h"

#define MAX_OUTSTANDING 1024 /* signals of ours: each takes an event of the driver */
#define MAX_WATCHED 64

struct entry {
	struct entry *next;
	struct kr_proxy *proxy;
	hsa_agent_t agent;
	hsa_signal_t ours, theirs;
	struct kr_dispatch dispatch;
	kreplay_user_data_t user_data;
	bool is_dispatch, record, collect;
	bool busy; /* being delivered, outside the lock */
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t freed;
	struct entry *head, **tail; /* submission order */
	struct entry *idle;         /* with their signals */
	unsigned outstanding;
	pthread_t thread;
	hsa_signal_t wake;
	bool running, stop;
} completer = {.mutex = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

static bool
is_complete(const struct entry *e)
{
	return kr_next.hsa_signal_load_scacquire(e->ours) < 1;
}

static void
deliver(struct entry *e)
{
	hsa_amd_profiling_dispatch_time_t time = {0};

	if (e->is_dispatch)
		kr_next.hsa_amd_profiling_get_dispatch_time(e->agent, e->ours, &time);
	if (e->record)
		kr_dispatch_complete(&e->dispatch, 0, 1, time.start, time.end, &e->user_data);
	if (e->collect)
		kr_collect_execution(e->dispatch.journal_kernel, e->dispatch.info.dispatch_id, 0, 1, time.start,
				     time.end);
	if (e->theirs.handle != 0) {
		kr_signal_amd(e->theirs)->start_ts = kr_signal_amd(e->ours)->start_ts;
		kr_signal_amd(e->theirs)->end_ts = kr_signal_amd(e->ours)->end_ts;
		kr_next.hsa_signal_subtract_screlease(e->theirs, 1);
	}
}

/* With the mutex held: takes an entry off the list and keeps its signal. */
static void
retire(struct entry *e)
{
	struct entry **at = &completer.head;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (completer.tail == &e->next)
		completer.tail = at;
	e->proxy->tracked--;
	e->next = completer.idle;
	completer.idle = e;
	completer.outstanding--;
	pthread_cond_broadcast(&completer.freed);
}

/* With the mutex held: delivers what has completed, in submission order. */
static void
deliver_complete(void)
{
	struct entry *e = completer.head;

	while (e != NULL) {
		if (e->busy || !is_complete(e)) {
			e = e->next;
			continue;
		}
		e->busy = true;
		pthread_mutex_unlock(&completer.mutex); /* a tool's callback may dispatch */
		deliver(e);
		pthread_mutex_lock(&completer.mutex);
		retire(e);
		e = completer.head;
	}
}

static void *
complete(void *unused)
{
	hsa_signal_condition_t conditions[MAX_WATCHED];
	hsa_signal_value_t values[MAX_WATCHED];
	hsa_signal_t signals[MAX_WATCHED];

	pthread_mutex_lock(&completer.mutex);
	while (!completer.stop || completer.head != NULL) {
		uint32_t count = 0;

		signals[count++] = completer.wake;
		kr_next.hsa_signal_store_relaxed(completer.wake, 1);
		for (struct entry *e = completer.head; e != NULL && count < MAX_WATCHED; e = e->next)
			signals[count++] = e->ours;
		if (completer.stop && count == 1)
			break;
		pthread_mutex_unlock(&completer.mutex);
		for (uint32_t i = 0; i < count; i++) {
			conditions[i] = HSA_SIGNAL_CONDITION_LT;
			values[i] = 1;
		}
		kr_next.hsa_amd_signal_wait_any(count, signals, conditions, values, UINT64_MAX,
						HSA_WAIT_STATE_BLOCKED, NULL);
		pthread_mutex_lock(&completer.mutex);
		deliver_complete();
	}
	pthread_mutex_unlock(&completer.mutex);
	return NULL;
}

/* With the mutex held. */
static bool
start_thread(void)
{
	sigset_t all, old;
	int error;

	if (completer.running)
		return !completer.stop;
	if (completer.wake.handle == 0 &&
	    kr_next.hsa_signal_create(1, 0, NULL, &completer.wake) != HSA_STATUS_SUCCESS)
		return false;
	completer.tail = &completer.head;
	completer.stop = false;
	/* The application's signals are not for our threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&completer.thread, NULL, complete, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	completer.running = error == 0;
	return completer.running;
}

static struct entry *
take_entry(void)
{
	struct entry *e = completer.idle;

	if (e != NULL) {
		completer.idle = e->next;
		return e;
	}
	e = calloc(1, sizeof(*e));
	if (e != NULL && kr_next.hsa_signal_create(1, 0, NULL, &e->ours) != HSA_STATUS_SUCCESS) {
		free(e);
		e = NULL;
	}
	return e;
}

/* With the mutex held. */
static void
add(struct entry *e)
{
	e->busy = false;
	e->next = NULL;
	*completer.tail = e;
	completer.tail = &e->next;
	completer.outstanding++;
	e->proxy->tracked++;
	kr_next.hsa_signal_store_screlease(completer.wake, 0);
}

bool
kr_completer_adopt(struct kr_proxy *proxy, hsa_signal_t *signal, hsa_signal_t theirs)
{
	struct entry *e = NULL;
	hsa_signal_t fresh;

	pthread_mutex_lock(&completer.mutex);
	if (start_thread() && (e = take_entry()) != NULL) {
		fresh = e->ours;
		e->ours = *signal;
		*signal = fresh;
		e->proxy = proxy;
		e->theirs = theirs;
		e->is_dispatch = e->record = e->collect = false;
		add(e);
	}
	pthread_mutex_unlock(&completer.mutex);
	return e != NULL;
}

bool
kr_completer_track(struct kr_proxy *proxy, union kr_packet *packet, const struct kr_tracked *what,
                   uint64_t deadline, bool *gave_up)
{
	struct entry *e = NULL;

	*gave_up = false;
	pthread_mutex_lock(&completer.mutex);
	while (completer.outstanding >= MAX_OUTSTANDING) {
		struct timespec ts = {.tv_sec = (time_t)(deadline / 1000000000u),
				      .tv_nsec = (long)(deadline % 1000000000u)};

		if (deadline == 0)
			pthread_cond_wait(&completer.freed, &completer.mutex);
		else if (pthread_cond_clockwait(&completer.freed, &completer.mutex, CLOCK_MONOTONIC, &ts) != 0)
			goto out;
	}
	if (!start_thread() || (e = take_entry()) == NULL) {
		*gave_up = true;
		goto out;
	}
	e->proxy = proxy;
	e->agent = proxy->agent->handle;
	e->theirs = kr_packet_signal(packet);
	e->is_dispatch = what->dispatch != NULL;
	e->record = what->record;
	e->collect = what->collect;
	e->busy = true; /* until it is in the list for good */
	if (e->is_dispatch)
		e->dispatch = *what->dispatch;
	kr_next.hsa_signal_store_relaxed(e->ours, 1);
	packet->words[7] = e->ours.handle;
	if (e->record) {
		pthread_mutex_unlock(&completer.mutex);
		kr_dispatch_enter(&e->dispatch, 0, 1, &e->user_data);
		pthread_mutex_lock(&completer.mutex);
	}
	add(e);
out:
	pthread_mutex_unlock(&completer.mutex);
	return e != NULL;
}

void
kr_completer_forget(struct kr_proxy *proxy)
{
	struct entry *e;

	pthread_mutex_lock(&completer.mutex);
	deliver_complete();
	for (e = completer.head; e != NULL;) {
		if (e->proxy != proxy) {
			e = e->next;
		} else if (e->busy) {
			pthread_cond_wait(&completer.freed, &completer.mutex);
			e = completer.head;
		} else {
			e->busy = true;
			pthread_mutex_unlock(&completer.mutex);
			if (e->record)
				kr_dispatch_complete(&e->dispatch, 0, 1, 0, 0, &e->user_data);
			pthread_mutex_lock(&completer.mutex);
			retire(e);
			e = completer.head;
		}
	}
	pthread_mutex_unlock(&completer.mutex);
}

void
kr_completer_finish(uint64_t ns)
{
	struct timespec ts;
	struct entry *e;

	pthread_mutex_lock(&completer.mutex);
	if (!completer.running || completer.stop || pthread_equal(pthread_self(), completer.thread))
		goto out;
	ns += kr_now_ns();
	ts = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	while (completer.outstanding > 0 &&
	       pthread_cond_clockwait(&completer.freed, &completer.mutex, CLOCK_MONOTONIC, &ts) == 0)
		;
	if (completer.outstanding > 0) {
		kr_log(KR_LOG_WARN, "completer", "%u dispatches had not completed at the end; their times are missing",
		       completer.outstanding);
		goto out; /* the thread goes with the process */
	}
	completer.stop = true;
	kr_next.hsa_signal_store_screlease(completer.wake, 0);
	pthread_mutex_unlock(&completer.mutex);
	pthread_join(completer.thread, NULL);
	pthread_mutex_lock(&completer.mutex);
	while ((e = completer.idle) != NULL) {
		completer.idle = e->next;
		kr_next.hsa_signal_destroy(e->ours);
		free(e);
	}
	kr_next.hsa_signal_destroy(completer.wake);
	completer.wake.handle = 0;
	completer.running = false;
out:
	pthread_mutex_unlock(&completer.mutex);
}
