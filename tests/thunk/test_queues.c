/* SPDX-License-Identifier: MIT */
/* AQL queues without a kernel: barriers, ordering, doorbells, errors. */
#include "kmt.h"

#include <string.h>

static hsa_signal_t handle(amd_signal_t *signal)
{
	return (hsa_signal_t){(uint64_t)(uintptr_t)signal};
}

static hsa_barrier_and_packet_t barrier_and(amd_signal_t *dependency, amd_signal_t *completion)
{
	return (hsa_barrier_and_packet_t){
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 1),
		.dep_signal = {handle(dependency)},
		.completion_signal = handle(completion),
	};
}

/* The rule of each type: the SPEC chooses what a ring means. */
static void doorbell_type(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {.completion_signal = handle(done)};
	uint32_t type = strstr(*state, "doorbell=1") ? 1 : 2;

	kmt_signal_init(done, 2, NULL);
	kmt_queue_create(&queue, 64);
	assert_int_equal(queue.doorbell_type, type);
	for (int i = 0; i < 2; i++) {
		memcpy(queue.ring + i * 64, &packet, 64);
		*(uint16_t *)(queue.ring + i * 64) = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0);
	}
	/* Two packets are there. Type 1 tells of the first alone: its write pointer is
	 * the doorbell's. Type 2 says only that the write pointer is worth a look. */
	queue.amd->write_dispatch_id = 2;
	kmt_queue_ring(&queue, 0);
	kmt_expect(&done->value, type == 1 ? 1 : 0);
	kmt_device_turn();
	assert_int_equal(done->value, type == 1 ? 1 : 0);
	kmt_queue_ring(&queue, 1);
	kmt_expect(&done->value, 0);
	kmt_queue_destroy(&queue);
	kmt_free(done, 4096);
}

static void barrier_waits(void **state)
{
	struct kmt_queue queue;
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	amd_signal_t *signals = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = barrier_and(&signals[0], &signals[1]), next = packet;

	(void)state;
	next.dep_signal[0].handle = 0;
	kmt_signal_init(&signals[0], 1, NULL);
	kmt_signal_init(&signals[1], 3, event);
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, &packet);
	kmt_device_turn();
	assert_int_equal(signals[1].value, 3);
	assert_int_equal(queue.amd->read_dispatch_id, 0);
	__atomic_store_n(&signals[0].value, 0, __ATOMIC_RELEASE);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 5000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(signals[1].value, 2);
	assert_true(signals[1].start_ts && signals[1].end_ts >= signals[1].start_ts);
	assert_int_equal(*(uint64_t *)(uintptr_t)event->EventData.HWData2, event->EventId);
	/* The slot is given back before the packet behind it runs. */
	kmt_queue_put(&queue, &next);
	kmt_expect_event(&signals[1].value, 1, event);
	assert_true(queue.amd->read_dispatch_id >= 1);
	assert_int_equal(*(uint16_t *)queue.ring & 0xff, HSA_PACKET_TYPE_INVALID);
	kmt_queue_destroy(&queue);
	kmt_free(signals, 4096);
	KMT(hsaKmtDestroyEvent)(event);
}

static void barrier_or_and_value(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *s = kmt_alloc(0, 4096);
	hsa_barrier_or_packet_t either = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_OR, 1),
		.dep_signal = {handle(&s[0]), {0}, handle(&s[1])},
		.completion_signal = handle(&s[3]),
	};
	hsa_amd_barrier_value_packet_t value = {
		.header = {HEADER(HSA_PACKET_TYPE_VENDOR_SPECIFIC, 1), HSA_AMD_PACKET_TYPE_BARRIER_VALUE,
		           0},
		.signal = handle(&s[2]),
		.value = 0x50,
		.mask = 0xf0,
		.cond = HSA_SIGNAL_CONDITION_GTE,
		.completion_signal = handle(&s[3]),
	};

	(void)state;
	for (int i = 0; i < 3; i++)
		kmt_signal_init(&s[i], 1, NULL);
	kmt_signal_init(&s[3], 2, NULL);
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, &either);
	kmt_queue_put(&queue, &value);
	kmt_device_turn();
	assert_int_equal(s[3].value, 2);
	__atomic_store_n(&s[1].value, 0, __ATOMIC_RELEASE);
	kmt_expect(&s[3].value, 1);
	__atomic_store_n(&s[2].value, 0x14f, __ATOMIC_RELEASE);
	kmt_device_turn();
	assert_int_equal(s[3].value, 1);
	__atomic_store_n(&s[2].value, 0x60, __ATOMIC_RELEASE);
	kmt_expect(&s[3].value, 0);
	kmt_queue_destroy(&queue);
	kmt_free(s, 4096);
}

/* Two producers: the second packet is written and rung first. */
static void rings_out_of_order(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {.completion_signal = handle(done)};

	(void)state;
	kmt_signal_init(done, 2, NULL);
	kmt_queue_create(&queue, 64);
	queue.amd->write_dispatch_id = 2;
	for (int i = 1; i >= 0; i--) {
		memcpy(queue.ring + i * 64 + 2, (char *)&packet + 2, 62);
		__atomic_store_n((uint16_t *)(queue.ring + i * 64),
		                 HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0), __ATOMIC_RELEASE);
		kmt_queue_ring(&queue, (uint64_t)i);
		if (i)
			kmt_device_turn(); /* nothing may happen */
		else
			kmt_expect(&done->value, 0);
		assert_int_equal(done->value, i ? 2 : 0);
	}
	kmt_queue_destroy(&queue);
	kmt_free(done, 4096);
}

static void wraps_around(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 1),
		.completion_signal = handle(done),
	};

	(void)state;
	kmt_signal_init(done, 5000, NULL);
	kmt_queue_create(&queue, 16);
	for (int i = 0; i < 5000; i++) {
		/* The ring is kept full. Whoever completes has made room for another in the slot before. */
		if (i >= 15)
			kmt_expect_at_most(&done->value, 5000 - (i - 14));
		kmt_queue_put(&queue, &packet);
	}
	kmt_expect(&done->value, 0);
	kmt_queue_destroy(&queue);
	kmt_free(done, 4096);
}

/* PM4 in a vendor packet: an instruction-cache invalidate, as after a code load. */
static void pm4_buffer(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	uint32_t *ib = kmt_alloc(0, 4096);
	uint32_t packet[16] = {
		HEADER(HSA_PACKET_TYPE_VENDOR_SPECIFIC, 0) | 1u << 16,
		0xc0023f00, (uint32_t)(uintptr_t)ib, (uint32_t)((uintptr_t)ib >> 32), 7 | 1u << 23, 10,
	};
	uint64_t completion = (uint64_t)(uintptr_t)done;

	(void)state;
	ib[0] = 0xc0055800;
	memcpy(&packet[14], &completion, 8);
	kmt_signal_init(done, 1, NULL);
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, packet);
	kmt_expect(&done->value, 0);
	/* An opcode that nobody implements is an error, not silence. */
	ib[0] = 0xc0057700;
	kmt_queue_put(&queue, packet);
	kmt_expect_event(&queue.reason, 1ll << 22, queue.event);
	kmt_queue_destroy(&queue);
	kmt_free(ib, 4096);
	kmt_free(done, 4096);
}

static void expect_error(const void *packet, int64_t reason)
{
	struct kmt_queue queue;

	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, packet);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(queue.event, 5000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(queue.reason, reason);
	kmt_queue_destroy(&queue);
}

static void packet_errors(void **state)
{
	uint64_t *code = kmt_alloc(0, 4096);
	hsa_kernel_dispatch_packet_t good = {
		.header = HEADER(HSA_PACKET_TYPE_KERNEL_DISPATCH, 0),
		.setup = 1,
		.workgroup_size_x = 64, .workgroup_size_y = 1, .workgroup_size_z = 1,
		.grid_size_x = 64, .grid_size_y = 1, .grid_size_z = 1,
		.kernel_object = (uint64_t)(uintptr_t)code,
	};
	hsa_kernel_dispatch_packet_t p = good;
	hsa_agent_dispatch_packet_t agent = {.header = HEADER(HSA_PACKET_TYPE_AGENT_DISPATCH, 0)};

	(void)state;
	expect_error(&agent, 1ll << 19);
	p.setup = 0;
	expect_error(&p, 1ll << 15);
	p = good;
	p.grid_size_x = 0;
	expect_error(&p, 1ll << 15);
	p = good;
	p.workgroup_size_x = 1025;
	expect_error(&p, 1ll << 20);
	p = good;
	p.group_segment_size = 65537;
	expect_error(&p, 1ll << 16);
	p = good;
	p.kernel_object = 0;
	expect_error(&p, 1ll << 17);
	kmt_free(code, 4096);
}

static void not_a_signal(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0),
		.completion_signal = handle(done),
	};

	(void)state;
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, &packet); /* kind 0: destroyed */
	kmt_expect_event(&queue.reason, 1ll << 19, queue.event);
	kmt_queue_destroy(&queue);
	kmt_free(done, 4096);
}

/* A dependency that nothing maps is a memory fault of the device. */
static void wild_signal(void **state)
{
	struct kmt_queue queue;
	HsaEvent *fault = kmt_event(HSA_EVENTTYPE_MEMORY, true);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0),
		.dep_signal = {{0x10000}},
	};

	(void)state;
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, &packet);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(fault, 5000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(fault->EventData.EventData.MemoryAccessFault.VirtualAddress, 0x10000);
	assert_int_equal(fault->EventData.EventData.MemoryAccessFault.NodeId, GPU_NODE);
	assert_int_equal(fault->EventData.EventData.MemoryAccessFault.Flags,
	                 HSA_EVENTID_MEMORY_FATAL_PROCESS);
	kmt_queue_destroy(&queue);
	KMT(hsaKmtDestroyEvent)(fault);
}

/* One queue of a card has global wave sync. */
static void gws(void **state)
{
	struct kmt_queue first, second;
	HSAuint32 slot = 7;

	(void)state;
	kmt_queue_create(&first, 64);
	kmt_queue_create(&second, 64);
	assert_int_equal(KMT(hsaKmtAllocQueueGWS)(first.resource.QueueId, 65, &slot),
	                 HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(KMT(hsaKmtAllocQueueGWS)(first.resource.QueueId, 1, &slot),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(slot, 0);
	assert_int_equal(KMT(hsaKmtAllocQueueGWS)(second.resource.QueueId, 1, &slot),
	                 HSAKMT_STATUS_OUT_OF_RESOURCES);
	kmt_queue_destroy(&first);
	assert_int_equal(KMT(hsaKmtAllocQueueGWS)(second.resource.QueueId, 1, &slot),
	                 HSAKMT_STATUS_SUCCESS);
	kmt_queue_destroy(&second);
}

/* Doorbells of queues that are no more are memory all the same: nobody reads them, not even the next queue there. */
static void doorbell_of_nobody(void **state)
{
	struct kmt_queue gone, other, next;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0),
		.completion_signal = handle(done),
	};
	HSA_QUEUEID id;

	(void)state;
	kmt_signal_init(done, 5, NULL);
	kmt_queue_create(&gone, 64);
	kmt_queue_create(&other, 64);
	id = gone.resource.QueueId;
	kmt_queue_put(&gone, &packet);
	kmt_expect(&done->value, 4);
	kmt_queue_destroy(&gone);
	assert_int_equal(KMT(hsaKmtDestroyQueue)(id), HSAKMT_STATUS_INVALID_HANDLE);
	/* A look at the other queue's doorbell goes by this one. */
	for (int i = 3; i > 0; i--) {
		__atomic_store_n(gone.resource.Queue_DoorBell_aql, i, __ATOMIC_RELEASE);
		kmt_queue_put(&other, &packet);
		kmt_expect(&done->value, i);
	}
	/* The next one has the old one's. */
	kmt_queue_create(&next, 64);
	assert_ptr_equal(next.resource.Queue_DoorBell_aql, gone.resource.Queue_DoorBell_aql);
	assert_int_not_equal(next.resource.QueueId, id);
	assert_int_equal(KMT(hsaKmtDestroyQueue)(id), HSAKMT_STATUS_INVALID_HANDLE);
	__atomic_store_n(gone.resource.Queue_DoorBell_aql, 7, __ATOMIC_RELEASE);
	kmt_device_turn();
	assert_int_equal(done->value, 1);
	kmt_queue_put(&next, &packet);
	kmt_expect(&done->value, 0);
	kmt_queue_destroy(&next);
	kmt_queue_destroy(&other);
	kmt_free(done, 4096);
}

static void destroy_parked(void **state)
{
	amd_signal_t *never = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = barrier_and(never, NULL);

	(void)state;
	kmt_signal_init(never, 1, NULL);
	for (int i = 0; i < 200; i++) {
		struct kmt_queue queue;

		kmt_queue_create(&queue, 64);
		kmt_queue_put(&queue, &packet);
		kmt_queue_destroy(&queue);
	}
	kmt_free(never, 4096);
}

static void suspended(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0),
		.completion_signal = handle(done),
	};

	(void)state;
	kmt_signal_init(done, 1, NULL);
	kmt_queue_create(&queue, 64);
	assert_int_equal(KMT(hsaKmtUpdateQueue)(queue.resource.QueueId, 0, 0, NULL, 0, NULL),
	                 HSAKMT_STATUS_SUCCESS);
	kmt_queue_put(&queue, &packet);
	kmt_device_turn();
	assert_int_equal(done->value, 1);
	KMT(hsaKmtUpdateQueue)(queue.resource.QueueId, 100, 0, NULL, 0, NULL);
	kmt_expect(&done->value, 0);
	kmt_queue_destroy(&queue);
	kmt_free(done, 4096);
}

/* Close with everything still there: nothing may leak, hang or crash. */
static void close_with_queues(void **state)
{
	struct kmt_queue queue;
	amd_signal_t *never = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = barrier_and(never, NULL);

	(void)state;
	kmt_signal_init(never, 1, NULL);
	kmt_queue_create(&queue, 64);
	kmt_queue_put(&queue, &packet);
	kmt_alloc(GPU_NODE, 1 << 20);
}

#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))
#define BOTH(f) TEST(f, "gfx90a,vram=64M,doorbell=1"), TEST(f, "gfx90a,vram=64M,doorbell=2")

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(doorbell_type),
		BOTH(barrier_waits),
		BOTH(gws),
		BOTH(barrier_or_and_value),
		TEST(rings_out_of_order, NULL),
		BOTH(wraps_around),
		TEST(wraps_around, "threads=1"),
		TEST(wraps_around, "delay=20,seed=7"),
		BOTH(pm4_buffer),
		TEST(packet_errors, NULL),
		TEST(not_a_signal, NULL),
		TEST(wild_signal, NULL),
		BOTH(doorbell_of_nobody),
		BOTH(destroy_parked),
		TEST(suspended, NULL),
		TEST(close_with_queues, NULL),
		TEST(barrier_waits, "gfx900"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
