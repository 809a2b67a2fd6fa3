/* SPDX-License-Identifier: MIT */
/* Allocations, and dispatches that change memory in place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* laid out as the parameters of the kernel */
struct touch_args {
	uint64_t *regions;
	uint64_t words;
	uint32_t amount;
};

static struct {
	void **memory;
	uint64_t count, bytes;
	uint32_t launches; /* each adds 1 to every word that is touched */
	struct touch_args args;
	void *kernargs;
} regions;

/* ---- allocations ---- */

static struct {
	void **memory;
	uint64_t count, next;
} live;

static void *allocate(struct client *c, size_t bytes)
{
	void *memory;

	HSA_CHECK(hsa_amd_memory_pool_allocate(c->app.device, bytes, 0, &memory));
	return memory;
}

void bench_live(struct client *c, const char *arguments)
{
	uint64_t count, bytes;

	if (sscanf(arguments, "%" SCNu64 " %" SCNu64, &count, &bytes) != 2) {
		bench_answer("error live COUNT BYTES");
		return;
	}
	/* The process's end frees them. */
	live.memory = hsa_app_calloc(count, sizeof(void *));
	live.count = count;
	for (uint64_t i = 0; i < count; i++)
		live.memory[i] = allocate(c, bytes);
	bench_answer("ok");
}

void bench_pair(struct client *c, const char *arguments)
{
	uint64_t count, bytes;
	double began;

	if (sscanf(arguments, "%" SCNu64 " %" SCNu64, &count, &bytes) != 2 || !count) {
		bench_answer("error pair COUNT BYTES");
		return;
	}
	began = bench_now();
	for (uint64_t i = 0; i < count; i++)
		hsa_app_free(allocate(c, bytes));
	bench_answer("ok %.2f", (bench_now() - began) / (double)count);
}

/* Frees the oldest of those that live, and allocates another. */
void bench_turnover(struct client *c, const char *arguments)
{
	uint64_t count, bytes;
	double began;

	if (sscanf(arguments, "%" SCNu64 " %" SCNu64, &count, &bytes) != 2 || !count || !live.count) {
		bench_answer("error turnover COUNT BYTES, after live");
		return;
	}
	began = bench_now();
	for (uint64_t i = 0; i < count; i++) {
		void **oldest = &live.memory[live.next++ % live.count];

		hsa_app_free(*oldest);
		*oldest = allocate(c, bytes);
	}
	bench_answer("ok %.2f", (bench_now() - began) / (double)count);
}

/* ---- regions ---- */

void bench_regions(struct client *c, const char *arguments)
{
	uint64_t permille;
	void **table;

	if (sscanf(arguments, "%" SCNu64 " %" SCNu64 " %" SCNu64, &regions.count, &regions.bytes,
		   &permille) != 3) {
		bench_answer("error regions COUNT BYTES PERMILLE");
		return;
	}
	regions.memory = hsa_app_calloc(regions.count, sizeof(void *));
	table = hsa_app_alloc_host(&c->app, regions.count * sizeof(void *));
	for (uint64_t i = 0; i < regions.count; i++) {
		table[i] = regions.memory[i] = hsa_app_alloc_device(&c->app, regions.bytes);
		HSA_CHECK(hsa_amd_memory_fill(regions.memory[i], 0, regions.bytes / 4));
	}
	/* The kernel reads its table from host memory, so the regions are all there is to save. */
	regions.args = (struct touch_args){
		.regions = (uint64_t *)table,
		.words = (regions.bytes / 4 * permille + 999) / 1000,
		.amount = 1,
	};
	regions.kernargs =
		hsa_app_kernargs(&c->app, &c->touch, &regions.args, sizeof(regions.args));
	bench_answer("ok %" PRIu64, regions.count * regions.bytes);
}

static void launch(struct client *c)
{
	struct hsa_app_range range = { .grid = { (uint32_t)regions.count * 256 }, .group = { 256 } };

	hsa_app_dispatch(&c->app, c->queue, &c->touch, &range, regions.kernargs, c->done);
	hsa_app_wait(&c->app, c->done);
}

/* Whether the first and the last touched word of each region hold what launches left. */
static bool is_right(void)
{
	for (uint64_t i = 0; i < regions.count; i++) {
		const uint32_t *words = regions.memory[i];
		uint64_t last = regions.args.words - 1;

		if (words[0] != regions.launches || words[last] != regions.launches) {
			bench_answer("error region %" PRIu64 " holds %u and %u after %u launches", i,
				     words[0], words[last], regions.launches);
			return false;
		}
	}
	return true;
}

void bench_touch(struct client *c, const char *arguments)
{
	uint64_t windows = bench_window.windows;
	double began = bench_now(), took;

	(void)arguments;
	launch(c);
	took = bench_now() - began;
	regions.launches++;
	if (!is_right())
		return;
	if (bench_window.windows == windows)
		bench_window = (struct bench_window){ 0 };
	bench_answer("ok %.0f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, took,
		     bench_window.passes, bench_window.snapshot_ns, bench_window.restore_ns,
		     bench_window.link_bytes, bench_window.tier);
}

static void plain_copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

static void runtime_copy(void *to, const void *from, size_t bytes)
{
	HSA_CHECK(hsa_memory_copy(to, from, bytes));
}

/* A fresh pageable buffer for each region and window; all of it copied out before the first pass
 * and back after every pass but the last. */
static void replay_plainly(struct client *c, unsigned passes,
			   void (*copy)(void *to, const void *from, size_t bytes))
{
	void **saved = hsa_app_calloc(regions.count, sizeof(void *));

	for (uint64_t i = 0; i < regions.count; i++) {
		saved[i] = malloc(regions.bytes);
		if (!saved[i])
			hsa_app_die(HSA_APP_FAILED, "out of memory");
		copy(saved[i], regions.memory[i], regions.bytes);
	}
	for (unsigned pass = 0; pass < passes; pass++) {
		launch(c);
		for (uint64_t i = 0; i < regions.count && pass + 1 < passes; i++)
			copy(regions.memory[i], saved[i], regions.bytes);
	}
	for (uint64_t i = 0; i < regions.count; i++)
		free(saved[i]);
	free(saved);
}

void bench_upstream(struct client *c, const char *arguments)
{
	unsigned passes;
	char who[16];
	double began = bench_now(), took;

	if (sscanf(arguments, "%u %15s", &passes, who) != 2) {
		bench_answer("error upstream PASSES memcpy|runtime");
		return;
	}
	replay_plainly(c, passes, strcmp(who, "runtime") == 0 ? runtime_copy : plain_copy);
	took = bench_now() - began;
	regions.launches++;
	if (is_right())
		bench_answer("ok %.0f", took);
}

void bench_memcpy(struct client *c, const char *arguments)
{
	static char *buffer;
	double began, took;

	(void)arguments;
	if (!buffer) {
		buffer = hsa_app_alloc_host(&c->app, regions.count * regions.bytes);
		memset(buffer, 1, regions.count * regions.bytes);
	}
	began = bench_now();
	for (uint64_t i = 0; i < regions.count; i++)
		memcpy(buffer + i * regions.bytes, regions.memory[i], regions.bytes);
	__asm__ volatile("" ::: "memory");
	for (uint64_t i = 0; i < regions.count; i++)
		memcpy(regions.memory[i], buffer + i * regions.bytes, regions.bytes);
	took = bench_now() - began;
	bench_answer("ok %.0f", took);
}
