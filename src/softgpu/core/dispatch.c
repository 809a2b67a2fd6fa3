/* SPDX-License-Identifier: MIT */
/* From a dispatch packet and its kernel descriptor to a launch, and back. */
#include "internal.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The code-object-v3 kernel descriptor (LLVM AMDGPUUsage, "Kernel Descriptor").
 * The older amd_kernel_code_t has entry offset, both program resource words and
 * the property bits at the same places, so one reading serves both; sizes of
 * segments come from the packet in either case.
 */
struct descriptor {
	uint8_t unused0[16];
	int64_t entry_offset;
	uint8_t unused1[20];
	uint32_t rsrc3;
	uint32_t rsrc1;
	uint32_t rsrc2;
	uint16_t properties;
	uint8_t unused2[6];
};
_Static_assert(sizeof(struct descriptor) == 64, "kernel descriptor is 64 bytes");

/* Property bits: which user SGPRs are set up, in this order. */
enum {
	PRIVATE_SEGMENT_BUFFER = 1 << 0,
	DISPATCH_PTR = 1 << 1,
	QUEUE_PTR = 1 << 2,
	KERNARG_SEGMENT_PTR = 1 << 3,
	DISPATCH_ID = 1 << 4,
	FLAT_SCRATCH_INIT = 1 << 5,
	PRIVATE_SEGMENT_SIZE = 1 << 6,
	GRID_WORKGROUP_COUNT = 7 << 7, /* amd_kernel_code_t only, never compiled */
	WAVEFRONT_SIZE32 = 1 << 10,
};

#define FIELD(word, low, bits) ((word) >> (low) & ((1u << (bits)) - 1))
#define MAX_WORKGROUP 1024
#define MAX_PRIVATE 131056 /* bytes a lane: COMPUTE_TMPRING_SIZE.WAVESIZE has 13 bits, of 1 KiB a wave */
#define RANDOM_START_US 200ull

static pthread_mutex_t flight_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_dispatch *flight; /* every dispatch that has not ended */

void sg_dispatch_reset(void)
{
	pthread_mutex_init(&flight_lock, NULL);
	flight = NULL;
}

static void put64(struct gcn_launch *launch, uint32_t *at, uint64_t value)
{
	if (*at + 2 <= GCN_MAX_USER_SGPR) {
		launch->user_sgpr[*at] = (uint32_t)value;
		launch->user_sgpr[*at + 1] = (uint32_t)(value >> 32);
	}
	*at += 2;
}

/* The queue structure that QUEUE_PTR means: its read index is what we were given. */
static uint64_t queue_address(const struct sg_queue *queue)
{
	return (uint64_t)(uintptr_t)queue->read_pointer - offsetof(amd_queue_t, read_dispatch_id);
}

static bool fill_user_sgprs(struct sg_dispatch *d, const hsa_kernel_dispatch_packet_t *packet,
                            uint16_t properties, uint64_t packet_id)
{
	struct gcn_launch *launch = &d->launch;
	uint32_t at = 0;

	/* What points at scratch differs for each group; gcn fills it in. */
	launch->sgpr_private_segment_buffer = -1;
	launch->sgpr_flat_scratch_init = -1;
	if (properties & PRIVATE_SEGMENT_BUFFER) {
		launch->sgpr_private_segment_buffer = (int)at;
		at += 4;
	}
	if (properties & DISPATCH_PTR)
		put64(launch, &at, (uint64_t)(uintptr_t)d->packet);
	if (properties & QUEUE_PTR)
		put64(launch, &at, queue_address(d->queue));
	if (properties & KERNARG_SEGMENT_PTR)
		put64(launch, &at, (uint64_t)(uintptr_t)packet->kernarg_address);
	if (properties & DISPATCH_ID)
		put64(launch, &at, packet_id);
	if (properties & FLAT_SCRATCH_INIT) {
		launch->sgpr_flat_scratch_init = (int)at;
		at += 2;
	}
	if (properties & PRIVATE_SEGMENT_SIZE) {
		if (at < GCN_MAX_USER_SGPR)
			launch->user_sgpr[at] = packet->private_segment_size;
		at++;
	}
	return at <= launch->user_sgpr_count && at <= GCN_MAX_USER_SGPR;
}

static void fill_registers(struct gcn_launch *launch, const struct sg_gpu_data *data,
                           const struct descriptor *desc)
{
	uint32_t r1 = desc->rsrc1, r2 = desc->rsrc2;

	launch->isa = data->isa;
	launch->vgpr_count = (FIELD(r1, 0, 6) + 1) * data->vgpr_granule;
	/* GFX9 allocates SGPRs by 16, the field counts eights and is even. */
	launch->sgpr_count = (FIELD(r1, 6, 4) / 2 + 1) * 16;
	launch->mode = FIELD(r1, 12, 8) | FIELD(r1, 21, 1) << 8 | FIELD(r1, 23, 1) << 9;
	launch->accum_offset = data->unified_vgprs ? (FIELD(desc->rsrc3, 0, 6) + 1) * 4 : 0;
	launch->sgpr_wave_scratch_offset = FIELD(r2, 0, 1);
	launch->user_sgpr_count = FIELD(r2, 1, 5);
	for (unsigned i = 0; i < 3; i++)
		launch->sgpr_workgroup_id[i] = FIELD(r2, 7 + i, 1);
	launch->sgpr_workgroup_info = FIELD(r2, 10, 1);
	launch->vgpr_workitem_id = (uint8_t)FIELD(r2, 11, 2);
	launch->packed_workitem_id = data->unified_vgprs;
}

/* Sizes the packet may not have. False with the queue failed. */
static bool check_packet(struct sg_queue *queue, const hsa_kernel_dispatch_packet_t *p,
                         uint64_t packet_id)
{
	unsigned dims = p->setup & 3;
	unsigned long long id = packet_id;
	uint64_t items = (uint64_t)p->workgroup_size_x * p->workgroup_size_y * p->workgroup_size_z;

	if (dims == 0 || !p->grid_size_x || !p->grid_size_y || !p->grid_size_z) {
		sg_queue_fail(queue, SG_QERR_DIM_INVALID, "dispatch %llu: %u dimensions, grid %ux%ux%u",
		              id, dims, p->grid_size_x, p->grid_size_y, p->grid_size_z);
		return false;
	}
	if (items == 0 || items > MAX_WORKGROUP) {
		sg_queue_fail(queue, SG_QERR_WORKGROUP_SIZE_INVALID,
		              "dispatch %llu: work-group %ux%ux%u", id, p->workgroup_size_x,
		              p->workgroup_size_y, p->workgroup_size_z);
		return false;
	}
	if (p->group_segment_size > queue->gpu->data->lds_kib * 1024) {
		sg_queue_fail(queue, SG_QERR_GROUP_SEGMENT_INVALID,
		              "dispatch %llu: %u bytes of group memory, the card has %u KiB", id,
		              p->group_segment_size, queue->gpu->data->lds_kib);
		return false;
	}
	if (p->private_segment_size > MAX_PRIVATE) {
		sg_queue_fail(queue, SG_QERR_GROUP_SEGMENT_INVALID,
		              "dispatch %llu: %u bytes of private memory, a card has at most %u", id,
		              p->private_segment_size, MAX_PRIVATE);
		return false;
	}
	if (!p->kernel_object || p->kernel_object % 64) {
		sg_queue_fail(queue, SG_QERR_CODE_INVALID, "dispatch %llu: kernel object 0x%llx", id,
		              (unsigned long long)p->kernel_object);
		return false;
	}
	return true;
}

/* A device-side signal operation wrote a mailbox and interrupts. */
static void on_interrupt(void *arg, uint32_t event)
{
	(void)arg;
	sg_event_set(event);
}

/* What hardware would drop or ignore makes no kernel of it: bits of the entry below 256, an entry in the descriptor
 * itself, as zeros have it, and properties of other generations. */
static bool is_kernel(const struct descriptor *desc, uint64_t object, uint64_t entry)
{
	return entry % 256 == 0 && entry - object >= sizeof(*desc) &&
	       !(desc->properties & (WAVEFRONT_SIZE32 | GRID_WORKGROUP_COUNT));
}

static bool count_groups(struct sg_dispatch *d)
{
	const struct gcn_launch *launch = &d->launch;

	d->group_count = 1;
	for (int i = 0; i < 3; i++) {
		d->groups[i] = (uint32_t)(((uint64_t)launch->grid_size[i] + launch->workgroup_size[i] -
		                           1) / launch->workgroup_size[i]);
		if (__builtin_mul_overflow(d->group_count, d->groups[i], &d->group_count))
			return false;
	}
	return true;
}

static bool fill_launch(struct sg_dispatch *d, uint64_t packet_id)
{
	const hsa_kernel_dispatch_packet_t *p = (const void *)d->packet;
	const struct sg_gpu_info *gpu = d->queue->gpu;
	struct gcn_launch *launch = &d->launch;
	struct descriptor desc;
	char name[160];

	memcpy(&desc, sg_ptr(p->kernel_object), sizeof(desc));
	d->descriptor = p->kernel_object;
	fill_registers(launch, gpu->data, &desc);
	launch->entry = p->kernel_object + (uint64_t)desc.entry_offset;
	launch->packet = (uint64_t)(uintptr_t)d->packet;
	launch->lds_bytes = p->group_segment_size;
	launch->private_bytes = p->private_segment_size;
	launch->interrupt = on_interrupt;
	launch->gws = d->queue->gws;
	launch->lds_aperture = gpu->lds_aperture;
	launch->private_aperture = gpu->private_aperture;
	memcpy(launch->grid_size, &p->grid_size_x, sizeof(launch->grid_size));
	memcpy(launch->workgroup_size, &p->workgroup_size_x, sizeof(launch->workgroup_size));
	if (!count_groups(d)) {
		sg_queue_fail(d->queue, SG_QERR_DIM_INVALID, "dispatch %llu: %ux%ux%u work-groups",
		              (unsigned long long)packet_id, d->groups[0], d->groups[1], d->groups[2]);
		return false;
	}
	if (is_kernel(&desc, p->kernel_object, launch->entry) && fill_user_sgprs(d, p, desc.properties, packet_id))
		return true;
	sg_kernel_name(p->kernel_object, name, sizeof(name));
	sg_queue_fail(d->queue, SG_QERR_CODE_INVALID,
	              "%s: entry 0x%llx, properties 0x%04x, %u user SGPRs: not a %s descriptor", name,
	              (unsigned long long)launch->entry, desc.properties, launch->user_sgpr_count,
	              gpu->data->name);
	return false;
}

/* reorder: start late by chance, so that packets without the barrier bit
 * overtake each other, and take the groups in an order of their own. */
static void shuffle(struct sg_dispatch *d)
{
	uint64_t a, b;

	d->due = sg_monotonic_ns() + sg_random() % (RANDOM_START_US * 1000);
	do {
		d->multiplier = 1 + sg_random() % d->group_count;
		for (a = d->multiplier, b = d->group_count; b;) {
			uint64_t rest = a % b;

			a = b;
			b = rest;
		}
	} while (a != 1); /* only a coprime factor permutes */
	d->offset = sg_random() % d->group_count;
}

static void recycle(struct sg_dispatch *d)
{
	struct sg_dispatch *old = atomic_exchange(&d->queue->spare, d);

	free(old);
}

bool sg_dispatch_launch(struct sg_queue *queue, const void *packet, uint64_t packet_id)
{
	struct sg_dispatch *d;

	if (!check_packet(queue, packet, packet_id))
		return false;
	d = atomic_exchange(&queue->spare, NULL);
	if (!d)
		d = aligned_alloc(64, (sizeof(*d) + 63) / 64 * 64);
	if (!d) {
		sg_queue_fail(queue, SG_QERR_REGISTER_SIZE_INVALID, "out of host memory");
		return false;
	}
	memset(d, 0, sizeof(*d));
	/* A kernel may read its packet until it ends, the ring slot is reused
	 * sooner: DISPATCH_PTR is this copy. */
	memcpy(d->packet, packet, sizeof(d->packet));
	d->queue = queue;
	d->signal = ((const hsa_kernel_dispatch_packet_t *)packet)->completion_signal.handle;
	if (!fill_launch(d, packet_id)) {
		recycle(d);
		return false;
	}
	if (sg_opt.reorder)
		shuffle(d);
	d->hung = sg_inject(SG_INJECT_HANG);
	atomic_store(&d->left, d->group_count);
	atomic_fetch_add(&queue->in_flight, 1);
	pthread_mutex_lock(&flight_lock);
	d->flight_next = flight;
	d->flight_link = &flight;
	if (flight)
		flight->flight_link = &d->flight_next;
	flight = d;
	pthread_mutex_unlock(&flight_lock);
	if (d->hung)
		sg_log("dispatch %llu of a queue of node %u hangs, as asked for",
		       (unsigned long long)packet_id, queue->gpu->node);
	else if (d->due)
		sg_sched_defer(d);
	else
		sg_sched_submit(d);
	return true;
}

void sg_dispatch_end(struct sg_dispatch *d)
{
	struct sg_queue *queue = d->queue;
	struct sg_guard guard;
	volatile bool good = true;

	pthread_mutex_lock(&flight_lock);
	*d->flight_link = d->flight_next;
	if (d->flight_next)
		d->flight_next->flight_link = d->flight_link;
	pthread_mutex_unlock(&flight_lock);

	if (!atomic_load(&d->cancelled) && d->signal) {
		atomic_thread_fence(memory_order_seq_cst); /* release fence of the packet */
		if (SG_TRY(&guard)) {
			good = sg_signal_complete(d->signal, d->start, sg_stamp());
			sg_guard_end(&guard);
		} else {
			sg_queue_memory_fault(queue, sg_device_address(guard.address), guard.refused,
			                      "a completion signal");
		}
		if (!good)
			sg_queue_fail(queue, SG_QERR_PACKET_UNSUPPORTED,
			              "completion signal 0x%llx of a dispatch is not a signal",
			              (unsigned long long)d->signal);
	}
	recycle(d);
	/* The queue may be freed as soon as the count is 0, and a step that came
	 * before the count must be made again: so the slot, and after. */
	uint32_t slot = queue->slot;

	atomic_fetch_sub(&queue->in_flight, 1);
	sg_queue_poke(slot);
}

void sg_dispatch_groups_done(struct sg_dispatch *dispatch, uint64_t count)
{
	if (atomic_fetch_sub(&dispatch->left, count) != count)
		return;
	if (sg_opt.delay_us && !atomic_load(&dispatch->cancelled)) {
		dispatch->ending = true;
		dispatch->due = sg_random_delay();
		sg_sched_defer(dispatch);
		return;
	}
	sg_dispatch_end(dispatch);
}

void sg_dispatch_fault(struct sg_dispatch *d, const struct gcn_fault *fault)
{
	enum sg_queue_error error = SG_QERR_ILLEGAL_INSTRUCTION;
	char name[160], what[256];

	atomic_store(&d->cancelled, true);
	sg_kernel_name(d->descriptor, name, sizeof(name));
	switch (fault->kind) {
	case GCN_FAULT_MEMORY:
		snprintf(what, sizeof(what), "kernel %s at pc 0x%llx", name,
		         (unsigned long long)fault->pc);
		sg_queue_memory_fault(d->queue, fault->address, fault->refused, what);
		return;
	case GCN_FAULT_LDS:
	case GCN_FAULT_SCRATCH:
	case GCN_FAULT_ALIGN:
		error = SG_QERR_APERTURE_VIOLATION;
		break;
	case GCN_FAULT_TRAP:
		error = SG_QERR_WAVE_TRAP;
		break;
	case GCN_FAULT_RESOURCE:
		error = SG_QERR_REGISTER_SIZE_INVALID;
		break;
	case GCN_FAULT_ILLEGAL:
	case GCN_FAULT_NONE:
		break;
	}
	sg_queue_fail(d->queue, error, "kernel %s at pc 0x%llx: %s", name,
	              (unsigned long long)fault->pc, fault->text);
}

/* Takes a hung dispatch that was cancelled off the list; NULL if there is none. */
static struct sg_dispatch *unhang(void)
{
	pthread_mutex_lock(&flight_lock);
	struct sg_dispatch *d = flight;

	while (d && !(d->hung && atomic_load(&d->cancelled)))
		d = d->flight_next;
	if (d)
		d->hung = false; /* ours now */
	pthread_mutex_unlock(&flight_lock);
	return d;
}

/* After cancelling: those that no thread of the scheduler holds. */
static void collect(void)
{
	struct sg_dispatch *d;

	while (sg_opt.inject[SG_INJECT_HANG] && (d = unhang()))
		sg_dispatch_end(d);
	sg_sched_recheck();
}

void sg_dispatch_cancel(struct sg_queue *queue)
{
	pthread_mutex_lock(&flight_lock);
	for (struct sg_dispatch *d = flight; d; d = d->flight_next) {
		if (d->queue == queue)
			atomic_store(&d->cancelled, true);
	}
	pthread_mutex_unlock(&flight_lock);
	collect();
}

static bool runs_in(uint64_t base, uint64_t size)
{
	for (const struct sg_dispatch *d = flight; d; d = d->flight_next) {
		if (d->launch.entry - base < size)
			return true;
	}
	return false;
}

static void invalidate_if_idle(uint64_t base, uint64_t size, void *data)
{
	(void)data;
	if (!runs_in(base, size))
		gcn_program_invalidate(base, size);
}

void sg_dispatch_invalidate_code(void)
{
	/* A launch needs this lock before its first instruction, so code found idle
	 * stays idle. Code that runs right now cannot be what was just written. */
	pthread_mutex_lock(&flight_lock);
	sg_memory_each_executable(invalidate_if_idle, NULL);
	pthread_mutex_unlock(&flight_lock);
}

void sg_dispatch_evict_code(uint64_t base, uint64_t size)
{
	for (;;) {
		struct sg_queue *victim = NULL;

		pthread_mutex_lock(&flight_lock);
		for (struct sg_dispatch *d = flight; d; d = d->flight_next) {
			if (d->launch.entry - base >= size)
				continue;
			victim = d->queue;
			atomic_store(&d->cancelled, true);
			break;
		}
		if (!victim)
			gcn_program_invalidate(base, size);
		else if (!atomic_load(&victim->failed))
			sg_log("node %u: code at 0x%llx freed while a kernel runs it",
			       victim->gpu->node, (unsigned long long)base);
		pthread_mutex_unlock(&flight_lock);
		if (!victim)
			return;
		collect();
		sg_sleep_ns(20000);
	}
}
