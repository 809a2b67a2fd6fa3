/* SPDX-License-Identifier: MIT */
#include "core/window.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/agents.h"
#include "core/arguments.h"
#include "core/code.h"
#include "core/completer.h"
#include "core/copies.h"
#include "core/diagnosis.h"
#include "core/foreign.h"
#include "core/kernels.h"
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "options/options.h"

/* Every wait is cut into slices, to see whether the queue is being destroyed. */
#define SLICE_NS 20000000u

struct window {
	struct kr_proxy *proxy;
	struct kr_agent *agent;
	struct kr_snapshot *snapshot;
	uint64_t reentered_at; /* agent->reentered when the agent was last known to be at rest */
	uint64_t start_ts, end_ts; /* of the last pass, as the packet processor wrote them */
	bool failed;
	bool given_up; /* the last pass still runs */
};

static const char *
kernel_name(const struct kr_proxy *p)
{
	return p->kernel != NULL ? p->kernel->name : "?";
}

static uint64_t
drain_time_ns(void)
{
	return kr_options_get()->drain_timeout_s * 1000000000ull;
}

/* ---- bringing queues to rest ---- */

/* Whether the hardware queue stands at a barrier whose dependencies are not
 * resolved: nothing behind it can run, and waiting for it could wait for us. */
static bool
is_parked(struct kr_proxy *q)
{
	uint64_t at = kr_next.hsa_queue_load_read_index_scacquire(q->hw);
	const union kr_packet *packet = &q->hw_ring[at & q->hw_mask];
	unsigned type = kr_packet_type(atomic_load_explicit(&packet->head, memory_order_acquire));
	unsigned waiting = 0, deps = 0;

	if (at >= q->hw_write || (type != HSA_PACKET_TYPE_BARRIER_AND && type != HSA_PACKET_TYPE_BARRIER_OR))
		return false;
	for (int i = 0; i < 5; i++) {
		hsa_signal_t dep = packet->barrier.dep_signal[i];

		if (dep.handle == 0)
			continue;
		deps++;
		waiting += kr_next.hsa_signal_load_scacquire(dep) != 0;
	}
	return type == HSA_PACKET_TYPE_BARRIER_AND ? waiting > 0 : deps > 0 && waiting == deps;
}

/* Puts a barrier of ours behind everything in the queue, unless one is there
 * already. False: the queue is at rest. A queue's owner, parked, and the writer
 * of its agent may both be at this. */
static bool
start_drain(struct kr_proxy *q)
{
	union kr_packet packet = {0};
	bool busy = true;

	pthread_mutex_lock(&q->drain_mutex);
	if (!q->drain_pending) {
		busy = q->hw_idle_at != q->hw_write;
		if (busy) {
			kr_next.hsa_signal_store_relaxed(q->drain_signal, 1);
			packet.head = kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true);
			packet.barrier.completion_signal = q->drain_signal;
			kr_proxy_submit(q, &packet);
			q->drain_pending = true;
			q->drain_index = q->hw_write;
		}
	}
	pthread_mutex_unlock(&q->drain_mutex);
	return busy;
}

static void
end_drain(struct kr_proxy *q)
{
	pthread_mutex_lock(&q->drain_mutex);
	if (q->drain_pending && kr_next.hsa_signal_load_scacquire(q->drain_signal) < 1) {
		q->drain_pending = false;
		if (q->drain_index == q->hw_write)
			kr_proxy_set_idle(q);
	}
	pthread_mutex_unlock(&q->drain_mutex);
}

/* Waits until everything in the queue has finished, or, for a sibling, until it
 * is parked. By the queue's owner or the agent's writer. */
static bool
drain(struct kr_proxy *q, const struct kr_proxy *who, uint64_t deadline)
{
	bool sibling = q != who;
	struct kr_wait wait = {0};

	while (start_drain(q)) {
		while (kr_next.hsa_signal_wait_scacquire(q->drain_signal, HSA_SIGNAL_CONDITION_LT, 1, SLICE_NS,
							 HSA_WAIT_STATE_BLOCKED) >= 1) {
			if (sibling && is_parked(q))
				return true;
			kr_wait_longer(&wait, who, sibling ? "for another queue of the agent to drain" : "for its predecessors");
			if (kr_now_ns() >= deadline || atomic_load(&q->dying) || atomic_load(&q->stopped))
				return false;
		}
		end_drain(q);
	}
	return true;
}

/* By the writer: everything else on the agent, queues and copies. */
static bool
drain_siblings(struct window *w, uint64_t deadline)
{
	for (struct kr_proxy *q = w->agent->queues; q != NULL; q = q->next_on_agent)
		if (!q->stopped && !drain(q, w->proxy, deadline))
			return false;
	return kr_foreign_drain(w->agent, deadline) && kr_copy_fence(w->agent, deadline);
}

/* ---- what the replay loop asks for ---- */

/* What a kernel writes to host memory stays (contract, section 5). Where it
 * adds up there, the result is that of every pass. */
static void
warn_of_host_memory(const struct kr_proxy *p)
{
	const struct kr_argument *a = kr_argument_to_host();
	char key[32];

	if (a == NULL || p->kernel == NULL)
		return;
	snprintf(key, sizeof(key), "host-memory-%llu", (unsigned long long)p->kernel->id);
	kr_log_once(key, KR_LOG_WARN, "window",
		    "kernel %s is given host memory (argument '%s'): what it writes there is not undone between passes",
		    p->kernel->name, a->name != NULL ? a->name : "?");
}

/* Whether somebody sees each pass: what it prints, or what it writes to memory that is not saved. */
static bool
is_seen_outside(const struct kr_proxy *p)
{
	return kr_argument_to_host() != NULL ||
	       (p->kernel != NULL && p->kernel->arguments != NULL && p->kernel->arguments->calls_host);
}

static kreplay_decline_t
take_snapshot(void *data, kreplay_phase_stats_t *stats)
{
	struct window *w = data;
	struct kr_scope scope;
	kreplay_decline_t why;

	*stats = (kreplay_phase_stats_t){.size = sizeof(*stats)};
	w->snapshot = kr_snapshot_of(w->agent);
	if (w->snapshot == NULL)
		return KREPLAY_DECLINE_OUT_OF_MEMORY;
	kr_tracker_scope(w->agent, &scope);
	for (int i = 0; i < 4; i++)
		w->proxy->replay.left_out_bytes[i] = scope.left_out[i];
	w->proxy->replay.left_out_read_only = kr_code_read_only(w->agent);
	if (kr_tracker_attached() != 0 || atomic_load(&w->agent->writes_peers))
		w->proxy->replay.flags |= KREPLAY_FLAG_PEER_MEMORY;
	kr_snapshot_arguments(w->snapshot, kernel_name(w->proxy), w->proxy->packet.dispatch.kernarg_address,
			      w->proxy->kernel != NULL ? w->proxy->kernel->kernarg_bytes : 0);
	kr_arguments_here(w->proxy->kernel != NULL ? w->proxy->kernel->arguments : NULL,
			  w->proxy->packet.dispatch.kernarg_address);
	if (is_seen_outside(w->proxy)) {
		w->proxy->replay.flags |= KREPLAY_FLAG_EXTERNALLY_VISIBLE;
		if (w->proxy->replay.requests & KREPLAY_REQUEST_DECLINE_VISIBLE)
			return KREPLAY_DECLINE_EXTERNALLY_VISIBLE;
	}
	warn_of_host_memory(w->proxy);
	why = kr_snapshot_take(w->snapshot, stats);
	if (kr_snapshot_is_plain(w->snapshot))
		w->proxy->replay.flags |= KREPLAY_FLAG_PLAIN_COPIES;
	return why;
}

/* A pass that takes long may be waiting for somebody whom the window keeps
 * waiting: another queue's kernel, or the very thread that rang. It is given up
 * at the drain time, and before that when somebody does wait, or when this is the
 * thread that rang. In that case the kernel may just be slow, so its later
 * windows are the worker's, where nobody is kept. */
static bool
is_stuck(const struct window *w, uint64_t pass, uint64_t waited)
{
	uint64_t limit = drain_time_ns();
	bool others = atomic_load(&w->agent->waiting) != 0;
	bool rang = !(w->proxy->replay.flags & KREPLAY_FLAG_OTHER_THREAD);

	if (waited <= limit && !(others && waited > limit / 6) && !(rang && waited > limit / 2))
		return false;
	if (rang && w->proxy->kernel != NULL)
		atomic_store(&w->proxy->kernel->slow, true);
	kr_log(KR_LOG_WARN, "window",
	       "pass %llu of kernel %s (dispatch %llu, queue %llu) has not finished after %.1f s%s: it is left to "
	       "itself, and the dispatch is not replayed further",
	       (unsigned long long)pass, kernel_name(w->proxy),
	       (unsigned long long)w->proxy->replay.dispatch.info.dispatch_id, (unsigned long long)w->proxy->id,
	       (double)waited / 1e9, others ? " while others wait for the agent" : "");
	return true;
}

static kreplay_decline_t
run_pass(void *data, uint64_t pass, struct kr_pass_times *times)
{
	struct window *w = data;
	struct kr_proxy *p = w->proxy;
	union kr_packet packet = p->packet;
	hsa_amd_profiling_dispatch_time_t time = {0};
	struct kr_wait wait = {0};
	uint64_t began = kr_now_ns();
	hsa_signal_value_t value;

	*times = (struct kr_pass_times){0};

	packet.head = (packet.head & 0xffff0000u) | kr_packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true);
	packet.dispatch.completion_signal = p->pass_signal;
	kr_next.hsa_signal_store_relaxed(p->pass_signal, 1);
	kr_proxy_submit(p, &packet);
	while ((value = kr_next.hsa_signal_wait_scacquire(p->pass_signal, HSA_SIGNAL_CONDITION_LT, 1, SLICE_NS,
							  HSA_WAIT_STATE_BLOCKED)) >= 1) {
		if (p->stopped)
			break;
		kr_wait_longer(&wait, p, "for a pass to finish");
		if (is_stuck(w, pass, kr_now_ns() - began)) {
			w->given_up = true;
			kr_snapshot_close(w->snapshot); /* what it holds is being written */
			return KREPLAY_DECLINE_STUCK_PASS;
		}
	}
	if (value < 0 || p->stopped) {
		w->failed = true;
		return KREPLAY_DECLINE_PASS_FAILED;
	}
	w->start_ts = kr_signal_amd(p->pass_signal)->start_ts;
	w->end_ts = kr_signal_amd(p->pass_signal)->end_ts;
	kr_next.hsa_amd_profiling_get_dispatch_time(w->agent->handle, p->pass_signal, &time);
	times->start_ns = time.start;
	times->end_ns = time.end;
	return KREPLAY_DECLINE_NONE;
}

static void
restore(void *data, kreplay_phase_stats_t *stats)
{
	struct window *w = data;
	const char *name = kernel_name(w->proxy);

	/* What a callback dispatched may still be writing. */
	if (w->agent->reentered != w->reentered_at) {
		if (!drain_siblings(w, kr_now_ns() + drain_time_ns())) {
			kr_log(KR_LOG_ERROR, "window", "what a callback dispatched during the replay of %s does not end; "
						       "memory cannot be restored", name);
			abort();
		}
		w->reentered_at = w->agent->reentered;
	}
	kr_snapshot_restore(w->snapshot, name, stats);
}

static const kreplay_memory_view_t *
memory(void *data)
{
	struct window *w = data;

	return kr_snapshot_view(w->snapshot);
}

static bool
reentered(void *data)
{
	struct window *w = data;

	return w->agent->reentered != 0;
}

static const struct kr_window_ops ops = {
	.snapshot = take_snapshot,
	.run = run_pass,
	.restore = restore,
	.memory = memory,
	.reentered = reentered,
};

/* ---- the window ---- */

/* The application's completion, once, with the last pass's time stamps. */
static void
complete(const struct window *w)
{
	hsa_signal_t signal = w->proxy->packet.dispatch.completion_signal;

	/* A queue in error completes nothing. */
	if (w->failed)
		return;
	if (w->given_up) {
		/* The first pass is the program's own; what keeps a later one may be that it is a later one. */
		uint64_t end_by = w->proxy->replay.passes_run > 1 ? kr_now_ns() + drain_time_ns() : 0;

		while (!kr_completer_adopt(w->proxy, &w->proxy->pass_signal, signal, end_by))
			sched_yield(); /* no memory: somebody must free some, there is no other way */
		return;
	}
	if (signal.handle == 0)
		return;
	kr_signal_amd(signal)->start_ts = w->start_ts;
	kr_signal_amd(signal)->end_ts = w->end_ts;
	kr_next.hsa_signal_subtract_screlease(signal, 1);
}

static enum kr_window_result
not_at_rest(struct kr_proxy *p, uint64_t give_up)
{
	if (!atomic_load(&p->dying) && !p->stopped && kr_now_ns() < give_up)
		return KR_WINDOW_LATER;
	if (!p->dying && !p->stopped) {
		if (kr_log_once("drain", KR_LOG_WARN, "window",
				"the agent did not come to rest within %u s: kernel %s runs once",
				kr_options_get()->drain_timeout_s, kernel_name(p)))
			kr_diagnose_agent(p->agent);
	}
	kr_replay_decline(&p->replay, p->dying || p->stopped ? KREPLAY_DECLINE_SHUTTING_DOWN
							    : KREPLAY_DECLINE_DRAIN_TIMEOUT);
	return KR_WINDOW_DECLINED;
}

enum kr_window_result
kr_window_run(struct kr_proxy *p, uint64_t deadline)
{
	struct window w = {.proxy = p, .agent = p->agent};
	struct kr_pass_times last;
	uint64_t give_up;

	if (p->replay.opened_ns == 0)
		p->replay.opened_ns = kr_now_ns();
	give_up = p->replay.opened_ns + drain_time_ns();
	if (deadline == 0 || deadline > give_up)
		deadline = give_up;

	/* Predecessors first, without the lock: they may need others to run. */
	if (p->stopped || !drain(p, p, deadline) || !kr_completer_settle(p, deadline) || !kr_agent_write_lock(p->agent, deadline))
		return not_at_rest(p, give_up);
	p->agent->reentered = 0;
	if (!drain_siblings(&w, deadline)) {
		kr_agent_write_unlock(p->agent);
		return not_at_rest(p, give_up);
	}

	if (!kr_replay_window(&p->replay, &ops, &w, &last)) {
		if (w.snapshot != NULL)
			kr_snapshot_close(w.snapshot);
		kr_arguments_here(NULL, NULL);
		kr_agent_write_unlock(p->agent);
		return KR_WINDOW_DECLINED;
	}
	kr_replay_end(&p->replay);
	kr_diagnose_window(&p->replay);
	kr_snapshot_close(w.snapshot);
	kr_arguments_here(NULL, NULL);
	if (w.agent->reentered == w.reentered_at && !w.failed && !w.given_up)
		kr_proxy_set_idle(p);
	complete(&w);
	kr_agent_write_unlock(p->agent);
	return KR_WINDOW_DONE;
}

void
kr_window_reentered(struct kr_agent *agent)
{
	if (!kr_agent_is_writer(agent))
		return;
	agent->reentered++;
	/* Nobody is asked about it: a tool that dispatches when it is asked would be asked for ever. */
	kr_log_once("decline reentrant", KR_LOG_WARN, "replay",
		    "what a callback dispatches on the agent that is being replayed is not replayed: %s",
		    kreplay_decline_name(KREPLAY_DECLINE_REENTRANT));
}
