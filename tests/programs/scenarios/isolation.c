/* SPDX-License-Identifier: MIT */
/* What happens on the agent while a dispatch is being replayed: other kernels, copies, frees, waits of all kinds. */
#include "scenarios.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for anything that nobody holds up; a window holds up much of it, and then this is how long it waits. */
#define HELD_MS 10

static const struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };
static const hsa_signal_t none;

static struct hsa_app app;
static struct adder first, second; /* `first` is replayed */
static struct helper other;

static void begin(uint64_t passes)
{
	hsa_app_init(&app);
	adder_init(&first, &app, 1024, 5);
	adder_init(&second, &app, 1024, 7);
	scenario.queue = first.queue;
	scenario.passes = passes;
}

static int end(void)
{
	if (!adder_check(&first) || !adder_check(&second))
		return HSA_APP_FAILED;
	adder_finish(&second);
	adder_finish(&first);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

static void expect(bool right, const char *what)
{
	if (!right)
		hsa_app_die(HSA_APP_FAILED, "%s", what);
}

static void poke_other(void)
{
	helper_poke(&other, HELD_MS);
}

/* 1, contract 2, contract 4: a kernel submitted to another queue between snapshot and last restore keeps what it
 * writes, 50 of 50 times. */

static void launch_second(void *data)
{
	adder_launch(&second);
}

int story_other_queue(int argc, char **argv)
{
	begin(3);
	helper_start(&other, launch_second, NULL);
	scenario.after_first = poke_other;
	for (int i = 0; i < 50; i++) {
		adder_launch(&first);
		helper_wait(&other);
	}
	helper_stop(&other);
	expect(scenario.replayed == 50, "not every launch was replayed");
	expect(second.launched == 50, "the other queue was not always used inside the window");
	return end();
}

/* 2 and 3: a buffer goes away inside the window. 4 MiB and more are mapped and unmapped for themselves, so that a write
 * after the free is a fault. */

#define BIG (6u << 20)

static uint32_t *big;

static void fill_and_free(void)
{
	HSA_CHECK(hsa_amd_memory_fill(big, 0x77777777, BIG / 4));
	hsa_app_free(big);
}

int story_freed_in_callback(int argc, char **argv)
{
	begin(3);
	scenario.after_first = fill_and_free;
	for (int i = 0; i < 5; i++) {
		big = hsa_app_alloc_device(&app, BIG);
		HSA_CHECK(hsa_amd_memory_fill(big, 0x11111111, BIG / 4));
		adder_launch(&first);
	}
	expect(scenario.replayed == 5, "not every launch was replayed");
	return end();
}

static void free_big(void *data)
{
	hsa_app_free(big);
}

int story_freed_by_thread(int argc, char **argv)
{
	begin(3);
	helper_start(&other, free_big, NULL);
	scenario.after_first = poke_other;
	for (int i = 0; i < 5; i++) {
		big = hsa_app_alloc_device(&app, BIG);
		HSA_CHECK(hsa_amd_memory_fill(big, 0x11111111, BIG / 4));
		adder_launch(&first);
		helper_wait(&other);
	}
	helper_stop(&other);
	expect(scenario.replayed == 5, "not every launch was replayed");
	return end();
}

static bool reused;

static void reuse_address(void)
{
	uint32_t *old = big;

	hsa_app_free(big);
	big = hsa_app_alloc_device(&app, BIG);
	reused |= big == old;
	HSA_CHECK(hsa_amd_memory_fill(big, 0x99999999, BIG / 4));
}

int story_same_address(int argc, char **argv)
{
	uint32_t *got, *want = hsa_app_calloc(BIG / 4, 4);
	bool right = true;

	begin(3);
	got = hsa_app_alloc_host(&app, BIG);
	memset(want, 0x99, BIG);
	scenario.after_first = reuse_address;
	for (int i = 0; i < 5 && right; i++) {
		big = hsa_app_alloc_device(&app, BIG);
		HSA_CHECK(hsa_amd_memory_fill(big, 0x11111111, BIG / 4));
		adder_launch(&first);
		hsa_app_copy_to_host(&app, got, big, BIG);
		right = hsa_app_same_u32("new memory", got, want, BIG / 4);
		hsa_app_free(big);
	}
	expect(reused, "the address was never given out again: nothing is shown");
	expect(right, "what was written to new memory is lost");
	expect(scenario.replayed == 5, "not every launch was replayed");
	hsa_app_free(got);
	free(want);
	return end();
}

/* 12 and 13, contract 4, contract 6: kernels that wait. */

static uint32_t *device_word(void)
{
	uint32_t *word = hsa_app_alloc_device(&app, 64);

	HSA_CHECK(hsa_amd_memory_fill(word, 0, 16));
	return word;
}

static uint32_t read_word(const uint32_t *word)
{
	uint32_t *host = hsa_app_alloc_host(&app, 64), value;

	hsa_app_copy_to_host(&app, host, word, 4);
	value = *host;
	hsa_app_free(host);
	return value;
}

int story_spin_on_queue(int argc, char **argv)
{
	struct {
		uint32_t *flag, *out;
	} args;

	begin(3);
	args.flag = device_word();
	args.out = device_word();

	struct hsa_app_kernel wait = hsa_app_find_kernel(&app, "wait_flag");
	struct hsa_app_kernel set = hsa_app_find_kernel(&app, "set_flag");
	void *wait_args = hsa_app_kernargs(&app, &wait, &args, sizeof(args));
	void *set_args = hsa_app_kernargs(&app, &set, &args.flag, sizeof(args.flag));

	hsa_app_dispatch(&app, first.queue, &wait, &one, wait_args, first.done);
	hsa_app_dispatch(&app, second.queue, &set, &one, set_args, second.done);
	hsa_app_wait(&app, second.done);
	hsa_app_wait(&app, first.done);
	expect(read_word(args.out) == 1, "the waiting kernel did not run once");
	expect(scenario.replayed == 0 && scenario.declined == 1, "it was replayed, which cannot be");
	return end();
}

static struct {
	uint32_t *ready, *go, *out;
} handshake;

static void say_go(void *data)
{
	while (__atomic_load_n(handshake.ready, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	__atomic_store_n(handshake.go, 1, __ATOMIC_RELEASE);
}

static void shake_hands(bool by_thread)
{
	begin(3);
	handshake.ready = hsa_app_alloc_host(&app, 64);
	handshake.go = hsa_app_alloc_host(&app, 64);
	handshake.out = device_word();
	*handshake.ready = *handshake.go = 0;

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "handshake");
	void *kernargs = hsa_app_kernargs(&app, &kernel, &handshake, sizeof(handshake));

	if (by_thread) {
		helper_start(&other, say_go, NULL);
		helper_poke(&other, 0);
	}
	hsa_app_dispatch(&app, first.queue, &kernel, &one, kernargs, first.done);
	if (by_thread)
		helper_stop(&other);
	else
		say_go(NULL);
	hsa_app_wait(&app, first.done);
	expect(read_word(handshake.out) == 1, "the kernel's memory does not look as after one execution");
}

/* the thread that rings is the one that says "go" */
int story_host_handshake(int argc, char **argv)
{
	shake_hands(false);
	return end();
}

int story_host_handshake_thread(int argc, char **argv)
{
	shake_hands(true);
	expect(scenario.windows == 1, "the kernel was not to be replayed");
	return end();
}

/* 14, contract 3, contract 4: rings barrier(dep) + dispatch, then stores dep. */
int story_dependency_later(int argc, char **argv)
{
	struct mixer mixer;

	begin(0);
	mixer_init(&mixer, &app, 64, 16);
	scenario.queue = mixer.queue;
	scenario.passes = 3;
	for (uint32_t i = 0; i < 3; i++) {
		hsa_signal_t dependency = hsa_app_signal_create(1);
		uint64_t index = mixer_reserve(&mixer, 2);

		mixer_fill_barrier(&mixer, index, dependency, none);
		mixer_fill(&mixer, index + 1, 3 + i, mixer.done);
		mixer_publish_barrier(&mixer, index);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		expect(hsa_signal_load_scacquire(mixer.done) == 1, "the barrier was passed too early");
		hsa_signal_store_screlease(dependency, 0);
		hsa_app_wait(&app, mixer.done);
		HSA_CHECK(hsa_signal_destroy(dependency));
	}
	expect(scenario.replayed == 3, "not every dispatch was replayed");
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	return end();
}

/* 15, contract 4: the other queue is parked at a barrier that waits for the dispatch being replayed. */
int story_parked_queue(int argc, char **argv)
{
	struct hsa_app_range range = { .grid = { 1024 }, .group = { 64 } };
	struct mixer mixer;

	begin(3);
	mixer_init(&mixer, &app, 64, 16);
	for (uint32_t i = 0; i < 3; i++) {
		hsa_signal_t complete = hsa_app_signal_create(1);
		uint64_t index = mixer_reserve(&mixer, 2);

		mixer_fill_barrier(&mixer, index, complete, none);
		mixer_fill(&mixer, index + 1, 3 + i, mixer.done);
		mixer_publish_barrier(&mixer, index);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		hsa_app_dispatch(&app, first.queue, &first.kernel, &range, first.kernargs, complete);
		first.launched++;
		wait_zero(&app, complete);
		hsa_app_wait(&app, mixer.done);
		HSA_CHECK(hsa_signal_destroy(complete));
	}
	expect(scenario.replayed == 3, "not every dispatch was replayed");
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	return end();
}

/* 16, contract 2, contract 4: copies of every kind into memory that is in scope: in the middle of a window, and all
 * the time. */

enum { COPY_WORDS = 4096, COPY_BYTES = COPY_WORDS * 4 };

struct copier {
	uint32_t *device, *from, *back;
	uint32_t round;
	_Atomic bool stop;
};

static struct copier inside, always;

static void copier_init(struct copier *copier)
{
	copier->device = hsa_app_alloc_device(&app, COPY_BYTES);
	copier->from = hsa_app_alloc_host(&app, COPY_BYTES);
	copier->back = hsa_app_alloc_host(&app, COPY_BYTES);
	HSA_CHECK(hsa_amd_memory_fill(copier->device, 0, COPY_WORDS));
}

static void copy_rect(struct copier *copier)
{
	hsa_signal_t done = hsa_app_signal_create(1);
	hsa_pitched_ptr_t to = { copier->device, 256, COPY_BYTES }, from = { copier->from, 256, COPY_BYTES };
	hsa_dim3_t origin = { 0, 0, 0 }, range = { 256, COPY_BYTES / 256, 1 };

	HSA_CHECK(hsa_amd_memory_async_copy_rect(&to, &origin, &from, &origin, &range, app.gpu, hsaHostToDevice, 0, NULL,
						 done));
	wait_zero(&app, done);
	HSA_CHECK(hsa_signal_destroy(done));
}

/* One copy, and whether what was copied is there afterwards. */
static void copy_once(void *data)
{
	struct copier *copier = data;
	uint32_t value = ++copier->round * 0x01010101u;

	for (uint32_t i = 0; i < COPY_WORDS; i++)
		copier->from[i] = value;
	switch (copier->round % 4) {
	case 0:
		hsa_app_copy_to_device(&app, copier->device, copier->from, COPY_BYTES);
		break;
	case 1:
		HSA_CHECK(hsa_memory_copy(copier->device, copier->from, COPY_BYTES));
		break;
	case 2:
		HSA_CHECK(hsa_amd_memory_fill(copier->device, value, COPY_WORDS));
		break;
	case 3:
		copy_rect(copier);
		break;
	}
}

static void check_copy(struct copier *copier)
{
	hsa_app_copy_to_host(&app, copier->back, copier->device, COPY_BYTES);
	for (uint32_t i = 0; i < COPY_WORDS; i++)
		if (copier->back[i] != copier->round * 0x01010101u)
			hsa_app_die(HSA_APP_FAILED, "copy %u of kind %u is lost: word %u is 0x%x", copier->round,
				    copier->round % 4, i, copier->back[i]);
}

static void *copy_always(void *data)
{
	struct copier *copier = data;

	while (!copier->stop) {
		copy_once(copier);
		check_copy(copier);
	}
	return NULL;
}

int story_copies(int argc, char **argv)
{
	pthread_t thread;

	begin(3);
	copier_init(&inside);
	copier_init(&always);
	helper_start(&other, copy_once, &inside);
	scenario.after_first = poke_other;
	if (pthread_create(&thread, NULL, copy_always, &always) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	for (int i = 0; i < 40; i++) {
		adder_launch(&first);
		helper_wait(&other);
		check_copy(&inside);
	}
	helper_stop(&other);
	always.stop = true;
	pthread_join(thread, NULL);
	expect(scenario.replayed == 40, "not every launch was replayed");
	expect(always.round > 0 && inside.round == 40, "too few copies");
	return end();
}

/* 16, contract 4: a copy that waits for the kernel and is submitted before it, as stream-like runtimes do. */
int story_copy_after_kernel(int argc, char **argv)
{
	struct hsa_app_range range = { .grid = { 1024 }, .group = { 64 } };

	begin(3);
	for (uint32_t i = 0; i < 3; i++) {
		hsa_signal_t complete = hsa_app_signal_create(1), copied = hsa_app_signal_create(1);

		memset(first.host, 0xee, 1024 * 4);
		HSA_CHECK(hsa_amd_memory_async_copy(first.host, app.cpu, first.values, app.gpu, 1024 * 4, 1, &complete,
						    copied));
		hsa_app_dispatch(&app, first.queue, &first.kernel, &range, first.kernargs, complete);
		first.launched++;
		wait_zero(&app, copied);
		expect(first.host[0] == first.launched * 5 && first.host[1023] == first.launched * 5,
		       "the copy did not wait for the kernel");
		HSA_CHECK(hsa_signal_destroy(copied));
		HSA_CHECK(hsa_signal_destroy(complete));
	}
	expect(scenario.replayed == 3, "not every launch was replayed");
	return end();
}

/* 17, contract 3: one thread submits and returns, another destroys the queue. */

static hsa_queue_t *doomed;

static void submit_to_doomed(void *data)
{
	struct hsa_app_range range = { .grid = { 1024 }, .group = { 64 } };

	for (int i = 0; i < 5; i++)
		hsa_app_dispatch(&app, doomed, &first.kernel, &range, first.kernargs, none);
}

int story_destroyed_queue(int argc, char **argv)
{
	begin(2);
	scenario.queue = NULL;
	helper_start(&other, submit_to_doomed, NULL);
	for (int i = 0; i < 30; i++) {
		doomed = hsa_app_queue_create(&app, 64);
		helper_poke(&other, 60000);
		HSA_CHECK(hsa_queue_destroy(doomed));
	}
	helper_stop(&other);
	/* what has run of it nobody knows; what comes now is known */
	HSA_CHECK(hsa_amd_memory_fill(first.values, 0, 1024));
	first.launched = 0;
	adder_launch(&first);
	return end();
}

/* 18, contract 4: several agents, several threads on each, all replaying. */

enum { ON_EACH = 4, LAUNCHES = 6 };

struct worker {
	pthread_t thread;
	struct adder adder;
	bool right;
};

static struct hsa_app apps[MOST_AGENTS];

static void *work(void *data)
{
	struct worker *worker = data;

	for (uint32_t i = 0; i < LAUNCHES; i++)
		adder_launch(&worker->adder);
	worker->right = adder_check(&worker->adder);
	return NULL;
}

static struct adder elsewhere;
static _Atomic int waited_in_vain;

static bool elsewhere_right = true;

static void launch_elsewhere(void *data)
{
	adder_launch(&elsewhere);
	/* a copy as well */
	elsewhere_right &= adder_check(&elsewhere);
}

/* contract 4: on the first agent, inside its window: a launch and a copy on the last one come through. */
static void agents_do_not_wait(void)
{
	helper_poke(&other, 5000);
	waited_in_vain += other.busy;
}

int story_agents(int argc, char **argv)
{
	uint32_t agents = agents_init(apps), count = agents * ON_EACH;
	struct worker *workers = hsa_app_calloc(count, sizeof(*workers));
	bool right = true;

	if (agents < 2)
		hsa_app_die(HSA_APP_FAILED, "%u agents are too few", agents);
	scenario.passes = 3;
	for (uint32_t i = 0; i < count; i++)
		adder_init(&workers[i].adder, &apps[i % agents], 512, i + 1);
	for (uint32_t i = 0; i < count; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	for (uint32_t i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		right &= workers[i].right;
	}
	expect(scenario.replayed == count * LAUNCHES, "not every launch was replayed");

	adder_init(&elsewhere, &apps[agents - 1], 512, 9);
	helper_start(&other, launch_elsewhere, NULL);
	scenario.queue = workers[0].adder.queue;
	scenario.after_first = agents_do_not_wait;
	adder_launch(&workers[0].adder);
	helper_stop(&other);
	expect(waited_in_vain == 0, "one agent's window held up another agent");
	right &= adder_check(&workers[0].adder) && elsewhere_right && elsewhere.launched == 1;

	adder_finish(&elsewhere);
	for (uint32_t i = 0; i < count; i++)
		adder_finish(&workers[i].adder);
	agents_finish(apps, agents);
	free(workers);
	return right ? HSA_APP_OK : HSA_APP_FAILED;
}

/* 28, contract 2: a callback dispatches. What it does on the agent at hand before a restore is undone with the rest;
 * after the last pass it stays. */

static struct adder undone;

static void launch_undone(void)
{
	adder_launch(&undone);
}

static void launch_in_callback(void)
{
	adder_launch(&second);
}

int story_nested(int argc, char **argv)
{
	begin(3);
	adder_init(&undone, &app, 1024, 9);
	scenario.after_first = launch_undone;
	scenario.after_last = launch_in_callback;
	adder_launch(&first);
	adder_launch(&first);
	expect(scenario.replayed == 2, "not every launch was replayed");
	expect(scenario.flags & KREPLAY_FLAG_REENTRANT, "the outcome does not say that a callback dispatched");
	expect(second.launched == 2, "the callback was not called");
	adder_finish(&undone);
	return end();
}

/* ... on the queue whose own packet is being replayed. */
static void launch_on_same_queue(void)
{
	struct hsa_app_range range = { .grid = { 1024 }, .group = { 64 } };

	hsa_app_dispatch(&app, first.queue, &second.kernel, &range, second.kernargs, second.done);
	hsa_app_wait(&app, second.done);
	second.launched++;
}

int story_nested_same_queue(int argc, char **argv)
{
	begin(3);
	scenario.after_last = launch_on_same_queue;
	adder_launch(&first);
	adder_launch(&first);
	expect(scenario.flags & KREPLAY_FLAG_REENTRANT, "the outcome does not say that a callback dispatched");
	expect(second.launched == 2, "the callback was not called");
	return end();
}

static void launch_on_other_agent(void)
{
	adder_launch(&elsewhere);
}

int story_nested_other_agent(int argc, char **argv)
{
	struct adder here;
	bool right;

	if (agents_init(apps) != 2)
		hsa_app_die(HSA_APP_FAILED, "there are not two agents");
	adder_init(&here, &apps[0], 512, 3);
	adder_init(&elsewhere, &apps[1], 512, 4);
	scenario.queue = here.queue;
	scenario.passes = 3;
	scenario.after_first = scenario.after_last = launch_on_other_agent;
	adder_launch(&here);
	adder_launch(&here);
	right = adder_check(&here) && adder_check(&elsewhere);
	expect(elsewhere.launched == 4, "the callback was not called");
	expect(scenario.replayed == 2, "not every launch was replayed");
	expect(!(scenario.flags & KREPLAY_FLAG_REENTRANT), "a dispatch on another agent was taken for re-entrancy");
	adder_finish(&elsewhere);
	adder_finish(&here);
	agents_finish(apps, 2);
	return right ? HSA_APP_OK : HSA_APP_FAILED;
}
