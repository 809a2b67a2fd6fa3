/* SPDX-License-Identifier: MIT */
/* What the contract says of one dispatch, of isolation and of declines, where no scenario shows it. */
#include "pair.h"

#include <sched.h>
#include <string.h>

static const struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };
static const hsa_signal_t none;

/* A kernel that runs until the host says "go", and then adds 1 to device memory. */
static struct {
	uint32_t *ready, *go, *out;
} shake;
static void *shake_args;

static struct hsa_app_kernel shake_prepare(void)
{
	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "handshake");

	shake.ready = hsa_app_alloc_host(&app, 64);
	shake.go = hsa_app_alloc_host(&app, 64);
	shake.out = hsa_app_alloc_device(&app, 64);
	*shake.ready = *shake.go = 0;
	HSA_CHECK(hsa_amd_memory_fill(shake.out, 0, 16));
	shake_args = hsa_app_kernargs(&app, &kernel, &shake, sizeof(shake));
	return kernel;
}

static void say_go(void)
{
	__atomic_store_n(shake.go, 1, __ATOMIC_RELEASE);
}

static bool said_go(void)
{
	return __atomic_load_n(shake.go, __ATOMIC_ACQUIRE) != 0;
}

static void wait_ready(void)
{
	while (__atomic_load_n(shake.ready, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
}

static void shake_check(uint32_t want)
{
	uint32_t *host = hsa_app_alloc_host(&app, 64);

	hsa_app_copy_to_host(&app, host, shake.out, 4);
	if (*host != want)
		hsa_app_die(HSA_APP_FAILED, "the kernel that waited has run %u times, or its write was lost", *host);
	hsa_app_free(host);
	hsa_app_free(shake_args);
	hsa_app_free(shake.out);
	hsa_app_free(shake.go);
	hsa_app_free(shake.ready);
}

/* contract 2, contract 3: the application's signal is decremented once, by 1, and not before CONFIG EXIT. */

static hsa_signal_t watched;
static _Atomic uint32_t touched_early, looks;

static void look_at_signal(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	looks++;
	touched_early += hsa_signal_load_scacquire(watched) != 3;
}

int story_one_completion(int argc, char **argv)
{
	begin(3, 16);
	watched = hsa_app_signal_create(3);
	scenario.on_callback = look_at_signal;
	for (uint32_t i = 0; i < 5; i++) {
		hsa_signal_store_screlease(watched, 3);
		submit(&mixer, i, watched);
		while (hsa_signal_wait_scacquire(watched, HSA_SIGNAL_CONDITION_LT, 3, app.wait_slice,
						 HSA_WAIT_STATE_BLOCKED) >= 3)
			;
		hsa_app_barrier(&app, mixer.queue, mixer.done);
		hsa_app_wait(&app, mixer.done);
		expect(hsa_signal_load_scacquire(watched) == 2, "the completion signal was not decremented exactly once");
	}
	/* CONFIG, SNAPSHOT, three PASS and two RESTORE, each with its two phases */
	expect(looks == 5 * 14, "not every callback came");
	expect(touched_early == 0, "the completion signal changed before CONFIG EXIT");
	expect(scenario.replayed == 5, "not every dispatch was replayed");
	HSA_CHECK(hsa_signal_destroy(watched));
	return end();
}

/* contract 2, contract 4: a kernel that runs on another queue of the agent is waited for, and keeps what it writes. */

static _Atomic bool too_early;

static void note_too_early(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	if (operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT)
		too_early = too_early || !said_go();
}

int story_in_flight(int argc, char **argv)
{
	struct hsa_app_kernel kernel;

	begin(3, 16);
	kernel = shake_prepare();
	scenario.on_callback = note_too_early;
	hsa_app_dispatch(&app, aside.queue, &kernel, &one, shake_args, aside.done);
	wait_ready();
	submit(&mixer, 5, mixer.done); /* and back it comes: the worker waits */
	say_go();
	hsa_app_wait(&app, mixer.done);
	hsa_app_wait(&app, aside.done);
	expect(!too_early, "a snapshot was taken while a kernel ran on another queue");
	expect(scenario.replayed == 1, "it was not replayed");
	shake_check(1);
	return end();
}

/* contract 2: copies that are on their way are waited for, and what they bring survives the restores. */

/* Enough bytes that the last copy has not come when the doorbell rings. A sanitizer looks at each of them. */
#ifdef __SANITIZE_THREAD__
enum { CHUNK = 1 << 15 };
#else
enum { CHUNK = 1 << 20 };
#endif
enum { CHUNKS = 32, MOST_ROUNDS = 50 };

static hsa_signal_t arrived[CHUNKS];
static _Atomic bool copied_later;

static void look_at_copies(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	for (int i = 0; i < CHUNKS && operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT; i++)
		copied_later = copied_later || hsa_signal_load_scacquire(arrived[i]) != 0;
}

int story_copies_in_flight(int argc, char **argv)
{
	uint32_t on_their_way = 0, *device, *from, *back;

	begin(3, MOST_ROUNDS);
	device = hsa_app_alloc_device(&app, CHUNKS * CHUNK);
	from = hsa_app_alloc_host(&app, CHUNKS * CHUNK);
	back = hsa_app_alloc_host(&app, CHUNKS * CHUNK);
	for (int i = 0; i < CHUNKS; i++)
		arrived[i] = hsa_app_signal_create(0);
	scenario.on_callback = look_at_copies;
	/* a round in which the last one has come before the ring shows nothing */
	for (uint32_t round = 0; round < MOST_ROUNDS && on_their_way < 3; round++) {
		memset(from, (int)(round + 1), CHUNKS * CHUNK);
		for (int i = 0; i < CHUNKS; i++) {
			hsa_signal_store_screlease(arrived[i], 1);
			HSA_CHECK(hsa_amd_memory_async_copy(device + i * (CHUNK / 4), app.gpu, from + i * (CHUNK / 4), app.cpu,
							    CHUNK, 0, NULL, arrived[i]));
		}
		on_their_way += hsa_signal_load_scacquire(arrived[CHUNKS - 1]) != 0;
		submit(&mixer, round, mixer.done);
		hsa_app_wait(&app, mixer.done);
		hsa_app_copy_to_host(&app, back, device, CHUNKS * CHUNK);
		expect(memcmp(back, from, CHUNKS * CHUNK) == 0, "what was copied is lost");
		expect(scenario.replayed == round + 1, "it was not replayed");
	}
	expect(on_their_way > 0, "the copies always came before the ring: nothing is shown");
	expect(!copied_later, "a snapshot was taken while copies were on their way");
	for (int i = 0; i < CHUNKS; i++)
		HSA_CHECK(hsa_signal_destroy(arrived[i]));
	hsa_app_free(back);
	hsa_app_free(from);
	hsa_app_free(device);
	return end();
}

/* contract 2: this queue is drained. The kernel in front runs, and only the window makes the dispatch wait for it. */
int story_own_predecessor(int argc, char **argv)
{
	struct hsa_app_kernel kernel;
	uint64_t index;

	begin(3, 16);
	kernel = shake_prepare();
	scenario.every = 2; /* the second */
	scenario.on_callback = note_too_early;
	index = mixer_reserve(&mixer, 2);
	fill_kernel(&mixer, index, &kernel, shake_args, aside.done);
	publish(&mixer, index, HSA_PACKET_TYPE_KERNEL_DISPATCH, false);
	mixer_ring(&mixer, index);
	wait_ready();
	mixer_fill(&mixer, index + 1, 5, mixer.done);
	publish(&mixer, index + 1, HSA_PACKET_TYPE_KERNEL_DISPATCH, false);
	mixer_ring(&mixer, index + 1);
	say_go();
	hsa_app_wait(&app, mixer.done);
	hsa_app_wait(&app, aside.done);
	expect(!too_early, "a snapshot was taken while the kernel in front of the dispatch ran");
	expect(scenario.replayed == 1, "the second dispatch was not replayed");
	shake_check(1);
	return end();
}

/* contract 4: a queue that is parked at a barrier-OR counts as drained; its barrier waits for this very dispatch. */
int story_parked_or(int argc, char **argv)
{
	hsa_signal_t never;

	begin(3, 16);
	never = hsa_app_signal_create(1);
	for (uint32_t i = 0; i < 3; i++) {
		hsa_signal_t complete = hsa_app_signal_create(1);
		uint64_t index = mixer_reserve(&aside, 2);

		fill_or(&aside, index, never, complete);
		mixer_fill(&aside, index + 1, i + 3, aside.done);
		publish(&aside, index, HSA_PACKET_TYPE_BARRIER_OR, true);
		mixer_publish(&aside, index + 1);
		mixer_ring(&aside, index + 1);
		submit(&mixer, i, complete);
		wait_zero(&app, complete);
		hsa_app_wait(&app, aside.done);
		HSA_CHECK(hsa_signal_destroy(complete));
	}
	expect(scenario.replayed == 3, "not every dispatch was replayed");
	HSA_CHECK(hsa_signal_destroy(never));
	return end();
}

/* contract 2: what a callback dispatches on another queue of the agent runs once, although the driver wants passes of every
 * dispatch, and nobody is asked about it. */

static bool in_callback;

static void dispatch_aside(void)
{
	if (in_callback)
		return;
	in_callback = true;
	submit(&aside, 7, aside.done);
	hsa_app_wait(&app, aside.done);
	in_callback = false;
}

int story_nested_unreplayed(int argc, char **argv)
{
	begin(3, 16);
	scenario.queue = NULL;
	scenario.after_last = dispatch_aside;
	for (uint32_t i = 0; i < 3; i++) {
		submit(&mixer, i, mixer.done);
		hsa_app_wait(&app, mixer.done);
	}
	expect(scenario.windows == 3 && scenario.replayed == 3, "a callback's own dispatch was asked about");
	expect(aside.dispatches == 3, "the callback was not called");
	expect(scenario.flags & KREPLAY_FLAG_REENTRANT, "the outcome does not say that a callback dispatched");
	return end();
}

/* contract 2: the window runs on the queue's worker, since the ringing thread has gone on. Any tool may watch. */
int story_handed_over(int argc, char **argv)
{
	begin(0, 16);
	for (uint32_t i = 0; i < 2; i++) {
		hsa_signal_t dependency = hsa_app_signal_create(1);
		uint64_t index = mixer_reserve(&mixer, 2);

		mixer_fill_barrier(&mixer, index, dependency, none);
		mixer_fill(&mixer, index + 1, 3 + i, mixer.done);
		mixer_publish_barrier(&mixer, index);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		hsa_signal_store_screlease(dependency, 0);
		hsa_app_wait(&app, mixer.done);
		HSA_CHECK(hsa_signal_destroy(dependency));
	}
	return end();
}

/* contract 4: other threads dispatch on the agent without a pause, and windows open all the same. */

enum { CROWD = 3, IN_FLIGHT = 16, WINDOWS = 24 };

struct member {
	pthread_t thread;
	struct adder adder;
	_Atomic uint32_t rounds;
};

static _Atomic bool crowd_stop;

static void *crowd_around(void *data)
{
	struct hsa_app_range range = { .grid = { 256 }, .group = { 64 } };
	struct member *me = data;

	while (!crowd_stop) {
		for (uint32_t i = 0; i < IN_FLIGHT; i++)
			hsa_app_dispatch(&app, me->adder.queue, &me->adder.kernel, &range, me->adder.kernargs,
					 i + 1 == IN_FLIGHT ? me->adder.done : none);
		me->adder.launched += IN_FLIGHT;
		hsa_app_wait(&app, me->adder.done);
		me->rounds++;
	}
	return NULL;
}

/* Until each of them has come round once more. */
static void let_them(const struct member *members)
{
	uint32_t rounds[CROWD];

	for (int i = 0; i < CROWD; i++)
		rounds[i] = members[i].rounds;
	for (int i = 0; i < CROWD; i++)
		while (members[i].rounds == rounds[i])
			sched_yield();
}

int story_crowd(int argc, char **argv)
{
	static struct member members[CROWD];
	bool right = true;

	begin(3, WINDOWS);
	for (uint32_t i = 0; i < CROWD; i++) {
		adder_init(&members[i].adder, &app, 256, i + 1);
		if (pthread_create(&members[i].thread, NULL, crowd_around, &members[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	}
	for (uint32_t i = 0; i < WINDOWS; i++) {
		submit(&mixer, i, mixer.done);
		hsa_app_wait(&app, mixer.done);
		if (i % 4 == 3)
			let_them(members);
	}
	crowd_stop = true;
	for (uint32_t i = 0; i < CROWD; i++)
		pthread_join(members[i].thread, NULL);
	for (uint32_t i = 0; i < CROWD; i++) {
		right &= adder_check(&members[i].adder);
		adder_finish(&members[i].adder);
	}
	expect(right, "a dispatch of the others was lost or undone");
	expect(scenario.replayed == WINDOWS, "not every dispatch was replayed");
	return end();
}

/* contract 6: a pass that does not end in time: the dispatch is declined, the program goes on, and the signal comes when
 * the pass does end. */

static void take_go_back(void)
{
	__atomic_store_n(shake.go, 0, __ATOMIC_RELEASE);
}

int story_stuck_pass(int argc, char **argv)
{
	struct hsa_app_kernel kernel;

	begin(3, 16);
	kernel = shake_prepare();
	say_go();
	scenario.after_first = take_go_back;
	hsa_app_dispatch(&app, mixer.queue, &kernel, &one, shake_args, mixer.done);
	while (scenario.windows == 0)
		sched_yield();
	expect(hsa_signal_load_scacquire(mixer.done) == 1, "the dispatch completed before its kernel ended");
	expect(scenario.decline == KREPLAY_DECLINE_STUCK_PASS, "CONFIG EXIT does not say that a pass is stuck");
	say_go();
	hsa_app_wait(&app, mixer.done);
	shake_check(1);
	return end();
}

/* contract 6: one that never ends, although the first pass did, ends the process instead of hanging it */
int story_stuck_for_ever(int argc, char **argv)
{
	struct hsa_app_kernel kernel;

	begin(3, 16);
	kernel = shake_prepare();
	say_go();
	scenario.after_first = take_go_back;
	hsa_app_dispatch(&app, mixer.queue, &kernel, &one, shake_args, mixer.done);
	hsa_app_wait(&app, mixer.done);
	return HSA_APP_FAILED;
}

/* contract 6: the agent does not come to rest in time: the dispatch runs once, beside what keeps the agent busy. */
int story_drain_timeout(int argc, char **argv)
{
	struct hsa_app_kernel kernel;

	begin(3, 16);
	kernel = shake_prepare();
	hsa_app_dispatch(&app, aside.queue, &kernel, &one, shake_args, aside.done);
	wait_ready();
	for (uint32_t i = 0; i < 2; i++) {
		submit(&mixer, 5 + i, mixer.done);
		hsa_app_wait(&app, mixer.done);
		while (scenario.declined != i + 1)
			sched_yield();
		expect(scenario.decline == KREPLAY_DECLINE_DRAIN_TIMEOUT, "CONFIG EXIT does not say that draining took too long");
	}
	say_go();
	hsa_app_wait(&app, aside.done);
	shake_check(1);
	return end();
}

/* contract 5: device memory is saved whatever a program gives it to: the calls for host memory take it, and succeed. */
int story_locked_device(int argc, char **argv)
{
	size_t bytes = MIXER_VALUES * sizeof(uint32_t);
	char *at;
	void *seen;

	begin(3, 16);
	at = (char *)mixer.values;
	for (uint32_t i = 0; i < 4; i++) {
		if (i != 0)
			HSA_CHECK(hsa_amd_memory_lock(at + (i == 2 ? bytes / 2 : 0), bytes / 2, &app.gpu, 1, &seen));
		if (i == 3)
			HSA_CHECK(hsa_amd_memory_unlock(at));
		submit(&mixer, i + 3, mixer.done);
		hsa_app_wait(&app, mixer.done);
	}
	HSA_CHECK(hsa_amd_memory_unlock(at)); /* of nothing that is locked */
	submit(&mixer, 9, mixer.done);
	hsa_app_wait(&app, mixer.done);
	expect(scenario.replayed == 5, "not every dispatch was replayed");
	return end();
}
