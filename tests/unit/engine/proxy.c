/* SPDX-License-Identifier: MIT */
/* The queue proxy as a plain forwarder: nobody is interested in dispatches. */
#include "engine_test.h"

#include <pthread.h>

#include "core/log.h"
#include "core/proxy.h"
#include "core/watcher.h"

static _Atomic unsigned ran;
static unsigned order[64], ordered;

static void
count(void *arg)
{
	atomic_fetch_add(&ran, 1);
}

static void
note(void *arg)
{
	order[ordered++ % 64] = (unsigned)(uintptr_t)arg;
}

/* Who looks for packets that nobody rang for is sent away: here it is the rings that count. */
static hsa_queue_t *
make_queue(uint32_t size)
{
	hsa_queue_t *queue = NULL;

	assert_int_equal(kr_proxy_create(STAND_IN_GPU, size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
	assert_non_null(kr_proxy_of_queue(queue));
	kr_watcher_stop();
	return queue;
}

static int
setup(void **state)
{
	stand_in_reset();
	ran = ordered = 0;
	return 0;
}

static int
is_profiled(const hsa_queue_t *queue)
{
	return AMD_HSA_BITS_GET(((const amd_queue_t *)queue)->queue_properties, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
}

static void
a_queue_looks_like_the_hardware_queue(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	struct kr_proxy *p = kr_proxy_of_queue(queue);
	const amd_queue_t *soft = (const amd_queue_t *)queue;

	assert_ptr_not_equal(queue, p->hw);
	assert_int_equal(queue->size, 64);
	assert_int_equal(queue->id, p->hw->id);
	assert_int_equal(soft->private_segment_aperture_base_hi, 0x2000);
	assert_int_equal(soft->group_segment_aperture_base_hi, 0x1000);
	assert_int_equal(kr_hook_hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_HIGH), 0);
	assert_int_equal(kr_hook_hsa_amd_queue_cu_set_mask(queue, 0, NULL), 0);
	assert_int_equal(kr_hook_hsa_amd_queue_cu_get_mask(queue, 0, NULL), 0);
	assert_int_equal(kr_hook_hsa_amd_queue_get_info(queue, 0, NULL), 0);
	/* the application's wish about time stamps is its to read; the hardware's are always on */
	for (int enable = 0; enable < 2; enable++) {
		assert_int_equal(kr_hook_hsa_amd_profiling_set_profiler_enabled(queue, enable), 0);
		assert_int_equal(is_profiled(queue), enable);
		assert_int_equal(is_profiled(p->hw), 1);
	}
	assert_int_equal(kr_hook_hsa_queue_destroy(queue), 0);
	assert_int_equal(stand_in.live_queues, 0);
	assert_int_equal(stand_in.live_signals, 0);
}

/* Nobody has a tool here, so nothing is to be seen of us. */
static void
without_a_tool_the_runtime_is_as_ever(void **state)
{
	hsa_amd_agent_memory_pool_info_t what = HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS;
	hsa_amd_memory_pool_t device = {STAND_IN_DEVICE_POOL};
	hsa_amd_memory_pool_access_t access;
	hsa_queue_t *queue = NULL;

	assert_int_equal(kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
	assert_null(kr_proxy_of_queue(queue));
	assert_int_equal(kr_hook_hsa_amd_queue_get_info(queue, 0, NULL), 0);
	assert_int_equal(kr_hook_hsa_amd_profiling_set_profiler_enabled(queue, 1), 0);
	assert_int_equal(is_profiled(queue), 1);
	assert_int_equal(kr_hook_hsa_queue_destroy(queue), 0);
	kr_hook_hsa_amd_agent_memory_pool_get_info(STAND_IN_CPU, device, what, &access);
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
}

static void
forwards_and_completes(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	hsa_signal_t done = stand_in_signal(1);

	stand_in_dispatch(queue, count, NULL, done);
	assert_int_equal(ran, 1);
	assert_int_equal(kr_next.hsa_signal_load_relaxed(done), 0);
	assert_int_equal(kr_hook_hsa_queue_load_read_index_scacquire(queue), 1);
	kr_next.hsa_signal_destroy(done);
	kr_hook_hsa_queue_destroy(queue);
}

/* Scenario 6: near the end of the ring, several packets under one doorbell. */
static void
wraps_around_with_several_packets_under_one_doorbell(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	uint64_t index = 0;

	for (int i = 0; i < 60; i++)
		stand_in_dispatch(queue, count, NULL, (hsa_signal_t){0});
	for (uintptr_t i = 0; i < 8; i++)
		index = stand_in_write(queue, note, (void *)i, (hsa_signal_t){0});
	assert_int_equal(ordered, 0);
	kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	assert_int_equal(ordered, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(kr_hook_hsa_queue_load_read_index_relaxed(queue), 68);
	kr_hook_hsa_queue_destroy(queue);
}

/* contract 2: packets are taken in order */
/* Scenario 5: slots 0 and 1 are reserved; 1 is published and rung first. */
static void
takes_packets_in_order_only(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	union kr_packet *ring = queue->base_address, held;

	stand_in_write(queue, note, (void *)0, (hsa_signal_t){0});
	held = ring[0];
	ring[0].head = HSA_PACKET_TYPE_INVALID;
	stand_in_dispatch(queue, note, (void *)1, (hsa_signal_t){0});
	assert_int_equal(ordered, 0);
	kr_packet_publish(&ring[0], &held, held.head);
	kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, 0);
	assert_int_equal(ordered, 2);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 1);
	kr_hook_hsa_queue_destroy(queue);
}

static void
every_signal_operation_rings(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	hsa_signal_t bell = queue->doorbell_signal;
	unsigned expected = 0;

#define RINGS(call) \
	do { \
		stand_in_write(queue, count, NULL, (hsa_signal_t){0}); \
		call; \
		assert_int_equal(ran, ++expected); \
	} while (0)
#define FOUR(name, ...) \
	RINGS(kr_hook_##name##_relaxed(bell, __VA_ARGS__)); \
	RINGS(kr_hook_##name##_scacquire(bell, __VA_ARGS__)); \
	RINGS(kr_hook_##name##_screlease(bell, __VA_ARGS__)); \
	RINGS(kr_hook_##name##_scacq_screl(bell, __VA_ARGS__))
	RINGS(kr_hook_hsa_signal_store_relaxed(bell, 1));
	RINGS(kr_hook_hsa_signal_store_screlease(bell, 1));
	RINGS(kr_hook_hsa_signal_silent_store_relaxed(bell, 1));
	RINGS(kr_hook_hsa_signal_silent_store_screlease(bell, 1));
	FOUR(hsa_signal_exchange, 3);
	FOUR(hsa_signal_add, 1);
	FOUR(hsa_signal_subtract, 1);
	FOUR(hsa_signal_and, 1);
	FOUR(hsa_signal_or, 1);
	FOUR(hsa_signal_xor, 1);
	FOUR(hsa_signal_cas, 0, 9);
	kr_hook_hsa_signal_store_relaxed(bell, 41);
	assert_int_equal(kr_hook_hsa_signal_exchange_relaxed(bell, 42), 41);
	assert_int_equal(kr_hook_hsa_signal_cas_relaxed(bell, 42, 43), 42);
	kr_hook_hsa_queue_destroy(queue);
}

/* contract 3: packets of other types, bit for bit */
static void
passes_other_packets_on_bit_for_bit(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	struct kr_proxy *p = kr_proxy_of_queue(queue);
	union kr_packet *slot = queue->base_address, vendor;

	for (unsigned i = 0; i < sizeof(vendor); i++)
		((unsigned char *)&vendor)[i] = (unsigned char)(i * 7 + 3);
	vendor.words[7] = 0;
	/* Parked, so that the packet can be looked at in the hardware ring. */
	kr_next.hsa_queue_inactivate(p->hw);
	__atomic_fetch_add(&((amd_queue_t *)queue)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	kr_packet_publish(slot, &vendor, 0x5a5a0000u | kr_packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true));
	kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, 0);
	vendor.head = 0x5a5a0000u | kr_packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true);
	assert_memory_equal(p->hw_ring, &vendor, sizeof(vendor));
	kr_hook_hsa_queue_destroy(queue);
}

static void
on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	*(hsa_queue_t **)data = status == HSA_STATUS_ERROR_EXCEPTION ? queue : NULL;
}

static void
errors_name_the_applications_queue(void **state)
{
	hsa_queue_t *queue = NULL, *named = NULL;

	kr_proxy_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, on_queue_error, &named, 0, 0, &queue);
	kr_hook_hsa_queue_inactivate(queue);
	assert_ptr_equal(named, queue);
	kr_hook_hsa_queue_destroy(queue);
}

static void
fails_as_the_runtime_fails_or_steps_aside(void **state)
{
	hsa_queue_t *queue = NULL;

	assert_int_not_equal(kr_proxy_create(STAND_IN_GPU, 63, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
	stand_in_reset();
	stand_in.soft_queue_create.fail_at = 1;
	assert_int_equal(kr_proxy_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
	assert_null(kr_proxy_of_queue(queue)); /* the application has the runtime's own */
	kr_next.hsa_queue_destroy(queue);
	assert_int_equal(stand_in.live_queues, 0);
	assert_int_equal(stand_in.live_signals, 0);
	for (unsigned k = 1; k <= 3; k++) { /* each signal of ours */
		stand_in_reset();
		stand_in.signal_create.fail_at = k;
		assert_int_equal(kr_proxy_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
		assert_null(kr_proxy_of_queue(queue));
		kr_next.hsa_queue_destroy(queue);
		assert_int_equal(stand_in.live_signals, 0);
	}
}

#define THREADS 8
#define EACH 1250

static void *
ring_away(void *arg)
{
	hsa_queue_t *queue = arg;

	for (int i = 0; i < EACH; i++) {
		uint64_t index = __atomic_fetch_add(&((amd_queue_t *)queue)->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
		union kr_packet packet = {0};

		while (index - kr_hook_hsa_queue_load_read_index_scacquire(queue) >= queue->size)
			sched_yield();
		packet.dispatch.kernel_object = (uint64_t)(uintptr_t)count;
		kr_packet_publish((union kr_packet *)queue->base_address + index % queue->size, &packet,
				  kr_packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, false));
		kr_hook_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	}
	return NULL;
}

/* Scenario 7: threads reserve, publish and ring out of order. */
static void
many_threads_on_one_queue_lose_nothing(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ring_away, queue), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(ran, THREADS * EACH);
	kr_hook_hsa_queue_destroy(queue);
}

struct doomed {
	hsa_queue_t *queue;
	hsa_signal_t done;
};

static void *
ring_once(void *arg)
{
	struct doomed *doomed = arg;

	stand_in_dispatch(doomed->queue, count, NULL, doomed->done);
	return NULL;
}

/* Scenario 17: the dispatch completes before the call that rang for it returns, and whoever waited for it destroys
 * the queue. */
static void
a_queue_is_destroyed_as_soon_as_its_dispatch_completes(void **state)
{
	enum { ROUNDS = 2000 };

	for (int i = 0; i < ROUNDS; i++) {
		struct doomed doomed = {make_queue(64), stand_in_signal(1)};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, ring_once, &doomed), 0);
		kr_next.hsa_signal_wait_scacquire(doomed.done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
		assert_int_equal(kr_hook_hsa_queue_destroy(doomed.queue), 0);
		pthread_join(thread, NULL);
		kr_next.hsa_signal_destroy(doomed.done);
	}
	assert_int_equal(ran, ROUNDS);
}

/* The last look of such a ring, however late it comes. */
static void
a_ring_that_comes_after_the_end_finds_nothing(void **state)
{
	hsa_queue_t *queue = make_queue(64);
	struct kr_proxy *stale = kr_proxy_of_queue(queue);

	assert_int_equal(kr_hook_hsa_queue_destroy(queue), 0);
	kr_proxy_ring(stale);
	queue = make_queue(64);
	kr_proxy_ring(stale);
	stand_in_dispatch(queue, count, NULL, (hsa_signal_t){0});
	assert_int_equal(ran, 1);
	kr_proxy_ring(stale);
	assert_int_equal(ran, 1);
	assert_int_equal(kr_hook_hsa_queue_destroy(queue), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_queue_looks_like_the_hardware_queue, setup),
		cmocka_unit_test_setup(without_a_tool_the_runtime_is_as_ever, setup),
		cmocka_unit_test_setup(forwards_and_completes, setup),
		cmocka_unit_test_setup(wraps_around_with_several_packets_under_one_doorbell, setup),
		cmocka_unit_test_setup(takes_packets_in_order_only, setup),
		cmocka_unit_test_setup(every_signal_operation_rings, setup),
		cmocka_unit_test_setup(passes_other_packets_on_bit_for_bit, setup),
		cmocka_unit_test_setup(errors_name_the_applications_queue, setup),
		cmocka_unit_test_setup(fails_as_the_runtime_fails_or_steps_aside, setup),
		cmocka_unit_test_setup(many_threads_on_one_queue_lose_nothing, setup),
		cmocka_unit_test_setup(a_queue_is_destroyed_as_soon_as_its_dispatch_completes, setup),
		cmocka_unit_test_setup(a_ring_that_comes_after_the_end_finds_nothing, setup),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
