/* SPDX-License-Identifier: MIT */
/*
 * soak SEED DISPATCHES SECONDS: eight threads on four queues of two agents, until there were so many dispatches or
 * seconds (0: no such limit). Each thread has values of its own on both agents, dispatches on either agent and any
 * queue of it, copies, allocates and frees between, and knows what its values must be. What the process holds
 * (holds.h) is looked at three times. Between a first, short round of all threads and the last one nothing at all may
 * be added. When the runtime is shut down there may be no more than at the start but for what may_stay() tells.
 */
#include "holds.h"
#include "hsa_app.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AGENTS 2
#define QUEUES 2 /* of each agent */
#define THREADS 8
#define VALUES 192
#define MOST_AHEAD 6 /* dispatches before the thread waits */
#define STACK (4u << 20) /* a sanitizer needs megabytes of it */
#define SIGNALS 512 /* far more than there are at once, of ours, the library's and the runtime's together */
#define BEHIND 40 /* dispatches behind a dependency: that none of them is replayed has a chance of 1 to 10^9 */

struct mix_args {
	uint32_t *values;
	uint32_t amount;
	uint32_t n;
};

static struct hsa_app apps[AGENTS];
static struct hsa_app_kernel kernels[AGENTS];
static hsa_queue_t *queues[AGENTS][QUEUES];
static _Atomic uint64_t left; /* dispatches of the round */
static _Atomic bool wrong;
static uint64_t deadline_ns;
/* The C library keeps some stacks of threads that have ended, and which ones differs. */
static char stacks[THREADS][STACK] __attribute__((aligned(4096)));

struct worker {
	pthread_t thread;
	uint64_t random;
	uint64_t dispatches;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* ---- the second agent: hsa_app knows of one ---- */

static hsa_status_t pick_second(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type != HSA_DEVICE_TYPE_GPU || agent.handle == apps[0].gpu.handle)
		return HSA_STATUS_SUCCESS;
	*(hsa_agent_t *)data = agent;
	return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t pick_device_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;
	uint32_t flags;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (!(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED))
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)data = pool;
	return HSA_STATUS_INFO_BREAK;
}

static void init_second(struct hsa_app *app)
{
	*app = apps[0];
	app->gpu.handle = app->device.handle = 0;
	hsa_iterate_agents(pick_second, &app->gpu);
	if (app->gpu.handle == 0)
		hsa_app_die(HSA_APP_FAILED, "there is only one GPU");
	hsa_amd_agent_iterate_memory_pools(app->gpu, pick_device_pool, &app->device);
	HSA_CHECK(hsa_code_object_reader_create_from_memory(hsa_app_image, hsa_app_image_size, &app->reader));
	HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
					    &app->executable));
	HSA_CHECK(hsa_executable_load_agent_code_object(app->executable, app->gpu, app->reader, NULL, NULL));
	HSA_CHECK(hsa_executable_freeze(app->executable, NULL));
}

/* ---- a thread ---- */

struct side { /* of one agent */
	uint32_t *values;
	uint32_t *host;
	uint32_t expected[VALUES];
	struct mix_args *kernargs[MOST_AHEAD];
	hsa_signal_t done;
};

static void init_side(struct side *s, unsigned agent)
{
	struct mix_args args = { 0 };

	s->values = hsa_app_alloc_device(&apps[agent], sizeof(s->expected));
	s->host = hsa_app_alloc_host(&apps[agent], sizeof(s->expected));
	s->done = hsa_app_signal_create(0);
	memset(s->expected, 0, sizeof(s->expected));
	memset(s->host, 0, sizeof(s->expected));
	hsa_app_copy_to_device(&apps[agent], s->values, s->host, sizeof(s->expected));
	for (unsigned i = 0; i < MOST_AHEAD; i++)
		s->kernargs[i] = hsa_app_kernargs(&apps[agent], &kernels[agent], &args, sizeof(args));
}

static void finish_side(struct side *s)
{
	for (unsigned i = 0; i < MOST_AHEAD; i++)
		hsa_app_free(s->kernargs[i]);
	hsa_app_free(s->host);
	hsa_app_free(s->values);
	HSA_CHECK(hsa_signal_destroy(s->done));
}

/* The packets of one queue run in their order, so a few may be on the way. */
static void dispatch_some(struct worker *w, struct side *s, unsigned agent)
{
	struct hsa_app_range range = { .grid = { VALUES }, .group = { 64 } };
	hsa_queue_t *queue = queues[agent][draw(&w->random) % QUEUES];
	uint64_t count = 1 + draw(&w->random) % MOST_AHEAD;

	hsa_signal_store_screlease(s->done, (hsa_signal_value_t)count);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t amount = (uint32_t)draw(&w->random);

		*s->kernargs[i] = (struct mix_args){ s->values, amount, VALUES };
		hsa_app_dispatch(&apps[agent], queue, &kernels[agent], &range, s->kernargs[i], s->done);
		for (uint32_t v = 0; v < VALUES; v++)
			s->expected[v] = s->expected[v] * 3u + amount + v;
	}
	hsa_app_wait(&apps[agent], s->done);
	w->dispatches += count;
}

static void check(struct side *s, unsigned agent)
{
	hsa_app_copy_to_host(&apps[agent], s->host, s->values, sizeof(s->expected));
	if (!hsa_app_same_u32(agent ? "values of the second agent" : "values of the first agent", s->host, s->expected,
			      VALUES))
		wrong = true;
}

static bool take_work(void)
{
	uint64_t have = atomic_load(&left);

	if (wrong || (deadline_ns && now_ns() > deadline_ns))
		return false;
	do {
		if (have == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&left, &have, have > MOST_AHEAD ? have - MOST_AHEAD : 0));
	return true;
}

static void *work(void *data)
{
	struct worker *w = data;
	struct side *sides = hsa_app_calloc(AGENTS, sizeof(*sides));

	for (unsigned a = 0; a < AGENTS; a++)
		init_side(&sides[a], a);
	while (take_work()) {
		unsigned agent = draw(&w->random) % AGENTS;
		uint64_t done = 0;

		/* MOST_AHEAD in all, as was taken */
		for (uint64_t before = w->dispatches; done < MOST_AHEAD; done = w->dispatches - before)
			dispatch_some(w, &sides[agent], agent);
		if (draw(&w->random) % 4 == 0)
			check(&sides[agent], agent);
		if (draw(&w->random) % 8 == 0) { /* memory comes and goes between, and inside, others' windows */
			void *memory = hsa_app_alloc_device(&apps[agent], 4096 << draw(&w->random) % 5);

			hsa_app_copy_to_device(&apps[agent], memory, sides[agent].host, sizeof(sides[agent].expected));
			hsa_app_free(memory);
		}
	}
	for (unsigned a = 0; a < AGENTS; a++) {
		check(&sides[a], a);
		finish_side(&sides[a]);
	}
	free(sides);
	return NULL;
}

static uint64_t run_round(uint64_t *seed, uint64_t dispatches)
{
	struct worker workers[THREADS] = { 0 };
	uint64_t total = 0;
	pthread_attr_t attributes;

	left = dispatches;
	pthread_attr_init(&attributes);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].random = draw(seed);
		if (pthread_attr_setstack(&attributes, stacks[i], STACK) != 0 ||
		    pthread_create(&workers[i].thread, &attributes, work, &workers[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start thread %u", i);
	}
	pthread_attr_destroy(&attributes);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		total += workers[i].dispatches;
	}
	return total;
}

/* The runtime gets memory for signals as they are needed, and keeps it. */
static void warm_up_signals(void)
{
	static hsa_signal_t signals[SIGNALS];

	for (unsigned i = 0; i < SIGNALS; i++)
		signals[i] = hsa_app_signal_create(0);
	for (unsigned i = 0; i < SIGNALS; i++)
		HSA_CHECK(hsa_signal_destroy(signals[i]));
}

/* Each queue gets its worker thread now: dispatches wait for a dependency that is satisfied only once they were
 * rung for. */
static uint64_t warm_up_queue(unsigned agent, hsa_queue_t *queue)
{
	struct hsa_app_range range = { .grid = { VALUES }, .group = { 64 } };
	struct side s;
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	hsa_barrier_and_packet_t *barrier = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
	hsa_signal_t dep = hsa_app_signal_create(1);

	init_side(&s, agent);
	memset(&barrier->reserved0, 0, sizeof(*barrier) - offsetof(hsa_barrier_and_packet_t, reserved0));
	barrier->dep_signal[0] = dep;
	__atomic_store_n(&barrier->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	hsa_signal_store_screlease(s.done, BEHIND);
	*s.kernargs[0] = (struct mix_args){ s.values, 1, VALUES };
	for (unsigned i = 0; i < BEHIND; i++)
		hsa_app_dispatch(&apps[agent], queue, &kernels[agent], &range, s.kernargs[0], s.done);
	hsa_signal_store_screlease(dep, 0);
	hsa_app_wait(&apps[agent], s.done);
	finish_side(&s);
	HSA_CHECK(hsa_signal_destroy(dep));
	return BEHIND;
}

static bool ends_with(const char *line, const char *end)
{
	size_t length = strlen(line), end_length = strlen(end);

	return length >= end_length && strcmp(line + length - end_length, end) == 0;
}

/* What is there after the runtime was shut down and was not before it came up. */
static bool may_stay(const char *line)
{
	static const struct {
		const char *kind, *end;
	} kept[] = {
		/* libraries: tools stay loaded, as others may have pointers into them, and the software GPU does */
		{ "mapping ", ".so" },
		{ "mapping ", ".so.1" },
		/* until the report is written */
		{ "mapping ", "memfd:kreplay-journal (deleted)" },
		/* stacks of threads that have ended: the C library keeps some */
		{ "mapping ", "---p of 4 KiB" },
		{ "mapping ", "rw-p of 8192 KiB" },
		/* Ctrl-C, and the software GPU's own */
		{ "handler of signal 2:", "/libkreplay.so" },
		{ "handler of signal 2:", "/libkreplay.so.0.1.0" },
		{ "handler of signal 7:", "/libhsakmt.so.1" },
		{ "handler of signal 11:", "/libhsakmt.so.1" },
#ifdef __SANITIZE_THREAD__
		{ "thread ", "soak" }, /* the sanitizer's, which it starts with the first of the program's */
#endif
	};
	const char *log = getenv("SOAK_LOG");

	/* The library itself came with the runtime, and parts of it have no name. */
	if (getenv("HSA_TOOLS_LIB") && strncmp(line, "mapping ", 8) == 0)
		return true;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (strncmp(line, kept[i].kind, strlen(kept[i].kind)) == 0 && ends_with(line, kept[i].end))
			return true;
	/* the tool's own */
	return log && strncmp(line, "descriptor ", 11) == 0 && ends_with(line, log);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t dispatches = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
	uint64_t seconds = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t total = 0;
	struct holds *start = holds_now(), *warm, *end;
	bool tidy;

	hsa_app_init(&apps[0]);
	init_second(&apps[1]);
	for (unsigned a = 0; a < AGENTS; a++) {
		kernels[a] = hsa_app_find_kernel(&apps[a], "mix");
		for (unsigned q = 0; q < QUEUES; q++)
			total += warm_up_queue(a, queues[a][q] = hsa_app_queue_create(&apps[a], 64));
	}
	warm_up_signals();
	if (seconds)
		deadline_ns = now_ns() + seconds * 1000000000u / 4;
	total += run_round(&seed, dispatches / 10 + THREADS * MOST_AHEAD);
	warm = holds_now();
	if (seconds)
		deadline_ns = now_ns() + seconds * 1000000000u * 3 / 4;
	total += run_round(&seed, dispatches);
	end = holds_now();
	tidy = holds_no_more(warm, end, NULL);
	holds_free(warm);
	holds_free(end);
	if (wrong || !tidy)
		return HSA_APP_FAILED;
	for (unsigned a = 0; a < AGENTS; a++)
		for (unsigned q = 0; q < QUEUES; q++)
			HSA_CHECK(hsa_queue_destroy(queues[a][q]));
	HSA_CHECK(hsa_executable_destroy(apps[1].executable));
	HSA_CHECK(hsa_code_object_reader_destroy(apps[1].reader));
	hsa_app_finish(&apps[0]);
	end = holds_now();
	tidy = holds_no_more(start, end, may_stay);
	holds_free(start);
	holds_free(end);
	if (!tidy)
		return HSA_APP_FAILED;
	printf("soak: ok, %llu dispatches\n", (unsigned long long)total);
	return HSA_APP_OK;
}
