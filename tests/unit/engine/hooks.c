/* SPDX-License-Identifier: MIT */
/* What each hook does besides calling the runtime, where no other test is about it. */
#include "replay_tool.h"

#include <sched.h>

#include "core/agents.h"
#include "core/deferred.h"
#include "core/foreign.h"
#include "core/log.h"
#include "core/proxy.h"
#include "core/tracker.h"

/* Another dispatch; what its window saw is in `saw`. */
static void
dispatch(void)
{
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
}

static bool
others_are_said(void)
{
	dispatch();
	return saw.flags & KREPLAY_FLAG_PEER_MEMORY;
}

/* ---- what waits for the window ---- */

static uint32_t *target;
static uint32_t source[2];
static hsa_signal_t copied;

static hsa_status_t
copy_to(void)
{
	return kr_hook_hsa_memory_copy(target, source, 4);
}

static hsa_status_t
copy_from(void)
{
	return kr_hook_hsa_memory_copy(source + 1, target, 4);
}

static hsa_status_t
fill(void)
{
	return kr_hook_hsa_amd_memory_fill(target, 77, 1);
}

static hsa_status_t
copy_async(void)
{
	return kr_hook_hsa_amd_memory_async_copy(target, STAND_IN_GPU, source, STAND_IN_CPU, 4, 0, NULL, copied);
}

static hsa_status_t
copy_async_from(void)
{
	return kr_hook_hsa_amd_memory_async_copy(source + 1, STAND_IN_CPU, target, STAND_IN_GPU, 4, 0, NULL, copied);
}

static hsa_status_t
copy_on_engine(void)
{
	return kr_hook_hsa_amd_memory_async_copy_on_engine(target, STAND_IN_GPU, source, STAND_IN_CPU, 4, 0, NULL,
							   copied, 1, false);
}

static hsa_status_t
copy_on_engine_from(void)
{
	return kr_hook_hsa_amd_memory_async_copy_on_engine(source + 1, STAND_IN_CPU, target, STAND_IN_GPU, 4, 0, NULL,
							   copied, 1, false);
}

static hsa_status_t
copy_batch(void)
{
	struct stand_in_batch batch = {target, source};

	return kr_hook_hsa_amd_memory_async_batch_copy(&batch, 1, 0, NULL);
}

static hsa_status_t
copy_box(uint32_t *to, uint32_t *from, hsa_amd_copy_direction_t direction)
{
	hsa_pitched_ptr_t to_box = {to, 4, 4}, from_box = {from, 4, 4};
	hsa_dim3_t origin = {0, 0, 0}, range = {4, 1, 1};

	return kr_hook_hsa_amd_memory_async_copy_rect(&to_box, &origin, &from_box, &origin, &range, STAND_IN_GPU,
						      direction, 0, NULL, copied);
}

static hsa_status_t
copy_box_to(void)
{
	return copy_box(target, source, hsaHostToDevice);
}

static hsa_status_t
copy_box_from(void)
{
	return copy_box(source + 1, target, hsaDeviceToHost);
}

static hsa_status_t
copy_box_inside(void)
{
	return copy_box(target + 1, target, hsaDeviceToDevice);
}

static hsa_status_t
destroy_executable(void)
{
	return kr_hook_hsa_executable_destroy((hsa_executable_t){5});
}

static hsa_status_t (*call)(void);
static hsa_status_t result;
static _Atomic bool came_back;
static bool escaped; /* it came back while the window was open */
static pthread_t thread;

static void *
run_call(void *unused)
{
	result = call();
	came_back = true;
	return NULL;
}

static void
start_call(uint64_t pass)
{
	if (pass != 0)
		return;
	pthread_create(&thread, NULL, run_call, NULL);
	/* it either waits or comes through; the latter is the fault */
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0 && !came_back)
		sched_yield();
	escaped = came_back;
}

/* A window in which the call is made. */
static void
dispatch_around(hsa_status_t (*what)(void))
{
	call = what;
	came_back = false;
	in_pass_exit = start_call;
	dispatch();
	pthread_join(thread, NULL);
	in_pass_exit = NULL;
	assert_false(escaped);
	assert_int_equal(result, HSA_STATUS_SUCCESS);
}

/* What touches the agent's memory waits for the window, and a window that comes later does not wait for it. */
static void
calls_wait_for_the_window(void **state)
{
	hsa_status_t (*const calls[])(void) = {
		copy_to,     copy_from,     fill,            copy_async,         copy_async_from, copy_on_engine, copy_on_engine_from,
		copy_box_to, copy_box_from, copy_box_inside, destroy_executable, copy_batch};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		target = device_alloc(64);
		target[0] = 5;
		source[0] = 77;
		source[1] = 0;
		copied = stand_in_signal(1);
		dispatch_around(calls[i]);
		dispatch();
		/* one of the three, as the call has it */
		if (call == destroy_executable)
			assert_int_equal(target[0], 5);
		else
			assert_true(target[0] == 77 || source[1] == 5 || target[1] == 5);
		kr_hook_hsa_amd_memory_pool_free(target);
		kr_next.hsa_signal_destroy(copied);
	}
}

/* All that the runtime is told of a box, with dependencies to be waited for and without. */
static void
a_box_is_copied_as_it_was_given(void **state)
{
	unsigned char *to = device_alloc(1000), from[1000], expected[1000];
	hsa_dim3_t to_offset = {3, 1, 2}, from_offset = {5, 2, 1}, range = {4, 3, 2};
	hsa_pitched_ptr_t to_box = {to, 10, 100}, from_box = {from, 20, 200};
	hsa_status_t status;

	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + 1);
	memset(expected, 0, sizeof(expected));
	for (unsigned z = 0; z < 2; z++)
		for (unsigned y = 0; y < 3; y++)
			memcpy(expected + (2 + z) * 100 + (1 + y) * 10 + 3, from + (1 + z) * 200 + (2 + y) * 20 + 5, 4);
	for (int waits = 0; waits < 2; waits++) {
		hsa_signal_t dependency = stand_in_signal(waits), end = stand_in_signal(1);

		memset(to, 0, 1000);
		status = kr_hook_hsa_amd_memory_async_copy_rect(&to_box, &to_offset, &from_box, &from_offset, &range,
								STAND_IN_GPU, hsaHostToDevice, 1, &dependency, end);
		assert_int_equal(status, HSA_STATUS_SUCCESS);
		kr_next.hsa_signal_store_screlease(dependency, 0);
		kr_next.hsa_signal_wait_scacquire(end, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
		assert_memory_equal(to, expected, sizeof(expected));
		assert_int_equal(stand_in.rect_direction, hsaHostToDevice);
		kr_next.hsa_signal_destroy(dependency);
		kr_next.hsa_signal_destroy(end);
	}
	status = kr_hook_hsa_amd_memory_async_copy_rect(NULL, &to_offset, &from_box, &from_offset, &range, STAND_IN_GPU,
							hsaHostToDevice, 0, NULL, copied);
	assert_int_equal(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
	kr_deferred_stop();
	kr_hook_hsa_amd_memory_pool_free(to);
}

static uint32_t told_engine;
static bool told_force;

static hsa_status_t
note_engine(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size, uint32_t num_deps,
	    const hsa_signal_t *deps, hsa_signal_t completion, uint32_t engine, bool force)
{
	told_engine = engine;
	told_force = force;
	return HSA_STATUS_SUCCESS;
}

static void
an_engine_is_passed_on(void **state)
{
	kr_next.hsa_amd_memory_async_copy_on_engine = note_engine;
	for (uint32_t engine = 2; engine <= 8; engine *= 2) {
		kr_hook_hsa_amd_memory_async_copy_on_engine(source, STAND_IN_CPU, source + 1, STAND_IN_CPU, 4, 0, NULL, done,
							    engine, engine == 4);
		assert_int_equal(told_engine, engine);
		assert_int_equal(told_force, engine == 4);
	}
}

/* ---- allocations ---- */

static void
allocations_are_what_they_were_made_as(void **state)
{
	hsa_amd_memory_pool_t device = {STAND_IN_DEVICE_POOL};
	void *region = NULL, *code = NULL, *failed = source;
	struct kr_allocation a;

	assert_int_equal(kr_hook_hsa_memory_allocate((hsa_region_t){STAND_IN_DEVICE_POOL}, 500, &region), 0);
	assert_true(kr_tracker_find(region, &a));
	assert_int_equal(a.region_kind, KREPLAY_REGION_REGION);
	assert_true(kr_tracker_find(cell, &a));
	assert_int_equal(a.region_kind, KREPLAY_REGION_POOL);
	/* HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG */
	assert_int_equal(kr_hook_hsa_amd_memory_pool_allocate(device, 300, 1u << 2, &code), 0);
	stand_in.full_pool = STAND_IN_DEVICE_POOL;
	assert_int_not_equal(kr_hook_hsa_memory_allocate((hsa_region_t){STAND_IN_DEVICE_POOL}, 8, &failed), 0);
	assert_int_not_equal(kr_hook_hsa_amd_memory_pool_allocate(device, 8, 0, &failed), 0);
	stand_in.full_pool = 0;
	dispatch();
	assert_int_equal(saw.snapshot_bytes, 1024 + 500);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_EXECUTABLE], 300);
	kr_hook_hsa_memory_free(region);
	kr_hook_hsa_amd_memory_pool_free(code);
}

static void
a_free_that_fails_frees_nothing(void **state)
{
	hsa_status_t (*const frees[])(void *) = {kr_hook_hsa_memory_free, kr_hook_hsa_amd_memory_pool_free};

	for (unsigned i = 0; i < 2; i++) {
		void *p = device_alloc(64);

		stand_in.memory_free = (struct stand_in_point){.fail_at = 1};
		assert_int_not_equal(frees[i](p), 0);
		dispatch();
		assert_int_equal(saw.snapshot_bytes, 1024 + 64);
		assert_int_equal(frees[i](p), 0);
		dispatch();
		assert_int_equal(saw.snapshot_bytes, 1024);
	}
}

static void
host_memory_is_counted_while_it_is_locked(void **state)
{
	hsa_amd_memory_pool_t pool = {STAND_IN_HOST_POOL};
	char memory[200];
	void *seen = memory;

	stand_in.lock = (struct stand_in_point){.fail_at = 1, .fail_on = true};
	assert_int_not_equal(kr_hook_hsa_amd_memory_lock(memory, 200, NULL, 0, &seen), 0);
	assert_int_not_equal(kr_hook_hsa_amd_memory_lock_to_pool(memory, 200, NULL, 0, pool, 0, &seen), 0);
	stand_in.lock = (struct stand_in_point){0};
	assert_int_equal(kr_hook_hsa_amd_memory_lock(memory, 200, NULL, 0, NULL), 0);
	dispatch();
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 0);
	for (int to_pool = 0; to_pool < 2; to_pool++) {
		if (to_pool)
			assert_int_equal(kr_hook_hsa_amd_memory_lock_to_pool(memory, 200, NULL, 0, pool, 0, &seen), 0);
		else
			assert_int_equal(kr_hook_hsa_amd_memory_lock(memory, 200, NULL, 0, &seen), 0);
		dispatch();
		assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 200);
		assert_int_equal(kr_hook_hsa_amd_memory_unlock(memory), 0);
		dispatch();
		assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 0);
	}
}

/* A program may give device memory to these calls as well, and the runtime says that all is well. */
static void
device_memory_that_is_locked_stays_what_it_is(void **state)
{
	void *seen = NULL;

	dispatch();
	assert_int_equal(saw.snapshot_bytes, 1024);
	for (size_t at = 0; at <= 512; at += 512) {
		assert_int_equal(kr_hook_hsa_amd_memory_lock((char *)cell + at, 512, NULL, 0, &seen), 0);
		dispatch();
		assert_int_equal(saw.snapshot_bytes, 1024);
		assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 0);
		assert_int_equal(kr_hook_hsa_amd_memory_unlock((char *)cell + at), 0);
		assert_int_equal(kr_hook_hsa_amd_memory_unlock((char *)cell + at), 0);
		dispatch();
		assert_int_equal(saw.snapshot_bytes, 1024);
	}
}

/* ---- memory of others ---- */

static void
memory_of_another_process_is_said_while_attached(void **state)
{
	hsa_agent_t gpu = STAND_IN_GPU;
	hsa_amd_ipc_memory_t handle = {{0}};
	void *p = NULL;

	stand_in.ipc = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_ipc_memory_attach(&handle, 64, 1, &gpu, &p), 0);
	assert_false(others_are_said());
	assert_int_equal(kr_hook_hsa_amd_ipc_memory_attach(&handle, 64, 1, &gpu, &p), 0);
	assert_true(others_are_said());
	stand_in.ipc = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_ipc_memory_detach(p), 0);
	assert_true(others_are_said());
	assert_int_equal(kr_hook_hsa_amd_ipc_memory_detach(p), 0);
	assert_false(others_are_said());
}

static void
a_buffer_of_another_driver_is_said_while_mapped(void **state)
{
	hsa_agent_t gpu = STAND_IN_GPU;
	size_t size = 0;
	void *p = NULL;

	stand_in.ipc = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_interop_map_buffer(1, &gpu, 5, 0, &size, &p, NULL, NULL), 0);
	assert_false(others_are_said());
	assert_int_equal(kr_hook_hsa_amd_interop_map_buffer(1, &gpu, 5, 0, &size, &p, NULL, NULL), 0);
	assert_int_equal(size, 64);
	assert_true(others_are_said());
	stand_in.ipc = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_interop_unmap_buffer(p), 0);
	assert_true(others_are_said());
	assert_int_equal(kr_hook_hsa_amd_interop_unmap_buffer(p), 0);
	assert_false(others_are_said());
	/* and what is mapped goes with the runtime */
	assert_int_equal(kr_hook_hsa_amd_interop_map_buffer(1, &gpu, 5, 0, &size, &p, NULL, NULL), 0);
	kr_tracker_clear();
	assert_int_equal(kr_tracker_attached(), 0);
}

static void
access_to_ones_own_memory_is_not_said(void **state)
{
	hsa_agent_t agents[] = {STAND_IN_CPU, STAND_IN_GPU};
	void *theirs = NULL;

	assert_int_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, cell), 0);
	assert_false(others_are_said());
	kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_DEVICE_POOL2}, 64, 0, &theirs);
	stand_in.allow_access = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, theirs), 0);
	assert_false(others_are_said());
	kr_hook_hsa_amd_memory_pool_free(theirs);
}

static hsa_status_t
count_hops(hsa_agent_t agent, hsa_amd_memory_pool_t pool, hsa_amd_agent_memory_pool_info_t attribute, void *value)
{
	*(uint32_t *)value = 3;
	return HSA_STATUS_SUCCESS;
}

/* Nothing but the host's access to device memory is said otherwise than the runtime says it. */
static void
other_answers_about_pools_are_left_alone(void **state)
{
	hsa_amd_memory_pool_t device = {STAND_IN_DEVICE_POOL};
	hsa_amd_agent_memory_pool_info_t what = HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS;
	uint32_t value = 0;

	stand_in.pool_access = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_CPU, device, what, &value), 0);
	assert_int_equal(value, HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
	kr_next.hsa_amd_agent_memory_pool_get_info = count_hops;
	what = HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS;
	assert_int_equal(kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_CPU, device, what, &value), 0);
	assert_int_equal(value, 3);
}

/* ---- queues without a proxy ---- */

static hsa_queue_t *plain;

static hsa_status_t
make_cooperative(void)
{
	return kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, 0, 0, &plain);
}

static hsa_status_t
acquire_counted(void)
{
	return kr_hook_hsa_amd_counted_queue_acquire(STAND_IN_GPU, HSA_QUEUE_TYPE_MULTI, 0, NULL, NULL, 0, &plain);
}

static hsa_status_t
destroy_cooperative(void)
{
	return kr_hook_hsa_queue_destroy(plain);
}

static hsa_status_t
release_counted(void)
{
	return kr_hook_hsa_amd_counted_queue_release(plain);
}

static const struct {
	hsa_status_t (*make)(void), (*end)(void);
	struct stand_in_point *ends;
} plain_queues[] = {{make_cooperative, destroy_cooperative, &stand_in.queue_destroy},
		    {acquire_counted, release_counted, &stand_in.counted_release}};

static hsa_status_t
ring(void)
{
	kr_hook_hsa_signal_add_relaxed(plain->doorbell_signal, 0);
	return HSA_STATUS_SUCCESS;
}

static bool
is_drained(void)
{
	unsigned before = stand_in.barriers;

	dispatch();
	return stand_in.barriers > before;
}

static void
a_queue_without_a_proxy_is_drained_until_its_end(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		hsa_signal_t bell;

		stand_in.queue_create = (struct stand_in_point){.fail_at = 1};
		plain = queue; /* what a failed call leaves is not looked at */
		assert_int_not_equal(plain_queues[i].make(), 0);
		assert_false(is_drained());
		assert_int_equal(plain_queues[i].make(), 0);
		assert_null(kr_proxy_of_queue(plain));
		assert_true(is_drained());
		dispatch_around(ring);
		assert_true(is_drained());
		*plain_queues[i].ends = (struct stand_in_point){.fail_at = 1};
		assert_int_not_equal(plain_queues[i].end(), 0);
		assert_true(is_drained());
		bell = plain->doorbell_signal;
		assert_int_equal(plain_queues[i].end(), 0);
		assert_null(kr_foreign_of_doorbell(bell));
		assert_false(is_drained());
	}
}

/* The runtime hands out one queue several times. */
static void
a_shared_queue_is_drained_until_all_have_let_go(void **state)
{
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU);

	assert_int_equal(make_cooperative(), 0);
	kr_foreign_add(plain, gpu);
	assert_ptr_equal(kr_foreign_remove(plain), gpu);
	assert_true(is_drained());
	assert_ptr_equal(kr_foreign_of_doorbell(plain->doorbell_signal), gpu);
	assert_int_equal(destroy_cooperative(), 0);
	assert_false(is_drained());
	assert_null(kr_foreign_remove(plain));
}

static void
a_queue_of_another_agent_is_not_drained(void **state)
{
	struct kr_agent *gpu2 = kr_agent_find(STAND_IN_GPU2);

	kr_hook_hsa_queue_create(STAND_IN_GPU2, 64, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, 0, 0, &plain);
	assert_ptr_equal(kr_foreign_of_doorbell(plain->doorbell_signal), gpu2);
	assert_false(is_drained());
	assert_int_equal(destroy_cooperative(), 0);
	/* no agent that is replayed on: as it is */
	kr_hook_hsa_queue_create(STAND_IN_CPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &plain);
	assert_null(kr_proxy_of_queue(plain));
	assert_null(kr_foreign_of_doorbell(plain->doorbell_signal));
	assert_int_equal(destroy_cooperative(), 0);
}

static hsa_signal_t gate;
static unsigned snapshots; /* that had been taken when the gate was opened */

/* A dispatch on the cooperative queue, which does not begin before the gate is opened. */
static void
make_gated(uint32_t *kernarg)
{
	union kr_packet barrier = {0};

	assert_int_equal(make_cooperative(), 0);
	gate = stand_in_signal(1);
	barrier.barrier.dep_signal[0] = gate;
	__atomic_fetch_add(&((amd_queue_t *)plain)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	kr_packet_publish(plain->base_address, &barrier, kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
	stand_in_dispatch(plain, bump, kernarg, (hsa_signal_t){0});
}

static void
open_gate(uint64_t pass)
{
	if (kr_next.hsa_signal_load_relaxed(gate) == 0)
		return;
	snapshots = saw.snapshot;
	kr_next.hsa_signal_store_screlease(gate, 0);
}

static __typeof__(kr_next.hsa_signal_wait_scacquire) wait_as_ever;

static hsa_signal_value_t
open_and_wait(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value, uint64_t timeout,
	      hsa_wait_state_t hint)
{
	open_gate(0);
	return wait_as_ever(signal, condition, value, timeout, hint);
}

/* The dispatch ends as soon as somebody waits for it, and in the first pass at the latest. */
static void
what_runs_on_a_queue_without_a_proxy_is_waited_for(void **state)
{
	uint32_t *theirs = device_alloc(64);

	make_gated(theirs);
	wait_as_ever = kr_next.hsa_signal_wait_scacquire;
	kr_next.hsa_signal_wait_scacquire = open_and_wait;
	in_pass_exit = open_gate;
	stand_in_dispatch(queue, bump, cell, done);
	wait_as_ever(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	kr_next.hsa_signal_wait_scacquire = wait_as_ever;
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(snapshots, 0);
	assert_int_equal(*theirs, 1);
	assert_int_equal(destroy_cooperative(), 0);
	kr_next.hsa_signal_destroy(gate);
	kr_hook_hsa_amd_memory_pool_free(theirs);
}

/* One barrier of ours is enough, however long it takes. */
static void
a_queue_that_does_not_drain_is_asked_once(void **state)
{
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU);
	const amd_queue_t *amd;
	hsa_signal_t ours;
	unsigned before;

	make_gated(cell);
	amd = (const amd_queue_t *)plain;
	assert_false(kr_foreign_drain(gpu, 1));
	assert_false(kr_foreign_drain(gpu, 1));
	assert_int_equal(amd->write_dispatch_id, 3); /* the gate, the dispatch, ours */
	open_gate(0);
	assert_true(kr_foreign_drain(gpu, 1));
	assert_true(kr_foreign_drain(gpu, 1));
	assert_int_equal(amd->write_dispatch_id, 4);
	before = stand_in.live_signals;
	assert_int_equal(destroy_cooperative(), 0);
	assert_int_equal(stand_in.live_signals, before - 2); /* its doorbell, and ours */
	kr_next.hsa_signal_destroy(gate);
	/* the signal of one that waits to the end is left to it */
	make_gated(cell);
	assert_false(kr_foreign_drain(gpu, 1));
	before = stand_in.live_signals;
	ours = ((union kr_packet *)plain->base_address)[2].barrier.completion_signal;
	assert_int_equal(destroy_cooperative(), 0);
	assert_int_equal(stand_in.live_signals, before - 1);
	kr_next.hsa_signal_destroy(ours);
	kr_next.hsa_signal_destroy(gate);
}

static void
beside_a_queue_that_could_not_be_noted_nothing_is_at_rest(void **state)
{
	struct kr_agent *gpu = kr_agent_find(STAND_IN_GPU);

	assert_true(kr_foreign_drain(gpu, 1));
	gpu->unseen_queues = true;
	assert_false(kr_foreign_drain(gpu, 1));
	assert_int_equal(make_cooperative(), 0);
	assert_false(kr_foreign_drain(gpu, 1));
	assert_int_equal(destroy_cooperative(), 0);
}

/* The runtime goes down with the queue alive, comes up once more, and puts another one in its place. */
static void
a_queue_of_an_earlier_life_is_no_more(void **state)
{
	struct kr_agent *former = kr_agent_find(STAND_IN_GPU), *now;
	hsa_signal_t bell;

	assert_int_equal(make_cooperative(), 0);
	bell = plain->doorbell_signal;
	assert_int_equal(replay_teardown(state), 0);
	plain->doorbell_signal.handle = 1; /* the memory is somebody else's */
	assert_ptr_equal(kr_foreign_of_doorbell(bell), former);
	plain->doorbell_signal = bell;
	assert_int_equal(replay_setup(state), 0);
	now = kr_agent_find(STAND_IN_GPU);
	assert_ptr_not_equal(now, former);
	kr_foreign_add(plain, now);
	assert_ptr_equal(kr_foreign_of_doorbell(bell), now);
	assert_ptr_equal(kr_foreign_remove(plain), now);
	assert_ptr_equal(kr_foreign_remove(plain), former);
	kr_next.hsa_queue_destroy(plain);
}

/* ---- signals ---- */

static void
a_plain_signal_is_stored_to_as_ever(void **state)
{
	hsa_signal_t signal = stand_in_signal(1);

	kr_hook_hsa_signal_store_relaxed(signal, 41);
	assert_int_equal(kr_next.hsa_signal_load_relaxed(signal), 41);
	kr_hook_hsa_signal_store_screlease(signal, 42);
	assert_int_equal(kr_next.hsa_signal_load_relaxed(signal), 42);
	kr_hook_hsa_signal_store_relaxed(queue->doorbell_signal, 43);
	assert_int_equal(kr_next.hsa_signal_load_relaxed(queue->doorbell_signal), 43);
	kr_next.hsa_signal_destroy(signal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY_TEST(calls_wait_for_the_window),
		REPLAY_TEST(a_box_is_copied_as_it_was_given),
		REPLAY_TEST(an_engine_is_passed_on),
		REPLAY_TEST(allocations_are_what_they_were_made_as),
		REPLAY_TEST(a_free_that_fails_frees_nothing),
		REPLAY_TEST(host_memory_is_counted_while_it_is_locked),
		REPLAY_TEST(device_memory_that_is_locked_stays_what_it_is),
		REPLAY_TEST(memory_of_another_process_is_said_while_attached),
		REPLAY_TEST(a_buffer_of_another_driver_is_said_while_mapped),
		REPLAY_TEST(access_to_ones_own_memory_is_not_said),
		REPLAY_TEST(other_answers_about_pools_are_left_alone),
		REPLAY_TEST(a_queue_without_a_proxy_is_drained_until_its_end),
		REPLAY_TEST(a_shared_queue_is_drained_until_all_have_let_go),
		REPLAY_TEST(a_queue_of_another_agent_is_not_drained),
		REPLAY_TEST(what_runs_on_a_queue_without_a_proxy_is_waited_for),
		REPLAY_TEST(a_queue_that_does_not_drain_is_asked_once),
		REPLAY_TEST(beside_a_queue_that_could_not_be_noted_nothing_is_at_rest),
		REPLAY_TEST(a_queue_of_an_earlier_life_is_no_more),
		REPLAY_TEST(a_plain_signal_is_stored_to_as_ever),
	};

	setenv("KREPLAY_DRAIN_TIMEOUT", "3", 1);
	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
