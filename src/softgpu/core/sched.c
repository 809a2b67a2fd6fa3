/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: one pool of threads for the process that does everything the
 * devices do. A thread's life is a loop of three things: step the queues that
 * have something to do, start work-groups, run a slice of each group it holds.
 *
 * - A dispatch is started by the thread that saw the doorbell; others are woken
 *   only if it proves to be long or has many groups. A null dispatch thus never
 *   crosses threads.
 * - A group that does not end within its slice stays resident and takes turns,
 *   so a kernel that spins on another kernel, on the host or on a barrier lets
 *   the others run.
 * - With nothing to run, exactly one thread (the poller) watches the doorbells,
 *   first busily, then with growing sleeps of at most MAX_SLEEP, and at last,
 *   when no packet waits for memory, not at all: see doorbell.c. The others
 *   sleep until woken. With no queue at all the poller sleeps as well.
 */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define MAX_THREADS 1024
#define SLICE 10000            /* wave-instructions */
#define SPIN_NS 60000          /* the poller polls busily this long after work */
#define SPIN_LOOKS 32           /* at the doorbells, before it lets another thread run */
#define FIRST_SLEEP 50000
#define MAX_SLEEP 1000000
#define LONG_SLEEP 5000000     /* where the doorbells cannot be armed */
#define LONG_NS 20000          /* a slice beyond this keeps its thread from the doorbells */
#define BACKLOG_NS 40000       /* work beyond this is worth waking threads for */
#define MANY_GROUPS 256        /* so is this many groups, at once */
#define MIN_RESIDENT 512       /* groups of a thread, at most; more for large cards */
#define WAVES_PER_CU 40
#define ROTATIONS_PER_ADMISSION 8
#define SPARES 4
#define NEVER UINT64_MAX

/* A run of groups taken from a dispatch at once. */
struct batch {
	struct sg_dispatch *dispatch;
	uint64_t first, count;
};

struct resident {
	struct gcn_wg *wg;
	struct sg_dispatch *dispatch;
};

struct worker {
	pthread_t thread;
	struct batch batch;
	struct resident *resident; /* max_resident */
	uint32_t resident_count;
	uint32_t turn;        /* next resident to run */
	uint32_t rotations;   /* without a group ending, since the last admission */
	struct gcn_wg *spare[SPARES];
	uint32_t spare_count;
	bool poller;
	uint64_t last_work;
	uint64_t sleep;
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker **workers;
static uint32_t worker_count;
static uint32_t cores; /* usable when the workers were started */
static uint32_t max_resident;
static _Atomic bool stopping;

static pthread_mutex_t run_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_dispatch *run_list; /* circular; head is next to be served */
static _Atomic uint32_t run_count;   /* dispatches in it */
static _Atomic uint64_t backlog;     /* their groups not yet taken */
static struct sg_dispatch *timers;   /* those deferred, in no order */
static _Atomic uint64_t next_due = NEVER; /* the first of them */

static _Atomic bool poller_taken;
static _Atomic bool poller_asleep;
static _Atomic bool armed;           /* the poller's sleep ends by a ring or a doorbell wake only */
static _Atomic uint32_t sleepers;
static _Atomic uint32_t work_word;   /* sleepers wait on this */
static _Atomic uint32_t kick_word;   /* the sleeping poller on this */

void sg_sched_reset(void)
{
	/* In a forked child: the threads are the parent's, so is what they hold. */
	pthread_mutex_init(&start_lock, NULL);
	pthread_mutex_init(&run_lock, NULL);
	workers = NULL;
	worker_count = 0;
	run_list = timers = NULL;
	atomic_store(&next_due, NEVER);
	atomic_store(&armed, false);
	sg_doorbell_close();
	atomic_store(&stopping, false);
	atomic_store(&run_count, 0);
	atomic_store(&backlog, 0);
	atomic_store(&poller_taken, false);
	atomic_store(&poller_asleep, false);
	atomic_store(&sleepers, 0);
}

static void wake_sleepers(uint32_t count)
{
	if (!count || !atomic_load(&sleepers))
		return;
	atomic_fetch_add(&work_word, 1);
	sg_futex_wake(&work_word, (int)count);
}

void sg_device_kick(void)
{
	atomic_fetch_add(&kick_word, 1);
	if (!atomic_load(&poller_asleep))
		return;
	if (atomic_load(&armed))
		sg_doorbell_wake();
	else
		sg_futex_wake(&kick_word, 1);
}

/* ---- the run list ---- */

static void enlist(struct sg_dispatch *d)
{
	if (run_list) {
		d->next = run_list;
		d->prev = run_list->prev;
		d->prev->next = d;
		d->next->prev = d;
	} else {
		d->next = d->prev = d;
		run_list = d;
	}
	atomic_fetch_add(&run_count, 1);
	atomic_fetch_add(&backlog, d->group_count);
}

void sg_sched_submit(struct sg_dispatch *d)
{
	uint64_t groups = d->group_count; /* it may be over before the next line */

	pthread_mutex_lock(&run_lock);
	enlist(d);
	pthread_mutex_unlock(&run_lock);
	if (groups >= MANY_GROUPS)
		wake_sleepers(worker_count);
}

static void unlist(struct sg_dispatch *d)
{
	if (d->next == d) {
		run_list = NULL;
	} else {
		d->next->prev = d->prev;
		d->prev->next = d->next;
		if (run_list == d)
			run_list = d->next;
	}
	atomic_fetch_sub(&run_count, 1);
}

void sg_sched_defer(struct sg_dispatch *d)
{
	pthread_mutex_lock(&run_lock);
	d->next = timers;
	timers = d;
	if (d->due < atomic_load(&next_due))
		atomic_store(&next_due, d->due);
	pthread_mutex_unlock(&run_lock);
}

void sg_sched_recheck(void)
{
	pthread_mutex_lock(&run_lock);
	if (timers)
		atomic_store(&next_due, 0);
	pthread_mutex_unlock(&run_lock);
	sg_device_kick();
}

/* Starts and ends what was deferred until now. */
static bool run_timers(void)
{
	struct sg_dispatch *over = NULL, **link = &timers;
	uint64_t due = atomic_load_explicit(&next_due, memory_order_relaxed), now;
	bool any = false;

	if (due == NEVER || (now = sg_monotonic_ns()) < due)
		return false;
	due = NEVER;
	pthread_mutex_lock(&run_lock);
	while (*link) {
		struct sg_dispatch *d = *link;

		if (now < d->due && !atomic_load(&d->cancelled)) {
			due = d->due < due ? d->due : due;
			link = &d->next;
			continue;
		}
		*link = d->next;
		any = true;
		if (d->ending) {
			d->next = over;
			over = d;
		} else {
			enlist(d);
		}
	}
	atomic_store(&next_due, due);
	pthread_mutex_unlock(&run_lock);
	while (over) {
		struct sg_dispatch *d = over;

		over = d->next;
		sg_dispatch_end(d);
	}
	return any;
}

/* Whom to serve next: of those with the highest priority in turn, under reorder
 * anyone. */
static struct sg_dispatch *choose(void)
{
	struct sg_dispatch *d = run_list;
	uint32_t count = atomic_load(&run_count);

	if (sg_opt.reorder && d) {
		for (uint64_t skip = sg_random() % count; skip; skip--)
			d = d->next;
		return d;
	}
	for (struct sg_dispatch *e = d; count > 1; count--) {
		e = e->next;
		if (atomic_load(&e->queue->priority) > atomic_load(&d->queue->priority))
			d = e;
	}
	return d;
}

static bool take_batch(struct batch *batch)
{
	pthread_mutex_lock(&run_lock);
	struct sg_dispatch *d = choose();

	if (d) {
		uint64_t left = d->group_count - d->next_group;
		uint64_t count = left / (8 * worker_count);

		count = count < 1 || sg_opt.reorder ? 1 : count > 64 ? 64 : count;
		if (atomic_load(&d->cancelled))
			count = left;
		if (d->next_group == 0 && d->signal)
			d->start = sg_stamp();
		*batch = (struct batch){d, d->next_group, count};
		d->next_group += count;
		atomic_fetch_sub(&backlog, count);
		run_list = d->next; /* the next taker serves another dispatch */
		if (count == left)
			unlist(d);
	}
	pthread_mutex_unlock(&run_lock);
	return d != NULL;
}

/* ---- running groups ---- */

static struct gcn_wg *get_group(struct worker *w)
{
	return w->spare_count ? w->spare[--w->spare_count] : gcn_wg_create();
}

static void put_group(struct worker *w, struct gcn_wg *wg)
{
	if (w->spare_count < SPARES)
		w->spare[w->spare_count++] = wg;
	else
		gcn_wg_destroy(wg);
}

/* Runs one slice. True when the group is over. */
static bool run_slice(struct gcn_wg *wg, struct sg_dispatch *d)
{
	struct gcn_fault fault = {0};

	if (atomic_load_explicit(&d->cancelled, memory_order_relaxed))
		return true;
	switch (gcn_wg_run(wg, SLICE, &fault)) {
	case GCN_DONE:
		return true;
	case GCN_YIELD:
		return false;
	case GCN_FAULT:
		sg_dispatch_fault(d, &fault);
		return true;
	}
	return true;
}

/* Starts the next group of the batch and runs its first slice. */
static void start_group(struct worker *w)
{
	struct sg_dispatch *d = w->batch.dispatch;
	struct gcn_fault fault = {0};
	struct gcn_wg *wg;
	uint32_t id[3];

	if (atomic_load_explicit(&d->cancelled, memory_order_relaxed)) {
		uint64_t count = w->batch.count;

		w->batch.count = 0;
		sg_dispatch_groups_done(d, count);
		return;
	}
	sg_dispatch_group_id(d, w->batch.first++, id);
	w->batch.count--;
	wg = get_group(w);
	if (!wg || !gcn_wg_start(wg, &d->launch, id, &fault)) {
		if (!wg)
			fault = (struct gcn_fault){.kind = GCN_FAULT_RESOURCE,
			                           .pc = d->launch.entry,
			                           .text = "out of host memory"};
		sg_dispatch_fault(d, &fault);
	} else if (!run_slice(wg, d)) {
		w->resident[w->resident_count++] = (struct resident){wg, d};
		return;
	}
	if (wg)
		put_group(w, wg);
	sg_dispatch_groups_done(d, 1);
}

static void run_resident(struct worker *w)
{
	if (w->turn >= w->resident_count) {
		w->turn = 0;
		w->rotations++;
	}
	struct resident *r = &w->resident[w->turn];

	if (!run_slice(r->wg, r->dispatch)) {
		w->turn++;
		return;
	}
	struct sg_dispatch *d = r->dispatch;

	put_group(w, r->wg);
	*r = w->resident[--w->resident_count];
	w->rotations = 0;
	sg_dispatch_groups_done(d, 1);
}

/* Whether a dispatch of the run list has no group on this thread yet. */
static bool stranger_waits(const struct worker *w)
{
	bool stranger = false;

	pthread_mutex_lock(&run_lock);
	if (run_list) {
		stranger = true;
		for (uint32_t i = 0; i < w->resident_count && stranger; i++)
			stranger = w->resident[i].dispatch != run_list;
		if (!stranger) /* look at another one next time */
			run_list = run_list->next;
	}
	pthread_mutex_unlock(&run_lock);
	return stranger;
}

/* A new group is started when nothing is resident, when a dispatch would
 * otherwise not be served, or when the residents seem to wait for it. */
static bool may_start(struct worker *w)
{
	bool more = w->batch.count || atomic_load_explicit(&run_count, memory_order_relaxed);

	if (!more || w->resident_count == max_resident)
		return false;
	if (w->resident_count == 0)
		return true;
	if (w->rotations >= ROTATIONS_PER_ADMISSION) {
		w->rotations = 0;
		return true;
	}
	return w->turn == 0 && !w->batch.count && stranger_waits(w);
}

static bool run_groups(struct worker *w)
{
	if (may_start(w)) {
		if (w->batch.count || take_batch(&w->batch)) {
			start_group(w);
			return true;
		}
	}
	if (w->resident_count) {
		run_resident(w);
		return true;
	}
	return false;
}

/* ---- idling ---- */

static void release_poller(struct worker *w)
{
	w->poller = false;
	atomic_store(&poller_taken, false);
}

/* After a turn of `took` ns: let others share what lasts, and somebody else
 * watch the doorbells when this thread only sees them now and then. */
static void share(struct worker *w, uint64_t took)
{
	uint32_t wanted = 0;

	if (!atomic_load_explicit(&sleepers, memory_order_relaxed))
		return;
	if (atomic_load_explicit(&backlog, memory_order_relaxed) * took > BACKLOG_NS)
		wanted = worker_count;
	if (w->poller && took > LONG_NS) {
		release_poller(w);
		if (!wanted)
			wanted = 1;
	}
	wake_sleepers(wanted);
}

/* Sleeps until a ring, a kick or `deadline`; 0: none. True if not the latter. */
static bool sleep_poller(uint32_t kicks, uint64_t deadline)
{
	return sg_futex_wait(&kick_word, kicks, deadline) != ETIMEDOUT;
}

/* The same with the doorbells armed. False: cannot. */
static bool sleep_armed(uint32_t kicks)
{
	if (!sg_doorbell_arm())
		return false;
	atomic_store(&armed, true);
	/* Rings before arming, kicks before `armed`, and what a thread that found `armed`
	 * still clear left behind on its way to sleep are seen here. */
	if (!sg_queues_poll() && !sg_queues_stir() && atomic_load(&next_due) == NEVER &&
	    atomic_load(&kick_word) == kicks && !atomic_load(&stopping))
		sg_doorbell_sleep();
	atomic_store(&armed, false);
	sg_doorbell_disarm();
	return true;
}

static void idle_poller(struct worker *w)
{
	uint64_t now = sg_monotonic_ns(), due;
	uint32_t kicks = atomic_load(&kick_word);
	bool woken = true;

	if (now - w->last_work < SPIN_NS) {
		/* Alone on its core it gives way at once, else it looks some more first. */
		for (int i = cores > 1 ? SPIN_LOOKS : 0; i; i--) {
			__builtin_ia32_pause();
			if (sg_queues_poll() || atomic_load_explicit(&run_count, memory_order_relaxed))
				return;
		}
		sched_yield();
		return;
	}
	atomic_store(&poller_asleep, true);
	/* A kick or a ring before this line is seen here, one after it wakes us. */
	if (!sg_queues_poll() && !atomic_load(&stopping)) {
		gcn_catch_faults();
		due = atomic_load(&next_due);
		bool watch = due != NEVER || sg_queues_stir();

		if (!sg_queues_any() && due == NEVER) {
			sleep_poller(kicks, 0);
		} else if (w->sleep < MAX_SLEEP || watch || !sleep_armed(kicks)) {
			uint64_t most = watch ? MAX_SLEEP : LONG_SLEEP;

			w->sleep = w->sleep ? w->sleep * 2 : FIRST_SLEEP;
			if (w->sleep > most)
				w->sleep = most;
			woken = sleep_poller(kicks, now + w->sleep < due ? now + w->sleep : due);
		}
	}
	if (woken) {
		w->last_work = sg_monotonic_ns();
		w->sleep = 0;
	}
	atomic_store(&poller_asleep, false);
}

static void idle(struct worker *w)
{
	uint32_t word = atomic_load(&work_word);

	if (!w->poller && !atomic_exchange(&poller_taken, true)) {
		w->poller = true;
		w->sleep = 0;
	}
	if (w->poller) {
		idle_poller(w);
		return;
	}
	/* What this thread leaves behind: a queue that was busy when another wanted to step
	 * it, or something that only time ends. */
	if (atomic_load(&armed) && (atomic_load(&next_due) != NEVER || sg_queues_stir()))
		sg_device_kick();
	atomic_fetch_add(&sleepers, 1);
	/* Submitted or stopped before we counted as a sleeper? */
	if (!atomic_load(&run_count) && !atomic_load(&stopping) && atomic_load(&poller_taken))
		sg_futex_wait(&work_word, word, 0);
	atomic_fetch_sub(&sleepers, 1);
}

static void finish(struct worker *w)
{
	if (w->poller)
		release_poller(w);
	while (w->spare_count)
		gcn_wg_destroy(w->spare[--w->spare_count]);
	free(w->resident);
	w->resident = NULL;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	prctl(PR_SET_NAME, "softgpu");
	prctl(PR_SET_TIMERSLACK, 1000ul);
	uint64_t before = sg_monotonic_ns();

	while (!atomic_load(&stopping) || w->resident_count || w->batch.count ||
	       atomic_load(&run_count) || atomic_load(&next_due) != NEVER) {
		bool work = sg_queues_poll();

		work |= run_timers();
		work |= run_groups(w);
		if (!work) {
			idle(w);
			before = sg_monotonic_ns();
			continue;
		}
		uint64_t now = sg_monotonic_ns();

		share(w, now - before);
		before = w->last_work = now;
		w->sleep = 0;
	}
	finish(w);
	return NULL;
}

/* ---- life cycle ---- */

static uint32_t usable_cores(void)
{
	cpu_set_t set;
	int count = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set);
	return count < 1 ? 1 : (uint32_t)count;
}

/* As many groups as the cards could hold at once: those of a cooperative
 * launch wait for each other and must all be resident. */
static uint32_t resident_limit(uint32_t threads)
{
	uint64_t waves = 0;

	for (uint32_t i = 1; i < sg_node_count(); i++)
		waves += (uint64_t)sg_gpu_info(i)->compute_units * WAVES_PER_CU;
	waves = (waves + threads - 1) / threads;
	return waves < MIN_RESIDENT ? MIN_RESIDENT : (uint32_t)waves;
}

static bool spawn(struct worker *w)
{
	sigset_t blocked, old;
	int error;

	w->resident = calloc(max_resident, sizeof(*w->resident));
	if (!w->resident)
		return false;
	/* The client's signals are for the client's threads. Those that an
	 * instruction causes must stay deliverable. */
	sigfillset(&blocked);
	sigdelset(&blocked, SIGSEGV);
	sigdelset(&blocked, SIGBUS);
	sigdelset(&blocked, SIGFPE);
	sigdelset(&blocked, SIGILL);
	sigdelset(&blocked, SIGTRAP);
	sigdelset(&blocked, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &blocked, &old);
	error = pthread_create(&w->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error == 0;
}

enum sg_status sg_sched_start(void)
{
	enum sg_status status = SG_OK;
	uint32_t count;

	pthread_mutex_lock(&start_lock);
	if (workers)
		goto out;
	cores = usable_cores();
	count = sg_opt.threads ? sg_opt.threads : cores;
	if (count > MAX_THREADS)
		count = MAX_THREADS;
	workers = calloc(count, sizeof(*workers));
	if (!workers) {
		status = SG_NO_MEMORY;
		goto out;
	}
	atomic_store(&stopping, false);
	worker_count = count;
	max_resident = resident_limit(count);
	sg_doorbell_open();
	for (uint32_t i = 0; i < count; i++) {
		workers[i] = calloc(1, sizeof(**workers));
		if (!workers[i] || !spawn(workers[i])) {
			if (workers[i])
				free(workers[i]->resident);
			free(workers[i]);
			/* Fewer than asked for will do; none will not. */
			worker_count = i;
			break;
		}
	}
	if (worker_count == 0) {
		sg_doorbell_close();
		free(workers);
		workers = NULL;
		status = SG_RESOURCES;
	}
out:
	pthread_mutex_unlock(&start_lock);
	return status;
}

void sg_sched_stop(void)
{
	pthread_mutex_lock(&start_lock);
	if (workers) {
		atomic_store(&stopping, true);
		sg_device_kick();
		atomic_fetch_add(&work_word, 1);
		sg_futex_wake(&work_word, INT32_MAX);
		for (uint32_t i = 0; i < worker_count; i++) {
			pthread_join(workers[i]->thread, NULL);
			free(workers[i]);
		}
		free(workers);
		workers = NULL;
		worker_count = 0;
		sg_doorbell_close();
	}
	pthread_mutex_unlock(&start_lock);
}
