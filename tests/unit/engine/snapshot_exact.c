/* SPDX-License-Identifier: MIT */
/*
 * After a restore every byte in scope is what it was, whatever was written, in every tier and mix: random footprints,
 * sizes, write sets and changes between windows, held against an independent full copy. Also what the view and the
 * statistics say.
 *
 * snapshot_exact TIER: device, host, full, mixed (no room on the device for all of it), pageable (no large pinned
 * memory), plain (an ISA without kernels), crowded (both of mixed and pageable) or cramped (host, and no room on the device
 * for anything of ours). KR_SEED sets the seed, KR_ROUNDS the number of footprints.
 */
#include "engine_test.h"

#include "core/device/layout.h"
#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "stand_in_kernels.h"

#define MOST 48

struct block {
	unsigned char *base; /* as allocated */
	unsigned char *at;   /* in scope: from here */
	size_t size;
	unsigned char *copy; /* what it is to be after a restore */
	bool odd;            /* known to the tracker only, at an odd address */
};

static const char *tier;
static struct kr_agent *gpu;
static struct kr_snapshot *s;
static struct block block[MOST];
static unsigned blocks;
static size_t largest;
static unsigned seen_tiers; /* bits by kreplay_tier_t */

static unsigned
below(unsigned n)
{
	return (unsigned)(((uint64_t)rand() << 16 ^ (uint64_t)rand()) % n);
}

static bool
is_tier(const char *name)
{
	return strcmp(tier, name) == 0;
}

static void
fill(unsigned char *p, size_t n)
{
	size_t i = 0;
	uint64_t x = (uint64_t)rand() << 32 ^ (uint64_t)rand();

	for (; i + 8 <= n; i += 8, x = x * 6364136223846793005u + 1442695040888963407u)
		memcpy(p + i, &x, 8);
	for (; i < n; i++)
		p[i] = (unsigned char)rand();
}

static size_t
random_size(void)
{
	switch (below(8)) {
	case 0:
		return 1 + below(40);
	case 1:
		return 4096u << below(5);
	case 2:
		return largest / 2 + below((unsigned)largest / 2);
	case 3:
		return 65536u * (1 + below(3)) + below(64) - 32;
	default:
		return 1 + below(90000);
	}
}

static void
add_block(size_t size)
{
	struct block *b = &block[blocks++];

	*b = (struct block){.size = size, .odd = below(4) == 0};
	if (b->odd) {
		b->base = malloc(size + 16);
		b->at = b->base + below(16);
		kr_tracker_add(b->at, size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
	} else {
		uint64_t room = stand_in.device_room;

		stand_in.device_room = 0; /* for the snapshot's memory only */
		b->base = b->at = device_alloc(size);
		stand_in.device_room = room;
	}
	b->copy = malloc(size);
	fill(b->at, size);
}

static void
remove_block(unsigned i)
{
	struct block b = block[i];

	if (b.odd) {
		kr_tracker_remove(b.at);
		free(b.base);
	} else {
		kr_hook_hsa_amd_memory_pool_free(b.base);
	}
	free(b.copy);
	block[i] = block[--blocks];
}

/* What may happen between two windows. */
static void
change_something(void)
{
	for (unsigned n = below(6); n > 0; n--) {
		struct block *b = blocks != 0 ? &block[below(blocks)] : NULL;

		switch (below(5)) {
		case 0:
			if (blocks < MOST)
				add_block(random_size());
			break;
		case 1:
			if (b != NULL)
				remove_block((unsigned)(b - block));
			break;
		case 2: /* freed, and the same address given out again, with the same contents or others */
			if (b != NULL) {
				kr_tracker_remove(b->at);
				kr_tracker_add(b->at, b->size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
				if (below(2))
					fill(b->at, b->size);
			}
			break;
		case 3: /* a copy, or a kernel that is not replayed */
			if (b != NULL)
				fill(b->at + below((unsigned)b->size), 1);
			break;
		default: /* the same address, another length */
			if (b != NULL && b->size > 1) {
				kr_tracker_remove(b->at);
				b->size = 1 + below((unsigned)b->size);
				kr_tracker_add(b->at, b->size, STAND_IN_DEVICE_POOL, 0, KREPLAY_REGION_POOL);
			}
		}
	}
}

/* What a kernel may do; returns whether anything differs afterwards. */
static void
write_something(void)
{
	for (unsigned i = 0; i < blocks; i++) {
		struct block *b = &block[i];

		switch (below(6)) {
		case 0:
			fill(b->at, b->size);
			break;
		case 1:
			b->at[b->size - 1] ^= (unsigned char)(1 + below(255));
			break;
		case 2:
			b->at[0] ^= (unsigned char)(1 + below(255));
			break;
		case 3:
			for (size_t k = below(100); k < b->size; k += 1 + below(30000))
				b->at[k] ^= (unsigned char)(1 + below(255));
			break;
		case 4: /* two words of a column exchanged, as sorting does */
			if (b->size > 8192 + 16) {
				uint64_t x, y;

				memcpy(&x, b->at + 8, 8);
				memcpy(&y, b->at + 8 + 4096, 8);
				memcpy(b->at + 8, &y, 8);
				memcpy(b->at + 8 + 4096, &x, 8);
			}
			break;
		default:
			break;
		}
	}
}

struct seen {
	uint64_t bytes, address;
	unsigned asks; /* how often the callback looks at the view itself */
};

static int
add_bytes(const kreplay_memory_range_t *range, void *data)
{
	*(uint64_t *)data += range->bytes;
	return *(uint64_t *)data > 1000000;
}

/* What a tool may do in the middle of an iteration. */
static void
ask_more(const struct block *b, uint64_t offset, uint64_t bytes)
{
	const kreplay_memory_view_t *view = kr_snapshot_view(s);
	static unsigned char read[256u << 10];
	size_t n = bytes < sizeof(read) ? bytes : sizeof(read), all = b->size < sizeof(read) ? b->size : sizeof(read);
	uint64_t base = (uint64_t)(uintptr_t)b->at, sum = 0, hash[2];

	assert_int_equal(view->read_current(view, base, read, all), KREPLAY_STATUS_SUCCESS);
	assert_memory_equal(read, b->at, all);
	assert_int_equal(view->read_snapshot(view, base + offset, read, n), KREPLAY_STATUS_SUCCESS);
	assert_memory_equal(read, b->copy + offset, n);
	if (below(2) == 0)
		assert_int_equal(view->iterate_changes(view, add_bytes, &sum), KREPLAY_STATUS_SUCCESS);
	if (below(8) == 0)
		assert_int_equal(view->hash_region(view, base, hash), KREPLAY_STATUS_SUCCESS);
}

static int
see(const kreplay_memory_range_t *range, void *data)
{
	struct seen *seen = data;
	bool inside = false;

	assert_true(range->bytes != 0);
	for (unsigned i = 0; i < blocks && !inside; i++) {
		uint64_t at = (uint64_t)(uintptr_t)block[i].at, offset = range->address - at;

		inside = offset < block[i].size;
		if (!inside)
			continue;
		assert_true(offset + range->bytes <= block[i].size);
		for (uint64_t k = offset; k < offset + range->bytes; k++)
			assert_int_not_equal(block[i].at[k], block[i].copy[k]);
		if (seen->asks > 0 && below(20) == 0) {
			seen->asks--;
			ask_more(&block[i], offset, range->bytes);
		}
	}
	assert_true(inside);
	assert_true(range->address > seen->address || seen->address == 0);
	seen->address = range->address;
	seen->bytes += range->bytes;
	return 0;
}

static uint64_t
count_changes(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < blocks; i++)
		for (size_t k = 0; k < block[i].size; k++)
			n += block[i].at[k] != block[i].copy[k];
	return n;
}

static void
check_view(void)
{
	const kreplay_memory_view_t *view = kr_snapshot_view(s);
	struct block *b = &block[below(blocks)];
	size_t from = below((unsigned)b->size), n = 1 + below((unsigned)(b->size - from));
	unsigned char *read = malloc(n);
	struct seen seen = {.asks = below(3) == 0 ? 2 : 0};

	assert_int_equal(view->iterate_changes(view, see, &seen), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(seen.bytes, count_changes());
	assert_int_equal(view->read_snapshot(view, (uint64_t)(uintptr_t)b->at + from, read, n), KREPLAY_STATUS_SUCCESS);
	assert_memory_equal(read, b->copy + from, n);
	assert_int_equal(view->read_current(view, (uint64_t)(uintptr_t)b->at + from, read, n), KREPLAY_STATUS_SUCCESS);
	assert_memory_equal(read, b->at + from, n);
	free(read);
}

static void
check_tier(uint32_t said)
{
	if (blocks == 0)
		assert_int_equal(said, KREPLAY_TIER_NONE);
	else if (is_tier("device") || is_tier("plain"))
		assert_int_equal(said, KREPLAY_TIER_DEVICE);
	seen_tiers |= 1u << said;
	if (blocks == 0)
		return;
	if (is_tier("host") || is_tier("full") || is_tier("cramped"))
		assert_int_equal(said, KREPLAY_TIER_PINNED);
}

/* As a window does it: with the agent for itself, which keeps off what gives memory back in the background. */
static void
take(kreplay_phase_stats_t *stats)
{
	assert_true(kr_agent_write_lock(gpu, 0));
	assert_int_equal(kr_snapshot_take(s, stats), KREPLAY_DECLINE_NONE);
}

static void
close_window(void)
{
	kr_snapshot_close(s);
	kr_agent_write_unlock(gpu);
}

static void
window(void)
{
	kreplay_phase_stats_t stats;
	uint64_t bytes = 0;
	unsigned passes = 1 + below(4);

	for (unsigned i = 0; i < blocks; i++) {
		memcpy(block[i].copy, block[i].at, block[i].size);
		bytes += block[i].size;
	}
	take(&stats);
	assert_int_equal(stats.regions, blocks);
	assert_int_equal(stats.bytes, bytes);
	assert_true(stats.dirty_bytes <= bytes);
	assert_true(stats.host_link_bytes <= stats.dirty_bytes);
	check_tier(stats.tier);
	assert_int_equal(kr_snapshot_is_plain(s), (is_tier("plain") || is_tier("full")) && blocks != 0);
	for (unsigned i = 0; i < blocks; i++)
		assert_memory_equal(block[i].at, block[i].copy, block[i].size);
	for (unsigned pass = 0; pass < passes; pass++) {
		uint64_t changed;

		write_something();
		changed = count_changes();
		if (blocks != 0 && below(2))
			check_view();
		kr_snapshot_restore(s, "test", &stats);
		assert_int_equal(stats.bytes, bytes);
		assert_true(stats.dirty_bytes >= changed && stats.dirty_bytes <= bytes);
		if (is_tier("device")) {
			assert_int_equal(stats.host_link_bytes, 0);
			assert_true(stats.dirty_bytes <= 16 * changed);
		}
		for (unsigned i = 0; i < blocks; i++)
			assert_memory_equal(block[i].at, block[i].copy, block[i].size);
	}
	write_something(); /* the last pass */
	close_window();
}

static void
set_up(void)
{
	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	stand_in.isa = is_tier("plain") ? "amdgcn-amd-amdhsa--gfx600" : STAND_IN_ISA;
	stand_in.kernel_named = stand_in_snapshot_kernel;
	if (is_tier("mixed") || is_tier("crowded"))
		stand_in.device_room = 24u << 20;
	if (is_tier("cramped"))
		stand_in.device_room = 1;
	if (is_tier("pageable") || is_tier("crowded"))
		stand_in.largest_pinned = (8u << 20) + 4096;
	assert_true(kr_agents_init());
	gpu = kr_agent_find(STAND_IN_GPU);
	s = kr_snapshot_of(gpu);
	assert_non_null(s);
}

static void
tear_down(void)
{
	while (blocks != 0)
		remove_block(0);
	kr_snapshot_destroy(gpu);
	assert_int_equal(stand_in.live_allocations, 0);
	assert_int_equal(stand_in.live_signals, 0);
	assert_int_equal(stand_in.live_queues, 0);
	assert_int_equal(stand_in.live_executables, 0);
	assert_int_equal(stand_in.live_readers, 0);
}

/* contract 3: the same values in every buffer */
static void
every_byte_is_restored(void **state)
{
	unsigned seed = getenv("KR_SEED") ? (unsigned)atoi(getenv("KR_SEED")) : (unsigned)kr_now_ns();
	int rounds = getenv("KR_ROUNDS") ? atoi(getenv("KR_ROUNDS")) : 6;
	bool large = is_tier("mixed") || is_tier("pageable") || is_tier("crowded");

	print_message("%s: seed %u\n", tier, seed);
	srand(seed);
	largest = large ? 10u << 20 : 600000; /* more than the largest pinned allocation */
	for (int round = 0; round < rounds; round++) {
		set_up();
		for (unsigned n = below(20); n > 0; n--)
			add_block(random_size());
		if (large)
			for (int i = 0; i < 3; i++)
				add_block(largest - (size_t)i);
		for (int i = 0; i < 5; i++) {
			window();
			change_something();
		}
		tear_down();
	}
	if (large)
		assert_true(seen_tiers & (1u << KREPLAY_TIER_MIXED | 1u << KREPLAY_TIER_PAGEABLE));
}

/* Nothing was written: nothing is taken anew, and nothing is written back. */
static void
what_is_clean_stays_where_it_is(void **state)
{
	kreplay_phase_stats_t stats;

	set_up();
	for (int i = 0; i < 20; i++)
		add_block(random_size());
	take(&stats);
	assert_int_equal(stats.dirty_bytes, stats.bytes);
	close_window();
	for (int i = 0; i < 3; i++) {
		take(&stats);
		if (!kr_snapshot_is_plain(s))
			assert_int_equal(stats.dirty_bytes, 0);
		kr_snapshot_restore(s, "test", &stats);
		if (!kr_snapshot_is_plain(s))
			assert_int_equal(stats.dirty_bytes + stats.host_link_bytes, 0);
		close_window();
	}
	tear_down();
}

/* One region of a gibibyte, and its last byte. */
static void
a_gibibyte(void **state)
{
	size_t size = ((size_t)1 << 30) - 5;
	size_t spots[] = {0, size - 1, size / 2, 65535, 65536, (512u << 20) + 7};
	kreplay_phase_stats_t stats;
	unsigned char *p;

	if (!is_tier("device") && !is_tier("host"))
		skip();
	set_up();
	p = device_alloc(size);
	p[0] = p[size - 1] = 7;
	take(&stats);
	for (unsigned i = 0; i < 6; i++)
		p[spots[i]] += 9;
	kr_snapshot_restore(s, "test", &stats);
	assert_int_equal(p[0], 7);
	assert_int_equal(p[size - 1], 7);
	for (unsigned i = 2; i < 6; i++)
		assert_int_equal(p[spots[i]], 0);
	assert_true(stats.dirty_bytes <= 6 * 65536);
	for (size_t i = 1; i + 1 < size; i += 4093)
		assert_int_equal(p[i], 0);
	close_window();
	kr_hook_hsa_amd_memory_pool_free(p);
	tear_down();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_restored),
		cmocka_unit_test(what_is_clean_stays_where_it_is),
		cmocka_unit_test(a_gibibyte),
	};

	tier = argc > 1 ? argv[1] : "device";
	setenv("KREPLAY_SNAPSHOT",
	       is_tier("full") ? "full" : is_tier("host") || is_tier("pageable") || is_tier("cramped") ? "host" : "auto", 1);
	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
