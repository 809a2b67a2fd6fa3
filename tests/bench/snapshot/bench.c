/* SPDX-License-Identifier: MIT */
/*
 * snapshot_bench [sweep|kernels] [LARGEST_MIB]: what snapshots cost, on the engine and the runtime that there are.
 *
 * sweep: footprints of 16 MiB to LARGEST_MIB by 1 to 10,000 regions, and 0.1% to 100% written by 2 to 20 passes. A window is
 * taken and restored PASSES - 1 times with writes in between, that are not timed; the second window and those after it are
 * what counts. Next to it, in turns: a memcpy of the footprint for each pass, and upstream's way: a fresh pageable buffer
 * for each region and window, all copied out once and back after every pass but the last. That is done by the host's memcpy
 * where the host sees the device's memory, and by the runtime's hsa_memory_copy, which is what it takes elsewhere. Every
 * row has a process of its own, so that peaks are its own.
 *
 * kernels: what each kernel moves a second, next to the copy engine.
 *
 * KREPLAY_SNAPSHOT and the other options count as ever. Medians of KR_TURNS (3).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/snapshot/internal.h"
#include "runtime.h"

#define MOST_TURNS 64

static struct kr_agent *agent;
static struct kr_snapshot *s;
static unsigned turns = 3;
static char **region;
static unsigned regions;
static size_t each;
static char *pinned; /* as large as the footprint, for `kernels` */

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double
median_ms(uint64_t *ns, unsigned n)
{
	qsort(ns, n, sizeof(*ns), by_value);
	return (double)ns[n / 2] * 1e-6;
}

static void
make_regions(unsigned count, size_t bytes, bool with_pinned)
{
	regions = count;
	each = bytes / count / 64 * 64;
	region = calloc(count, sizeof(*region));
	CHECK(region != NULL);
	if (with_pinned) {
		CHECK(kr_pinned_alloc(agent, each * count, (void **)&pinned));
		memset(pinned, 1, each * count);
	}
	for (unsigned i = 0; i < count; i++) {
		region[i] = runtime_alloc(agent, each);
		CHECK(hsa_amd_memory_fill(region[i], i, each / 4) == HSA_STATUS_SUCCESS);
	}
}

static void
drop_regions(void)
{
	for (unsigned i = 0; i < regions; i++)
		runtime_free(region[i]);
	if (pinned != NULL)
		hsa_amd_memory_pool_free(pinned);
	free(region);
}

/* The first permille of every region, as a kernel would. */
static void
write_some(unsigned permille, uint32_t value)
{
	size_t words = (each / 4 * permille + 999) / 1000;

	for (unsigned i = 0; i < regions; i++)
		CHECK(hsa_amd_memory_fill(region[i], value, words) == HSA_STATUS_SUCCESS);
}

struct cost {
	uint64_t ns, link;
};

static struct cost
window(unsigned permille, unsigned passes)
{
	static uint32_t value = 1000;
	kreplay_phase_stats_t stats;
	struct cost cost = {0};

	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE);
	cost.ns += stats.ns;
	cost.link += stats.host_link_bytes;
	for (unsigned pass = 0; pass < passes; pass++) {
		write_some(permille, ++value);
		if (pass + 1 == passes)
			break;
		kr_snapshot_restore(s, "bench", &stats);
		cost.ns += stats.ns;
		cost.link += stats.host_link_bytes;
	}
	kr_snapshot_close(s);
	return cost;
}

/* Of as much as the caches do not hold, and scaled: a footprint of gigabytes needs its memory for other things. */
static uint64_t
memcpy_time(void)
{
	static char *from, *to;
	size_t all = each * regions, part = all < (64u << 20) ? all : 64u << 20;
	uint64_t began;

	if (from == NULL) {
		from = malloc(part);
		to = malloc(part);
		CHECK(from != NULL && to != NULL);
		memset(from, 1, part);
		memset(to, 2, part);
	}
	began = kr_now_ns();
	memcpy(to, from, part);
	__asm__ volatile("" ::: "memory");
	memcpy(from, to, part);
	return (uint64_t)((double)(kr_now_ns() - began) / 2 * ((double)all / (double)part));
}

static bool
host_sees_device(void)
{
	hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;

	return hsa_amd_agent_memory_pool_get_info(kr_host_agent(), agent->device_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
						  &access) == HSA_STATUS_SUCCESS &&
	       access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

static void
copy_plainly(void *to, const void *from, bool by_runtime)
{
	if (by_runtime)
		CHECK(hsa_memory_copy(to, from, each) == HSA_STATUS_SUCCESS);
	else
		memcpy(to, from, each);
}

static uint64_t
upstreams_way(unsigned passes, bool by_runtime)
{
	uint64_t began = kr_now_ns();
	char **copy = calloc(regions, sizeof(*copy));

	CHECK(copy != NULL);
	for (unsigned i = 0; i < regions; i++) {
		copy[i] = malloc(each);
		CHECK(copy[i] != NULL);
		copy_plainly(copy[i], region[i], by_runtime);
	}
	for (unsigned pass = 1; pass < passes; pass++)
		for (unsigned i = 0; i < regions; i++)
			copy_plainly(region[i], copy[i], by_runtime);
	for (unsigned i = 0; i < regions; i++)
		free(copy[i]);
	free(copy);
	return kr_now_ns() - began;
}

/* Upstream's time over ours; nothing where it was not measured. */
static void
print_ratio(uint64_t *theirs, unsigned n, double ms)
{
	if (n == 0)
		printf(" %10s", "-");
	else
		printf(" %10.2f", median_ms(theirs, n) / ms);
}

static void
measure(size_t mib, unsigned count, unsigned permille, unsigned passes)
{
	uint64_t ours[MOST_TURNS], memcpys[MOST_TURNS], theirs[MOST_TURNS], slow[MOST_TURNS], host, device;
	unsigned by_memcpy = 0, by_runtime = 0;
	bool visible = host_sees_device();
	struct cost cost = {0};
	double ms;

	make_regions(count, mib << 20, false);
	window(permille, 2);
	for (unsigned i = 0; i < turns; i++) {
		cost = window(permille, passes);
		ours[i] = cost.ns;
		memcpys[i] = memcpy_time();
		if (visible)
			theirs[by_memcpy++] = upstreams_way(passes, false);
		/* It takes minutes with thousands of regions, or gigabytes. */
		if (mib <= 256 && count < 1000)
			slow[by_runtime++] = upstreams_way(passes, true);
	}
	ms = median_ms(ours, turns);
	kr_snapshot_peaks(&host, &device);
	printf("%6zu %7u %6.1f%% %6u %10.4f %14" PRIu64 " %9.5f %9.1f %9.1f %9.2f", mib, count, permille / 10.0, passes,
	       ms * 1e-3, cost.link, (double)cost.link / ((double)each * count * passes), (double)host / (1 << 20),
	       (double)device / (1 << 20), ms / (median_ms(memcpys, turns) * passes));
	print_ratio(theirs, by_memcpy, ms);
	print_ratio(slow, by_runtime, ms);
	printf("\n");
	fflush(stdout);
	drop_regions();
}

static void
start(void)
{
	agent = runtime_start();
	s = kr_snapshot_of(agent);
	CHECK(s != NULL);
}

static void
row(size_t mib, unsigned count, unsigned permille, unsigned passes)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		start();
		measure(mib, count, permille, passes);
		runtime_stop();
		exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void
sweep(size_t largest)
{
	static const unsigned counts[] = {1, 256, 10000}, written[] = {1, 10, 100, 1000}, passes[] = {2, 5, 20};

	printf("%6s %7s %7s %6s %10s %14s %9s %9s %9s %9s %10s %10s\n", "", "", "", "", "", "", "", "peak host",
	       "device", "over", "upstream", "by the");
	printf("%6s %7s %7s %6s %10s %14s %9s %9s %9s %9s %10s %10s\n", "MiB", "regions", "written", "passes", "seconds",
	       "link bytes", "share", "MiB", "MiB", "memcpy", "/ ours", "runtime");
	fflush(stdout);
	for (size_t mib = 16; mib <= largest; mib *= 4)
		for (unsigned i = 0; i < 3; i++)
			row(mib, counts[i], 10, 5);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++)
			row(64, 256, written[i], passes[k]);
}

/* ---- the kernels alone ---- */

static void
say(const char *name, uint64_t *ns, uint64_t bytes)
{
	double ms = median_ms(ns, turns);

	printf("%-24s %8.2f GB/s %10.3f ms\n", name, (double)bytes / ms * 1e-6, ms);
	fflush(stdout);
}

#define TIME(name, before, call) \
	do { \
		for (unsigned i_ = 0; i_ < turns; i_++) { \
			uint64_t began_; \
\
			before; \
			began_ = kr_now_ns(); \
			CHECK(call); \
			ns[i_] = kr_now_ns() - began_; \
		} \
		say(name, ns, bytes); \
	} while (0)

static bool
copy_all(enum kr_direction direction)
{
	for (unsigned i = 0; i < regions; i++) {
		char *host = pinned + i * each;
		bool out = direction == KR_TO_HOST;

		if (!kr_copy_start(s, out ? host : region[i], out ? region[i] : host, each, direction))
			return false;
	}
	return kr_copy_wait(s);
}

static void
kernels(size_t mib)
{
	uint64_t ns[MOST_TURNS], bytes = (uint64_t)mib << 20;
	kreplay_phase_stats_t stats;
	void *pageable = malloc(bytes);

	CHECK(pageable != NULL);
	make_regions(64, bytes, true);
	bytes = each * regions;
	memset(pageable, 3, bytes);
	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE && s->device != NULL && s->chunk_count != 0);
	TIME("memcpy", , memcpy(pageable, pinned, bytes) != NULL);
	TIME("engine to host", , copy_all(KR_TO_HOST));
	TIME("engine to device", , copy_all(KR_TO_DEVICE));
	write_some(1000, 5);
	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE);
	if (s->synced != 0) {
		TIME("copy", , kr_chunks_start(s, KR_KERNEL_COPY, 0, s->synced, KR_JOB_TO_COPY) && kr_device_wait(s->device));
		TIME("compare, clean", ,
		     kr_chunks_start(s, KR_KERNEL_SYNC, 0, s->synced, KR_JOB_TO_MEMORY) && kr_device_wait(s->device));
		TIME("compare, 1% dirty", write_some(10, i_),
		     kr_chunks_start(s, KR_KERNEL_SYNC, 0, s->synced, KR_JOB_TO_MEMORY) && kr_device_wait(s->device));
	} else {
		TIME("hash", ,
		     kr_chunks_start(s, KR_KERNEL_HASH, s->synced, s->chunk_count - s->synced, 0) && kr_device_wait(s->device));
	}
	kr_snapshot_close(s);
	drop_regions();
	free(pageable);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "sweep";
	size_t largest = argc > 2 ? strtoul(argv[2], NULL, 10) : 256;

	if (getenv("KR_TURNS") != NULL && atoi(getenv("KR_TURNS")) > 0 && atoi(getenv("KR_TURNS")) <= MOST_TURNS)
		turns = (unsigned)atoi(getenv("KR_TURNS"));
	if ((strcmp(what, "sweep") != 0 && strcmp(what, "kernels") != 0) || largest < 16) {
		fprintf(stderr, "usage: snapshot_bench [sweep|kernels] [LARGEST_MIB]\n");
		return 2;
	}
	if (what[0] == 's') {
		sweep(largest);
		return 0;
	}
	start();
	kernels(largest);
	runtime_stop();
	return 0;
}
