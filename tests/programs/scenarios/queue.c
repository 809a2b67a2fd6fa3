/* SPDX-License-Identifier: MIT */
/* contract 3: what the application sees of its queue. */
#include "pair.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static const hsa_signal_t none;

/* contract 3: without the barrier bit a later packet may run beside an earlier one, and must when that waits for it. */
int story_unordered(int argc, char **argv)
{
	struct {
		uint32_t *flag, *out;
	} args;
	struct hsa_app_kernel wait, set;
	void *wait_args, *set_args;
	uint64_t index;

	begin(0, 16);
	args.flag = hsa_app_alloc_device(&app, 64);
	args.out = hsa_app_alloc_device(&app, 64);
	HSA_CHECK(hsa_amd_memory_fill(args.flag, 0, 16));
	HSA_CHECK(hsa_amd_memory_fill(args.out, 0, 16));
	wait = hsa_app_find_kernel(&app, "wait_flag");
	set = hsa_app_find_kernel(&app, "set_flag");
	wait_args = hsa_app_kernargs(&app, &wait, &args, sizeof(args));
	set_args = hsa_app_kernargs(&app, &set, &args.flag, sizeof(args.flag));
	index = mixer_reserve(&mixer, 2);
	fill_kernel(&mixer, index, &wait, wait_args, mixer.done);
	fill_kernel(&mixer, index + 1, &set, set_args, aside.done);
	publish(&mixer, index, HSA_PACKET_TYPE_KERNEL_DISPATCH, false);
	publish(&mixer, index + 1, HSA_PACKET_TYPE_KERNEL_DISPATCH, false);
	mixer_ring(&mixer, index + 1);
	hsa_app_wait(&app, mixer.done);
	hsa_app_wait(&app, aside.done);
	hsa_app_free(set_args);
	hsa_app_free(wait_args);
	hsa_app_free(args.out);
	hsa_app_free(args.flag);
	return end();
}

/* contract 3: a barrier-OR lets what follows go when one of its signals is 0, and not before. */

static hsa_signal_t gate[2];
static _Atomic bool opened_before_gate;

static void look_at_gate(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	if (operation == KREPLAY_KERNEL_REPLAY_SNAPSHOT)
		opened_before_gate = opened_before_gate || hsa_signal_load_scacquire(gate[1]) != 0;
}

int story_barrier_or(int argc, char **argv)
{
	begin(3, 16);
	scenario.on_callback = look_at_gate;
	for (int i = 0; i < 2; i++)
		gate[i] = hsa_app_signal_create(1);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t index = mixer_reserve(&mixer, 2);

		hsa_signal_store_screlease(gate[1], 1);
		fill_or(&mixer, index, gate[0], gate[1]);
		mixer_fill(&mixer, index + 1, i + 3, mixer.done);
		publish(&mixer, index, HSA_PACKET_TYPE_BARRIER_OR, true);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		expect(hsa_signal_load_scacquire(mixer.done) == 1, "the barrier was passed too early");
		hsa_signal_store_screlease(gate[1], 0);
		hsa_app_wait(&app, mixer.done);
	}
	expect(!opened_before_gate, "a window opened in front of an unresolved barrier");
	expect(scenario.replayed == 3, "not every dispatch was replayed");
	for (int i = 0; i < 2; i++)
		HSA_CHECK(hsa_signal_destroy(gate[i]));
	return end();
}

/* contract 3: the queue is full when its size says so: while the packet in front waits, `size` packets and no more. Says
 * how many there were, to be compared with a run without us. */
int story_queue_full(int argc, char **argv)
{
	uint32_t packets = 0;
	hsa_signal_t dependency;
	uint64_t index;

	begin(3, 256);
	dependency = hsa_app_signal_create(1);
	index = hsa_queue_add_write_index_screlease(mixer.queue, 1);
	mixer_fill_barrier(&mixer, index, dependency, none);
	mixer_publish_barrier(&mixer, index);
	mixer_ring(&mixer, index);
	for (packets = 1; packets < 4 * mixer.queue->size; packets++) {
		index = hsa_queue_add_write_index_screlease(mixer.queue, 1);
		if (index - hsa_queue_load_read_index_scacquire(mixer.queue) >= mixer.queue->size)
			break;
		mixer_fill(&mixer, index, packets, none);
		mixer_publish(&mixer, index);
		mixer_ring(&mixer, index);
	}
	printf("full after %u packets\n", packets);
	hsa_signal_store_screlease(dependency, 0);
	/* now there is room for the one that was reserved */
	while (index - hsa_queue_load_read_index_scacquire(mixer.queue) >= mixer.queue->size)
		sched_yield();
	mixer_fill(&mixer, index, 99, mixer.done);
	mixer_publish(&mixer, index);
	mixer_ring(&mixer, index);
	hsa_app_wait(&app, mixer.done);
	while (hsa_queue_load_read_index_scacquire(mixer.queue) != index + 1)
		sched_yield();
	for (uint32_t i = 0; i < mixer.queue->size; i++)
		expect((*(uint16_t *)mixer_slot(&mixer, i) & 0xff) == HSA_PACKET_TYPE_INVALID,
		       "a slot that has run is not free");
	HSA_CHECK(hsa_signal_destroy(dependency));
	return end();
}

/* contract 3: every call that takes a queue, on the pointer that the application was given. Says what each returns, to
 * be compared with a run without us. */
int story_queue_calls(int argc, char **argv)
{
	uint32_t mask[2] = { 0x5, 0 }, got[2] = { 0, 0 };
	hsa_amd_profiling_dispatch_time_t time = { 0 };
	hsa_signal_t done;

	begin(3, 16);
	printf("priority %d %d\n", hsa_amd_queue_set_priority(mixer.queue, HSA_AMD_QUEUE_PRIORITY_HIGH),
	       hsa_amd_queue_set_priority(mixer.queue, (hsa_amd_queue_priority_t)77));
	printf("mask %d %d\n", hsa_amd_queue_cu_set_mask(mixer.queue, 32, mask),
	       hsa_amd_queue_cu_set_mask(mixer.queue, 33, mask));
	printf("read back %d", hsa_amd_queue_cu_get_mask(mixer.queue, 32, got));
	printf(" 0x%x\n", got[0]);
	printf("profiling %d\n", hsa_amd_profiling_set_profiler_enabled(mixer.queue, 1));
	done = hsa_app_signal_create(1);
	submit(&mixer, 4, done);
	wait_zero(&app, done);
	printf("times %d", hsa_amd_profiling_get_dispatch_time(app.gpu, done, &time));
	printf(" %d %d\n", time.start != 0, time.start <= time.end);
	printf("not profiling %d\n", hsa_amd_profiling_set_profiler_enabled(mixer.queue, 0));

	/* nothing runs on an inactive queue any more */
	scenario.passes = 0;
	printf("inactive %d\n", hsa_queue_inactivate(mixer.queue));
	hsa_signal_store_screlease(done, 1);
	submit(&mixer, 9, done);
	printf("did not run %d\n", hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, app.wait_slice,
							   HSA_WAIT_STATE_BLOCKED) == 1);
	mixer.want = 4;
	HSA_CHECK(hsa_signal_destroy(done));
	return end();
}

/* contract 3: the error callback is given the queue that the application knows, and its own data. */

static struct {
	hsa_queue_t *queue;
	sem_t called;
} error;

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	printf("error 0x%x, own queue %d, own data %d\n", (unsigned)status, queue == error.queue, data == &error);
	sem_post(&error.called);
}

static void no_such_type(uint64_t index)
{
	mixer_fill_barrier(&mixer, index, none, none);
	__atomic_store_n((uint32_t *)mixer_slot(&mixer, index), 77u, __ATOMIC_RELEASE);
}

static void unsound_dispatch(uint64_t index, size_t field, size_t bytes)
{
	mixer_fill(&mixer, index, 0, none);
	memset((char *)mixer_slot(&mixer, index) + field, 0, bytes);
	mixer_publish(&mixer, index);
}

static void empty_grid(uint64_t index)
{
	unsound_dispatch(index, offsetof(hsa_kernel_dispatch_packet_t, grid_size_x), 4);
}

static void empty_group(uint64_t index)
{
	unsound_dispatch(index, offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x), 2);
}

static void no_kernel(uint64_t index)
{
	unsound_dispatch(index, offsetof(hsa_kernel_dispatch_packet_t, kernel_object), 8);
}

static void dead_signal(uint64_t index)
{
	hsa_signal_t dead = hsa_app_signal_create(1);

	HSA_CHECK(hsa_signal_destroy(dead));
	mixer_fill(&mixer, index, 0, dead);
	mixer_publish(&mixer, index);
}

/* Each stops a queue of its own. */
static void stop_queue(void (*publish)(uint64_t index))
{
	hsa_queue_t *sound = mixer.queue;
	uint64_t index;

	HSA_CHECK(hsa_queue_create(app.gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, &error, UINT32_MAX, UINT32_MAX,
				   &error.queue));
	mixer.queue = error.queue;
	index = mixer_reserve(&mixer, 1);
	publish(index);
	mixer_ring(&mixer, index);
	while (sem_wait(&error.called) != 0)
		;
	HSA_CHECK(hsa_queue_destroy(error.queue));
	mixer.queue = sound;
}

int story_queue_error(int argc, char **argv)
{
	static void (*const publish[])(uint64_t) = { no_such_type, empty_grid, empty_group, no_kernel, dead_signal };

	begin(3, 16);
	scenario.queue = NULL; /* every one is looked at */
	sem_init(&error.called, 0, 0);
	for (size_t i = 0; i < sizeof(publish) / sizeof(*publish); i++)
		stop_queue(publish[i]);
	/* the others go on */
	submit(&mixer, 3, mixer.done);
	hsa_app_wait(&app, mixer.done);
	return end();
}
