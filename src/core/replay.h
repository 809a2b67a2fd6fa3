/* SPDX-License-Identifier: MIT */
/*
 * The loop that repeats one dispatch, and what tools see of it. Knows no HSA: the mechanics come in as kr_window_ops.
 *
 * For one dispatch, all on one thread:
 *
 *	if (!kr_replay_wanted())
 *		forward it;
 *	switch (kr_replay_begin(&r, &dispatch)) {
 *	case KR_RUN_ONCE:
 *		forward it; break;
 *	case KR_RUN_WINDOW:
 *		open the window; if that fails: kr_replay_decline(&r, why), forward it
 *		else if (!kr_replay_window(&r, &ops, window, &last)) forward it
 *	}
 *	kr_replay_end(&r);
 *	let go of the window
 *
 * A kr_replay may move to another thread (the queue's worker) between begin and window, but not later.
 */
#ifndef KR_CORE_REPLAY_H
#define KR_CORE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <kreplay/kreplay.h>

/* One logical dispatch. Names live until the process ends; NULL when they are not known. */
struct kr_dispatch {
	kreplay_kernel_dispatch_info_t info;
	uint64_t thread_id; /* that rang */
	uint64_t correlation_id;
	uint64_t ancestor; /* correlation id of the dispatch in whose callback this was made, or 0 */
	const char *name;
	const char *mangled;
	uint32_t journal_kernel; /* kr_collect_kernel(); 0: looked up by name when it is needed */
};

struct kr_pass_times {
	uint64_t start_ns;
	uint64_t end_ns;
};

/* The mechanics of a window; all called on the window's thread. */
struct kr_window_ops {
	/* Fills all of *stats but size. Anything but KREPLAY_DECLINE_NONE: no snapshot, nothing ran. */
	kreplay_decline_t (*snapshot)(void *w, kreplay_phase_stats_t *stats);

	/*
	 * Submits the dispatch with our signal and waits for it. KREPLAY_DECLINE_STUCK_PASS and _PASS_FAILED say that it
	 * did run; every other reason, that it did not, and that memory is as it was before.
	 */
	kreplay_decline_t (*run)(void *w, uint64_t pass, struct kr_pass_times *times);

	/* Fills all of *stats but size. Aborts by itself when it fails part-way. */
	void (*restore)(void *w, kreplay_phase_stats_t *stats);

	/* The view, valid until kr_replay_end has returned; may be NULL. Asked once, after the snapshot. */
	const kreplay_memory_view_t *(*memory)(void *w);

	/* Whether a callback has dispatched on this agent since the window opened. */
	bool (*reentered)(void *w);
};

struct kr_toggles; /* contexts.h */

/*
 * Everything about one dispatch for which CONFIG ENTER was delivered. Zero it, or not: kr_replay_begin sets all of it that
 * has a meaning, which from `flags` on is nothing unless `begun`. Of the members, the mechanics may write `flags` (or bits in), `left_out_bytes`, `left_out_read_only` and `opened_ns`; the rest is to read.
 */
struct kr_replay {
	struct kr_dispatch dispatch;

	kreplay_user_data_t user_data; /* what CONFIG ENTER left */
	kreplay_kernel_replay_pass_count_cb_t replay_pass_count;
	kreplay_kernel_replay_continue_cb_t replay_continue;
	uint32_t requests; /* KREPLAY_REQUEST_*, as CONFIG ENTER left them */
	uint32_t driver; /* index of the driver's context */
	bool begun;      /* CONFIG ENTER was delivered, CONFIG EXIT was not */

	uint64_t total; /* 0: indefinite */
	kreplay_outcome_t outcome;
	kreplay_decline_t decline;
	uint32_t flags;
	uint64_t passes_run;
	kreplay_phase_stats_t snapshot;
	kreplay_phase_stats_t restore; /* sum */
	uint64_t left_out_bytes[4];
	uint64_t left_out_read_only;
	uint64_t opened_ns; /* CLOCK_MONOTONIC, when the opening of the window began; 0: at kr_replay_window */
	uint64_t window_ns;
	const kreplay_memory_view_t *memory;

	struct kr_toggles *toggles; /* of the loop that is running */
};

enum kr_replay_want {
	KR_RUN_ONCE,   /* forward it, then kr_replay_end, which has something to do when r->begun */
	KR_RUN_WINDOW, /* r->total passes wanted */
};

/* Whether a started context subscribes to CONFIG: one atomic load. */
bool kr_replay_wanted(void);

/*
 * CONFIG ENTER and the question for the count; CONFIG EXIT as well when the driver leaves the dispatch alone. Ringing thread,
 * no lock held.
 */
enum kr_replay_want kr_replay_begin(struct kr_replay *r, const struct kr_dispatch *d);

/*
 * SNAPSHOT, the passes, the RESTOREs. True: the dispatch has run, *last is the last pass's (a pass that was stuck or
 * failed included, then r->decline says so). False: declined, and memory is as it was before the first pass: the caller
 * forwards it once.
 */
bool kr_replay_window(struct kr_replay *r, const struct kr_window_ops *ops, void *w, struct kr_pass_times *last);

/* The caller could not open the window, or will not: the dispatch runs once. */
void kr_replay_decline(struct kr_replay *r, kreplay_decline_t why);

/* CONFIG EXIT, exactly once (a second call does nothing), and the row of the report. */
void kr_replay_end(struct kr_replay *r);

/* Whether a started context has the KERNEL_DISPATCH service: one atomic load. */
bool kr_dispatch_wanted(void);

/*
 * The records of one execution. *ud is ours between the two calls: enter sets it, complete uses it and lets go of what it
 * holds, so each enter needs its complete, although any thread may make it. Where the execution never came about, complete
 * with both times 0. For passes kr_replay_window makes these calls itself.
 */
void kr_dispatch_enter(const struct kr_dispatch *d, uint64_t pass, uint64_t total, kreplay_user_data_t *ud);
void kr_dispatch_complete(const struct kr_dispatch *d, uint64_t pass, uint64_t total, uint64_t start_ns, uint64_t end_ns,
			  kreplay_user_data_t *ud);

#endif
