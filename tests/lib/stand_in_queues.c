/* SPDX-License-Identifier: MIT */
/* Queues, and the device that executes their packets. */
#include "stand_in_internal.h"

#include <stdlib.h>
#include <string.h>

struct queue {
	amd_queue_t amd; /* first: the application's pointer */
	struct queue *next;
	bool soft, busy, inactive;
	void (*callback)(hsa_status_t, hsa_queue_t *, void *);
	void *data;
};
static struct queue *queues;

static hsa_signal_value_t
signal_value(hsa_signal_t signal)
{
	return __atomic_load_n(&kr_signal_amd(signal)->value, __ATOMIC_SEQ_CST);
}

static void
complete(hsa_signal_t signal)
{
	if (signal.handle == 0)
		return;
	__atomic_fetch_sub(&kr_signal_amd(signal)->value, 1, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&stand_in_changed);
}

static bool
resolved(const hsa_barrier_and_packet_t *b, bool any)
{
	unsigned deps = 0, done = 0;

	for (int i = 0; i < 5; i++)
		if (b->dep_signal[i].handle != 0) {
			deps++;
			done += signal_value(b->dep_signal[i]) == 0;
		}
	return any ? deps == 0 || done > 0 : done == deps;
}

/* Executes one packet; false when it has to wait. The mutex is let go of while
 * a kernel runs. */
static bool
execute(struct queue *q, union kr_packet *p)
{
	unsigned type = kr_packet_type(p->head);
	hsa_signal_t signal = kr_packet_signal(p);

	if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
		if (!resolved(&p->barrier, type == HSA_PACKET_TYPE_BARRIER_OR))
			return false;
		stand_in.barriers++;
		complete(signal);
	} else if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
		uint64_t start = ++stand_in.clock;
		stand_in_kernel kernel = (stand_in_kernel)(uintptr_t)p->dispatch.kernel_object;
		void *kernarg = p->dispatch.kernarg_address;

		if (stand_in_fails(&stand_in.run)) {
			q->inactive = true;
			pthread_mutex_unlock(&stand_in_mutex);
			if (q->callback != NULL)
				q->callback(HSA_STATUS_ERROR_EXCEPTION, &q->amd.hsa_queue, q->data);
			pthread_mutex_lock(&stand_in_mutex);
			return false;
		}
		stand_in.executed++;
		pthread_mutex_unlock(&stand_in_mutex);
		if (kernel != NULL)
			kernel(kernarg);
		pthread_mutex_lock(&stand_in_mutex);
		if (signal.handle != 0 && !stand_in.lose_completions) {
			kr_signal_amd(signal)->start_ts = start;
			kr_signal_amd(signal)->end_ts = ++stand_in.clock;
			complete(signal);
		}
	}
	return true;
}

static uint64_t
load_read_index(const hsa_queue_t *queue)
{
	return __atomic_load_n(&((const amd_queue_t *)queue)->read_dispatch_id, __ATOMIC_SEQ_CST);
}

static uint64_t
load_write_index(const hsa_queue_t *queue)
{
	return __atomic_load_n(&((const amd_queue_t *)queue)->write_dispatch_id, __ATOMIC_SEQ_CST);
}

static void
run_queue(struct queue *q)
{
	union kr_packet *ring = q->amd.hsa_queue.base_address;

	/* As hardware does: no further than the doorbell was rung for. */
	int64_t rung = signal_value(q->amd.hsa_queue.doorbell_signal);

	for (;;) {
		uint64_t read = load_read_index(&q->amd.hsa_queue);
		union kr_packet *p = &ring[read % q->amd.hsa_queue.size];

		if (read >= load_write_index(&q->amd.hsa_queue) || (int64_t)read > rung)
			break;

		if (kr_packet_type(p->head) == HSA_PACKET_TYPE_INVALID || !execute(q, p))
			break;
		atomic_store(&p->head, HSA_PACKET_TYPE_INVALID);
		__atomic_store_n(&q->amd.read_dispatch_id, read + 1, __ATOMIC_SEQ_CST);
	}
}

/* With the mutex held. */
void
stand_in_run_queues(void)
{
	for (struct queue *q = queues; q != NULL; q = q->next) {
		uint64_t before = load_read_index(&q->amd.hsa_queue);

		if (q->soft || q->busy || q->inactive)
			continue;
		q->busy = true; /* one thread at a queue */
		run_queue(q);
		q->busy = false;
		pthread_cond_broadcast(&stand_in_changed);
		if (load_read_index(&q->amd.hsa_queue) != before)
			q = queues; /* it may have resolved something for the others */
	}
}

static struct queue *
new_queue(uint32_t size, hsa_queue_type32_t type, bool soft, hsa_signal_t doorbell)
{
	static uint64_t id;
	struct queue *q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);
	union kr_packet *ring = aligned_alloc(64, size * sizeof(*ring));

	memset(q, 0, sizeof(*q));
	for (uint32_t i = 0; i < size; i++)
		ring[i].head = HSA_PACKET_TYPE_INVALID;
	q->amd.hsa_queue.base_address = ring;
	q->amd.hsa_queue.size = size;
	q->amd.hsa_queue.type = type;
	q->amd.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
	q->amd.hsa_queue.id = __atomic_add_fetch(&id, 1, __ATOMIC_SEQ_CST);
	q->amd.hsa_queue.doorbell_signal = doorbell;
	q->amd.private_segment_aperture_base_hi = 0x2000;
	q->amd.group_segment_aperture_base_hi = 0x1000;
	q->soft = soft;
	pthread_mutex_lock(&stand_in_mutex);
	q->next = queues;
	queues = q;
	stand_in.live_queues++;
	pthread_mutex_unlock(&stand_in_mutex);
	return q;
}

static hsa_status_t
queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
             void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_segment_size,
             uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_signal_t doorbell;
	struct queue *q;

	if (stand_in_fails(&stand_in.queue_create) || size == 0 || (size & (size - 1)) != 0)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	doorbell = stand_in_signal(-1);
	q = new_queue(size < 64 ? 64 : size, type, false, doorbell);
	q->callback = callback;
	q->data = data;
	*queue = &q->amd.hsa_queue;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type, uint32_t features,
                  hsa_signal_t doorbell, hsa_queue_t **queue)
{
	if (stand_in_fails(&stand_in.soft_queue_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*queue = &new_queue(size, type, true, doorbell)->amd.hsa_queue;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
queue_destroy(hsa_queue_t *queue)
{
	struct queue *q = (struct queue *)queue;

	if (stand_in_fails(&stand_in.queue_destroy))
		return HSA_STATUS_ERROR_INVALID_QUEUE;
	pthread_mutex_lock(&stand_in_mutex);
	while (q->busy)
		pthread_cond_wait(&stand_in_changed, &stand_in_mutex);
	for (struct queue **at = &queues; *at != NULL; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	stand_in.live_queues--;
	pthread_mutex_unlock(&stand_in_mutex);
	if (!q->soft)
		kr_next.hsa_signal_destroy(q->amd.hsa_queue.doorbell_signal);
	free(q->amd.hsa_queue.base_address);
	free(q);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
queue_inactivate(hsa_queue_t *queue)
{
	struct queue *q = (struct queue *)queue;

	q->inactive = true;
	if (q->callback != NULL && !stand_in.quiet_inactivation)
		q->callback(HSA_STATUS_ERROR_EXCEPTION, queue, q->data);
	return HSA_STATUS_SUCCESS;
}

static uint64_t
add_write_index(const hsa_queue_t *queue, uint64_t value)
{
	return __atomic_fetch_add(&((amd_queue_t *)(uintptr_t)queue)->write_dispatch_id, value, __ATOMIC_SEQ_CST);
}

static void
store_write_index(const hsa_queue_t *queue, uint64_t value)
{
	__atomic_store_n(&((amd_queue_t *)(uintptr_t)queue)->write_dispatch_id, value, __ATOMIC_SEQ_CST);
}

static hsa_status_t
set_profiler(hsa_queue_t *queue, int enable)
{
	if (((struct queue *)queue)->soft)
		return HSA_STATUS_ERROR_INVALID_QUEUE;
	AMD_HSA_BITS_SET(((amd_queue_t *)queue)->queue_properties, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING,
			 (uint32_t)enable);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
	return ((struct queue *)queue)->soft ? HSA_STATUS_ERROR_INVALID_QUEUE : HSA_STATUS_SUCCESS;
}

static hsa_status_t
set_mask(const hsa_queue_t *queue, uint32_t bits, const uint32_t *mask)
{
	return ((const struct queue *)queue)->soft ? HSA_STATUS_ERROR_INVALID_QUEUE : HSA_STATUS_SUCCESS;
}

static hsa_status_t
get_mask(const hsa_queue_t *queue, uint32_t bits, uint32_t *mask)
{
	return ((const struct queue *)queue)->soft ? HSA_STATUS_ERROR_INVALID_QUEUE : HSA_STATUS_SUCCESS;
}

static hsa_status_t
get_info(hsa_queue_t *queue, uint32_t attribute, void *value)
{
	return ((const struct queue *)queue)->soft ? HSA_STATUS_ERROR_INVALID_QUEUE : HSA_STATUS_SUCCESS;
}

static hsa_status_t
dispatch_time(hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t *time)
{
	time->start = kr_signal_amd(signal)->start_ts;
	time->end = kr_signal_amd(signal)->end_ts;
	return HSA_STATUS_SUCCESS;
}

void *
stand_in_run_device(void *unused)
{
	pthread_mutex_lock(&stand_in_mutex);
	for (;;) {
		if (stand_in.threaded)
			stand_in_run_queues();
		pthread_cond_wait(&stand_in_changed, &stand_in_mutex);
	}
	return NULL;
}

void
stand_in_reset_queues(void)
{
	queues = NULL;
}

void
stand_in_put_queues(struct kr_next *next)
{
	next->hsa_queue_create = queue_create;
	next->hsa_queue_destroy = queue_destroy;
	next->hsa_queue_inactivate = queue_inactivate;
	next->hsa_queue_load_read_index_scacquire = load_read_index;
	next->hsa_queue_load_read_index_relaxed = load_read_index;
	next->hsa_queue_store_write_index_screlease = store_write_index;
	next->hsa_queue_add_write_index_scacq_screl = add_write_index;
	next->hsa_soft_queue_create = soft_queue_create;
	next->hsa_amd_queue_cu_set_mask = set_mask;
	next->hsa_amd_queue_cu_get_mask = get_mask;
	next->hsa_amd_queue_set_priority = set_priority;
	next->hsa_amd_queue_get_info = get_info;
	next->hsa_amd_profiling_set_profiler_enabled = set_profiler;
	next->hsa_amd_profiling_get_dispatch_time = dispatch_time;
}

/* ---- an application ---- */

uint64_t
stand_in_write(hsa_queue_t *queue, stand_in_kernel kernel, void *kernarg, hsa_signal_t completion)
{
	uint64_t index = __atomic_fetch_add(&((amd_queue_t *)queue)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	union kr_packet *slot = (union kr_packet *)queue->base_address + index % queue->size;
	union kr_packet packet = {0};

	packet.dispatch.setup = 1;
	packet.dispatch.workgroup_size_x = packet.dispatch.workgroup_size_y = packet.dispatch.workgroup_size_z = 1;
	packet.dispatch.grid_size_x = packet.dispatch.grid_size_y = packet.dispatch.grid_size_z = 1;
	packet.dispatch.kernel_object = (uint64_t)(uintptr_t)kernel;
	packet.dispatch.kernarg_address = kernarg;
	packet.dispatch.completion_signal = completion;
	kr_packet_publish(slot, &packet, kr_packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true) | 1u << 16);
	return index;
}

uint64_t
stand_in_dispatch(hsa_queue_t *queue, stand_in_kernel kernel, void *kernarg, hsa_signal_t completion)
{
	uint64_t index = stand_in_write(queue, kernel, kernarg, completion);

	kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	return index;
}
