/* SPDX-License-Identifier: MIT */
/*
 * Queues and their doorbells. A doorbell is plain memory that a client stores
 * to, so nothing tells us: threads of the scheduler compare it with what was
 * seen last. Each queue has a slot; whoever holds the slot's busy flag steps
 * the queue, and a step never blocks.
 */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	_Atomic(struct sg_queue *) queue;
	_Atomic bool busy;
	_Atomic bool poke;
	_Atomic bool blocked;
	uint64_t seen; /* doorbell value; under busy */
} __attribute__((aligned(64)));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* slots being taken or given back */
static struct slot slots[SG_MAX_QUEUES];
static _Atomic uint32_t slot_end; /* no queue at or above */
static _Atomic uint32_t queue_count;
static uint64_t sdma_pointers[SG_MAX_QUEUES][2 * SG_DOORBELL_STRIDE] __attribute__((aligned(64)));

/* No client value: the index of a packet that cannot be, and not a byte offset. */
#define NEVER_RUNG UINT64_MAX

/* Ids are slot + 1 with a use count above, so an old id is not another queue's. */
#define ID_SHIFT 16
static uint64_t use_count[SG_MAX_QUEUES];

void sg_queues_reset(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(slots, 0, sizeof(slots));
	atomic_store(&slot_end, 0);
	atomic_store(&queue_count, 0);
	sg_dispatch_reset();
}

bool sg_queues_any(void)
{
	return atomic_load_explicit(&queue_count, memory_order_relaxed) != 0;
}

static bool valid_request(const struct sg_queue_request *request)
{
	uint64_t bytes = request->ring_bytes;

	if (!request->ring || !bytes || (bytes & (bytes - 1)) || bytes > 1ull << 32)
		return false;
	if (request->kind == SG_QUEUE_AQL)
		return bytes >= 64 && request->read_pointer && request->write_pointer;
	return bytes >= 4096;
}

static struct sg_queue *make_queue(const struct sg_queue_request *request, uint32_t slot)
{
	struct sg_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->gpu = sg_gpu_info(request->node);
	queue->kind = request->kind;
	atomic_store(&queue->priority, request->priority);
	queue->slot = slot;
	queue->ring = request->ring;
	queue->ring_bytes = request->ring_bytes;
	queue->read_pointer = (_Atomic uint64_t *)request->read_pointer;
	queue->write_pointer = (_Atomic uint64_t *)request->write_pointer;
	queue->error_reason = (_Atomic int64_t *)request->error_reason;
	queue->error_event = request->error_event;
	return queue;
}

enum sg_status sg_queue_create(struct sg_queue_request *request)
{
	enum sg_status status;
	struct sg_queue *queue;
	uint32_t i = 0;

	if (!sg_gpu_info(request->node))
		return SG_BAD_NODE;
	if (!valid_request(request))
		return SG_INVALID;
	if (sg_inject(SG_INJECT_QUEUE)) {
		sg_log("creation of a queue on node %u fails, as asked for", request->node);
		return SG_RESOURCES;
	}
	/* The client may have set handlers of its own since the last time. */
	if (!gcn_catch_faults())
		return SG_RESOURCES;
	status = sg_sched_start();
	if (status != SG_OK)
		return status;

	pthread_mutex_lock(&lock);
	while (i < SG_MAX_QUEUES && atomic_load(&slots[i].queue))
		i++;
	if (i == SG_MAX_QUEUES) {
		status = SG_RESOURCES;
		goto out;
	}
	if (request->kind == SG_QUEUE_SDMA) {
		memset(sdma_pointers[i], 0, sizeof(sdma_pointers[i]));
		request->read_pointer = &sdma_pointers[i][0];
		request->write_pointer = &sdma_pointers[i][SG_DOORBELL_STRIDE];
	}
	queue = make_queue(request, i);
	if (!queue) {
		status = SG_NO_MEMORY;
		goto out;
	}
	atomic_store(&sg_doorbells[i * SG_DOORBELL_STRIDE], NEVER_RUNG);
	__atomic_store_n(&slots[i].seen, NEVER_RUNG, __ATOMIC_RELAXED);
	atomic_store(&slots[i].poke, false);
	atomic_store(&slots[i].blocked, false);
	if (i >= atomic_load(&slot_end))
		atomic_store(&slot_end, i + 1);
	atomic_fetch_add(&queue_count, 1);
	atomic_store(&slots[i].queue, queue);
	use_count[i]++;
	request->id = use_count[i] << ID_SHIFT | (i + 1);
	request->doorbell = (uint64_t *)&sg_doorbells[i * SG_DOORBELL_STRIDE];
out:
	pthread_mutex_unlock(&lock);
	if (status == SG_OK)
		sg_device_kick();
	return status;
}

static void acquire(struct slot *slot)
{
	while (atomic_exchange_explicit(&slot->busy, true, memory_order_acquire))
		sched_yield();
}

static void release(struct slot *slot)
{
	atomic_store_explicit(&slot->busy, false, memory_order_release);
}

/* The slot of a live queue, busy; NULL for an id that is none. Takes the lock. */
static struct slot *open_slot(uint64_t id)
{
	uint64_t index = (id & ((1u << ID_SHIFT) - 1)) - 1;

	if (index >= SG_MAX_QUEUES)
		return NULL;
	pthread_mutex_lock(&lock);
	if (use_count[index] != id >> ID_SHIFT || !atomic_load(&slots[index].queue)) {
		pthread_mutex_unlock(&lock);
		return NULL;
	}
	acquire(&slots[index]);
	return &slots[index];
}

/* What a poll missed meanwhile, because the slot was busy, is looked at again. */
static void close_slot(struct slot *slot)
{
	release(slot);
	pthread_mutex_unlock(&lock);
	sg_device_kick();
}

static void destroy_open(struct slot *slot)
{
	struct sg_queue *queue = atomic_load(&slot->queue);

	/* Nothing more is launched; what runs ends at its next slice. */
	atomic_store(&queue->dead, true);
	sg_dispatch_cancel(queue);
	sg_device_kick();
	while (atomic_load(&queue->in_flight))
		sg_sleep_ns(20000);
	atomic_store(&slot->queue, NULL);
	atomic_fetch_sub(&queue_count, 1);
	while (atomic_load(&slot_end) > 0 && !atomic_load(&slots[atomic_load(&slot_end) - 1].queue))
		atomic_fetch_sub(&slot_end, 1);
	release(slot);
	free(atomic_load(&queue->spare));
	free(queue->gws);
	free(queue);
}

enum sg_status sg_queue_destroy(uint64_t id)
{
	struct slot *slot = open_slot(id);

	if (!slot)
		return SG_BAD_HANDLE;
	destroy_open(slot);
	pthread_mutex_unlock(&lock);
	return SG_OK;
}

void sg_queues_close(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < SG_MAX_QUEUES; i++) {
		if (!atomic_load(&slots[i].queue))
			continue;
		acquire(&slots[i]);
		destroy_open(&slots[i]);
	}
	pthread_mutex_unlock(&lock);
}

enum sg_status sg_queue_update(uint64_t id, uint32_t percentage, int32_t priority)
{
	struct slot *slot = open_slot(id);

	if (!slot)
		return SG_BAD_HANDLE;
	atomic_store(&atomic_load(&slot->queue)->suspended, percentage == 0);
	atomic_store(&atomic_load(&slot->queue)->priority, priority);
	atomic_store(&slot->poke, true);
	close_slot(slot);
	return SG_OK;
}

static bool gws_taken(const struct sg_gpu_info *gpu)
{
	for (uint32_t i = 0; i < SG_MAX_QUEUES; i++) {
		const struct sg_queue *queue = atomic_load(&slots[i].queue);

		if (queue && queue->gpu == gpu && queue->gws)
			return true;
	}
	return false;
}

enum sg_status sg_queue_alloc_gws(uint64_t id, uint32_t count, uint32_t *first)
{
	enum sg_status status = SG_OK;
	struct slot *slot = open_slot(id);

	if (!slot)
		return SG_BAD_HANDLE;
	struct sg_queue *queue = atomic_load(&slot->queue);

	if (queue->kind != SG_QUEUE_AQL || !count || count > SG_GWS_SLOTS)
		status = SG_INVALID;
	else if (gws_taken(queue->gpu))
		status = SG_RESOURCES;
	else if (!(queue->gws = calloc(1, sizeof(*queue->gws))))
		status = SG_NO_MEMORY;
	else
		*first = 0;
	close_slot(slot);
	return status;
}

enum sg_status sg_queue_set_cu_mask(uint64_t id, const uint32_t *mask, uint32_t bits)
{
	struct slot *slot = open_slot(id);
	bool any = bits == 0;

	if (!slot)
		return SG_BAD_HANDLE;
	close_slot(slot);
	/* Work-groups run on host threads, not on units that could be masked; an
	 * empty mask is an error nevertheless. */
	if (!mask && bits)
		return SG_INVALID;
	for (uint32_t i = 0; i < bits / 32; i++)
		any |= mask[i] != 0;
	return any ? SG_OK : SG_INVALID;
}

static void report(struct sg_queue *queue, const char *format, va_list args)
{
	char text[400];

	vsnprintf(text, sizeof(text), format, args);
	sg_log("%s queue of node %u stopped: %s", queue->kind == SG_QUEUE_AQL ? "AQL" : "SDMA",
	       queue->gpu->node, text);
}

void sg_queue_hang(struct sg_queue *queue, const char *format, ...)
{
	struct sg_memory_fault fault = {.node = queue->gpu->node, .hang = true};
	va_list args;

	if (atomic_exchange(&queue->failed, true))
		return;
	va_start(args, format);
	report(queue, format, args);
	va_end(args);
	sg_event_fault(&fault);
}

void sg_queue_fail(struct sg_queue *queue, enum sg_queue_error error, const char *format, ...)
{
	struct sg_guard guard;
	va_list args;

	if (atomic_exchange(&queue->failed, true))
		return;
	va_start(args, format);
	report(queue, format, args);
	va_end(args);
	sg_dispatch_cancel(queue);
	if (!queue->error_reason || !queue->error_event) {
		/* Nobody registered for exceptions: a device-wide report is all there is. */
		struct sg_memory_fault fault = {.node = queue->gpu->node, .hang = true};

		sg_event_fault(&fault);
		return;
	}
	if (!SG_TRY(&guard))
		return;
	atomic_fetch_or(queue->error_reason, (int64_t)1 << (error - 1));
	sg_guard_end(&guard);
	sg_event_set(queue->error_event);
}

static bool can_be_read(uint64_t address)
{
	struct sg_guard guard;

	if (!SG_TRY(&guard))
		return false;
	(void)*(volatile char *)sg_ptr(address);
	sg_guard_end(&guard);
	return true;
}

void sg_queue_memory_fault(struct sg_queue *queue, uint64_t address, bool refused, const char *what)
{
	struct sg_memory_fault fault = {.node = queue->gpu->node, .address = address};

	if (atomic_exchange(&queue->failed, true))
		return;
	fault.read_only = refused && can_be_read(address);
	sg_log("node %u: %s address 0x%llx, which %s, by %s", queue->gpu->node,
	       fault.read_only ? "write to" : "access to", (unsigned long long)address,
	       fault.read_only ? "may only be read" : "nothing maps", what);
	sg_dispatch_cancel(queue);
	sg_event_fault(&fault);
}

void sg_queue_poke(uint32_t slot)
{
	atomic_store_explicit(&slots[slot].poke, true, memory_order_release);
}

static bool step(struct slot *slot, struct sg_queue *queue)
{
	struct sg_guard guard;
	enum sg_step result = SG_STEP_IDLE;
	volatile bool moved = false;
	bool did = false;

	if (atomic_load(&queue->failed) || atomic_load(&queue->suspended) ||
	    atomic_load(&queue->dead)) {
		atomic_store(&slot->blocked, false);
		return false;
	}
	if (!SG_TRY(&guard)) {
		sg_queue_memory_fault(queue, sg_device_address(guard.address), guard.refused,
		                      queue->kind == SG_QUEUE_AQL ? "the packet processor"
		                                                  : "the copy engine");
		return true;
	}
	if (queue->not_before && sg_monotonic_ns() < queue->not_before) {
		result = SG_STEP_BLOCKED;
	} else {
		queue->not_before = 0;
		result = queue->kind == SG_QUEUE_AQL ? sg_aql_step(queue, &did)
		                                     : sg_sdma_step(queue, &did);
		moved = did;
	}
	sg_guard_end(&guard);
	atomic_store(&slot->blocked, result == SG_STEP_BLOCKED);
	if (result == SG_STEP_MORE)
		atomic_store(&slot->poke, true);
	return moved;
}

static bool poll_slot(struct slot *slot, uint64_t rung)
{
	struct sg_queue *queue;
	bool moved = false;

	if (atomic_exchange_explicit(&slot->busy, true, memory_order_acquire))
		return false;
	queue = atomic_load(&slot->queue);
	if (queue) {
		atomic_store(&slot->poke, false);
		/* Before the write pointer is read again, so that a ring after it is a change. */
		if (slot->seen != rung) {
			gcn_catch_faults();
			__atomic_store_n(&slot->seen, rung, __ATOMIC_RELAXED);
			atomic_thread_fence(memory_order_acquire);
			uint64_t limit = atomic_load_explicit(queue->write_pointer,
			                                      memory_order_acquire);

			/* Rings arrive out of order: what was covered once stays covered. */
			if ((int64_t)(limit - queue->limit) > 0)
				queue->limit = limit;
		}
		moved = step(slot, queue);
	}
	release(slot);
	return moved;
}

/* Whether the slot's queue has something that a step could see. `seen` may be stale
 * here: at worst a step too many. */
static bool stirs(struct slot *slot, uint64_t rung)
{
	return rung != __atomic_load_n(&slot->seen, __ATOMIC_RELAXED) ||
	       atomic_load_explicit(&slot->poke, memory_order_relaxed) ||
	       atomic_load_explicit(&slot->blocked, memory_order_relaxed);
}

bool sg_queues_stir(void)
{
	uint32_t end = atomic_load(&slot_end);

	for (uint32_t i = 0; i < end; i++) {
		if (atomic_load(&slots[i].queue) &&
		    stirs(&slots[i], atomic_load(&sg_doorbells[i * SG_DOORBELL_STRIDE])))
			return true;
	}
	return false;
}

bool sg_queues_poll(void)
{
	uint32_t end = atomic_load_explicit(&slot_end, memory_order_acquire);
	bool moved = false;

	for (uint32_t i = 0; i < end; i++) {
		struct slot *slot = &slots[i];

		if (!atomic_load_explicit(&slot->queue, memory_order_relaxed))
			continue;
		uint64_t rung = atomic_load_explicit(&sg_doorbells[i * SG_DOORBELL_STRIDE],
		                                     memory_order_acquire);

		if (stirs(slot, rung))
			moved |= poll_slot(slot, rung);
	}
	return moved;
}
