/* SPDX-License-Identifier: MIT */
/*
 * Events as the kernel driver has them: an auto-reset event that is set wakes
 * every thread that waits for it at that moment and stays set only if there
 * was none. The runtime's queues share one event, so waking a single waiter
 * would lose wake-ups.
 *
 * One thing is kinder than the driver. A thread that has looked at its signal
 * and is about to wait can lose the set to another waiter of the same event and
 * then sleep for ever; the runtime has such pairs of threads, and on a busy host
 * they do meet. So each thread remembers what it has seen of each event, and a
 * wait returns at once if the event was set since that thread's last wait for
 * it. Callers look at their signals again anyhow.
 */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 4096 /* as the kernel driver; id 0 means "no event" */
#define MAILBOX_EMPTY UINT64_MAX

struct wait_entry {
	struct waiter *waiter;
	struct wait_entry *next, **link; /* in the event's list */
	bool fired;
};

struct waiter {
	_Atomic uint32_t word; /* futex */
	bool failed;           /* an event was destroyed */
};

struct event {
	bool used, manual, signaled, memory_fault;
	uint64_t age;
	uint64_t last_set; /* set_count at that time, 0: never set */
	struct wait_entry *waiters;
	void (*on_fault)(void *user, const struct sg_memory_fault *fault);
	void *user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event events[MAX_EVENTS];
static uint64_t mailboxes[MAX_EVENTS];
static uint32_t search_from = 1;
static uint64_t set_count; /* never reset: a thread's memory outlives an event */

static pthread_once_t seen_once = PTHREAD_ONCE_INIT;
static pthread_key_t seen_key;

static void make_seen_key(void)
{
	pthread_key_create(&seen_key, free);
}

/* The calling thread's memory: last_set of each event when it last waited. */
static uint64_t *seen_by_thread(void)
{
	uint64_t *seen;

	pthread_once(&seen_once, make_seen_key);
	seen = pthread_getspecific(seen_key);
	if (!seen) {
		seen = calloc(MAX_EVENTS, sizeof(*seen));
		if (seen && pthread_setspecific(seen_key, seen)) {
			free(seen);
			seen = NULL;
		}
	}
	return seen;
}

void sg_events_reset(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(events, 0, sizeof(events));
	search_from = 1;
}

static struct event *find(uint32_t id)
{
	return id > 0 && id < MAX_EVENTS && events[id].used ? &events[id] : NULL;
}

static void wake(struct event *event, bool failed)
{
	for (struct wait_entry *e = event->waiters; e; e = e->next) {
		e->fired = true;
		if (failed)
			e->waiter->failed = true;
		atomic_fetch_add(&e->waiter->word, 1);
		sg_futex_wake(&e->waiter->word, 1);
	}
}

static void set(struct event *event)
{
	event->age++;
	event->last_set = ++set_count;
	event->signaled = event->manual || !event->waiters;
	wake(event, false);
}

enum sg_status sg_event_create(const struct sg_event_request *request, uint32_t *id,
                               uint64_t **mailbox)
{
	enum sg_status status = SG_RESOURCES;

	pthread_mutex_lock(&lock);
	for (uint32_t n = 1; n < MAX_EVENTS; n++) {
		uint32_t i = search_from;

		search_from = search_from + 1 < MAX_EVENTS ? search_from + 1 : 1;
		if (events[i].used)
			continue;
		events[i] = (struct event){
			.used = true,
			.manual = request->manual_reset,
			.signaled = request->signaled,
			.memory_fault = request->memory_fault,
			.age = 1,
			.on_fault = request->on_fault,
			.user = request->user,
		};
		mailboxes[i] = MAILBOX_EMPTY;
		*id = i;
		*mailbox = &mailboxes[i];
		status = SG_OK;
		break;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

enum sg_status sg_event_destroy(uint32_t id)
{
	pthread_mutex_lock(&lock);
	struct event *event = find(id);

	if (event) {
		wake(event, true);
		/* Waiters find themselves off the list: the slot may be reused before they run. */
		for (struct wait_entry *e = event->waiters; e; e = e->next)
			e->link = NULL;
		event->waiters = NULL;
		event->used = false;
	}
	pthread_mutex_unlock(&lock);
	return event ? SG_OK : SG_BAD_HANDLE;
}

enum sg_status sg_event_set(uint32_t id)
{
	pthread_mutex_lock(&lock);
	struct event *event = find(id);

	if (event)
		set(event);
	pthread_mutex_unlock(&lock);
	return event ? SG_OK : SG_BAD_HANDLE;
}

enum sg_status sg_event_reset(uint32_t id)
{
	pthread_mutex_lock(&lock);
	struct event *event = find(id);

	if (event)
		event->signaled = false;
	pthread_mutex_unlock(&lock);
	return event ? SG_OK : SG_BAD_HANDLE;
}

enum sg_status sg_event_query(uint32_t id)
{
	enum sg_status status = SG_BAD_HANDLE;

	pthread_mutex_lock(&lock);
	struct event *event = find(id);

	if (event)
		status = event->signaled ? SG_OK : SG_TIMEOUT;
	pthread_mutex_unlock(&lock);
	return status;
}

void sg_event_fault(const struct sg_memory_fault *fault)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i < MAX_EVENTS; i++) {
		if (!events[i].used || !events[i].memory_fault)
			continue;
		if (events[i].on_fault)
			events[i].on_fault(events[i].user, fault);
		set(&events[i]);
	}
	pthread_mutex_unlock(&lock);
}

static bool satisfied(const struct wait_entry *entries, uint32_t count, bool all)
{
	for (uint32_t i = 0; i < count; i++) {
		if (entries[i].fired != all)
			return !all;
	}
	return all;
}

/* Puts the waiter on every list and takes what is already set. False: no such event. */
static bool enlist(struct waiter *waiter, struct wait_entry *entries, const uint32_t *ids,
                   uint32_t count, const uint64_t *ages, const uint64_t *seen)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!find(ids[i]))
			return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct event *event = &events[ids[i]];
		struct wait_entry *e = &entries[i];

		e->waiter = waiter;
		e->fired = event->signaled || (seen && event->last_set > seen[ids[i]]) ||
		           (ages && ages[i] && ages[i] != event->age);
		e->next = event->waiters;
		e->link = &event->waiters;
		if (e->next)
			e->next->link = &e->next;
		event->waiters = e;
	}
	return true;
}

static void delist(struct wait_entry *entries, const uint32_t *ids, uint32_t count, bool consume,
                   uint64_t *ages, uint64_t *seen)
{
	for (uint32_t i = 0; i < count; i++) {
		struct event *event = &events[ids[i]];
		struct wait_entry *e = &entries[i];

		if (!e->link)
			continue;
		if (seen)
			seen[ids[i]] = set_count;
		*e->link = e->next;
		if (e->next)
			e->next->link = e->link;
		if (consume && e->fired && !event->manual)
			event->signaled = false;
		if (ages)
			ages[i] = event->age;
	}
}

enum sg_status sg_event_wait(const uint32_t *ids, uint32_t count, bool all, uint32_t milliseconds,
                             uint64_t *ages)
{
	struct wait_entry few[16], *entries = few;
	struct waiter waiter = {0};
	uint64_t *seen = seen_by_thread();
	enum sg_status status = SG_OK;
	uint64_t deadline = 0;

	if (count == 0)
		return SG_INVALID;
	if (milliseconds != SG_WAIT_FOREVER)
		deadline = sg_monotonic_ns() + milliseconds * 1000000ull;
	if (count > 16) {
		entries = calloc(count, sizeof(*entries));
		if (!entries)
			return SG_NO_MEMORY;
	}
	/* Whoever waits has probably just rung a doorbell. */
	sg_device_kick();

	pthread_mutex_lock(&lock);
	if (!enlist(&waiter, entries, ids, count, ages, seen)) {
		status = SG_BAD_HANDLE;
		goto out;
	}
	while (!satisfied(entries, count, all) && !waiter.failed) {
		uint32_t word = atomic_load(&waiter.word);

		if (deadline && sg_monotonic_ns() >= deadline) {
			status = SG_TIMEOUT;
			break;
		}
		pthread_mutex_unlock(&lock);
		sg_futex_wait(&waiter.word, word, deadline);
		pthread_mutex_lock(&lock);
	}
	delist(entries, ids, count, status == SG_OK, ages, seen);
	if (waiter.failed)
		status = SG_ERROR;
out:
	pthread_mutex_unlock(&lock);
	if (entries != few)
		free(entries);
	return status;
}
