/* SPDX-License-Identifier: MIT */
#include "core/deferred.h"

#include <stdlib.h>
#include <string.h>

#include "core/copies.h"
#include "core/log.h"
#include "core/thread.h"

#define MAX_WATCHED 64

struct deferred {
	struct deferred *next;
	struct kr_copy copy;
	hsa_signal_t deps[];
};

static struct {
	struct kr_thread thread;
	struct deferred *head, **tail; /* in the order of submission */
	hsa_signal_t wake;
} deferred = {.thread = KR_THREAD_INIT};

/* The first dependency that is not resolved; 0: none. */
static hsa_signal_t
unresolved(const struct kr_copy *copy)
{
	for (uint32_t i = 0; i < copy->num_deps; i++)
		if (copy->deps[i].handle != 0 && kr_next.hsa_signal_load_scacquire(copy->deps[i]) != 0)
			return copy->deps[i];
	return (hsa_signal_t){0};
}

static hsa_status_t
submit(const struct kr_copy *c)
{
	hsa_status_t status;

	kr_copy_enter(c->to, c->from);
	kr_copy_note(c->to, c->from, c->engine);
	switch (c->kind) {
	case KR_COPY_RECT:
		status = kr_next.hsa_amd_memory_async_copy_rect(&c->rect_dst, &c->dst_offset, &c->rect_src, &c->src_offset,
								&c->range, c->copy_agent, c->direction, c->num_deps,
								c->deps, c->completion);
		break;
	case KR_COPY_ENGINE:
		status = kr_next.hsa_amd_memory_async_copy_on_engine(c->dst, c->dst_agent, c->src, c->src_agent, c->size,
								     c->num_deps, c->deps, c->completion, c->engine,
								     c->force);
		break;
	default:
		status = kr_next.hsa_amd_memory_async_copy(c->dst, c->dst_agent, c->src, c->src_agent, c->size,
							   c->num_deps, c->deps, c->completion);
	}
	kr_copy_leave(c->to, c->from);
	return status;
}

/* With the mutex held: submits what has become ready, letting go of the mutex
 * for each. */
static void
submit_ready(void)
{
	struct deferred **at = &deferred.head, *d;
	hsa_status_t status;

	while ((d = *at) != NULL) {
		if (unresolved(&d->copy).handle != 0) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		if (deferred.tail == &d->next)
			deferred.tail = at;
		pthread_mutex_unlock(&deferred.thread.mutex);
		status = submit(&d->copy);
		if (status != HSA_STATUS_SUCCESS) {
			/* The call has returned long ago; a negative value is how the runtime says it. */
			kr_log(KR_LOG_WARN, "copies", "a copy that waited for its dependencies was refused: %s",
			       kr_status_text(status));
			if (d->copy.completion.handle != 0)
				kr_next.hsa_signal_store_screlease(d->copy.completion, -1);
		}
		free(d);
		pthread_mutex_lock(&deferred.thread.mutex);
		at = &deferred.head;
	}
}

static void *
run(void *unused)
{
	hsa_signal_condition_t conditions[MAX_WATCHED];
	hsa_signal_value_t values[MAX_WATCHED];
	hsa_signal_t signals[MAX_WATCHED], dep;

	pthread_mutex_lock(&deferred.thread.mutex);
	while (!deferred.thread.stop) {
		uint32_t count = 0;

		kr_next.hsa_signal_store_relaxed(deferred.wake, 1);
		submit_ready();
		signals[count++] = deferred.wake;
		for (struct deferred *d = deferred.head; d != NULL && count < MAX_WATCHED; d = d->next) {
			dep = unresolved(&d->copy);
			if (dep.handle == 0)
				kr_next.hsa_signal_store_relaxed(deferred.wake, 0);
			else
				signals[count++] = dep;
		}
		for (uint32_t i = 0; i < count; i++) {
			conditions[i] = HSA_SIGNAL_CONDITION_EQ;
			values[i] = 0;
		}
		if (deferred.thread.stop)
			break;
		pthread_mutex_unlock(&deferred.thread.mutex);
		/* Bounded, for what is beyond MAX_WATCHED. */
		kr_next.hsa_amd_signal_wait_any(count, signals, conditions, values, 100000000, HSA_WAIT_STATE_BLOCKED,
						NULL);
		pthread_mutex_lock(&deferred.thread.mutex);
	}
	pthread_mutex_unlock(&deferred.thread.mutex);
	return NULL;
}

/* With the mutex held. */
static bool
start(void)
{
	if (deferred.wake.handle == 0 &&
	    kr_next.hsa_signal_create(1, 0, NULL, &deferred.wake) != HSA_STATUS_SUCCESS)
		return false;
	if (deferred.tail == NULL)
		deferred.tail = &deferred.head;
	return kr_thread_start(&deferred.thread, run);
}

static void
rouse(void)
{
	kr_next.hsa_signal_store_screlease(deferred.wake, 0);
}

static bool
defer(const struct kr_copy *copy)
{
	struct deferred *d = malloc(sizeof(*d) + copy->num_deps * sizeof(d->deps[0]));
	bool kept;

	if (d == NULL)
		return false;
	d->next = NULL;
	d->copy = *copy;
	memcpy(d->deps, copy->deps, copy->num_deps * sizeof(d->deps[0]));
	d->copy.deps = d->deps;
	pthread_mutex_lock(&deferred.thread.mutex);
	kept = start();
	if (kept) {
		*deferred.tail = d;
		deferred.tail = &d->next;
		rouse();
	}
	pthread_mutex_unlock(&deferred.thread.mutex);
	if (!kept)
		free(d);
	return kept;
}

hsa_status_t
kr_copy_submit(const struct kr_copy *copy)
{
	/* An engine's order says nothing between copies, so one that waits here may
	 * be overtaken. Where it cannot be kept, the runtime gets it as it is. */
	if (copy->num_deps != 0 && copy->deps != NULL && (copy->to != NULL || copy->from != NULL) &&
	    unresolved(copy).handle != 0 && defer(copy))
		return HSA_STATUS_SUCCESS;
	return submit(copy);
}

void
kr_deferred_stop(void)
{
	struct deferred *d;

	pthread_mutex_lock(&deferred.thread.mutex);
	if (kr_thread_stop(&deferred.thread, rouse)) {
		while ((d = deferred.head) != NULL) {
			deferred.head = d->next;
			free(d);
		}
		deferred.tail = &deferred.head;
		kr_next.hsa_signal_destroy(deferred.wake);
		deferred.wake.handle = 0;
	}
	pthread_mutex_unlock(&deferred.thread.mutex);
}
