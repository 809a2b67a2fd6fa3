/* SPDX-License-Identifier: MIT */
#include "kmt.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *library;
static int descriptors_before, mappings_before;

void *kmt_symbol(const char *name)
{
	void *symbol;

	if (!library)
		library = dlopen(getenv("SOFTGPU_LIB"), RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		print_error("%s\n", dlerror());
		fail();
	}
	symbol = dlvsym(library, name, "HSAKMT_1");
	if (!symbol)
		print_error("%s is not exported\n", name);
	assert_non_null(symbol);
	return symbol;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Shared mappings: device memory. Private ones come and go with the heap. */
static int count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, "softgpu") != NULL;
	if (file)
		fclose(file);
	return count;
}

static HsaEvent *told; /* of signals without an event of their own; made when first wanted */

int kmt_setup(void **state)
{
	const char *spec = *state ? *state : "gfx90a,vram=64M";

	setenv("KREPLAY_SOFTGPU", spec, 1);
	kmt_symbol("hsaKmtOpenKFD");
	descriptors_before = count_descriptors();
	mappings_before = count_mappings();
	assert_int_equal(KMT(hsaKmtOpenKFD)(), HSAKMT_STATUS_SUCCESS);
	return 0;
}

int kmt_teardown(void **state)
{
	(void)state;
	if (told)
		KMT(hsaKmtDestroyEvent)(told);
	told = NULL;
	assert_int_equal(KMT(hsaKmtCloseKFD)(), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(count_descriptors(), descriptors_before);
	assert_int_equal(count_mappings(), mappings_before);
	return 0;
}

uint64_t kmt_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void expect(volatile int64_t *word, int64_t least, int64_t most, HsaEvent *event)
{
	for (bool late = false;;) {
		int64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);

		if (now >= least && now <= most)
			return;
		if (late)
			fail_msg("still %lld, not %lld", (long long)now, (long long)most);
		/* The device sets the event after the word: a set of another word only ends the wait early. */
		late = KMT(hsaKmtWaitOnEvent)(event, 20000) != HSAKMT_STATUS_SUCCESS;
	}
}

void kmt_expect_event(volatile int64_t *word, int64_t value, HsaEvent *event)
{
	expect(word, value, value, event);
}

void kmt_expect(volatile int64_t *word, int64_t value)
{
	expect(word, value, value, told);
}

void kmt_expect_at_most(volatile int64_t *word, int64_t value)
{
	expect(word, INT64_MIN, value, told);
}

void kmt_device_turn(void)
{
	/* A look that saw the first ring may have passed the other queues before. The one that sees the second has not;
	 * more of them are for the device's other threads, which may be at such a look as well. */
	enum { ROUNDS = 4 };
	amd_signal_t *done = kmt_alloc(0, 4096);
	hsa_barrier_and_packet_t packet = {
		.header = HEADER(HSA_PACKET_TYPE_BARRIER_AND, 0),
		.completion_signal = {(uint64_t)(uintptr_t)done},
	};
	struct kmt_queue witness;

	kmt_signal_init(done, ROUNDS, NULL);
	kmt_queue_create(&witness, 64);
	for (int64_t left = ROUNDS; left > 0; left--) {
		kmt_queue_put(&witness, &packet);
		kmt_expect(&done->value, left - 1);
	}
	kmt_queue_destroy(&witness);
	kmt_free(done, 4096);
}

void *kmt_alloc(uint32_t node, uint64_t size)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .NonPaged = node != 0}};
	HSAuint64 va = 0;
	void *address = NULL;

	assert_int_equal(KMT(hsaKmtAllocMemory)(node, size, flags, &address), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtMapMemoryToGPU)(address, size, &va), HSAKMT_STATUS_SUCCESS);
	return address;
}

void kmt_free(void *address, uint64_t size)
{
	assert_int_equal(KMT(hsaKmtUnmapMemoryToGPU)(address), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtFreeMemory)(address, size), HSAKMT_STATUS_SUCCESS);
}

HsaEvent *kmt_event(HSA_EVENTTYPE type, bool manual)
{
	HsaEventDescriptor descriptor = {.EventType = type};
	HsaEvent *event = NULL;

	assert_int_equal(KMT(hsaKmtCreateEvent)(&descriptor, manual, false, &event),
	                 HSAKMT_STATUS_SUCCESS);
	assert_true(event->EventData.HWData2 != 0);
	return event;
}

void kmt_queue_create(struct kmt_queue *queue, uint32_t packets)
{
	HsaNodeProperties node;

	memset(queue, 0, sizeof(*queue));
	queue->packets = packets;
	assert_int_equal(KMT(hsaKmtGetNodeProperties)(GPU_NODE, &node), HSAKMT_STATUS_SUCCESS);
	queue->doorbell_type = node.Capability.ui32.DoorbellType;
	queue->amd = kmt_alloc(0, 4096);
	queue->ring = kmt_alloc(0, (packets * 64 + 4095) & ~4095u);
	for (uint32_t i = 0; i < packets; i++)
		*(uint16_t *)(queue->ring + i * 64) = HSA_PACKET_TYPE_INVALID;
	queue->event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	queue->resource.Queue_read_ptr_aql = (uint64_t *)&queue->amd->read_dispatch_id;
	queue->resource.Queue_write_ptr_aql =
		queue->doorbell_type == 2 ? (uint64_t *)&queue->amd->write_dispatch_id
		                          : (uint64_t *)&queue->amd->max_legacy_doorbell_dispatch_id_plus_1;
	queue->resource.ErrorReason = &queue->reason;
	assert_int_equal(KMT(hsaKmtCreateQueue)(GPU_NODE, HSA_QUEUE_COMPUTE_AQL, 100,
	                                        HSA_QUEUE_PRIORITY_NORMAL, queue->ring,
	                                        packets * 64, queue->event, &queue->resource),
	                 HSAKMT_STATUS_SUCCESS);
}

void kmt_queue_destroy(struct kmt_queue *queue)
{
	assert_int_equal(KMT(hsaKmtDestroyQueue)(queue->resource.QueueId), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtDestroyEvent)(queue->event), HSAKMT_STATUS_SUCCESS);
	kmt_free(queue->ring, queue->packets * 64);
	kmt_free(queue->amd, 4096);
}

void kmt_queue_ring(struct kmt_queue *queue, uint64_t index)
{
	if (queue->doorbell_type == 2) {
		__atomic_store_n(queue->resource.Queue_DoorBell_aql, index, __ATOMIC_RELEASE);
		return;
	}
	if (index + 1 <= queue->amd->max_legacy_doorbell_dispatch_id_plus_1)
		return;
	__atomic_store_n(&queue->amd->max_legacy_doorbell_dispatch_id_plus_1, index + 1,
	                 __ATOMIC_RELEASE);
	__atomic_store_n(queue->resource.Queue_DoorBell, (uint32_t)(index + 1), __ATOMIC_RELEASE);
}

uint64_t kmt_queue_put(struct kmt_queue *queue, const void *packet)
{
	uint64_t index = __atomic_fetch_add(&queue->amd->write_dispatch_id, 1, __ATOMIC_ACQ_REL);
	uint8_t *slot = queue->ring + index % queue->packets * 64;
	uint16_t header;

	assert_true(index - __atomic_load_n(&queue->amd->read_dispatch_id, __ATOMIC_ACQUIRE) < queue->packets);
	memcpy(slot + 2, (const uint8_t *)packet + 2, 62);
	memcpy(&header, packet, 2);
	__atomic_store_n((uint16_t *)slot, header, __ATOMIC_RELEASE);
	kmt_queue_ring(queue, index);
	return index;
}

void kmt_signal_init(amd_signal_t *signal, int64_t value, HsaEvent *event)
{
	memset(signal, 0, sizeof(*signal));
	signal->kind = AMD_SIGNAL_KIND_USER;
	signal->value = value;
	if (!event && !told)
		told = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	event = event ? event : told;
	signal->event_mailbox_ptr = event->EventData.HWData2;
	signal->event_id = event->EventId;
}
