/* SPDX-License-Identifier: MIT */
#include "core/foreign.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/aql.h"
#include "core/log.h"

struct foreign {
	struct foreign *next;
	hsa_queue_t *queue;
	hsa_signal_t doorbell; /* the queue may be gone with the runtime that it was made by */
	struct kr_agent *agent;
	unsigned references; /* the runtime may hand out one queue several times */
	hsa_signal_t drained;
	bool pending; /* a barrier of ours is in the queue */
};

static struct {
	pthread_mutex_t mutex;
	struct foreign *list;
	_Atomic unsigned count;
} foreign = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void
kr_foreign_add(hsa_queue_t *queue, struct kr_agent *agent)
{
	struct foreign *f;

	pthread_mutex_lock(&foreign.mutex);
	/* Another agent's has the address of one that went with its runtime. */
	for (f = foreign.list; f != NULL && (f->queue != queue || f->agent != agent); f = f->next)
		;
	if (f == NULL && (f = calloc(1, sizeof(*f))) != NULL) {
		f->queue = queue;
		f->doorbell = queue->doorbell_signal;
		f->agent = agent;
		f->next = foreign.list;
		foreign.list = f;
		foreign.count++;
	}
	if (f != NULL)
		f->references++;
	else
		agent->unseen_queues = true; /* nothing can be replayed beside a queue that cannot be stopped */
	pthread_mutex_unlock(&foreign.mutex);
}

struct kr_agent *
kr_foreign_remove(const hsa_queue_t *queue)
{
	struct kr_agent *agent = NULL;
	struct foreign **at, *f;

	if (foreign.count == 0)
		return NULL;
	pthread_mutex_lock(&foreign.mutex);
	for (at = &foreign.list; (f = *at) != NULL && f->queue != queue; at = &f->next)
		;
	if (f != NULL)
		agent = f->agent;
	if (f != NULL && --f->references == 0) {
		*at = f->next;
		foreign.count--;
		if (f->drained.handle != 0 && !f->pending)
			kr_next.hsa_signal_destroy(f->drained);
		free(f);
	}
	pthread_mutex_unlock(&foreign.mutex);
	return agent;
}

struct kr_agent *
kr_foreign_of_doorbell(hsa_signal_t signal)
{
	struct kr_agent *agent = NULL;

	if (atomic_load_explicit(&foreign.count, memory_order_relaxed) == 0)
		return NULL;
	pthread_mutex_lock(&foreign.mutex);
	for (struct foreign *f = foreign.list; f != NULL && agent == NULL; f = f->next)
		if (f->doorbell.handle == signal.handle)
			agent = f->agent;
	pthread_mutex_unlock(&foreign.mutex);
	return agent;
}

/* Publishes a barrier as any producer does: the application writes there too. */
static bool
submit_barrier(struct foreign *f, uint64_t deadline)
{
	union kr_packet packet = {0};
	uint64_t index;

	if (f->drained.handle == 0 && kr_next.hsa_signal_create(1, 0, NULL, &f->drained) != HSA_STATUS_SUCCESS)
		return false;
	kr_next.hsa_signal_store_relaxed(f->drained, 1);
	packet.barrier.completion_signal = f->drained;
	index = kr_next.hsa_queue_add_write_index_scacq_screl(f->queue, 1);
	/* The slot is ours whatever happens: an unpublished one would stop the queue. */
	while (index - kr_next.hsa_queue_load_read_index_scacquire(f->queue) >= f->queue->size)
		sched_yield();
	kr_packet_publish((union kr_packet *)f->queue->base_address + index % f->queue->size, &packet,
			  kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
	kr_next.hsa_signal_store_screlease(f->queue->doorbell_signal, (hsa_signal_value_t)index);
	f->pending = true;
	return true;
}

bool
kr_foreign_drain(struct kr_agent *agent, uint64_t deadline)
{
	bool idle = !agent->unseen_queues;

	if (foreign.count == 0)
		return idle;
	pthread_mutex_lock(&foreign.mutex);
	for (struct foreign *f = foreign.list; f != NULL && idle; f = f->next) {
		if (f->agent != agent)
			continue;
		idle = f->pending || submit_barrier(f, deadline);
		while (idle && kr_next.hsa_signal_wait_scacquire(f->drained, HSA_SIGNAL_CONDITION_LT, 1, 10000000,
								 HSA_WAIT_STATE_BLOCKED) >= 1)
			idle = kr_now_ns() < deadline;
		f->pending = !idle;
	}
	pthread_mutex_unlock(&foreign.mutex);
	return idle;
}
