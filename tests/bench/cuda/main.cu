/* SPDX-License-Identifier: MIT */
/*
 * The snapshot's kernels, from the same source that AMD GPUs get, on an NVIDIA GPU: what share of the card's own
 * device-to-device copy they reach, counting bytes read plus bytes written, and how long a whole restore takes next to
 * copying everything back from pinned host memory. Every result is checked byte for byte, against contents that are a
 * function of the address and against a plain C hash.
 *
 *	snapshot_cuda [GIBIBYTES [ROUNDS]]
 *
 * Prints one "name value" a line. Exit status 1 when a byte is wrong.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "core/device/kernels.cl"
#include "hash_reference.h"

#define CHECK(call) check((call), #call, __LINE__)
static void check(cudaError_t status, const char *call, int line)
{
	if (status == cudaSuccess)
		return;
	fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
	exit(1);
}

#define CHUNK 65536u
#define PAGE 4096u /* what is dirty is dirty by the page, pages all over the footprint */

/* ---- contents ---- */

__host__ __device__ static inline kr_u64 word_at(kr_u64 i)
{
	kr_u64 x = i * 0x9e3779b97f4a7c15ul;

	return x ^ (x >> 29);
}

__host__ __device__ static inline bool is_dirty_page(kr_u64 page, unsigned permille)
{
	return (page * 2654435761ul >> 7) % 1000 < permille;
}

__global__ void fill_words(kr_u64 *memory, kr_u64 words)
{
	for (kr_u64 i = blockIdx.x * (kr_u64)blockDim.x + threadIdx.x; i < words; i += (kr_u64)gridDim.x * blockDim.x)
		memory[i] = word_at(i);
}

__global__ void spoil(kr_u64 *memory, kr_u64 words, unsigned permille)
{
	for (kr_u64 i = blockIdx.x * (kr_u64)blockDim.x + threadIdx.x; i < words; i += (kr_u64)gridDim.x * blockDim.x)
		if (is_dirty_page(i / (PAGE / 8), permille))
			memory[i] = ~memory[i];
}

__global__ void count_wrong(const kr_u64 *memory, kr_u64 words, unsigned long long *wrong)
{
	unsigned long long mine = 0;

	for (kr_u64 i = blockIdx.x * (kr_u64)blockDim.x + threadIdx.x; i < words; i += (kr_u64)gridDim.x * blockDim.x)
		mine += memory[i] != word_at(i);
	if (mine)
		atomicAdd(wrong, mine);
}

/* ---- measuring ---- */

static kr_u64 bytes;
static unsigned rounds, groups;
static kr_u64 *memory, *copy;
static kr_u32 *marks; /* in pinned host memory, as in the library */
static unsigned long long *wrong;
static double copy_rate; /* bytes read plus written a second */
static bool failed;

static void expect_right(const char *what, const kr_u64 *where)
{
	CHECK(cudaMemset(wrong, 0, sizeof(*wrong)));
	count_wrong<<<4096, 256>>>(where, bytes / 8, wrong);

	unsigned long long count;

	CHECK(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDeviceToHost));
	if (count == 0)
		return;
	fprintf(stderr, "%s: %llu words of %llu are wrong\n", what, count, (unsigned long long)(bytes / 8));
	failed = true;
}

template <typename Before, typename Run> static double median_ms(Before before, Run run)
{
	std::vector<float> times;
	cudaEvent_t begin, end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	for (unsigned i = 0; i <= rounds; i++) {
		float ms;

		before();
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaEventRecord(begin));
		run();
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaGetLastError());
		CHECK(cudaEventElapsedTime(&ms, begin, end));
		if (i > 0) /* the first warms up */
			times.push_back(ms);
	}
	std::sort(times.begin(), times.end());
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	return times[times.size() / 2];
}

static double say(const char *name, double ms, double moved)
{
	double rate = moved / ms * 1e3;

	printf("%-28s %9.3f ms %8.1f GB/s", name, ms, rate * 1e-9);
	if (copy_rate != 0)
		printf("  %.3f of the copy rate", rate / copy_rate);
	printf("\n");
	fflush(stdout);
	return rate;
}

static std::vector<kr_chunk> list_of(kr_u64 counterpart, kr_u64 step)
{
	std::vector<kr_chunk> list(bytes / CHUNK);

	for (kr_u64 i = 0; i < list.size(); i++) {
		list[i].memory = (kr_u64)memory + i * CHUNK;
		list[i].copy = counterpart + i * step;
		list[i].bytes = CHUNK;
		list[i].slot = (kr_u32)i;
	}
	return list;
}

static kr_job job_of(const std::vector<kr_chunk> &list, kr_u32 mode)
{
	kr_job job = {};
	void *device;

	CHECK(cudaMalloc(&device, list.size() * sizeof(kr_chunk)));
	CHECK(cudaMemcpy(device, list.data(), list.size() * sizeof(kr_chunk), cudaMemcpyHostToDevice));
	job.chunks = (kr_u64)device;
	job.marks = (kr_u64)marks;
	job.count = (kr_u32)list.size();
	job.groups = std::min((kr_u32)list.size(), groups);
	job.mode = mode;
	return job;
}

static void clear_marks()
{
	memset(marks, 0, bytes / CHUNK * sizeof(*marks));
}

/* The bytes that the marks say were written. */
static kr_u64 marked()
{
	kr_u64 sum = 0;

	for (kr_u64 i = 0; i < bytes / CHUNK; i++)
		sum += marks[i];
	return sum;
}

static kr_u64 dirty_bytes(unsigned permille)
{
	kr_u64 pages = 0;

	for (kr_u64 page = 0; page < bytes / PAGE; page++)
		pages += is_dirty_page(page, permille);
	return pages * PAGE;
}

/* ---- the kernels ---- */

static void measure_sync()
{
	static const unsigned dirty[] = {0, 10, 100, 1000};
	kr_job job = job_of(list_of((kr_u64)copy, CHUNK), KR_JOB_TO_MEMORY);

	for (unsigned permille : dirty) {
		kr_u64 written = dirty_bytes(permille);
		char name[48];
		double ms = median_ms(
			[&] {
				clear_marks();
				spoil<<<4096, 256>>>(memory, bytes / 8, permille);
			},
			[&] { kreplay_sync<<<job.groups, KR_GROUP_LANES>>>(job); });

		snprintf(name, sizeof(name), "compare, %g%% dirty", permille / 10.0);
		say(name, ms, 2.0 * bytes + written);
		expect_right(name, memory);
		if (marked() != written) {
			fprintf(stderr, "%s: marks say %llu bytes, not %llu\n", name, (unsigned long long)marked(),
				(unsigned long long)written);
			failed = true;
		}
	}
}

static void measure_hash(kr_u64 hashes)
{
	kr_job job = job_of(list_of(hashes, 16), KR_JOB_TAKE);
	std::vector<kr_u64> got(2 * job.count), data(CHUNK / 8);

	say("hash", median_ms([] {}, [&] { kreplay_hash<<<job.groups, KR_GROUP_LANES>>>(job); }), bytes);
	CHECK(cudaMemcpy(got.data(), (void *)hashes, got.size() * 8, cudaMemcpyDeviceToHost));
	for (kr_u64 i = 0; i < job.count; i += i < 64 ? 1 : 997) {
		kr_u64 want[2];

		for (kr_u64 k = 0; k < data.size(); k++)
			data[k] = word_at(i * data.size() + k);
		hash_reference((kr_u64)memory + i * CHUNK, data.data(), CHUNK, want);
		if (got[2 * i] != want[0] || got[2 * i + 1] != want[1]) {
			fprintf(stderr, "hash: chunk %llu is wrong\n", (unsigned long long)i);
			failed = true;
			return;
		}
	}
	/* Every single dirty page shows. */
	clear_marks();
	job.mode = 0;
	spoil<<<4096, 256>>>(memory, bytes / 8, 10);
	kreplay_hash<<<job.groups, KR_GROUP_LANES>>>(job);
	CHECK(cudaDeviceSynchronize());
	for (kr_u64 i = 0; i < job.count && !failed; i++) {
		bool dirty = false;

		for (unsigned k = 0; k < CHUNK / PAGE; k++)
			dirty |= is_dirty_page(i * (CHUNK / PAGE) + k, 10);
		if (dirty != (marks[i] != 0)) {
			fprintf(stderr, "hash: chunk %llu is marked %u\n", (unsigned long long)i, marks[i]);
			failed = true;
		}
	}
	spoil<<<4096, 256>>>(memory, bytes / 8, 10);
}

/* The dirty pages, packed: to a buffer and back. */
static void measure_gather()
{
	std::vector<kr_chunk> list;
	kr_u64 packed = 0;

	for (kr_u64 page = 0; page < bytes / PAGE; page++)
		if (is_dirty_page(page, 10)) {
			kr_chunk chunk = {};

			chunk.memory = (kr_u64)memory + page * PAGE;
			chunk.copy = (kr_u64)copy + packed;
			chunk.bytes = PAGE;
			list.push_back(chunk);
			packed += PAGE;
		}

	kr_job gather = job_of(list, KR_JOB_TO_COPY), scatter = gather;

	scatter.mode = KR_JOB_TO_MEMORY;
	CHECK(cudaMemset(copy, 0, packed));
	say("gather, 1% in pages", median_ms([] {}, [&] { kreplay_copy<<<gather.groups, KR_GROUP_LANES>>>(gather); }),
	    2.0 * packed);
	say("scatter, 1% in pages",
	    median_ms([&] { spoil<<<4096, 256>>>(memory, bytes / 8, 10); },
		      [&] { kreplay_copy<<<scatter.groups, KR_GROUP_LANES>>>(scatter); }),
	    2.0 * packed);
	expect_right("scatter", memory);
}

/* Which bytes of the dirty chunks differ: a bit each, of which every one is looked at. */
static void measure_diff()
{
	std::vector<kr_chunk> list;
	std::vector<kr_u32> first; /* page of each chunk */
	const kr_u32 words = CHUNK / 16;
	kr_u64 mask;

	CHECK(cudaMemcpy(copy, memory, bytes, cudaMemcpyDeviceToDevice));
	for (kr_u64 page = 0; page < bytes / PAGE; page++) {
		kr_u32 chunk = (kr_u32)(page / (CHUNK / PAGE));
		kr_chunk c = {};

		if (!is_dirty_page(page, 10) || (!first.empty() && first.back() == chunk * (CHUNK / PAGE)))
			continue;
		c.memory = (kr_u64)memory + (kr_u64)chunk * CHUNK;
		c.copy = (kr_u64)copy + (kr_u64)chunk * CHUNK;
		c.bytes = CHUNK;
		c.slot = (kr_u32)list.size() * words;
		list.push_back(c);
		first.push_back(chunk * (CHUNK / PAGE));
	}
	CHECK(cudaMalloc((void **)&mask, list.size() * words * 2));

	kr_job job = job_of(list, 0);
	std::vector<unsigned char> got(list.size() * words * 2);

	job.marks = mask;
	spoil<<<4096, 256>>>(memory, bytes / 8, 10);
	say("diff, chunks of the 1%", median_ms([] {}, [&] { kreplay_diff<<<job.groups, KR_GROUP_LANES>>>(job); }),
	    list.size() * (2.0 * CHUNK + 2.0 * words));
	CHECK(cudaMemcpy(got.data(), (void *)mask, got.size(), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < got.size() && !failed; i++) {
		kr_u64 page = first[i / (2 * words)] + i % (2 * words) * 8 / PAGE;

		if (got[i] != (is_dirty_page(page, 10) ? 0xff : 0)) {
			fprintf(stderr, "diff: byte %zu of the mask is %u\n", i, got[i]);
			failed = true;
		}
	}
	spoil<<<4096, 256>>>(memory, bytes / 8, 10);
	CHECK(cudaFree((void *)mask));
}

/* Whole restores of the footprint at 1% dirty: in the device tier, and from pinned host memory by hashes, against
 * copying all of it back. */
static void measure_restore(kr_u64 hashes)
{
	kr_job sync = job_of(list_of((kr_u64)copy, CHUNK), KR_JOB_TO_MEMORY);
	kr_job hash = job_of(list_of(hashes, 16), 0);
	double back, device, host;
	kr_u64 *pinned;
	auto dirty = [&] {
		clear_marks();
		spoil<<<4096, 256>>>(memory, bytes / 8, 10);
	};

	CHECK(cudaMallocHost((void **)&pinned, bytes));
	CHECK(cudaMemcpy(pinned, memory, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(copy, memory, bytes, cudaMemcpyDeviceToDevice));
	back = median_ms(dirty, [&] { CHECK(cudaMemcpyAsync(memory, pinned, bytes, cudaMemcpyHostToDevice)); });
	expect_right("copy back", memory);
	device = median_ms(dirty, [&] {
		kreplay_sync<<<sync.groups, KR_GROUP_LANES>>>(sync);
		CHECK(cudaDeviceSynchronize());
		marked();
	});
	expect_right("restore, device tier", memory);
	host = median_ms(dirty, [&] {
		kreplay_hash<<<hash.groups, KR_GROUP_LANES>>>(hash);
		CHECK(cudaDeviceSynchronize());
		for (kr_u64 i = 0; i < hash.count; i++)
			if (marks[i] != 0)
				CHECK(cudaMemcpyAsync((char *)memory + i * CHUNK, (char *)pinned + i * CHUNK, CHUNK,
						      cudaMemcpyHostToDevice));
	});
	expect_right("restore, host tier", memory);
	printf("%-28s %9.3f ms\n%-28s %9.3f ms  %.1f times faster\n%-28s %9.3f ms  %.1f times faster\n",
	       "copy back from pinned", back, "restore, device tier, 1%", device, back / device,
	       "restore, host tier, 1%", host, back / host);
	CHECK(cudaFreeHost(pinned));
}

int main(int argc, char **argv)
{
	double gib = argc > 1 ? atof(argv[1]) : 16;
	cudaDeviceProp card;
	kr_u64 hashes;

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 9;
	bytes = (kr_u64)(gib * (1ul << 30)) / CHUNK * CHUNK;
	if (bytes == 0 || rounds == 0) {
		fprintf(stderr, "usage: snapshot_cuda [GIBIBYTES [ROUNDS]]\n");
		return 2;
	}
	CHECK(cudaGetDeviceProperties(&card, 0));
	groups = 32u * (unsigned)card.multiProcessorCount;
	printf("%s, %d multiprocessors, %.2f GiB in chunks of 64 KiB, medians of %u\n", card.name,
	       card.multiProcessorCount, (double)bytes / (1ul << 30), rounds);
	CHECK(cudaMalloc((void **)&memory, bytes));
	CHECK(cudaMalloc((void **)&copy, bytes));
	CHECK(cudaMalloc((void **)&hashes, bytes / CHUNK * 16));
	CHECK(cudaMalloc((void **)&wrong, sizeof(*wrong)));
	CHECK(cudaHostAlloc((void **)&marks, bytes / CHUNK * sizeof(*marks), cudaHostAllocMapped));
	fill_words<<<4096, 256>>>(memory, bytes / 8);

	copy_rate = say("card's own copy",
			median_ms([] {}, [] { CHECK(cudaMemcpyAsync(copy, memory, bytes, cudaMemcpyDeviceToDevice)); }),
			2.0 * bytes);
	expect_right("card's own copy", copy);
	CHECK(cudaMemset(copy, 0, bytes));

	kr_job job = job_of(list_of((kr_u64)copy, CHUNK), KR_JOB_TO_COPY);

	say("copy", median_ms([] {}, [&] { kreplay_copy<<<job.groups, KR_GROUP_LANES>>>(job); }), 2.0 * bytes);
	expect_right("copy", copy);
	measure_sync();
	measure_hash(hashes);
	measure_gather();
	measure_diff();
	expect_right("in the end", memory);
	measure_restore(hashes);
	printf("%s\n", failed ? "WRONG" : "every byte right");
	return failed;
}
