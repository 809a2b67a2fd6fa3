/* SPDX-License-Identifier: MIT */
#include "core/replay.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/collector.h"
#include "core/contexts.h"
#include "core/log.h"

#define BIT(index) (UINT64_C(1) << (index))
#define REPLAY KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY
#define DISPATCH KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH

typedef kreplay_callback_tracing_kernel_replay_data_t payload_t;

/* One operation, from its ENTER to its EXIT. */
struct operation {
	int operation;
	uint64_t pass;
	uint64_t delivered;         /* contexts that had the ENTER */
	kreplay_user_data_t shared; /* of the driver's tool */
	kreplay_user_data_t own[KR_MAX_CONTEXTS]; /* of each context of another tool */
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *kernel_name(const struct kr_replay *r)
{
	return r->dispatch.name ? r->dispatch.name : "(unnamed kernel)";
}

static bool of_driver(const struct kr_replay *r, unsigned index)
{
	return kr_context_client(index) == kr_context_client(r->driver);
}

static void fill(const struct kr_replay *r, payload_t *p, int operation, uint64_t pass)
{
	memset(p, 0, sizeof *p);
	p->size = sizeof *p;
	p->dispatch_info = r->dispatch.info;
	if (operation == KREPLAY_KERNEL_REPLAY_PASS || operation == KREPLAY_KERNEL_REPLAY_RESTORE)
		p->current_pass = pass;
	p->total_passes = r->total;
	p->outcome = r->outcome;
	p->decline = r->decline;
	p->flags = r->flags;
	p->passes_run = r->passes_run;
	p->snapshot = r->snapshot;
	p->restore = r->restore;
	memcpy(p->left_out_bytes, r->left_out_bytes, sizeof p->left_out_bytes);
	p->left_out_read_only = r->left_out_read_only;
	p->window_ns = r->window_ns;
	p->memory = r->memory;
}

/* The same for a dispatch of which nothing is known yet. */
static void fill_blank(const struct kr_replay *r, payload_t *p)
{
	static const payload_t blank = { .size = sizeof blank, .snapshot.size = sizeof blank.snapshot,
					 .restore.size = sizeof blank.restore };

	memcpy(p, &blank, sizeof blank);
	p->dispatch_info = r->dispatch.info;
}

/* What the next window is going to fill. */
static void clear_window(struct kr_replay *r)
{
	memset((char *)r + offsetof(struct kr_replay, total), 0, sizeof *r - offsetof(struct kr_replay, total));
	r->snapshot.size = sizeof r->snapshot;
	r->restore.size = sizeof r->restore;
}

/* --- KERNEL_DISPATCH --- */

/* What is kept between the two records of one execution: in *ud, or on the stack of the loop. */
struct records {
	uint64_t delivered;
	kreplay_user_data_t own[];
};

static void fill_dispatch(kreplay_callback_tracing_kernel_dispatch_data_t *p, const struct kr_dispatch *d, uint64_t pass,
			  uint64_t total)
{
	memset(p, 0, sizeof *p);
	p->size = sizeof *p;
	p->dispatch_info = d->info;
	p->replay_pass = pass;
	p->total_passes = total;
}

/* Contexts that want either record. */
static uint64_t dispatch_contexts(void)
{
	return kr_contexts_live(DISPATCH, KREPLAY_KERNEL_DISPATCH_ENQUEUE) |
	       kr_contexts_live(DISPATCH, KREPLAY_KERNEL_DISPATCH_COMPLETE);
}

static void records_enter(struct records *records, uint64_t to, const struct kr_dispatch *d, uint64_t pass,
			  uint64_t total)
{
	uint64_t enqueue = kr_contexts_subscribed(DISPATCH, KREPLAY_KERNEL_DISPATCH_ENQUEUE);
	kreplay_callback_tracing_kernel_dispatch_data_t payload;

	records->delivered = to;
	for (uint64_t rest = to & enqueue; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		fill_dispatch(&payload, d, pass, total);
		if (!kr_context_deliver(i, d, DISPATCH, KREPLAY_KERNEL_DISPATCH_ENQUEUE, KREPLAY_CALLBACK_PHASE_ENTER,
					&payload, &records->own[i], NULL))
			continue;
		fill_dispatch(&payload, d, pass, total);
		kr_context_deliver(i, d, DISPATCH, KREPLAY_KERNEL_DISPATCH_ENQUEUE, KREPLAY_CALLBACK_PHASE_EXIT,
				   &payload, &records->own[i], NULL);
	}
}

static void records_complete(struct records *records, const struct kr_dispatch *d, uint64_t pass, uint64_t total,
			     uint64_t start_ns, uint64_t end_ns)
{
	uint64_t complete = kr_contexts_subscribed(DISPATCH, KREPLAY_KERNEL_DISPATCH_COMPLETE);
	kreplay_callback_tracing_kernel_dispatch_data_t payload;

	for (uint64_t rest = records->delivered & complete; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		fill_dispatch(&payload, d, pass, total);
		payload.start_timestamp = start_ns;
		payload.end_timestamp = end_ns;
		kr_context_deliver(i, d, DISPATCH, KREPLAY_KERNEL_DISPATCH_COMPLETE, KREPLAY_CALLBACK_PHASE_NONE,
				   &payload, &records->own[i], NULL);
	}
}

void kr_dispatch_enter(const struct kr_dispatch *d, uint64_t pass, uint64_t total, kreplay_user_data_t *ud)
{
	uint64_t to = dispatch_contexts();

	ud->ptr = NULL;
	if (!to)
		return;
	struct records *records = calloc(1, sizeof *records + kr_contexts_limit() * sizeof records->own[0]);
	if (!records) {
		kr_log_once("records-memory", KR_LOG_WARN, "tools", "no memory for the record of a dispatch: left out");
		return;
	}
	records_enter(records, to, d, pass, total);
	ud->ptr = records;
}

void kr_dispatch_complete(const struct kr_dispatch *d, uint64_t pass, uint64_t total, uint64_t start_ns, uint64_t end_ns,
			  kreplay_user_data_t *ud)
{
	struct records *records = ud->ptr;

	if (!records)
		return;
	ud->ptr = NULL;
	records_complete(records, d, pass, total, start_ns, end_ns);
	free(records);
}

/* --- operations --- */

/* Contexts to be asked at all; who is masked is looked at when its turn comes. */
static uint64_t audience(const struct kr_replay *r, int operation)
{
	/* A driver that is stopped in the middle still sees its window to the end. */
	uint64_t driver = BIT(r->driver) & kr_contexts_subscribed(REPLAY, operation);

	return kr_contexts_live(REPLAY, operation) | driver;
}

static kreplay_user_data_t *user_data_of(const struct kr_replay *r, struct operation *op, unsigned index)
{
	return of_driver(r, index) ? &op->shared : &op->own[index];
}

static void enter_one(struct kr_replay *r, struct operation *op, unsigned index)
{
	bool pass = op->operation == KREPLAY_KERNEL_REPLAY_PASS, driving = of_driver(r, index);
	payload_t payload;

	if (index != r->driver && r->toggles && r->toggles->stopped & BIT(index))
		return;
	fill(r, &payload, op->operation, op->pass);
	if (pass && driving) {
		payload.replay_start_context = kr_context_start_locally;
		payload.replay_stop_context = kr_context_stop_locally;
	}
	if (kr_context_deliver(index, &r->dispatch, REPLAY, op->operation, KREPLAY_CALLBACK_PHASE_ENTER, &payload,
			       user_data_of(r, op, index), pass && driving ? r->toggles : NULL))
		op->delivered |= BIT(index);
}

/* The driver first, so that what it toggles holds for the others at once. */
static void operation_enter(struct kr_replay *r, struct operation *op, int operation, uint64_t pass)
{
	uint64_t to = audience(r, operation);

	memset(op, 0, sizeof *op);
	op->operation = operation;
	op->pass = pass;
	op->shared = r->user_data;
	if (to & BIT(r->driver))
		enter_one(r, op, r->driver);
	for (uint64_t rest = to & ~BIT(r->driver); rest; rest &= rest - 1)
		enter_one(r, op, (unsigned)__builtin_ctzll(rest));
}

/*
 * To those that had the ENTER, the driver last. `stats` replaces the sum of the restores; *again is the function that
 * decides on the next pass, which the driver's tool may replace. Both may be NULL.
 */
static void operation_exit(struct kr_replay *r, struct operation *op, const kreplay_phase_stats_t *stats,
			   kreplay_kernel_replay_continue_cb_t *again)
{
	uint64_t rest = op->delivered;

	while (rest) {
		uint64_t others = rest & ~BIT(r->driver);
		unsigned i = others ? (unsigned)__builtin_ctzll(others) : r->driver;
		payload_t payload;

		rest &= ~BIT(i);
		fill(r, &payload, op->operation, op->pass);
		if (stats)
			payload.restore = *stats;
		if (again)
			payload.replay_continue = *again;
		kr_context_deliver(i, &r->dispatch, REPLAY, op->operation, KREPLAY_CALLBACK_PHASE_EXIT, &payload,
				   user_data_of(r, op, i), NULL);
		if (again && of_driver(r, i))
			*again = payload.replay_continue;
	}
}

/* --- CONFIG --- */

static bool ask_count(struct kr_replay *r, uint64_t *count)
{
	struct kr_call call;

	if (!kr_context_enter(&call, r->driver, NULL))
		return false;
	*count = r->replay_pass_count(r->dispatch.info, r->user_data);
	kr_context_leave(&call);
	return true;
}

static void config_call(struct kr_replay *r, kreplay_callback_phase_t phase, payload_t *payload,
			kreplay_user_data_t *user_data)
{
	kr_context_call(r->driver, &r->dispatch, REPLAY, KREPLAY_KERNEL_REPLAY_CONFIG, phase, payload, user_data);
}

/*
 * CONFIG ENTER, and CONFIG EXIT at once where the driver leaves the dispatch alone: nothing more will be known of it. That
 * is what happens to most dispatches of a program, so it has its own way, with one bracket around both and without what only
 * a window needs. False: nobody drives any more, or there is nothing left to do.
 */
static bool config_enter(struct kr_replay *r)
{
	uint64_t drivers = kr_contexts_live(REPLAY, KREPLAY_KERNEL_REPLAY_CONFIG);
	struct kr_call call;
	payload_t payload;

	r->outcome = KREPLAY_OUTCOME_ONCE;
	if (!drivers)
		return false;
	r->driver = (uint32_t)__builtin_ctzll(drivers);
	if (!kr_context_enter(&call, r->driver, NULL))
		return false;
	/* Whoever retires the driver has said so before it looks at the brackets: no window opens behind its back. */
	if (kr_context_retiring(r->driver)) {
		kr_context_leave(&call);
		return false;
	}
	fill_blank(r, &payload);
	config_call(r, KREPLAY_CALLBACK_PHASE_ENTER, &payload, &r->user_data);
	r->replay_pass_count = payload.replay_pass_count;
	r->replay_continue = payload.replay_continue;
	r->requests = payload.requests;
	if (!r->replay_pass_count && !r->replay_continue) {
		fill_blank(r, &payload);
		payload.total_passes = 1;
		payload.outcome = KREPLAY_OUTCOME_ONCE;
		if (!kr_context_ended(r->driver))
			config_call(r, KREPLAY_CALLBACK_PHASE_EXIT, &payload, &r->user_data);
		kr_context_leave(&call);
		return false;
	}
	clear_window(r);
	r->begun = true;
	kr_window_opened(); /* before the bracket ends, for the same reason */
	kr_window_here();
	kr_context_leave(&call);
	return true;
}

static enum kr_replay_want bad_count(struct kr_replay *r)
{
	kr_replay_decline(r, KREPLAY_DECLINE_BAD_PASS_COUNT);
	return KR_RUN_ONCE;
}

static enum kr_replay_want decide(struct kr_replay *r)
{
	uint64_t count = 1;

	if (!config_enter(r))
		return KR_RUN_ONCE;
	if (!r->replay_pass_count)
		kr_log_once("continue-alone", KR_LOG_WARN, "replay",
			    "the tool sets replay_continue but no replay_pass_count: dispatches run once");
	if (!r->replay_pass_count || kr_collect_interrupted() || !ask_count(r, &count) || count == 1) {
		r->total = 1;
		r->outcome = KREPLAY_OUTCOME_ONCE;
		return KR_RUN_ONCE;
	}
	if (count == 0 && !r->replay_continue) {
		kr_log_once("count-0", KR_LOG_WARN, "replay",
			    "the tool wants passes without end for %s but sets no replay_continue: it runs once",
			    kernel_name(r));
		return bad_count(r);
	}
	if (count > KREPLAY_PASS_COUNT_MAX) {
		kr_log_once("count-huge", KR_LOG_WARN, "replay", "the tool wants %llu passes of %s: it runs once",
			    (unsigned long long)count, kernel_name(r));
		return bad_count(r);
	}
	r->total = count;
	return KR_RUN_WINDOW;
}

enum kr_replay_want kr_replay_begin(struct kr_replay *r, const struct kr_dispatch *d)
{
	enum kr_replay_want want;

	if (d != &r->dispatch)
		r->dispatch = *d;
	r->user_data.value = 0;
	r->replay_pass_count = NULL;
	r->replay_continue = NULL;
	r->begun = false;
	r->total = 1;
	r->decline = KREPLAY_DECLINE_NONE;
	r->toggles = NULL;
	want = decide(r);
	if (r->begun)
		kr_window_away();
	return want;
}

void kr_replay_decline(struct kr_replay *r, kreplay_decline_t why)
{
	char key[64] = "decline ";

	r->outcome = KREPLAY_OUTCOME_DECLINED;
	r->decline = why;
	strncat(key, kreplay_decline_name(why), sizeof key - strlen(key) - 1);
	kr_log_once(key, KR_LOG_WARN, "replay", "%s (dispatch %llu) is not replayed: %s; others like it are only counted",
		    kernel_name(r), (unsigned long long)r->dispatch.info.dispatch_id, kreplay_decline_name(why));
}

void kr_replay_end(struct kr_replay *r)
{
	payload_t payload;

	if (!r->begun)
		return;
	r->begun = false;
	/* Wanted, and nobody came to open a window or to say why not: the queue has gone. */
	if (r->outcome == KREPLAY_OUTCOME_NONE)
		kr_replay_decline(r, KREPLAY_DECLINE_SHUTTING_DOWN);
	kr_window_here();
	fill(r, &payload, KREPLAY_KERNEL_REPLAY_CONFIG, 0);
	payload.replay_pass_count = r->replay_pass_count;
	payload.replay_continue = r->replay_continue;
	kreplay_user_data_t user_data = r->user_data;

	kr_context_deliver(r->driver, &r->dispatch, REPLAY, KREPLAY_KERNEL_REPLAY_CONFIG, KREPLAY_CALLBACK_PHASE_EXIT,
			   &payload, &user_data, NULL);
	r->memory = NULL;
	kr_window_away();
	kr_window_closed();
	kr_collect_window(r);
}

/* --- the window --- */

static void add_stats(kreplay_phase_stats_t *sum, const kreplay_phase_stats_t *one)
{
	if (one->regions > sum->regions)
		sum->regions = one->regions;
	sum->bytes += one->bytes;
	sum->dirty_bytes += one->dirty_bytes;
	sum->host_link_bytes += one->host_link_bytes;
	sum->ns += one->ns;
	if (sum->tier == KREPLAY_TIER_NONE)
		sum->tier = one->tier;
	else if (one->tier != KREPLAY_TIER_NONE && one->tier != sum->tier)
		sum->tier = KREPLAY_TIER_MIXED;
}

/* Whether the reason that ops->run gave means that the kernel did run. */
static bool did_run(kreplay_decline_t why)
{
	return why == KREPLAY_DECLINE_NONE || why == KREPLAY_DECLINE_STUCK_PASS || why == KREPLAY_DECLINE_PASS_FAILED;
}

/* The execution of one pass and its records. */
static kreplay_decline_t execute(struct kr_replay *r, const struct kr_window_ops *ops, void *w, uint64_t pass,
				 struct kr_pass_times *times)
{
	/* The union gives the flexible array its room. */
	union {
		struct records records;
		uint64_t room[1 + KR_MAX_CONTEXTS];
	} u = { .room = { 0 } };
	const struct kr_dispatch *d = &r->dispatch;

	records_enter(&u.records, dispatch_contexts() & ~r->toggles->stopped, d, pass, r->total);
	*times = (struct kr_pass_times){ 0, 0 };
	kreplay_decline_t why = ops->run(w, pass, times);
	records_complete(&u.records, d, pass, r->total, times->start_ns, times->end_ns);
	if (did_run(why))
		kr_collect_execution(d->journal_kernel, d->info.dispatch_id, pass, r->total, times->start_ns,
				     times->end_ns);
	return why;
}

static bool ask_continue(struct kr_replay *r, kreplay_kernel_replay_continue_cb_t again, uint64_t pass,
			 kreplay_user_data_t user_data)
{
	struct kr_call call;

	if (!kr_context_enter(&call, r->driver, NULL))
		return false;
	int more = again(r->dispatch.info, pass, r->total, user_data);
	kr_context_leave(&call);
	return more != 0;
}

/*
 * One pass. True: another one is wanted, and memory has to be restored for it. Otherwise r->decline says whether something
 * went wrong.
 */
static bool run_pass(struct kr_replay *r, const struct kr_window_ops *ops, void *w, uint64_t pass,
		     struct kr_pass_times *times, bool *ran)
{
	kreplay_kernel_replay_continue_cb_t again = r->replay_continue;
	struct operation op;

	operation_enter(r, &op, KREPLAY_KERNEL_REPLAY_PASS, pass);
	r->decline = execute(r, ops, w, pass, times);
	*ran = did_run(r->decline);
	if (*ran)
		r->passes_run++;
	if (ops->reentered(w))
		r->flags |= KREPLAY_FLAG_REENTRANT;
	operation_exit(r, &op, NULL, &again);
	if (ops->reentered(w))
		r->flags |= KREPLAY_FLAG_REENTRANT;

	if (r->decline != KREPLAY_DECLINE_NONE || pass + 1 == r->total || kr_collect_interrupted())
		return false;
	if (kr_context_retiring(r->driver)) {
		r->decline = KREPLAY_DECLINE_SHUTTING_DOWN;
		return false;
	}
	if (!again && !r->total)
		kr_log_once("continue-removed", KR_LOG_WARN, "replay",
			    "the tool takes replay_continue away in a loop without end: going on");
	return !again || ask_continue(r, again, pass, op.shared);
}

static bool take_snapshot(struct kr_replay *r, const struct kr_window_ops *ops, void *w)
{
	struct operation op;

	operation_enter(r, &op, KREPLAY_KERNEL_REPLAY_SNAPSHOT, 0);
	r->decline = ops->snapshot(w, &r->snapshot);
	r->snapshot.size = sizeof r->snapshot;
	if (r->decline == KREPLAY_DECLINE_NONE)
		r->memory = ops->memory(w);
	operation_exit(r, &op, NULL, NULL);
	return r->decline == KREPLAY_DECLINE_NONE;
}

static void restore(struct kr_replay *r, const struct kr_window_ops *ops, void *w, uint64_t pass)
{
	kreplay_phase_stats_t stats = { .size = sizeof stats };
	struct operation op;

	operation_enter(r, &op, KREPLAY_KERNEL_REPLAY_RESTORE, pass);
	ops->restore(w, &stats);
	stats.size = sizeof stats;
	add_stats(&r->restore, &stats);
	operation_exit(r, &op, &stats, NULL);
}

bool kr_replay_window(struct kr_replay *r, const struct kr_window_ops *ops, void *w, struct kr_pass_times *last)
{
	struct kr_toggles toggles = { 0 };
	bool ran = false;

	kr_window_here();
	r->toggles = &toggles;
	if (!r->opened_ns)
		r->opened_ns = monotonic_ns();
	if (!r->dispatch.journal_kernel)
		r->dispatch.journal_kernel = kr_collect_kernel(r->dispatch.name, r->dispatch.mangled);
	*last = (struct kr_pass_times){ 0, 0 };

	if (take_snapshot(r, ops, w))
		for (uint64_t pass = 0; run_pass(r, ops, w, pass, last, &ran); pass++)
			restore(r, ops, w, pass);

	if (ops->reentered(w))
		r->flags |= KREPLAY_FLAG_REENTRANT;
	r->window_ns = monotonic_ns() - r->opened_ns;
	r->toggles = NULL;
	if (r->decline != KREPLAY_DECLINE_NONE)
		kr_replay_decline(r, r->decline);
	else
		r->outcome = KREPLAY_OUTCOME_REPLAYED;
	/* Once the caller forwards the dispatch, the memory is on its way to become something else. */
	if (!ran)
		r->memory = NULL;
	kr_window_away();
	return ran;
}
