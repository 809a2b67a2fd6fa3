/* SPDX-License-Identifier: MIT */
/* The copy engine, packet by packet. */
#include "kmt.h"

#include <stdlib.h>
#include <string.h>

#define RING (64u << 10)

struct sdma {
	uint8_t *ring;
	uint64_t write;
	HsaQueueResource resource;
	uint32_t *fence;
	uint32_t fence_value;
	HsaEvent *told; /* by a trap behind each fence */
};

static void sdma_create(struct sdma *s)
{
	memset(s, 0, sizeof(*s));
	s->ring = kmt_alloc(0, RING);
	s->fence = kmt_alloc(0, 4096);
	s->told = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	assert_int_equal(KMT(hsaKmtCreateQueue)(GPU_NODE, HSA_QUEUE_SDMA, 100,
	                                        HSA_QUEUE_PRIORITY_MAXIMUM, s->ring, RING, NULL,
	                                        &s->resource),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(*s->resource.Queue_write_ptr_aql, 0);
	assert_int_equal(*s->resource.Queue_read_ptr_aql, 0);
}

static void sdma_destroy(struct sdma *s)
{
	assert_int_equal(KMT(hsaKmtDestroyQueue)(s->resource.QueueId), HSAKMT_STATUS_SUCCESS);
	kmt_free(s->ring, RING);
	kmt_free(s->fence, 4096);
	KMT(hsaKmtDestroyEvent)(s->told);
}

static void put(struct sdma *s, const uint32_t *words, uint32_t count)
{
	assert_true(s->write + count * 4 - *(volatile uint64_t *)s->resource.Queue_read_ptr_aql <= RING);
	for (uint32_t i = 0; i < count; i++, s->write += 4)
		memcpy(s->ring + s->write % RING, &words[i], 4);
}

static void ring(struct sdma *s)
{
	__atomic_store_n(s->resource.Queue_write_ptr_aql, s->write, __ATOMIC_RELEASE);
	__atomic_store_n(s->resource.Queue_DoorBell_aql, s->write, __ATOMIC_RELEASE);
}

#define LO(p) (uint32_t)(uintptr_t)(p)
#define HI(p) (uint32_t)((uintptr_t)(p) >> 32)

static void put_fence(struct sdma *s)
{
	uint32_t words[] = {5, LO(s->fence), HI(s->fence), ++s->fence_value, 6, s->told->EventId};

	put(s, words, 6);
}

static void finish(struct sdma *s)
{
	put_fence(s);
	ring(s);
	while (__atomic_load_n(s->fence, __ATOMIC_ACQUIRE) != s->fence_value)
		assert_int_equal(KMT(hsaKmtWaitOnEvent)(s->told, 20000), HSAKMT_STATUS_SUCCESS);
}

static void copy_sizes(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 63, 64, 65, 4095, 4097, 1000003, 0x3fffe0};
	const uint32_t room = 5 << 20;
	uint8_t *from = kmt_alloc(0, room), *to = kmt_alloc(GPU_NODE, room);
	struct sdma s;

	(void)state;
	sdma_create(&s);
	for (uint32_t i = 0; i < room; i++)
		from[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t skew = (uint32_t)i % 4;
		uint32_t words[] = {1, sizes[i] - 1, 0, LO(from + skew), HI(from + skew),
		                    LO(to + 1), HI(to + 1)};

		memset(to, 0xee, sizes[i] + 2);
		put(&s, words, 7);
		finish(&s);
		assert_memory_equal(to + 1, from + skew, sizes[i]);
		assert_int_equal(to[0], 0xee);
		assert_int_equal(to[sizes[i] + 1], 0xee);
	}
	sdma_destroy(&s);
	kmt_free(from, room);
	kmt_free(to, room);
}

/* Counts that do not fit the 22 bits of the first cards: there are 30. */
static void long_counts(void **state)
{
	const uint64_t room = 40u << 20;
	uint8_t *from = kmt_alloc(0, room), *to = kmt_alloc(GPU_NODE, room);
	static const uint32_t sizes[] = {0x400000, 0x400001, 0x1234567, 40u << 20};
	struct sdma s;

	(void)state;
	sdma_create(&s);
	for (uint64_t i = 0; i < room; i += 4)
		memcpy(from + i, &(uint32_t){(uint32_t)(i * 2654435761u)}, 4);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t copy[] = {1, sizes[i] - 1, 0, LO(from), HI(from), LO(to), HI(to)};
		uint32_t fill[] = {11 | 2u << 30, LO(to), HI(to), 0xeeeeeeee, (uint32_t)room - 4};

		put(&s, fill, 5);
		put(&s, copy, 7);
		finish(&s);
		assert_memory_equal(to, from, sizes[i]);
		if (sizes[i] < room)
			assert_int_equal(to[sizes[i]], 0xee);
		assert_int_equal(to[room - 1], sizes[i] < room ? 0xee : from[room - 1]);
	}
	sdma_destroy(&s);
	kmt_free(from, room);
	kmt_free(to, room);
}

static void copy_rect(void **state)
{
	uint32_t *from = kmt_alloc(0, 1 << 20), *to = kmt_alloc(GPU_NODE, 1 << 20);
	struct sdma s;

	(void)state;
	sdma_create(&s);
	for (int i = 0; i < 1 << 18; i++)
		from[i] = (uint32_t)i;
	/* 4-byte elements; 5 x 3 x 2 from (1,2,1) in pitch 16, slice 256, to (3,1,0)
	 * in pitch 8, slice 64. */
	uint32_t words[13] = {
		1 | 4 << 8 | 2u << 29, LO(from), HI(from), 1 | 2 << 16, 1 | 15u << 13, 255,
		LO(to), HI(to), 3 | 1 << 16, 0 | 7u << 13, 63, 4 | 2 << 16, 1,
	};

	put(&s, words, 13);
	finish(&s);
	for (uint32_t z = 0; z < 2; z++)
		for (uint32_t y = 0; y < 8; y++)
			for (uint32_t x = 0; x < 8; x++) {
				bool in = x >= 3 && y >= 1 && y < 4;
				uint32_t want = (z + 1) * 256 + (y - 1 + 2) * 16 + (x - 3 + 1);

				assert_int_equal(to[z * 64 + y * 8 + x], in ? want : 0);
			}
	sdma_destroy(&s);
	kmt_free(from, 1 << 20);
	kmt_free(to, 1 << 20);
}

static void small_packets(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	uint64_t *words64 = kmt_alloc(0, 4096);
	uint32_t *poll = (uint32_t *)(words64 + 8), *fill = poll + 8;
	struct sdma s;

	(void)state;
	sdma_create(&s);
	words64[0] = 10;
	uint32_t atomic[8] = {10 | 47u << 25, LO(words64), HI(words64), 0xffffffff, 0xffffffff};
	uint32_t stamp[3] = {13 | 2 << 8, LO(words64 + 1), HI(words64 + 1)};
	uint32_t constant[5] = {11 | 2u << 30, LO(fill), HI(fill), 0xabcd1234, (5 - 1) * 4};
	uint32_t trap[2] = {6, event->EventId};
	uint32_t gcr[5] = {17 | 1 << 8};
	uint32_t flush[6] = {8, 0, 0x80000000};
	uint32_t nop[3] = {0 | 2 << 16, 0xffffffff, 0xffffffff};

	put(&s, nop, 3);
	put(&s, flush, 6);
	put(&s, gcr, 5);
	put(&s, atomic, 8);
	put(&s, stamp, 3);
	put(&s, constant, 5);
	put(&s, trap, 2);
	finish(&s);
	assert_int_equal(words64[0], 9);
	assert_true(words64[1] != 0);
	assert_int_equal(fill[4], 0xabcd1234);
	assert_int_equal(fill[5], 0);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 5000), HSAKMT_STATUS_SUCCESS);

	/* Poll: memory, equal, masked. */
	uint32_t wait[6] = {8 | 3u << 28 | 1u << 31, LO(poll), HI(poll), 0x70, 0xff, 0xfff << 16 | 4};

	put(&s, wait, 6);
	put_fence(&s);
	ring(&s);
	kmt_device_turn();
	assert_int_not_equal(*s.fence, s.fence_value);
	__atomic_store_n(poll, 0x1270, __ATOMIC_RELEASE);
	finish(&s);
	sdma_destroy(&s);
	kmt_free(words64, 4096);
	KMT(hsaKmtDestroyEvent)(event);
}

/* Packets that wrap at the end of the ring, many times over. */
static void ring_wraps(void **state)
{
	uint32_t *data = kmt_alloc(0, 4096);
	struct sdma s;
	uint64_t at;

	(void)state;
	sdma_create(&s);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t words[7] = {1, 3, 0, LO(data), HI(data), LO(data + 1), HI(data + 1)};

		data[0] = i;
		put(&s, words, 7);
		if (i % 500 == 0) {
			finish(&s);
			assert_int_equal(data[1], i);
		}
		ring(&s);
	}
	finish(&s);
	/* At the fence that told, at the trap behind it, or over. */
	at = *(volatile uint64_t *)s.resource.Queue_read_ptr_aql;
	assert_true(at == s.write - 24 || at == s.write - 8 || at == s.write);
	sdma_destroy(&s);
	kmt_free(data, 4096);
}

static void expect_fault(const uint32_t *words, uint32_t count, uint64_t address, uint32_t type)
{
	HsaEvent *fault = kmt_event(HSA_EVENTTYPE_MEMORY, true);
	struct sdma s;

	sdma_create(&s);
	put(&s, words, count);
	ring(&s);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(fault, 5000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(fault->EventData.EventData.MemoryAccessFault.VirtualAddress, address);
	assert_int_equal(fault->EventData.EventData.MemoryAccessFault.Failure.ErrorType, type);
	sdma_destroy(&s);
	KMT(hsaKmtDestroyEvent)(fault);
}

static void faults(void **state)
{
	uint8_t *freed = kmt_alloc(GPU_NODE, 1 << 20), *good = kmt_alloc(0, 4096);
	uint32_t copy[7] = {1, 3, 0, LO(good), HI(good), LO(freed + 4096), HI(freed + 4096)};
	uint32_t unknown[1] = {2};

	(void)state;
	kmt_free(freed, 1 << 20);
	expect_fault(copy, 7, (uintptr_t)freed + 4096, 0);
	expect_fault(unknown, 1, 0, 3);
	kmt_free(good, 4096);
}

#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copy_sizes, NULL),
		TEST(copy_sizes, "gfx906,threads=1"),
		TEST(long_counts, NULL),
		TEST(copy_rect, NULL),
		TEST(small_packets, NULL),
		TEST(ring_wraps, NULL),
		TEST(faults, NULL),
		TEST(faults, "private-vram,vram=64M"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
