/* SPDX-License-Identifier: MIT */
#include "stand_in.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hsa/hsa_ven_amd_loader.h>

struct stand_in stand_in;

/* One lock for all state that threads share; signal changes wake everybody. */
static pthread_mutex_t mutex;
static pthread_cond_t changed;

struct queue {
	amd_queue_t amd; /* first: the application's pointer */
	struct queue *next;
	bool soft, busy, inactive;
	void (*callback)(hsa_status_t, hsa_queue_t *, void *);
	void *data;
};
static struct queue *queues;

static bool
fails(struct stand_in_point *point)
{
	unsigned call = __atomic_add_fetch(&point->calls, 1, __ATOMIC_SEQ_CST);

	return point->fail_at != 0 && (call == point->fail_at || (point->fail_on && call > point->fail_at));
}

/* ---- signals ---- */

static void run_queues(void);

static amd_signal_t *
amd(hsa_signal_t signal)
{
	return kr_signal_amd(signal);
}

static hsa_signal_t
new_signal(hsa_signal_value_t initial)
{
	amd_signal_t *s = aligned_alloc(64, sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->kind = AMD_SIGNAL_KIND_USER;
	s->value = initial;
	__atomic_add_fetch(&stand_in.live_signals, 1, __ATOMIC_SEQ_CST);
	return (hsa_signal_t){(uint64_t)(uintptr_t)s};
}

static hsa_status_t
signal_create(hsa_signal_value_t initial, uint32_t n, const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	if (fails(&stand_in.signal_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*signal = new_signal(initial);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
amd_signal_create(hsa_signal_value_t initial, uint32_t n, const hsa_agent_t *consumers, uint64_t attributes,
                  hsa_signal_t *signal)
{
	return signal_create(initial, n, consumers, signal);
}

static hsa_status_t
signal_destroy(hsa_signal_t signal)
{
	free(amd(signal));
	__atomic_sub_fetch(&stand_in.live_signals, 1, __ATOMIC_SEQ_CST);
	return HSA_STATUS_SUCCESS;
}

static hsa_signal_value_t
signal_load(hsa_signal_t signal)
{
	return __atomic_load_n(&amd(signal)->value, __ATOMIC_SEQ_CST);
}

/* Whatever changed may resolve a barrier or be a doorbell. */
static void
signal_changed(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&changed);
	if (!stand_in.threaded)
		run_queues();
	pthread_mutex_unlock(&mutex);
}

static void *
run_device(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		if (stand_in.threaded)
			run_queues();
		pthread_cond_wait(&changed, &mutex);
	}
	return NULL;
}

static void
signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
	__atomic_store_n(&amd(signal)->value, value, __ATOMIC_SEQ_CST);
	signal_changed();
}

#define VALUE(name, expression) \
	static hsa_signal_value_t name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		hsa_signal_value_t old = expression(&amd(signal)->value, value, __ATOMIC_SEQ_CST); \
\
		signal_changed(); \
		return old; \
	}
VALUE(signal_exchange, __atomic_exchange_n)
VALUE(fetch_add, __atomic_fetch_add)
VALUE(fetch_sub, __atomic_fetch_sub)
VALUE(fetch_and, __atomic_fetch_and)
VALUE(fetch_or, __atomic_fetch_or)
VALUE(fetch_xor, __atomic_fetch_xor)
#define VOID(name, value_op) \
	static void name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		value_op(signal, value); \
	}
VOID(signal_add, fetch_add)
VOID(signal_subtract, fetch_sub)
VOID(signal_and, fetch_and)
VOID(signal_or, fetch_or)
VOID(signal_xor, fetch_xor)

static hsa_signal_value_t
signal_cas(hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t value)
{
	__atomic_compare_exchange_n(&amd(signal)->value, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	signal_changed();
	return expected;
}

static bool
holds(hsa_signal_value_t value, hsa_signal_condition_t condition, hsa_signal_value_t compare)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == compare;
	case HSA_SIGNAL_CONDITION_NE:
		return value != compare;
	case HSA_SIGNAL_CONDITION_LT:
		return value < compare;
	default:
		return value >= compare;
	}
}

static uint32_t
wait_any(uint32_t count, hsa_signal_t *signals, hsa_signal_condition_t *conditions, hsa_signal_value_t *values,
         uint64_t timeout, hsa_wait_state_t hint, hsa_signal_value_t *satisfying)
{
	struct timespec until;
	uint32_t i;
	bool late = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	if (timeout > 1000000000000u)
		timeout = 1000000000000u;
	until.tv_sec += (time_t)(timeout / 1000000000u);
	until.tv_nsec += (long)(timeout % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	for (;;) {
		for (i = 0; i < count && !holds(signal_load(signals[i]), conditions[i], values[i]); i++)
			;
		if (i < count || late)
			break;
		late = pthread_cond_timedwait(&changed, &mutex, &until) == ETIMEDOUT;
	}
	pthread_mutex_unlock(&mutex);
	return i < count ? i : UINT32_MAX;
}

static hsa_signal_value_t
signal_wait(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare, uint64_t timeout,
            hsa_wait_state_t hint)
{
	wait_any(1, &signal, &condition, &compare, timeout, hint, NULL);
	return signal_load(signal);
}

/* ---- queues ---- */

static void
complete(hsa_signal_t signal)
{
	if (signal.handle == 0)
		return;
	__atomic_fetch_sub(&amd(signal)->value, 1, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&changed);
}

static bool
resolved(const hsa_barrier_and_packet_t *b, bool any)
{
	unsigned deps = 0, done = 0;

	for (int i = 0; i < 5; i++)
		if (b->dep_signal[i].handle != 0) {
			deps++;
			done += signal_load(b->dep_signal[i]) == 0;
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

		if (fails(&stand_in.run)) {
			q->inactive = true;
			pthread_mutex_unlock(&mutex);
			if (q->callback != NULL)
				q->callback(HSA_STATUS_ERROR_EXCEPTION, &q->amd.hsa_queue, q->data);
			pthread_mutex_lock(&mutex);
			return false;
		}
		stand_in.executed++;
		pthread_mutex_unlock(&mutex);
		if (kernel != NULL)
			kernel(kernarg);
		pthread_mutex_lock(&mutex);
		if (signal.handle != 0 && !stand_in.lose_completions) {
			amd(signal)->start_ts = start;
			amd(signal)->end_ts = ++stand_in.clock;
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
	int64_t rung = signal_load(q->amd.hsa_queue.doorbell_signal);

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
static void
run_queues(void)
{
	for (struct queue *q = queues; q != NULL; q = q->next) {
		uint64_t before = load_read_index(&q->amd.hsa_queue);

		if (q->soft || q->busy || q->inactive)
			continue;
		q->busy = true; /* one thread at a queue */
		run_queue(q);
		q->busy = false;
		pthread_cond_broadcast(&changed);
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
	pthread_mutex_lock(&mutex);
	q->next = queues;
	queues = q;
	stand_in.live_queues++;
	pthread_mutex_unlock(&mutex);
	return q;
}

static hsa_status_t
queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
             void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_segment_size,
             uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_signal_t doorbell;
	struct queue *q;

	if (fails(&stand_in.queue_create) || size == 0 || (size & (size - 1)) != 0)
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	doorbell = new_signal(-1);
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
	if (fails(&stand_in.soft_queue_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*queue = &new_queue(size, type, true, doorbell)->amd.hsa_queue;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
queue_destroy(hsa_queue_t *queue)
{
	struct queue *q = (struct queue *)queue;

	pthread_mutex_lock(&mutex);
	while (q->busy)
		pthread_cond_wait(&changed, &mutex);
	for (struct queue **at = &queues; *at != NULL; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	stand_in.live_queues--;
	pthread_mutex_unlock(&mutex);
	if (!q->soft)
		signal_destroy(q->amd.hsa_queue.doorbell_signal);
	free(q->amd.hsa_queue.base_address);
	free(q);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
queue_inactivate(hsa_queue_t *queue)
{
	struct queue *q = (struct queue *)queue;

	q->inactive = true;
	if (q->callback != NULL)
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
dispatch_time(hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t *time)
{
	time->start = amd(signal)->start_ts;
	time->end = amd(signal)->end_ts;
	return HSA_STATUS_SUCCESS;
}

/* ---- memory ---- */

/* Sizes of device memory, for a device of a certain size. */
#define MAX_ON_DEVICE 16384
static struct {
	void *base;
	size_t size;
} on_device[MAX_ON_DEVICE];
static uint64_t device_used;

static bool
has_room(uint64_t pool, size_t size)
{
	if (pool == stand_in.full_pool ||
	    (pool == STAND_IN_HOST_POOL && stand_in.largest_pinned != 0 && size > stand_in.largest_pinned))
		return false;
	return (pool != STAND_IN_DEVICE_POOL && pool != STAND_IN_DEVICE_POOL2) || stand_in.device_room == 0 ||
	       device_used + size <= stand_in.device_room;
}

static void
note_size(uint64_t pool, void *base, size_t size)
{
	if (pool != STAND_IN_DEVICE_POOL && pool != STAND_IN_DEVICE_POOL2)
		return;
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < MAX_ON_DEVICE; i++)
		if (on_device[i].base == NULL) {
			on_device[i].base = base;
			on_device[i].size = size;
			device_used += size;
			break;
		}
	pthread_mutex_unlock(&mutex);
}

static void
forget_size(const void *base)
{
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < MAX_ON_DEVICE && base != NULL; i++)
		if (on_device[i].base == base) {
			on_device[i].base = NULL;
			device_used -= on_device[i].size;
			break;
		}
	pthread_mutex_unlock(&mutex);
}

static hsa_status_t
pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	if (fails(&stand_in.pool_allocate) || !has_room(pool.handle, size))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*ptr = calloc(1, size);
	if (stand_in.device_room != 0)
		note_size(pool.handle, *ptr, size);
	__atomic_add_fetch(&stand_in.live_allocations, 1, __ATOMIC_SEQ_CST);
	return *ptr != NULL ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t
memory_allocate(hsa_region_t region, size_t size, void **ptr)
{
	return pool_allocate((hsa_amd_memory_pool_t){region.handle}, size, 0, ptr);
}

static hsa_status_t
memory_free(void *ptr)
{
	if (device_used != 0)
		forget_size(ptr);
	free(ptr);
	__atomic_sub_fetch(&stand_in.live_allocations, 1, __ATOMIC_SEQ_CST);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_copy(void *dst, const void *src, size_t size)
{
	memcpy(dst, src, size);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_fill(void *ptr, uint32_t value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint32_t *)ptr)[i] = value;
	return HSA_STATUS_SUCCESS;
}

/* The copy engine: one, in order. */
#define MAX_HELD 65536
static struct held {
	void *dst;
	const void *src;
	size_t size;
	hsa_signal_t completion;
} held[MAX_HELD];
static unsigned held_count, held_done;

static hsa_status_t
async_copy(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size, uint32_t n,
           const hsa_signal_t *deps, hsa_signal_t completion)
{
	if (fails(&stand_in.copy))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	pthread_mutex_lock(&mutex);
	held[held_count++ % MAX_HELD] = (struct held){dst, src, size, completion};
	pthread_mutex_unlock(&mutex);
	if (!stand_in.hold_copies)
		stand_in_release_copies();
	return HSA_STATUS_SUCCESS;
}

void
stand_in_release_copies(void)
{
	pthread_mutex_lock(&mutex);
	stand_in.hold_copies = false;
	while (held_done < held_count) {
		struct held copy = held[held_done++ % MAX_HELD];

		if (fails(&stand_in.copy_end)) {
			__atomic_store_n(&amd(copy.completion)->value, -1, __ATOMIC_SEQ_CST);
			signal_changed();
			continue;
		}
		memcpy(copy.dst, copy.src, copy.size);
		if (copy.completion.handle != 0)
			fetch_sub(copy.completion, 1);
	}
	pthread_mutex_unlock(&mutex);
}

static hsa_status_t
async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset, const hsa_pitched_ptr_t *src,
                const hsa_dim3_t *src_offset, const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t dir,
                uint32_t n, const hsa_signal_t *deps, hsa_signal_t completion)
{
	return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static hsa_status_t
allow_access(uint32_t n, const hsa_agent_t *agents, const uint32_t *flags, const void *ptr)
{
	return fails(&stand_in.allow_access) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
ipc_attach(const hsa_amd_ipc_memory_t *handle, size_t len, uint32_t n, const hsa_agent_t *agents, void **ptr)
{
	*ptr = (void *)(uintptr_t)0x1000;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
ipc_detach(void *ptr)
{
	return HSA_STATUS_SUCCESS;
}

/* All memory is the host's, so every agent reaches all of it. */
static hsa_status_t
pool_access(hsa_agent_t agent, hsa_amd_memory_pool_t pool, hsa_amd_agent_memory_pool_info_t info, void *value)
{
	*(hsa_amd_memory_pool_access_t *)value = HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_lock(void *host, size_t size, hsa_agent_t *agents, int n, void **agent_ptr)
{
	*agent_ptr = host;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
memory_lock_to_pool(void *host, size_t size, hsa_agent_t *agents, int n, hsa_amd_memory_pool_t pool, uint32_t flags,
                    void **agent_ptr)
{
	return memory_lock(host, size, agents, n, agent_ptr);
}

static hsa_status_t
memory_unlock(void *host)
{
	return HSA_STATUS_SUCCESS;
}

/* ---- agents and pools ---- */

static hsa_status_t
iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void *), void *data)
{
	visit(STAND_IN_CPU, data);
	visit(STAND_IN_GPU, data);
	visit(STAND_IN_GPU2, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
agent_get_info(hsa_agent_t agent, hsa_agent_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_AGENT_INFO_DEVICE:
		*(hsa_device_type_t *)value =
			agent.handle == STAND_IN_CPU.handle ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
		break;
	case HSA_AGENT_INFO_NAME:
		snprintf(value, 64, "stand-in%u", (unsigned)agent.handle);
		break;
	case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
		*(uint32_t *)value = 1u << 17;
		break;
	case HSA_AGENT_INFO_NODE:
		*(uint32_t *)value = (uint32_t)agent.handle / 10;
		break;
	case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
		*(uint32_t *)value = 4;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_pools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void *), void *data)
{
	for (uint64_t pool = agent.handle + 1; pool <= agent.handle + 2; pool++)
		if (pool <= STAND_IN_DEVICE_POOL2)
			visit((hsa_amd_memory_pool_t){pool}, data);
	return HSA_STATUS_SUCCESS;
}

static uint32_t
pool_flags(uint64_t pool)
{
	switch (pool) {
	case STAND_IN_HOST_POOL:
	case STAND_IN_FINE_POOL:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
	case STAND_IN_KERNARG_POOL:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
	default:
		return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
	}
}

static hsa_status_t
pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
		*(hsa_amd_segment_t *)value = HSA_AMD_SEGMENT_GLOBAL;
		break;
	case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
		*(uint32_t *)value = pool_flags(pool.handle);
		break;
	case HSA_AMD_MEMORY_POOL_INFO_SIZE:
		*(size_t *)value = 4ull << 30;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_regions(hsa_agent_t agent, hsa_status_t (*visit)(hsa_region_t, void *), void *data)
{
	for (uint64_t pool = agent.handle + 1; pool <= agent.handle + 2; pool++)
		if (pool <= STAND_IN_DEVICE_POOL2)
			visit((hsa_region_t){pool}, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
region_get_info(hsa_region_t region, hsa_region_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_REGION_INFO_SEGMENT:
		*(hsa_region_segment_t *)value = HSA_REGION_SEGMENT_GLOBAL;
		break;
	case HSA_REGION_INFO_GLOBAL_FLAGS:
		*(uint32_t *)value = pool_flags(region.handle);
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_isas(hsa_agent_t agent, hsa_status_t (*visit)(hsa_isa_t, void *), void *data)
{
	return visit((hsa_isa_t){1}, data);
}

static hsa_status_t
isa_get_info(hsa_isa_t isa, hsa_isa_info_t info, void *value)
{
	const char *name = stand_in.isa != NULL ? stand_in.isa : "amdgcn-amd-amdhsa--stand-in";

	if (info == HSA_ISA_INFO_NAME_LENGTH)
		*(uint32_t *)value = (uint32_t)strlen(name) + 1;
	else
		memcpy(value, name, strlen(name) + 1);
	return HSA_STATUS_SUCCESS;
}

/* ---- executables ---- */

static hsa_status_t
load_agent_code(hsa_executable_t e, hsa_agent_t agent, hsa_code_object_reader_t r, const char *options,
                hsa_loaded_code_object_t *loaded)
{
	return fails(&stand_in.load_code) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

static hsa_status_t
load_program_code(hsa_executable_t e, hsa_code_object_reader_t r, const char *options,
                  hsa_loaded_code_object_t *loaded)
{
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
load_code(hsa_executable_t e, hsa_agent_t agent, hsa_code_object_t object, const char *options)
{
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
freeze(hsa_executable_t e, const char *options)
{
	return fails(&stand_in.freeze) ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

/* Executables that were made; tests use handles that were not, below this. */
#define FIRST_EXECUTABLE 100000u

static hsa_status_t
create_executable(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding, const char *options,
                  hsa_executable_t *e)
{
	static uint64_t last = FIRST_EXECUTABLE;

	if (fails(&stand_in.executable_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	e->handle = ++last;
	stand_in.live_executables++;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
create_reader(const void *image, size_t size, hsa_code_object_reader_t *reader)
{
	if (fails(&stand_in.reader_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	reader->handle = (uint64_t)(uintptr_t)image;
	stand_in.live_readers++;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
destroy_reader(hsa_code_object_reader_t reader)
{
	stand_in.live_readers--;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
destroy_executable(hsa_executable_t e)
{
	stand_in.live_executables -= e.handle > FIRST_EXECUTABLE;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_symbols(hsa_executable_t e, hsa_agent_t agent,
                hsa_status_t (*visit)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *), void *data)
{
	for (unsigned i = 0; i < stand_in.symbols; i++)
		visit(e, agent, (hsa_executable_symbol_t){i + 1}, data);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
symbol_by_name(hsa_executable_t e, const char *name, const hsa_agent_t *agent, hsa_executable_symbol_t *symbol)
{
	stand_in_kernel kernel = stand_in.kernel_named != NULL ? stand_in.kernel_named(name) : NULL;

	if (kernel == NULL || fails(&stand_in.symbol))
		return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
	symbol->handle = (uint64_t)(uintptr_t)kernel;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t info, void *value)
{
	const char *name;

	if (symbol.handle > stand_in.symbols) { /* found by name: the kernel itself */
		if (info == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)
			*(uint64_t *)value = symbol.handle;
		else
			*(uint32_t *)value = 0;
		return HSA_STATUS_SUCCESS;
	}
	name = stand_in.symbol_name[symbol.handle - 1];
	switch ((uint32_t)info) {
	case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
		*(hsa_symbol_kind_t *)value = HSA_SYMBOL_KIND_KERNEL;
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
		*(uint64_t *)value = stand_in.symbol_object[symbol.handle - 1];
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
		*(uint32_t *)value = (uint32_t)strlen(name);
		break;
	case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
		memcpy(value, name, strlen(name));
		break;
	default:
		*(uint32_t *)value = 0;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
iterate_code_objects(hsa_executable_t e,
                     hsa_status_t (*visit)(hsa_executable_t, hsa_loaded_code_object_t, void *), void *data)
{
	return visit(e, (hsa_loaded_code_object_t){e.handle + 1000}, data);
}

static hsa_status_t
code_object_info(hsa_loaded_code_object_t object, hsa_ven_amd_loader_loaded_code_object_info_t info, void *value)
{
	switch ((uint32_t)info) {
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
		*(hsa_agent_t *)value = STAND_IN_GPU;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
		*(uint32_t *)value = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
		*(uint64_t *)value = (uint64_t)(uintptr_t)stand_in.image;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
		*(uint64_t *)value = stand_in.image_size;
		break;
	case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
		*(int64_t *)value = stand_in.load_delta;
		break;
	default:
		return HSA_STATUS_ERROR_INVALID_ARGUMENT;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
extension_table(uint16_t extension, uint16_t major, size_t size, void *table)
{
	hsa_ven_amd_loader_1_01_pfn_t loader = {
		.hsa_ven_amd_loader_executable_iterate_loaded_code_objects = iterate_code_objects,
		.hsa_ven_amd_loader_loaded_code_object_get_info = code_object_info,
	};

	if (stand_in.no_loader || extension != HSA_EXTENSION_AMD_LOADER)
		return HSA_STATUS_ERROR;
	memcpy(table, &loader, size < sizeof(loader) ? size : sizeof(loader));
	return HSA_STATUS_SUCCESS;
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
	pthread_mutex_init(&mutex, &recursive);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &monotonic);
	pthread_create(&device, NULL, run_device, NULL);
	pthread_detach(device);
}

void
stand_in_reset(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_locks);
	memset(&stand_in, 0, sizeof(stand_in));
	queues = NULL;
	held_count = held_done = 0;
	memset(on_device, 0, sizeof(on_device));
	device_used = 0;

#define ORDERS(name, fn) \
	kr_next.name##_relaxed = kr_next.name##_scacquire = kr_next.name##_screlease = kr_next.name##_scacq_screl = fn
	kr_next = (struct kr_next){
		.hsa_init = init,
		.hsa_shut_down = init,
		.hsa_queue_create = queue_create,
		.hsa_queue_destroy = queue_destroy,
		.hsa_queue_inactivate = queue_inactivate,
		.hsa_queue_load_read_index_scacquire = load_read_index,
		.hsa_queue_load_read_index_relaxed = load_read_index,
		.hsa_queue_store_write_index_screlease = store_write_index,
		.hsa_queue_add_write_index_scacq_screl = add_write_index,
		.hsa_soft_queue_create = soft_queue_create,
		.hsa_amd_queue_cu_set_mask = set_mask,
		.hsa_amd_queue_cu_get_mask = get_mask,
		.hsa_amd_queue_set_priority = set_priority,
		.hsa_amd_profiling_set_profiler_enabled = set_profiler,
		.hsa_signal_store_relaxed = signal_store,
		.hsa_signal_store_screlease = signal_store,
		.hsa_signal_silent_store_relaxed = signal_store,
		.hsa_signal_silent_store_screlease = signal_store,
		.hsa_signal_create = signal_create,
		.hsa_signal_destroy = signal_destroy,
		.hsa_signal_load_relaxed = signal_load,
		.hsa_signal_load_scacquire = signal_load,
		.hsa_signal_wait_scacquire = signal_wait,
		.hsa_amd_signal_create = amd_signal_create,
		.hsa_amd_signal_wait_any = wait_any,
		.hsa_amd_profiling_get_dispatch_time = dispatch_time,
		.hsa_memory_allocate = memory_allocate,
		.hsa_memory_free = memory_free,
		.hsa_memory_copy = memory_copy,
		.hsa_amd_memory_pool_allocate = pool_allocate,
		.hsa_amd_memory_pool_free = memory_free,
		.hsa_amd_memory_async_copy = async_copy,
		.hsa_amd_memory_async_copy_rect = async_copy_rect,
		.hsa_amd_memory_fill = memory_fill,
		.hsa_amd_agent_memory_pool_get_info = pool_access,
		.hsa_amd_memory_lock = memory_lock,
		.hsa_amd_memory_lock_to_pool = memory_lock_to_pool,
		.hsa_amd_memory_unlock = memory_unlock,
		.hsa_amd_ipc_memory_attach = ipc_attach,
		.hsa_amd_ipc_memory_detach = ipc_detach,
		.hsa_agent_iterate_regions = iterate_regions,
		.hsa_region_get_info = region_get_info,
		.hsa_amd_agent_iterate_memory_pools = iterate_pools,
		.hsa_amd_memory_pool_get_info = pool_get_info,
		.hsa_amd_agents_allow_access = allow_access,
		.hsa_executable_load_agent_code_object = load_agent_code,
		.hsa_executable_load_program_code_object = load_program_code,
		.hsa_executable_load_code_object = load_code,
		.hsa_executable_freeze = freeze,
		.hsa_executable_destroy = destroy_executable,
		.hsa_executable_iterate_agent_symbols = iterate_symbols,
		.hsa_executable_symbol_get_info = symbol_info,
		.hsa_executable_get_symbol_by_name = symbol_by_name,
		.hsa_executable_create_alt = create_executable,
		.hsa_code_object_reader_create_from_memory = create_reader,
		.hsa_code_object_reader_destroy = destroy_reader,
		.hsa_iterate_agents = iterate_agents,
		.hsa_agent_get_info = agent_get_info,
		.hsa_agent_iterate_isas = iterate_isas,
		.hsa_isa_get_info_alt = isa_get_info,
		.hsa_system_get_info = system_get_info,
		.hsa_system_get_major_extension_table = extension_table,
		.hsa_status_string = status_string,
	};
	ORDERS(hsa_signal_exchange, signal_exchange);
	ORDERS(hsa_signal_cas, signal_cas);
	ORDERS(hsa_signal_add, signal_add);
	ORDERS(hsa_signal_subtract, signal_subtract);
	ORDERS(hsa_signal_and, signal_and);
	ORDERS(hsa_signal_or, signal_or);
	ORDERS(hsa_signal_xor, signal_xor);
}

/* ---- an application ---- */

hsa_signal_t
stand_in_signal(hsa_signal_value_t initial)
{
	return new_signal(initial);
}

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
