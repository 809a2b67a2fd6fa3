/* SPDX-License-Identifier: MIT */
/* The life of a queue proxy: made, found, destroyed. */
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/agents.h"
#include "core/completer.h"
#include "core/foreign.h"
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/ptrmap.h"
#include "core/snapshot.h"
#include "core/watcher.h"
#include "report/journal.h"

#define SMALLEST_QUEUE 64u /* packets: the runtime rounds up to a page of them */

static struct {
	pthread_mutex_t mutex; /* writers of the maps */
	struct kr_ptrmap by_queue, by_doorbell;
} queues = {.mutex = PTHREAD_MUTEX_INITIALIZER};

_Atomic uint32_t kr_proxy_count;

/*
 * Proxies of queues that are gone, for the next queues. They are never given back: a thread that rang looks at
 * `owner` and `rings` once more when it has let go of a queue, and by then the application may have seen its dispatch
 * complete and destroyed the queue. In a proxy that is here, or is being made again, `owner` is KR_QUEUE_PARKED,
 * which nobody takes; in one that has become another queue's, such a look is one ring too many, which finds nothing.
 */
static struct kr_proxy *spare;

static struct kr_proxy *
get_proxy(void)
{
	struct kr_proxy *p;

	pthread_mutex_lock(&queues.mutex);
	p = spare;
	if (p != NULL)
		spare = p->next_on_agent;
	pthread_mutex_unlock(&queues.mutex);
	if (p == NULL) {
		p = aligned_alloc(64, (sizeof(*p) + 63) / 64 * 64);
		if (p == NULL)
			return NULL;
		atomic_init(&p->rings, 0);
		atomic_init(&p->owner, KR_QUEUE_PARKED);
	}
	/* All but these two, which that look may still be at. */
	_Static_assert(offsetof(struct kr_proxy, owner) == 0, "the owner is in front");
	memset((char *)p + sizeof(p->owner), 0, offsetof(struct kr_proxy, rings) - sizeof(p->owner));
	memset((char *)p + offsetof(struct kr_proxy, rings) + sizeof(p->rings), 0,
	       sizeof(*p) - offsetof(struct kr_proxy, rings) - sizeof(p->rings));
	return p;
}

static void
put_proxy(struct kr_proxy *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&queues.mutex);
	p->next_on_agent = spare;
	spare = p;
	pthread_mutex_unlock(&queues.mutex);
}

struct kr_proxy *
kr_proxy_of_queue(const hsa_queue_t *queue)
{
	if (atomic_load_explicit(&kr_proxy_count, memory_order_relaxed) == 0)
		return NULL;
	return kr_ptrmap_get(&queues.by_queue, (uint64_t)(uintptr_t)queue);
}

struct kr_proxy *
kr_proxy_of_doorbell(hsa_signal_t signal)
{
	if (atomic_load_explicit(&kr_proxy_count, memory_order_relaxed) == 0)
		return NULL;
	return kr_ptrmap_get(&queues.by_doorbell, signal.handle);
}

/* Nothing runs on it any more. */
static void
stop(struct kr_proxy *p)
{
	atomic_store(&p->stopped, true);
	/* A pass or a drain that waits will not see its signal any more. */
	kr_next.hsa_signal_store_screlease(p->pass_signal, -1);
}

/* The runtime reports an error on the hardware queue: the application hears of
 * it on the queue that it knows. */
static void
on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
	struct kr_proxy *p = data;

	stop(p);
	if (p->callback != NULL)
		p->callback(status, p->soft, p->callback_data);
}

/* What clients read from behind the queue pointer: HIP fills hidden kernel
 * arguments from the aperture bases. */
static void
copy_queue_fields(struct kr_proxy *p)
{
	const amd_queue_t *hw = (const amd_queue_t *)p->hw;
	amd_queue_t *soft = (amd_queue_t *)p->soft;

	p->soft_amd = soft;
	soft->hsa_queue.id = hw->hsa_queue.id;
	soft->group_segment_aperture_base_hi = hw->group_segment_aperture_base_hi;
	soft->private_segment_aperture_base_hi = hw->private_segment_aperture_base_hi;
	soft->max_cu_id = hw->max_cu_id;
	soft->max_wave_id = hw->max_wave_id;
	soft->compute_tmpring_size = hw->compute_tmpring_size;
	memcpy(soft->scratch_resource_descriptor, hw->scratch_resource_descriptor,
	       sizeof(soft->scratch_resource_descriptor));
	soft->scratch_backing_memory_location = hw->scratch_backing_memory_location;
	soft->scratch_backing_memory_byte_size = hw->scratch_backing_memory_byte_size;
	soft->scratch_wave64_lane_byte_size = hw->scratch_wave64_lane_byte_size;
	soft->queue_properties = hw->queue_properties;
}

static bool
make_signals(struct kr_proxy *p)
{
	/* Nobody sleeps on a doorbell, so it needs no event of the driver. */
	return kr_next.hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &p->doorbell) ==
		       HSA_STATUS_SUCCESS &&
	       kr_next.hsa_signal_create(1, 0, NULL, &p->pass_signal) == HSA_STATUS_SUCCESS &&
	       kr_next.hsa_signal_create(1, 0, NULL, &p->drain_signal) == HSA_STATUS_SUCCESS;
}

/* Lanes of the journal that a queue has for itself. */
static _Atomic uint32_t lanes = 1;

static uint8_t
take_lane(void)
{
	uint32_t taken = atomic_load(&lanes);

	while (taken != (1u << KR_JOURNAL_LANES) - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(~taken);

		if (atomic_compare_exchange_strong(&lanes, &taken, taken | 1u << lane))
			return (uint8_t)lane;
	}
	return 0;
}

static void
return_lane(uint8_t lane)
{
	if (lane != 0)
		atomic_fetch_and(&lanes, ~(1u << lane));
}

static void
destroy_signal(hsa_signal_t signal)
{
	if (signal.handle != 0)
		kr_next.hsa_signal_destroy(signal);
}

static bool
make_soft(struct kr_proxy *p, uint32_t size)
{
	hsa_region_t region;

	if (!make_signals(p) || !kr_host_region(&region) ||
	    kr_next.hsa_soft_queue_create(region, size, p->hw->type == HSA_QUEUE_TYPE_SINGLE ? HSA_QUEUE_TYPE_SINGLE
											      : HSA_QUEUE_TYPE_MULTI,
					  p->hw->features, p->doorbell, &p->soft) != HSA_STATUS_SUCCESS)
		return false;
	copy_queue_fields(p);
	p->ring = p->soft->base_address;
	p->mask = p->soft->size - 1;
	p->hw_ring = p->hw->base_address;
	p->hw_mask = p->hw->size - 1;
	p->hw_doorbell = p->hw->doorbell_signal;
	/* A queue with the hardware's own doorbell keeps its indexes where the
	 * packet processor has them. Another tool's proxy has a doorbell of its own,
	 * and only the runtime knows where its indexes are. */
	if (kr_signal_amd(p->hw_doorbell)->kind < 0) {
		p->hw_read_index = &((amd_queue_t *)p->hw)->read_dispatch_id;
		p->hw_write_index = &((amd_queue_t *)p->hw)->write_dispatch_id;
	}
	p->id = p->hw->id;
	p->lane = take_lane();
	/* Passes need time stamps whether the application wants them or not. */
	kr_next.hsa_amd_profiling_set_profiler_enabled(p->hw, 1);
	return true;
}

static bool
publish(struct kr_proxy *p)
{
	bool ok;

	pthread_mutex_lock(&queues.mutex);
	ok = kr_ptrmap_put(&queues.by_queue, (uint64_t)(uintptr_t)p->soft, p) &&
	     kr_ptrmap_put(&queues.by_doorbell, p->doorbell.handle, p);
	if (!ok)
		kr_ptrmap_remove(&queues.by_queue, (uint64_t)(uintptr_t)p->soft);
	pthread_mutex_unlock(&queues.mutex);
	if (!ok)
		return false;
	pthread_mutex_lock(&p->agent->mutex);
	p->next_on_agent = p->agent->queues;
	p->agent->queues = p;
	pthread_mutex_unlock(&p->agent->mutex);
	atomic_fetch_add(&kr_proxy_count, 1);
	return true;
}

/* Frees what is there; the hardware queue is the caller's. */
static void
dispose(struct kr_proxy *p)
{
	if (p->soft != NULL)
		kr_next.hsa_queue_destroy(p->soft);
	destroy_signal(p->doorbell);
	destroy_signal(p->pass_signal);
	destroy_signal(p->drain_signal);
	pthread_mutex_destroy(&p->drain_mutex);
	return_lane(p->lane);
	put_proxy(p);
}

hsa_status_t
kr_queue_create_plain(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                      void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_segment_size,
                      uint32_t group_segment_size, hsa_queue_t **queue)
{
	struct kr_agent *owner = kr_agent_find(agent);
	hsa_status_t status = kr_next.hsa_queue_create(agent, size, type, callback, data, private_segment_size,
						       group_segment_size, queue);

	if (owner != NULL && kr_snapshot_make_room(status, owner))
		status = kr_next.hsa_queue_create(agent, size, type, callback, data, private_segment_size,
						  group_segment_size, queue);
	if (status == HSA_STATUS_SUCCESS && owner != NULL)
		kr_foreign_add(*queue, owner);
	return status;
}

hsa_status_t
kr_proxy_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_segment_size,
                uint32_t group_segment_size, hsa_queue_t **queue)
{
	uint32_t soft_size = size < SMALLEST_QUEUE ? SMALLEST_QUEUE : size, max = 0;
	struct kr_proxy *p = get_proxy();
	hsa_status_t status;

	if (p != NULL)
		p->agent = kr_agent_find(agent);
	/* What the runtime would refuse, it refuses; what cannot be proxied, it has. */
	if (p == NULL || p->agent == NULL || queue == NULL || size == 0 || (size & (size - 1)) != 0)
		goto plain;
	kr_next.hsa_agent_get_info(agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &max);
	p->callback = callback;
	p->callback_data = data;
	pthread_mutex_init(&p->drain_mutex, NULL);
	status = kr_next.hsa_queue_create(agent, soft_size <= max / 2 ? soft_size * 2 : size, type, on_error, p,
					  private_segment_size, group_segment_size, &p->hw);
	if (kr_snapshot_make_room(status, p->agent))
		status = kr_next.hsa_queue_create(agent, soft_size <= max / 2 ? soft_size * 2 : size, type, on_error, p,
						  private_segment_size, group_segment_size, &p->hw);
	if (status != HSA_STATUS_SUCCESS) {
		pthread_mutex_destroy(&p->drain_mutex);
		put_proxy(p);
		return status;
	}
	kr_worker_init(p);
	if (make_soft(p, soft_size) && publish(p)) {
		kr_watcher_start();
		*queue = p->soft;
		atomic_store(&p->owner, KR_QUEUE_FREE);
		return HSA_STATUS_SUCCESS;
	}
	kr_log_once("queue", KR_LOG_WARN, "queue", "no proxy for a queue (out of resources): its dispatches are not seen");
	kr_next.hsa_queue_destroy(p->hw);
	kr_worker_finish(p);
	dispose(p);
	return kr_queue_create_plain(agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
plain:
	put_proxy(p);
	return kr_queue_create_plain(agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

hsa_status_t
kr_proxy_inactivate(struct kr_proxy *p)
{
	hsa_status_t status = kr_next.hsa_queue_inactivate(p->hw);

	if (status == HSA_STATUS_SUCCESS)
		stop(p);
	return status;
}

hsa_status_t
kr_proxy_destroy(struct kr_proxy *p)
{
	uint32_t free_now;
	hsa_status_t status;

	if (kr_proxy_is_in_hand(p)) {
		kr_log(KR_LOG_WARN, "queue", "a tool's callback destroys the queue that it is called for: refused");
		return HSA_STATUS_ERROR_INVALID_QUEUE;
	}
	/* Whoever is at it finishes first; a window that cannot open any more gives
	 * up. Then nobody gets in again: the queue stays owned. */
	atomic_store(&p->dying, true);
	do {
		free_now = KR_QUEUE_FREE;
		if (atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_PARKED))
			break;
		sched_yield();
	} while (true);
	kr_worker_finish(p);

	/* A window on another queue of the agent may be draining this one. */
	kr_agent_enter(p->agent);
	pthread_mutex_lock(&p->agent->mutex);
	for (struct kr_proxy **at = &p->agent->queues; *at != NULL; at = &(*at)->next_on_agent)
		if (*at == p) {
			*at = p->next_on_agent;
			break;
		}
	pthread_mutex_unlock(&p->agent->mutex);
	kr_agent_leave(p->agent);
	pthread_mutex_lock(&queues.mutex);
	kr_ptrmap_remove(&queues.by_queue, (uint64_t)(uintptr_t)p->soft);
	kr_ptrmap_remove(&queues.by_doorbell, p->doorbell.handle);
	pthread_mutex_unlock(&queues.mutex);
	atomic_fetch_sub(&kr_proxy_count, 1);

	status = kr_next.hsa_queue_destroy(p->hw);
	kr_completer_forget(p);
	dispose(p);
	return status;
}

/* The runtime goes down with queues alive: nobody looks through them any more.
 * Their threads are let to finish for a moment; a call that comes later finds
 * no proxy and goes to the runtime as it is. */
void
kr_proxy_abandon_all(uint64_t deadline)
{
	static struct kr_proxy *abandoned; /* their memory stays: a window that does not end may be looking through them */
	struct kr_agent *agent;

	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		pthread_mutex_lock(&agent->mutex);
		for (struct kr_proxy *p = agent->queues; p != NULL; p = p->next_on_agent) {
			uint32_t free_now = KR_QUEUE_FREE;
			bool owned;

			atomic_store(&p->dying, true);
			pthread_mutex_lock(&queues.mutex);
			kr_ptrmap_remove(&queues.by_queue, (uint64_t)(uintptr_t)p->soft);
			kr_ptrmap_remove(&queues.by_doorbell, p->doorbell.handle);
			pthread_mutex_unlock(&queues.mutex);
			atomic_fetch_sub(&kr_proxy_count, 1);
			/* Kept owned, so that nobody who is on the way in gets further. */
			pthread_mutex_unlock(&agent->mutex);
			while (!(owned = atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_PARKED)) &&
			       kr_now_ns() < deadline) {
				free_now = KR_QUEUE_FREE;
				sched_yield();
			}
			if (owned)
				kr_worker_finish(p);
			pthread_mutex_lock(&agent->mutex);
			p->abandoned = abandoned;
			abandoned = p;
		}
		agent->queues = NULL;
		pthread_mutex_unlock(&agent->mutex);
	}
}
