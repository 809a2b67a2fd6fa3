/* SPDX-License-Identifier: MIT */
/*
 * exact [SEED [ROUNDS]]: the snapshot with its real kernels on the agent that there is. Random footprints, sizes
 * and writes, held against a mirror in ordinary memory; whatever KREPLAY_SNAPSHOT, KREPLAY_CHUNK and KREPLAY_BUDGET say. The
 * hash kernel's results are held against a plain C one through hash_region.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/tracker.h"
#include "hash_reference.h"
#include "runtime.h"

#define MOST 24

struct block {
	unsigned char *base, *at; /* on the device: as allocated, and from where it is in scope */
	unsigned char *now, *then; /* what it should hold, and what the snapshot should */
	size_t size;
};

static struct kr_agent *agent;
static struct kr_snapshot *s;
static struct block block[MOST];
static unsigned blocks;
static unsigned tiers; /* seen */

static unsigned
below(unsigned n)
{
	return (unsigned)(((uint64_t)rand() << 16 ^ (uint64_t)rand()) % n);
}

static size_t
random_size(void)
{
	switch (below(6)) {
	case 0:
		return 1 + below(50);
	case 1:
		return 4096u << below(6);
	case 2:
		return 500000 + below(700000);
	default:
		return 1 + below(80000);
	}
}

static void
add_block(void)
{
	struct block *b = &block[blocks++];
	unsigned skew = below(3) == 0 ? below(16) : 0;

	b->size = random_size();
	b->base = runtime_alloc(agent, b->size + skew);
	b->at = b->base + skew;
	b->now = malloc(b->size);
	b->then = malloc(b->size);
	if (skew != 0) {
		kr_tracker_remove(b->base);
		kr_tracker_add(b->at, b->size, agent->device_pool.handle, 0, KREPLAY_REGION_POOL);
	}
	for (size_t i = 0; i < b->size; i++)
		b->now[i] = (unsigned char)(below(4) ? 0 : rand());
	runtime_write(agent, b->at, b->now, b->size);
}

static void
remove_block(unsigned i)
{
	struct block b = block[i];

	if (b.at != b.base)
		kr_tracker_remove(b.at);
	runtime_free(b.base);
	free(b.now);
	free(b.then);
	block[i] = block[--blocks];
}

static void
write_piece(struct block *b, size_t from, size_t bytes)
{
	if (bytes > b->size - from)
		bytes = b->size - from;
	for (size_t i = from; i < from + bytes; i++)
		b->now[i] ^= (unsigned char)(1 + below(255));
	runtime_write(agent, b->at + from, b->now + from, bytes);
}

static void
write_something(void)
{
	for (unsigned i = 0; i < blocks; i++) {
		struct block *b = &block[i];

		switch (below(6)) {
		case 0:
			write_piece(b, 0, b->size);
			break;
		case 1:
			write_piece(b, b->size - 1, 1);
			break;
		case 2:
			write_piece(b, 0, 1);
			break;
		case 3:
			for (int n = 0; n < 3; n++)
				write_piece(b, below((unsigned)b->size), 1 + below(9000));
			break;
		default:
			break;
		}
	}
}

static void
check_memory(bool snapshot)
{
	static unsigned char buffer[2u << 20];

	for (unsigned i = 0; i < blocks; i++) {
		const unsigned char *want = snapshot ? block[i].then : block[i].now;

		CHECK(block[i].size <= sizeof(buffer));
		runtime_read(agent, buffer, block[i].at, block[i].size);
		for (size_t k = 0; k < block[i].size; k++)
			if (buffer[k] != want[k]) {
				fprintf(stderr, "block %u of %zu bytes at %p: byte %zu is %u and should be %u\n", i,
					block[i].size, (void *)block[i].at, k, buffer[k], want[k]);
				exit(1);
			}
	}
}

static int
see(const kreplay_memory_range_t *range, void *data)
{
	for (unsigned i = 0; i < blocks; i++) {
		uint64_t offset = range->address - (uint64_t)(uintptr_t)block[i].at;

		if (offset >= block[i].size)
			continue;
		for (uint64_t k = offset; k < offset + range->bytes; k++)
			CHECK(block[i].now[k] != block[i].then[k]);
		*(uint64_t *)data += range->bytes;
		return 0;
	}
	CHECK(!"a range outside the regions");
}

/* As the view hashes where there are kernels: the hashes of its chunks of 64 KiB. */
static void
check_hash(const struct block *b)
{
	const kreplay_memory_view_t *view = kr_snapshot_view(s);
	uint64_t address = (uint64_t)(uintptr_t)b->at, skew = address & 15, got[2], want[2], chunk[2];
	struct kr_hash h = KR_HASH_INIT;

	for (uint64_t at = 0; at < b->size;) {
		uint64_t end = (at + skew) / 65536 * 65536 + 65536 - skew;

		if (end > b->size)
			end = b->size;
		hash_reference(address + at, b->now + at, end - at, chunk);
		kr_hash_add(&h, chunk, 16);
		at = end;
	}
	kr_hash_finish(&h, want);
	CHECK(view->hash_region(view, address, got) == KREPLAY_STATUS_SUCCESS);
	CHECK(memcmp(got, want, sizeof(got)) == 0);
}

static void
check_view(void)
{
	const kreplay_memory_view_t *view = kr_snapshot_view(s);
	uint64_t seen = 0, differ = 0;

	for (unsigned i = 0; i < blocks; i++)
		for (size_t k = 0; k < block[i].size; k++)
			differ += block[i].now[k] != block[i].then[k];
	CHECK(view->iterate_changes(view, see, &seen) == KREPLAY_STATUS_SUCCESS);
	CHECK(seen == differ);
	if (blocks != 0 && getenv("KR_NO_KERNELS") == NULL && !kr_snapshot_is_plain(s))
		check_hash(&block[below(blocks)]);
}

static void
window(void)
{
	kreplay_phase_stats_t stats;

	for (unsigned i = 0; i < blocks; i++)
		memcpy(block[i].then, block[i].now, block[i].size);
	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE);
	CHECK(stats.regions == blocks);
	tiers |= 1u << stats.tier;
	for (unsigned pass = 0; pass < 2; pass++) {
		write_something();
		if (below(2))
			check_view();
		kr_snapshot_restore(s, "test", &stats);
		check_memory(true);
		for (unsigned i = 0; i < blocks; i++)
			memcpy(block[i].now, block[i].then, block[i].size);
	}
	write_something();
	kr_snapshot_close(s);
	check_memory(false);
}

int
main(int argc, char **argv)
{
	unsigned seed = argc > 1 && atoi(argv[1]) != 0 ? (unsigned)atoi(argv[1]) : (unsigned)kr_now_ns();
	int rounds = argc > 2 ? atoi(argv[2]) : 3;
	uint64_t host, device;

	agent = runtime_start();
	printf("seed %u\n", seed);
	fflush(stdout);
	srand(seed);
	s = kr_snapshot_of(agent);
	CHECK(s != NULL);
	for (int round = 0; round < rounds; round++) {
		for (unsigned n = 2 + below(10); n > 0 && blocks < MOST; n--)
			add_block();
		for (int i = 0; i < 3; i++) {
			window();
			write_something(); /* copies in between */
			if (blocks > 3)
				remove_block(below(blocks));
			if (blocks < MOST)
				add_block();
		}
		while (blocks > 4)
			remove_block(below(blocks));
	}
	while (blocks != 0)
		remove_block(0);
	kr_snapshot_peaks(&host, &device);
	printf("tiers 0x%x, %s, peak host %llu, peak device %llu bytes\n", tiers,
	       kr_snapshot_is_plain(s) ? "plain" : "kernels", (unsigned long long)host, (unsigned long long)device);
	runtime_stop();
	return 0;
}
