/* SPDX-License-Identifier: MIT */
#include "core/completer.h"

#include <stdlib.h>
#include <time.h>

#include "core/agents.h"
#include "core/collector.h"
#include "core/log.h"
#include "core/thread.h"

#define MAX_OUTSTANDING 1024 /* signals of ours: each takes an event of the driver */
#define MAX_WATCHED 64
#define SLICE_NS 10000000u /* between two looks at what no signal tells */

struct entry {
	struct entry *next;
	struct kr_proxy *proxy;
	hsa_agent_t agent;
	hsa_signal_t ours, theirs;
	struct kr_dispatch dispatch;
	kreplay_user_data_t user_data;
	bool is_dispatch, record, collect;
	bool busy;  /* being delivered, outside the lock */
	bool first; /* of its queue's, see watch() */
	uint64_t end_by; /* CLOCK_MONOTONIC; 0: whenever it ends */
	uint64_t pass;   /* with end_by */
};

static struct {
	struct kr_thread thread;
	pthread_cond_t freed;
	struct entry *head, **tail; /* submission order */
	struct entry *idle;         /* with their signals */
	unsigned outstanding;
	uint64_t round; /* of watching */
	hsa_signal_t wake;
} completer = {.thread = KR_THREAD_INIT, .freed = PTHREAD_COND_INITIALIZER};

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
		pthread_mutex_unlock(&completer.thread.mutex); /* a tool's callback may dispatch */
		deliver(e);
		pthread_mutex_lock(&completer.thread.mutex);
		retire(e);
		e = completer.head;
	}
}

/*
 * With the mutex held. A pass that was left to itself and that does not end: without us the program would have gone on after
 * the first one, with us it waits for ever. It cannot be taken back, so the process ends, and says what it waited for.
 */
static void
look_for_hung(void)
{
	uint64_t now = kr_now_ns();

	for (struct entry *e = completer.head; e != NULL; e = e->next) {
		if (e->end_by == 0 || now < e->end_by || e->busy || is_complete(e))
			continue;
		kr_log(KR_LOG_ERROR, "completer",
		       "pass %llu of kernel %s (dispatch %llu, queue %llu) was left to itself and does not end: it waits "
		       "for something that came only once. The program would wait for ever",
		       (unsigned long long)e->pass, e->dispatch.name != NULL ? e->dispatch.name : "?",
		       (unsigned long long)e->dispatch.info.dispatch_id, (unsigned long long)e->proxy->id);
		abort();
	}
}

static bool
any_may_hang(void)
{
	bool any = false;

	for (struct entry *e = completer.head; e != NULL && !any; e = e->next)
		any = e->end_by != 0;
	return any;
}

/* With the mutex held: what to wait for. The oldest of each queue comes first, since what it waits for may be
 * another queue's, then as many as there is room for. True: that is all of them. */
static bool
watch(hsa_signal_t *signals, uint32_t *count)
{
	bool all = true;

	signals[(*count)++] = completer.wake;
	completer.round++;
	for (int oldest = 1; oldest >= 0; oldest--)
		for (struct entry *e = completer.head; e != NULL && all; e = e->next) {
			if (oldest)
				e->first = e->proxy->watched != completer.round;
			e->proxy->watched = completer.round;
			if (e->busy || e->first != oldest)
				continue; /* whoever delivers it takes it off the list */
			all = *count < MAX_WATCHED;
			if (all)
				signals[(*count)++] = e->ours;
		}
	return all;
}

static void *
complete(void *unused)
{
	hsa_signal_condition_t conditions[MAX_WATCHED];
	hsa_signal_value_t values[MAX_WATCHED];
	hsa_signal_t signals[MAX_WATCHED];

	for (uint32_t i = 0; i < MAX_WATCHED; i++) {
		conditions[i] = HSA_SIGNAL_CONDITION_LT;
		values[i] = 1;
	}
	pthread_mutex_lock(&completer.thread.mutex);
	while (!completer.thread.stop || completer.head != NULL) {
		uint32_t count = 0;
		bool all;

		kr_next.hsa_signal_store_relaxed(completer.wake, 1);
		all = watch(signals, &count) && !any_may_hang();
		pthread_mutex_unlock(&completer.thread.mutex);
		kr_next.hsa_amd_signal_wait_any(count, signals, conditions, values, all ? UINT64_MAX : SLICE_NS,
						HSA_WAIT_STATE_BLOCKED, NULL);
		pthread_mutex_lock(&completer.thread.mutex);
		deliver_complete();
		look_for_hung();
	}
	pthread_mutex_unlock(&completer.thread.mutex);
	return NULL;
}

static void
rouse(void)
{
	kr_next.hsa_signal_store_screlease(completer.wake, 0);
}

/* With the mutex held. */
static bool
start_thread(void)
{
	if (completer.wake.handle == 0 &&
	    kr_next.hsa_signal_create(1, 0, NULL, &completer.wake) != HSA_STATUS_SUCCESS)
		return false;
	if (completer.tail == NULL)
		completer.tail = &completer.head;
	return kr_thread_start(&completer.thread, complete);
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
	rouse();
}

bool
kr_completer_adopt(struct kr_proxy *proxy, hsa_signal_t *signal, hsa_signal_t theirs, uint64_t end_by)
{
	struct entry *e = NULL;
	hsa_signal_t fresh;

	pthread_mutex_lock(&completer.thread.mutex);
	if (start_thread() && (e = take_entry()) != NULL) {
		fresh = e->ours;
		e->ours = *signal;
		*signal = fresh;
		e->proxy = proxy;
		e->theirs = theirs;
		e->is_dispatch = e->record = e->collect = false;
		e->dispatch = proxy->replay.dispatch;
		e->pass = proxy->replay.passes_run - 1;
		e->end_by = end_by;
		add(e);
	}
	pthread_mutex_unlock(&completer.thread.mutex);
	return e != NULL;
}

bool
kr_completer_track(struct kr_proxy *proxy, union kr_packet *packet, const struct kr_tracked *what,
                   uint64_t deadline, bool *gave_up)
{
	struct entry *e = NULL;

	*gave_up = false;
	pthread_mutex_lock(&completer.thread.mutex);
	while (completer.outstanding >= MAX_OUTSTANDING) {
		struct timespec ts = {.tv_sec = (time_t)(deadline / 1000000000u),
				      .tv_nsec = (long)(deadline % 1000000000u)};

		if (deadline == 0)
			pthread_cond_wait(&completer.freed, &completer.thread.mutex);
		else if (pthread_cond_clockwait(&completer.freed, &completer.thread.mutex, CLOCK_MONOTONIC, &ts) != 0)
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
	e->end_by = 0;
	if (e->is_dispatch)
		e->dispatch = *what->dispatch;
	kr_next.hsa_signal_store_relaxed(e->ours, 1);
	packet->words[7] = e->ours.handle;
	if (e->record) {
		pthread_mutex_unlock(&completer.thread.mutex);
		kr_dispatch_enter(&e->dispatch, 0, 1, &e->user_data);
		pthread_mutex_lock(&completer.thread.mutex);
	}
	add(e);
out:
	pthread_mutex_unlock(&completer.thread.mutex);
	return e != NULL;
}

bool
kr_completer_settle(struct kr_proxy *proxy, uint64_t deadline)
{
	bool settled = atomic_load(&proxy->tracked) == 0;

	if (settled)
		return true;
	pthread_mutex_lock(&completer.thread.mutex);
	while (!(settled = atomic_load(&proxy->tracked) == 0) && !atomic_load(&proxy->dying) &&
	       !atomic_load(&proxy->stopped)) {
		uint64_t now = kr_now_ns(), until = now + SLICE_NS < deadline ? now + SLICE_NS : deadline;
		struct timespec ts = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};

		if (now >= deadline)
			break;
		pthread_cond_clockwait(&completer.freed, &completer.thread.mutex, CLOCK_MONOTONIC, &ts);
	}
	pthread_mutex_unlock(&completer.thread.mutex);
	return settled;
}

void
kr_completer_forget(struct kr_proxy *proxy)
{
	struct entry *e;

	pthread_mutex_lock(&completer.thread.mutex);
	deliver_complete();
	for (e = completer.head; e != NULL;) {
		if (e->proxy != proxy) {
			e = e->next;
		} else if (e->busy) {
			pthread_cond_wait(&completer.freed, &completer.thread.mutex);
			e = completer.head;
		} else {
			e->busy = true;
			pthread_mutex_unlock(&completer.thread.mutex);
			if (e->record)
				kr_dispatch_complete(&e->dispatch, 0, 1, 0, 0, &e->user_data);
			pthread_mutex_lock(&completer.thread.mutex);
			retire(e);
			e = completer.head;
		}
	}
	pthread_mutex_unlock(&completer.thread.mutex);
}

void
kr_completer_finish(uint64_t ns)
{
	struct timespec ts;
	struct entry *e;

	pthread_mutex_lock(&completer.thread.mutex);
	if (!completer.thread.running || pthread_equal(pthread_self(), completer.thread.id))
		goto out;
	ns += kr_now_ns();
	ts = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	while (completer.outstanding > 0 &&
	       pthread_cond_clockwait(&completer.freed, &completer.thread.mutex, CLOCK_MONOTONIC, &ts) == 0)
		;
	if (completer.outstanding > 0) {
		kr_log(KR_LOG_WARN, "completer", "%u dispatches had not completed at the end; their times are missing",
		       completer.outstanding);
		goto out; /* the thread goes with the process */
	}
	if (!kr_thread_stop(&completer.thread, rouse))
		goto out;
	while ((e = completer.idle) != NULL) {
		completer.idle = e->next;
		kr_next.hsa_signal_destroy(e->ours);
		free(e);
	}
	kr_next.hsa_signal_destroy(completer.wake);
	completer.wake.handle = 0;
out:
	pthread_mutex_unlock(&completer.thread.mutex);
}
