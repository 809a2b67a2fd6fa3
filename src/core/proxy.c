/* SPDX-License-Identifier: MIT */
#include "core/proxy.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/agents.h"
#include "core/collector.h"
#include "core/completer.h"
#include "core/diagnosis.h"
#include "core/driver.h"
#include "core/engine.h"
#include "core/kernels.h"
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/window.h"

/* How long a ringing thread waits for predecessors or another window before
 * the worker takes over: whoever rings and then satisfies its own dependency
 * must get its thread back. */
#define PATIENCE_NS 100000000u

/* Queues whose packet in hand this thread is dealing with, innermost last. A
 * callback of a tool may ring; what it submits is forwarded as it is. */
#define MAX_NESTED 8
static _Thread_local struct kr_proxy *mine[MAX_NESTED];
static _Thread_local unsigned mine_count;

static _Atomic uint64_t dispatch_count;

/* How long a round may wait. The clock is read when there is something to wait for, which is seldom. */
struct patience {
	uint64_t ns;  /* 0: for ever */
	uint64_t end; /* CLOCK_MONOTONIC, once it has been asked for */
};

static uint64_t
end_of(struct patience *patience)
{
	if (patience->ns != 0 && patience->end == 0)
		patience->end = kr_now_ns() + patience->ns;
	return patience->end;
}

/* ---- the hardware side ---- */

static uint64_t
hw_read(const struct kr_proxy *p)
{
	return p->hw_read_index != NULL ? __atomic_load_n(p->hw_read_index, __ATOMIC_ACQUIRE)
					: kr_next.hsa_queue_load_read_index_scacquire(p->hw);
}

static inline __attribute__((always_inline)) void
put(struct kr_proxy *p, const union kr_packet *packet, uint32_t head)
{
	/* The ring is twice the application's, so this is for the largest queues only. */
	while (p->hw_write - p->hw_seen > p->hw_mask && p->hw_write - (p->hw_seen = hw_read(p)) > p->hw_mask)
		sched_yield();
	kr_packet_publish(&p->hw_ring[p->hw_write & p->hw_mask], packet, head);
	p->hw_write++;
}

static inline __attribute__((always_inline)) void
ring_hw(struct kr_proxy *p)
{
	if (p->hw_rung == p->hw_write)
		return;
	p->hw_rung = p->hw_write;
	/* Where the packet processor itself reads, it is only a store, which saves a call. */
	if (p->hw_write_index != NULL)
		__atomic_store_n(p->hw_write_index, p->hw_write, __ATOMIC_RELEASE);
	else
		kr_next.hsa_queue_store_write_index_screlease(p->hw, p->hw_write);
	kr_next.hsa_signal_store_screlease(p->hw_doorbell, (hsa_signal_value_t)(p->hw_write - 1));
}

void
kr_proxy_submit(struct kr_proxy *p, const union kr_packet *packet)
{
	put(p, packet, atomic_load_explicit(&packet->head, memory_order_relaxed));
	ring_hw(p);
}

/* Everything that was submitted has finished: the soft queue is as empty. */
void
kr_proxy_set_idle(struct kr_proxy *p)
{
	p->hw_idle_at = p->hw_write;
	atomic_store(&p->soft_base, atomic_load_explicit(&p->taken_to, memory_order_relaxed));
	atomic_store(&p->hw_base, p->hw_write);
}

uint64_t
kr_proxy_refresh(struct kr_proxy *p)
{
	/* The two bases change one after the other; a mixed pair can only overshoot,
	 * and what was taken is free to be used again in any case. */
	uint64_t base = atomic_load(&p->soft_base);
	uint64_t hw = hw_read(p), hw_base = atomic_load(&p->hw_base);
	uint64_t to = hw > hw_base ? base + (hw - hw_base) : base;
	uint64_t taken = atomic_load_explicit(&p->taken_to, memory_order_acquire);
	uint64_t old = __atomic_load_n(&p->soft_amd->read_dispatch_id, __ATOMIC_RELAXED);

	if (to > taken)
		to = taken;
	while (old < to && !__atomic_compare_exchange_n(&p->soft_amd->read_dispatch_id, &old, to, true,
							__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return old < to ? to : old;
}

/* ---- taking packets ---- */

/* Whether anybody wants to see dispatches one by one. */
static bool
interested(void)
{
	return kr_replay_wanted() || kr_dispatch_wanted();
}

/* Takes note of a kernel whose dispatches need only be counted. */
static void
remember(struct kr_proxy *p, uint64_t object, struct kr_kernel *kernel, bool ignored)
{
	p->counted_generation = atomic_load_explicit(&kr_kernels_generation, memory_order_acquire);
	p->counted_object = object;
	p->counted_row = kernel->journal;
	p->counted_ignored = ignored;
}

static bool
is_remembered(const struct kr_proxy *p, uint64_t object)
{
	return object == p->counted_object && object != 0 &&
	       p->counted_generation == atomic_load_explicit(&kr_kernels_generation, memory_order_relaxed);
}

/* A dispatch that nobody looks at is counted all the same. */
static void
count(struct kr_proxy *p, uint64_t object)
{
	if (!is_remembered(p, object)) {
		struct kr_kernel *kernel;

		if (!kr_collector_active())
			return;
		kernel = kr_kernel_of_object(object);
		if (kernel == NULL) {
			kr_collect_dispatch(kr_collect_kernel(NULL, NULL), p->lane);
			return;
		}
		if (kernel->journal == 0)
			kernel->journal = kr_collect_kernel(kernel->name, kernel->mangled);
		remember(p, object, kernel, false);
	}
	kr_collect_dispatch(p->counted_row, p->lane);
}

/* Forwards packets until one is found that somebody wants to see, which is then
 * in hand. False: the soft ring is empty. */
static bool
take(struct kr_proxy *p, bool quiet)
{
	uint64_t index = atomic_load_explicit(&p->taken_to, memory_order_relaxed);
	bool look = !quiet && interested();

	for (;; index++) {
		union kr_packet *slot = &p->ring[index & p->mask];
		uint32_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
		unsigned type = kr_packet_type(head);
		bool stop;

		if (type == HSA_PACKET_TYPE_INVALID)
			break;
		stop = look && (type == HSA_PACKET_TYPE_KERNEL_DISPATCH || atomic_load(&p->tracked) != 0);
		if (stop && p->counted_ignored && !kr_dispatch_wanted() && atomic_load(&p->tracked) == 0 &&
		    is_remembered(p, slot->dispatch.kernel_object)) {
			stop = false;
			atomic_fetch_add_explicit(&dispatch_count, 1, memory_order_relaxed);
		}
		if (stop) {
			kr_packet_publish(&p->packet, slot, head);
			p->stage = KR_STAGE_TAKEN;
		} else {
			if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH && !quiet)
				count(p, slot->dispatch.kernel_object);
			put(p, slot, head);
		}
		/* The slot's next owner waits for the read index, not for this. */
		atomic_store_explicit(&slot->head, HSA_PACKET_TYPE_INVALID, memory_order_release);
		atomic_store_explicit(&p->taken_to, index + 1, memory_order_release);
		if (stop)
			return true;
	}
	return false;
}

/* ---- ownership ---- */

static void
park(struct kr_proxy *p)
{
	/* Nothing that this thread reads next depends on it: unpark is the full barrier. */
	atomic_store_explicit(&p->owner, KR_QUEUE_PARKED, memory_order_release);
}

/* Back to the reader side of the agent; false when patience ends first, and
 * the queue stays parked then. */
static bool
unpark(struct kr_proxy *p, struct patience *patience)
{
	for (;;) {
		uintptr_t writer;

		atomic_exchange(&p->owner, KR_QUEUE_SUBMITTING);
		writer = atomic_load(&p->agent->writer);
		if (writer == 0 || writer == kr_thread_token())
			return true;
		park(p);
		if (!kr_agent_wait_open(p->agent, end_of(patience)))
			return false;
	}
}

bool
kr_proxy_is_in_hand(const struct kr_proxy *p)
{
	for (unsigned i = 0; i < mine_count; i++)
		if (mine[i] == p)
			return true;
	return false;
}

/* ---- the packet in hand ---- */

/* The kernel's id of this thread; asking each time would cost more than all the
 * rest. A forked child is passive, so it never asks. */
static uint64_t
thread_id(void)
{
	static _Thread_local uint64_t id;

	if (id == 0)
		id = (uint64_t)syscall(SYS_gettid);
	return id;
}

static void
describe(struct kr_proxy *p, struct kr_dispatch *d)
{
	const hsa_kernel_dispatch_packet_t *k = &p->packet.dispatch;

	/* the worker does what another thread has rung for */
	d->thread_id = p->on_worker ? atomic_load_explicit(&p->rung_by, memory_order_relaxed) : 0;
	if (d->thread_id == 0)
		d->thread_id = thread_id();
	d->ancestor = 0;
	d->info.size = offsetof(kreplay_kernel_dispatch_info_t, reserved_padding);
	d->info.agent_id.handle = p->agent->handle.handle;
	d->info.queue_id.handle = p->id;
	d->info.dispatch_id = atomic_fetch_add(&dispatch_count, 1) + 1;
	d->correlation_id = d->info.dispatch_id;
	d->info.private_segment_size = k->private_segment_size;
	d->info.group_segment_size = k->group_segment_size;
	d->info.workgroup_size = (kreplay_dim3_t){k->workgroup_size_x, k->workgroup_size_y, k->workgroup_size_z};
	d->info.grid_size = (kreplay_dim3_t){k->grid_size_x, k->grid_size_y, k->grid_size_z};
	p->kernel = kr_kernel_of_object(k->kernel_object);
	if (p->kernel == NULL) {
		d->info.kernel_id = 0;
		d->name = d->mangled = NULL;
		d->journal_kernel = kr_collect_kernel(NULL, NULL);
		return;
	}
	d->info.kernel_id = p->kernel->id;
	d->name = p->kernel->name;
	d->mangled = p->kernel->mangled;
	if (p->kernel->journal == 0)
		p->kernel->journal = kr_collect_kernel(d->name, d->mangled);
	d->journal_kernel = p->kernel->journal;
}

/* A dispatch that was just taken: who wants it how. Parked. */
static void
ask(struct kr_proxy *p)
{
	p->asked = false;
	p->stage = KR_STAGE_ONCE;
	if (kr_packet_type(p->packet.head) != HSA_PACKET_TYPE_KERNEL_DISPATCH)
		return;
	describe(p, &p->replay.dispatch);
	kr_collect_dispatch(p->replay.dispatch.journal_kernel, p->lane);
	if (!kr_engine_active() || !kr_replay_wanted() || atomic_load(&p->dying))
		return;
	if (p->kernel != NULL && kr_driver_ignores(p->kernel->id)) {
		remember(p, p->packet.dispatch.kernel_object, p->kernel, true);
		return;
	}
	if (kr_replay_begin(&p->replay, &p->replay.dispatch) == KR_RUN_WINDOW) {
		if (kr_dispatch_is_sound(&p->packet.dispatch))
			p->stage = KR_STAGE_WINDOW;
		else
			kr_replay_decline(&p->replay, KREPLAY_DECLINE_UNSUPPORTED_PACKET);
	}
	p->asked = p->replay.begun;
}

/* The packet in hand goes to the hardware as it is, but for its completion
 * signal when its times are wanted. Submitting. */
static bool
forward(struct kr_proxy *p, struct patience *patience)
{
	bool is_dispatch = kr_packet_type(p->packet.head) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
	bool record = is_dispatch && kr_dispatch_wanted();
	/* Declined, or one pass asked for: its time belongs in the table. */
	bool collect = is_dispatch && p->asked && kr_collector_active() &&
		       (p->replay.decline != KREPLAY_DECLINE_NONE || p->replay.replay_pass_count != NULL);
	struct patience for_ever = {0, 0};

	if ((record || collect || (atomic_load(&p->tracked) != 0 && kr_packet_signal(&p->packet).handle != 0)) &&
	    kr_signal_is_sound(kr_packet_signal(&p->packet))) {
		struct kr_tracked what = {
			.dispatch = is_dispatch ? &p->replay.dispatch : NULL, .record = record, .collect = collect};
		bool gave_up = false;

		park(p); /* records are tools' callbacks, and the wait for a signal may be long */
		if (!kr_completer_track(p, &p->packet, &what, end_of(patience), &gave_up) && !gave_up)
			return false;
		if (gave_up)
			kr_log_once("track", KR_LOG_WARN, "completer",
				    "no signal to be had: the times of some dispatches are missing");
		if (!unpark(p, &for_ever))
			return false;
	}
	put(p, &p->packet, p->packet.head);
	ring_hw(p);
	return true;
}

/* Brings the packet in hand to its end; false when patience came to its own first. */
static bool
settle(struct kr_proxy *p, struct patience *patience)
{
	if (p->stage == KR_STAGE_TAKEN) {
		park(p);
		ask(p);
	}
	if (p->stage == KR_STAGE_WINDOW) {
		park(p);
		if (patience->ns != 0 && p->kernel != NULL && atomic_load(&p->kernel->slow))
			return false;
		if (patience->ns == 0) /* the worker's round, whoever took the packet */
			p->replay.flags |= KREPLAY_FLAG_OTHER_THREAD;
		switch (kr_window_run(p, end_of(patience))) {
		case KR_WINDOW_DONE:
			p->stage = KR_STAGE_NONE;
			break;
		case KR_WINDOW_DECLINED:
			p->stage = KR_STAGE_ONCE;
			break;
		case KR_WINDOW_LATER:
			return false;
		}
	}
	if (p->stage == KR_STAGE_ONCE) {
		if (!unpark(p, patience) || !forward(p, patience))
			return false;
		p->stage = KR_STAGE_NONE;
		if (!p->asked)
			return true;
		park(p);
		kr_replay_end(&p->replay);
		if (p->replay.outcome == KREPLAY_OUTCOME_DECLINED)
			kr_diagnose_window(&p->replay);
	}
	return unpark(p, patience);
}

/* Callbacks may run: what they ring is found to be nested. Not reached at depth MAX_NESTED, where
 * packets are no longer looked at, unless by a worker, which starts at 0. */
static bool
settle_as_mine(struct kr_proxy *p, struct patience *patience)
{
	bool settled;

	mine[mine_count++] = p;
	settled = settle(p, patience);
	mine_count--;
	return settled;
}

/* Moves packets until there are none, waiting for at most so long (0: for ever).
 * False: that was too short, and the queue is parked with what is left to do. */
static bool
move(struct kr_proxy *p, uint64_t patience_ns)
{
	struct patience patience = {patience_ns, 0};
	bool done = false, nested = mine_count > 0;

	if (nested)
		kr_window_reentered(p->agent);
	for (;;) {
		if (p->stage != KR_STAGE_NONE ? !settle_as_mine(p, &patience)
					      : atomic_load(&p->agent->writer) != 0 && !unpark(p, &patience))
			break;
		if (!take(p, nested)) {
			ring_hw(p);
			done = true;
			break;
		}
		ring_hw(p); /* predecessors of what is in hand */
	}
	return done;
}

/* A callback rings the very queue whose packet is in hand. */
static void
ring_nested(struct kr_proxy *p)
{
	uint32_t before = atomic_load(&p->owner);
	enum kr_stage stage = p->stage;
	struct patience for_ever = {0, 0};

	kr_window_reentered(p->agent);
	if (!unpark(p, &for_ever))
		return;
	take(p, true);
	ring_hw(p);
	p->stage = stage;
	atomic_store(&p->owner, before);
}

void
kr_proxy_ring(struct kr_proxy *p)
{
	for (;;) {
		uint32_t free_now = KR_QUEUE_FREE;
		uint64_t seen;

		if (!atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_SUBMITTING)) {
			if (kr_proxy_is_in_hand(p)) {
				ring_nested(p);
				return;
			}
			/* Its owner looks at `rings` after letting go, so either the
			 * owner sees this or we become the owner. */
			atomic_store_explicit(&p->rung_by, thread_id(), memory_order_relaxed);
			atomic_fetch_add(&p->rings, 1);
			free_now = KR_QUEUE_FREE;
			if (!atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_SUBMITTING))
				return;
		}
		seen = atomic_load(&p->rings);
		if (!move(p, PATIENCE_NS)) {
			atomic_store_explicit(&p->rung_by, thread_id(), memory_order_relaxed);
			kr_worker_take_over(p);
			return;
		}
		atomic_exchange(&p->owner, KR_QUEUE_FREE);
		if (atomic_load(&p->rings) == seen)
			return;
	}
}

/* The worker's round: it owns the queue already. */
void
kr_proxy_finish_ring(struct kr_proxy *p)
{
	uint64_t seen;

	do {
		uint32_t free_now = KR_QUEUE_FREE;

		p->on_worker = true;
		seen = atomic_load(&p->rings);
		while (!move(p, 0))
			; /* without patience it ends only when the queue dies, see unpark */
		p->on_worker = false;
		atomic_exchange(&p->owner, KR_QUEUE_FREE);
		if (atomic_load(&p->rings) == seen ||
		    !atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_SUBMITTING))
			return;
	} while (true);
}

bool
kr_proxy_look(struct kr_proxy *p)
{
	uint64_t index = atomic_load(&p->taken_to);
	uint32_t head = atomic_load_explicit(&p->ring[index & p->mask].head, memory_order_acquire);
	uint32_t free_now = KR_QUEUE_FREE;

	if (kr_packet_type(head) == HSA_PACKET_TYPE_INVALID || atomic_load(&p->owner) != KR_QUEUE_FREE) {
		p->looked_at = 0;
		return false;
	}
	if (p->looked_at != index + 1) {
		p->looked_at = index + 1; /* its ring may be on the way */
		return true;
	}
	if (!atomic_load(&p->dying) && atomic_compare_exchange_strong(&p->owner, &free_now, KR_QUEUE_PARKED)) {
		atomic_store_explicit(&p->rung_by, 0, memory_order_relaxed);
		kr_worker_take_over(p);
	}
	return true;
}
