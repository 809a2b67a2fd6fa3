/* SPDX-License-Identifier: MIT */
/* A window has its agent for itself, and lets go of it when that would hang
 * the program (contract, sections 2, 4 and 6). */
#include "replay_tool.h"

#include <sched.h>
#include <unistd.h>

#include "core/agents.h"
#include "core/foreign.h"
#include "core/log.h"
#include "core/proxy.h"
#include "core/tracker.h"

/* ---- copies ---- */

static uint32_t *other; /* more device memory */
static uint32_t source;
static hsa_signal_t copied;

/* A copy engine that takes its time: the program's copy, and the fence behind it, end when the fence is waited for. */
static struct {
	__typeof__(kr_next.hsa_amd_memory_async_copy) copy;
	__typeof__(kr_next.hsa_signal_wait_scacquire) wait;
	uint32_t engine; /* 0: the runtime's choice */
	hsa_agent_t fence_to, fence_from;
	unsigned refuse; /* fences */
	unsigned count;
	struct {
		void *to;
		const void *from;
		hsa_signal_t done;
	} word[2];
	unsigned snapshots; /* that had been taken when it ended */
} slow;

static void
run_slow(void)
{
	unsigned count = slow.count;

	slow.count = 0;
	slow.snapshots = saw.snapshot;
	for (unsigned i = 0; i < count; i++)
		slow.copy(slow.word[i].to, STAND_IN_GPU, slow.word[i].from, STAND_IN_GPU, 4, 0, NULL,
			  slow.word[i].done);
}

static hsa_status_t
keep_slow(void *to, const void *from, hsa_signal_t completion)
{
	slow.word[slow.count].to = to;
	slow.word[slow.count].from = from;
	slow.word[slow.count++].done = completion;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
copy_slowly_on(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size, uint32_t num_deps,
	       const hsa_signal_t *deps, hsa_signal_t completion, uint32_t engine, bool force)
{
	bool fence = slow.count == 1 && size == 4 && engine == slow.engine && to_agent.handle == slow.fence_to.handle &&
		     from_agent.handle == slow.fence_from.handle;

	if (completion.handle != copied.handle && !fence)
		return slow.copy(to, to_agent, from, from_agent, size, num_deps, deps, completion);
	if (fence && slow.refuse > 0) {
		slow.refuse--;
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	}
	return keep_slow(to, from, completion);
}

static hsa_status_t
copy_slowly(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size, uint32_t num_deps,
	    const hsa_signal_t *deps, hsa_signal_t completion)
{
	return copy_slowly_on(to, to_agent, from, from_agent, size, num_deps, deps, completion, 0, false);
}

static hsa_status_t
copy_box_slowly(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset, const hsa_pitched_ptr_t *from,
		const hsa_dim3_t *from_offset, const hsa_dim3_t *range, hsa_agent_t agent, hsa_amd_copy_direction_t dir,
		uint32_t num_deps, const hsa_signal_t *deps, hsa_signal_t completion)
{
	return keep_slow(to->base, from->base, completion);
}

static hsa_status_t
copy_batch_slowly(const void *ops, uint32_t num_ops, uint32_t num_deps, const hsa_signal_t *deps)
{
	const struct stand_in_batch *batch = ops;

	return keep_slow(batch->to, batch->from, copied);
}

static hsa_signal_value_t
wait_for_slow(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value, uint64_t timeout,
	      hsa_wait_state_t hint)
{
	if (slow.count == 2 && slow.word[1].done.handle == signal.handle)
		run_slow();
	return slow.wait(signal, condition, value, timeout, hint);
}

static void
run_slow_late(uint64_t pass)
{
	if (slow.count != 0)
		run_slow();
}

struct way {
	uint32_t *to, *from;
	hsa_agent_t to_agent, from_agent;
};

static hsa_status_t
copy_word(const struct way *w)
{
	if (slow.engine == 0)
		return kr_hook_hsa_amd_memory_async_copy(w->to, w->to_agent, w->from, w->from_agent, 4, 0, NULL, copied);
	return kr_hook_hsa_amd_memory_async_copy_on_engine(w->to, w->to_agent, w->from, w->from_agent, 4, 0, NULL, copied,
							   slow.engine, true);
}

static hsa_status_t
copy_box(const struct way *w)
{
	hsa_pitched_ptr_t to = {w->to, 4, 4}, from = {w->from, 4, 4};
	hsa_dim3_t origin = {0, 0, 0}, range = {4, 1, 1};
	hsa_amd_copy_direction_t direction = hsaDeviceToDevice;

	if (w->to_agent.handle == STAND_IN_CPU.handle)
		direction = hsaDeviceToHost;
	else if (w->from_agent.handle == STAND_IN_CPU.handle)
		direction = hsaHostToDevice;
	return kr_hook_hsa_amd_memory_async_copy_rect(&to, &origin, &from, &origin, &range, STAND_IN_GPU, direction, 0,
						      NULL, copied);
}

static hsa_status_t
copy_batch(const struct way *w)
{
	struct stand_in_batch batch = {w->to, w->from};

	return kr_hook_hsa_amd_memory_async_batch_copy(&batch, 1, 0, NULL);
}

/* A word is on its way while a window opens: it must be in the snapshot, or the restore takes it back; and it must have
 * read what it was to read, not what a pass wrote. */
static void
copy_into_window(const struct way *way, hsa_status_t (*copy)(const struct way *), uint32_t engine, unsigned refuse)
{
	uint32_t expected = way->from == cell ? 100 : 77;

	*way->to = 0;
	*way->from = 77;
	*cell = 100;
	copied = stand_in_signal(1);
	kr_next.hsa_signal_store_relaxed(done, 1);
	slow.copy = kr_next.hsa_amd_memory_async_copy;
	slow.wait = kr_next.hsa_signal_wait_scacquire;
	slow.engine = engine;
	slow.fence_to = way->to_agent.handle == STAND_IN_CPU.handle ? STAND_IN_CPU : STAND_IN_GPU;
	slow.fence_from = way->from_agent.handle == STAND_IN_CPU.handle ? STAND_IN_CPU : STAND_IN_GPU;
	slow.refuse = refuse;
	kr_next.hsa_amd_memory_async_copy = copy_slowly;
	kr_next.hsa_amd_memory_async_copy_on_engine = copy_slowly_on;
	kr_next.hsa_amd_memory_async_copy_rect = copy_box_slowly;
	kr_next.hsa_amd_memory_async_batch_copy = copy_batch_slowly;
	kr_next.hsa_signal_wait_scacquire = wait_for_slow;
	saw.snapshot = 0;
	in_pass_exit = run_slow_late;
	assert_int_equal(copy(way), HSA_STATUS_SUCCESS);
	stand_in_dispatch(queue, bump, cell, done);
	slow.wait(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	kr_next.hsa_amd_memory_async_copy = slow.copy;
	kr_next.hsa_signal_wait_scacquire = slow.wait;
	assert_int_equal(kr_next.hsa_signal_load_relaxed(copied), 0);
	assert_int_equal(slow.snapshots, 0);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(*way->to, expected);
	assert_int_equal(*cell, 101);
	kr_next.hsa_signal_destroy(copied);
}

/* Scenario 16. */
static void
a_copy_in_flight_is_waited_for(void **state)
{
	uint32_t far = 0;
	const struct way ways[] = {{other = device_alloc(64), &source, STAND_IN_GPU, STAND_IN_CPU},
				   {&source, cell, STAND_IN_CPU, STAND_IN_GPU},
				   {other, cell, STAND_IN_GPU, STAND_IN_GPU},
				   {other, &far, STAND_IN_GPU, STAND_IN_GPU2},
				   {&far, cell, STAND_IN_GPU2, STAND_IN_GPU}};

	for (unsigned i = 0; i < 5; i++) {
		copy_into_window(&ways[i], copy_word, 0, 0);
		copy_into_window(&ways[i], copy_word, 1, 0);
		copy_into_window(&ways[i], copy_word, 1u << 4, 0);
		copy_into_window(&ways[i], copy_box, 0, 0);
		copy_into_window(&ways[i], copy_batch, 0, 0);
	}
	kr_hook_hsa_amd_memory_pool_free(other);
}

static void
a_fence_that_is_refused_keeps_the_window_shut(void **state)
{
	const struct way way = {other = device_alloc(64), &source, STAND_IN_GPU, STAND_IN_CPU};

	copy_into_window(&way, copy_word, 0, 1);
	kr_hook_hsa_amd_memory_pool_free(other);
}

static _Atomic unsigned copies_made;
static _Atomic bool stop_copying;

static void *
copy_away(void *arg)
{
	uint32_t back;

	for (uint32_t i = 1; !stop_copying; i++) {
		hsa_signal_t s = stand_in_signal(1);

		source = i;
		kr_hook_hsa_amd_memory_async_copy(other, STAND_IN_GPU, &source, STAND_IN_CPU, 4, 0, NULL, s);
		kr_next.hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
		/* No restore may take it back. Read as device memory is read. */
		kr_hook_hsa_memory_copy(&back, other, 4);
		assert_int_equal(back, i);
		kr_next.hsa_signal_destroy(s);
		copies_made++;
	}
	return NULL;
}

/* Scenario 16, the loop. */
static void
copies_beside_windows_are_not_lost(void **state)
{
	pthread_t thread;
	unsigned windows = 0;

	other = device_alloc(64);
	copies_made = 0;
	stop_copying = false;
	pthread_create(&thread, NULL, copy_away, NULL);
	while (windows < 200 || copies_made < 20) {
		kr_next.hsa_signal_store_relaxed(done, 1);
		stand_in_dispatch(queue, bump, cell, done);
		wait_done();
		windows++;
	}
	stop_copying = true;
	pthread_join(thread, NULL);
	assert_int_equal(*cell, 100 + windows);
	kr_hook_hsa_amd_memory_pool_free(other);
}

static pthread_t window_thread;
static _Atomic bool freed;

static void *
free_it(void *arg)
{
	kr_hook_hsa_amd_memory_pool_free(arg);
	freed = true;
	return NULL;
}

static void
start_free(uint64_t pass)
{
	if (pass != 0)
		return;
	pthread_create(&window_thread, NULL, free_it, other);
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0)
		sched_yield();
	assert_false(freed);
}

/* Scenario 2, from another thread: the free waits for the window. */
static void
a_free_from_another_thread_waits(void **state)
{
	other = device_alloc(64);
	freed = false;
	in_pass_exit = start_free;
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	pthread_join(window_thread, NULL);
	assert_true(freed);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(saw.restored_bytes, 4 * (1024 + 64));
}

/* A copy that depends on the very kernel, submitted before it: it must neither
 * hold up the window nor start inside it. */
static void
a_copy_that_depends_on_the_kernel_comes_after_it(void **state)
{
	uint32_t result = 0;

	copied = stand_in_signal(1);
	assert_int_equal(kr_hook_hsa_amd_memory_async_copy(&result, STAND_IN_CPU, cell, STAND_IN_GPU, 4, 1, &done, copied), 0);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	kr_next.hsa_signal_wait_scacquire(copied, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	assert_int_equal(kr_next.hsa_signal_load_relaxed(copied), 0);
	assert_int_equal(result, 101);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	kr_next.hsa_signal_destroy(copied);
}

static void
a_deferred_copy_that_is_refused_says_so(void **state)
{
	hsa_signal_t dep = stand_in_signal(1);

	copied = stand_in_signal(1);
	kr_hook_hsa_amd_memory_async_copy(cell, STAND_IN_GPU, &source, STAND_IN_CPU, 4, 1, &dep, copied);
	stand_in.copy = (struct stand_in_point){.fail_at = 1};
	kr_next.hsa_signal_store_screlease(dep, 0);
	assert_int_equal(kr_next.hsa_signal_wait_scacquire(copied, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
							   HSA_WAIT_STATE_BLOCKED), -1);
	kr_next.hsa_signal_destroy(copied);
	kr_next.hsa_signal_destroy(dep);
}

/* ---- other queues ---- */

static hsa_queue_t *second;
static uint32_t *second_cell;

static void *
ring_second(void *arg)
{
	stand_in_dispatch(second, bump, second_cell, (hsa_signal_t){0});
	return NULL;
}

static void
start_second(uint64_t pass)
{
	if (pass != 0)
		return;
	want_passes = 1; /* for the second: not replayed itself */
	pthread_create(&window_thread, NULL, ring_second, NULL);
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0)
		sched_yield();
	assert_int_equal(*second_cell, 0);
}

/* contract 2: the writer's lock of the agent is taken; contract 4: any other dispatch on the agent waits for it */
/* Scenario 1: B is submitted on queue 2 between A's snapshot and last restore. */
static void
a_dispatch_on_another_queue_waits_and_survives(void **state)
{
	for (int round = 1; round <= 50; round++) {
		second_cell = device_alloc(64);
		kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &second);
		kr_next.hsa_signal_store_relaxed(done, 1);
		want_passes = 5;
		in_pass_exit = start_second;
		stand_in_dispatch(queue, bump, cell, done);
		wait_done();
		pthread_join(window_thread, NULL);
		kr_hook_hsa_queue_destroy(second); /* waits for what is in hand */
		assert_int_equal(*second_cell, 1);
		assert_int_equal(*cell, 100 + round);
		kr_hook_hsa_amd_memory_pool_free(second_cell);
	}
}

static hsa_queue_t *cooperative;

static void *
ring_cooperative(void *arg)
{
	stand_in_dispatch(cooperative, bump, second_cell, (hsa_signal_t){0});
	return NULL;
}

static void
start_cooperative(uint64_t pass)
{
	if (pass != 0)
		return;
	pthread_create(&window_thread, NULL, ring_cooperative, NULL);
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0)
		sched_yield();
}

/* contract 2: queues without a proxy are drained as well */
/* A cooperative queue has no proxy, but its doorbell waits, and it is drained. */
static void
a_queue_without_a_proxy_is_kept_out_too(void **state)
{
	unsigned barriers;

	second_cell = device_alloc(64);
	kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, 0, 0, &cooperative);
	assert_null(kr_proxy_of_queue(cooperative));
	barriers = stand_in.barriers;
	in_pass_exit = start_cooperative;
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	pthread_join(window_thread, NULL);
	assert_true(stand_in.barriers > barriers);
	assert_int_equal(*second_cell, 1);
	assert_int_equal(*cell, 101);
	kr_hook_hsa_queue_destroy(cooperative);
	assert_null(kr_foreign_of_doorbell((hsa_signal_t){12345}));
	kr_hook_hsa_amd_memory_pool_free(second_cell);
}

/* ---- passes that do not end ---- */

static _Atomic bool go;
static unsigned entered;

static void
wait_for_go(void *arg)
{
	++*(uint32_t *)arg;
	if (entered++ == 0)
		while (!go)
			sched_yield();
}

static void
wait_for_go_too(void *arg)
{
	wait_for_go(arg);
	__asm__ volatile(""); /* another kernel: not a second name of the first */
}

static void *
say_go(void *arg)
{
	/* What the stuck pass keeps waiting: a free, which needs the agent. */
	while (kr_agent_find(STAND_IN_GPU)->writer == 0)
		sched_yield();
	kr_hook_hsa_amd_memory_pool_free(other);
	go = true;
	return NULL;
}

/* Scenario 12: the kernel waits for somebody whom the window keeps waiting. The
 * window is given up, everybody goes on, and the program sees one execution. */
static void
a_pass_that_waits_for_others_is_given_up(void **state)
{
	pthread_t thread;

	go = false;
	entered = 0;
	other = device_alloc(64);
	pthread_create(&thread, NULL, say_go, NULL);
	stand_in.threaded = true;
	stand_in_dispatch(queue, wait_for_go, cell, done);
	wait_done();
	pthread_join(thread, NULL);
	assert_int_equal(*cell, 101);
	assert_int_equal(entered, 1);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_DECLINED);
	assert_int_equal(saw.decline, KREPLAY_DECLINE_STUCK_PASS);
	assert_int_equal(saw.config_exit, 1);
	assert_true(kr_signal_amd(done)->end_ts > 0);
	/* The queue is as good as new. */
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(*cell, 102);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_false(saw.flags & KREPLAY_FLAG_OTHER_THREAD);
	/* The kernel may just be slow: its next windows are the worker's, where no
	 * ringing thread is kept. */
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, wait_for_go, cell, done);
	wait_done();
	assert_int_equal(*cell, 103);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_true(saw.flags & KREPLAY_FLAG_OTHER_THREAD);
}

/* Scenario 13 for one thread: it rings, and only then does what the kernel waits for. */
static void
a_ringing_thread_gets_back_to_what_the_kernel_waits_for(void **state)
{
	go = false;
	entered = 0;
	stand_in.threaded = true;
	stand_in_dispatch(queue, wait_for_go_too, cell, done);
	go = true;
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.decline, KREPLAY_DECLINE_STUCK_PASS);
}

/* ---- rings that are not seen ---- */

/* Scenario 27: the doorbell is stored through its pointer. */
static void
a_ring_by_pointer_is_noticed(void **state)
{
	stand_in_write(queue, bump, cell, done);
	__atomic_store_n(&kr_signal_amd(queue->doorbell_signal)->value, 0, __ATOMIC_SEQ_CST);
	wait_done();
	assert_int_equal(*cell, 101);
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
}

/* ---- what the outcome says ---- */

static void
access_to_a_peer_is_said(void **state)
{
	void *theirs = NULL;
	hsa_agent_t gpu = STAND_IN_GPU;

	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_false(saw.flags & KREPLAY_FLAG_PEER_MEMORY);
	kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_DEVICE_POOL2}, 64, 0, &theirs);
	kr_hook_hsa_amd_agents_allow_access(1, &gpu, NULL, theirs);
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_true(saw.flags & KREPLAY_FLAG_PEER_MEMORY);
	kr_hook_hsa_amd_memory_pool_free(theirs);
}

/* A store of the host's goes through no call that a window could hold up. */
static void
device_memory_is_out_of_the_hosts_reach(void **state)
{
	hsa_amd_memory_pool_t device = {STAND_IN_DEVICE_POOL}, fine = {STAND_IN_FINE_POOL};
	hsa_amd_memory_pool_access_t access;

	kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_CPU, device, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
	kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_GPU, device, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
	kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_CPU, fine, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY_TEST(a_copy_in_flight_is_waited_for),
		REPLAY_TEST(a_fence_that_is_refused_keeps_the_window_shut),
		REPLAY_TEST(copies_beside_windows_are_not_lost),
		REPLAY_TEST(a_copy_that_depends_on_the_kernel_comes_after_it),
		REPLAY_TEST(a_deferred_copy_that_is_refused_says_so),
		REPLAY_TEST(a_free_from_another_thread_waits),
		REPLAY_TEST(a_dispatch_on_another_queue_waits_and_survives),
		REPLAY_TEST(a_queue_without_a_proxy_is_kept_out_too),
		REPLAY_TEST(a_pass_that_waits_for_others_is_given_up),
		REPLAY_TEST(a_ringing_thread_gets_back_to_what_the_kernel_waits_for),
		REPLAY_TEST(a_ring_by_pointer_is_noticed),
		REPLAY_TEST(access_to_a_peer_is_said),
		REPLAY_TEST(device_memory_is_out_of_the_hosts_reach),
	};

	setenv("KREPLAY_DRAIN_TIMEOUT", "3", 1);
	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
