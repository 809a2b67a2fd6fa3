/* SPDX-License-Identifier: MIT */
/* How packets come to the queue: under one doorbell, out of order, around the end of the ring, and of every type. */
#include "scenarios.h"

#include <hsa/amd_hsa_signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hsa_signal_t none;

/* 4, contract 3: a barrier and a dispatch, then three dispatches, each group under one doorbell. */
int story_one_doorbell(int argc, char **argv)
{
	hsa_signal_t resolved;
	struct hsa_app app;
	struct mixer mixer;
	uint64_t index;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);
	resolved = hsa_app_signal_create(0);

	index = mixer_reserve(&mixer, 2);
	mixer_fill_barrier(&mixer, index, resolved, none);
	mixer_fill(&mixer, index + 1, 5, mixer.done);
	mixer_publish(&mixer, index + 1);
	mixer_publish_barrier(&mixer, index);
	mixer_ring(&mixer, index + 1);
	hsa_app_wait(&app, mixer.done);

	index = mixer_reserve(&mixer, 3);
	for (uint32_t i = 0; i < 3; i++) {
		mixer_fill(&mixer, index + i, 7 + i, i == 2 ? mixer.done : none);
		mixer_publish(&mixer, index + i);
	}
	mixer_ring(&mixer, index + 2);
	hsa_app_wait(&app, mixer.done);

	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	HSA_CHECK(hsa_signal_destroy(resolved));
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 5, contract 2: the later of two slots is published and rung first. */
int story_out_of_order(int argc, char **argv)
{
	struct hsa_app app;
	struct mixer mixer;
	uint64_t index;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);
	for (uint32_t i = 0; i < 4; i++) {
		index = mixer_reserve(&mixer, 2);
		mixer_fill(&mixer, index, 1 + i, none);
		mixer_fill(&mixer, index + 1, 11 + i, mixer.done);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		if (hsa_signal_load_scacquire(mixer.done) != 1)
			hsa_app_die(HSA_APP_FAILED, "a packet ran before the one in front of it was published");
		mixer_publish(&mixer, index);
		mixer_ring(&mixer, index);
		hsa_app_wait(&app, mixer.done);
	}
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 6, contract 3: eight packets at index 60 of a ring of 64, under one doorbell. */
int story_wrap_around(int argc, char **argv)
{
	hsa_signal_t eight;
	struct hsa_app app;
	struct mixer mixer;
	uint64_t index;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 80);
	if (mixer.queue->size != 64)
		hsa_app_die(HSA_APP_FAILED, "the queue has %u packets, not 64", mixer.queue->size);
	for (uint32_t i = 0; i < 60; i++) {
		index = mixer_reserve(&mixer, 1);
		mixer_fill(&mixer, index, i, mixer.done);
		mixer_publish(&mixer, index);
		mixer_ring(&mixer, index);
		hsa_app_wait(&app, mixer.done);
	}
	eight = hsa_app_signal_create(8);
	index = mixer_reserve(&mixer, 8);
	for (uint32_t i = 0; i < 8; i++)
		mixer_fill(&mixer, index + i, 100 + i, eight);
	for (uint32_t i = 8; i-- > 0;)
		mixer_publish(&mixer, index + i);
	mixer_ring(&mixer, index + 7);
	wait_zero(&app, eight);
	if (index != 60 || !mixer_check(&mixer))
		return HSA_APP_FAILED;
	HSA_CHECK(hsa_signal_destroy(eight));
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 7: eight threads on one queue, each publishing its slots the wrong way round. */

enum { THREADS = 8 };

struct bumper {
	pthread_t thread;
	struct hsa_app *app;
	hsa_queue_t *queue;
	struct hsa_app_kernel kernel;
	void *kernargs;
	hsa_signal_t done;
	uint32_t pairs;
};

static void fill_bump(struct bumper *bumper, uint64_t index)
{
	hsa_kernel_dispatch_packet_t *packet = (void *)((char *)bumper->queue->base_address +
							(index & (bumper->queue->size - 1)) * 64);

	while (index - hsa_queue_load_read_index_scacquire(bumper->queue) >= bumper->queue->size)
		sched_yield();
	memset((char *)packet + 4, 0, 60);
	packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
	packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
	packet->kernel_object = bumper->kernel.object;
	packet->kernarg_address = bumper->kernargs;
	packet->completion_signal = bumper->done;
	__atomic_store_n((uint32_t *)packet,
			 HSA_PACKET_TYPE_KERNEL_DISPATCH | HSA_FENCE_SCOPE_SYSTEM << 9 | HSA_FENCE_SCOPE_SYSTEM << 11 |
				 1u << 16,
			 __ATOMIC_RELEASE);
	hsa_signal_store_screlease(bumper->queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void *bump_all(void *data)
{
	struct bumper *bumper = data;

	for (uint32_t i = 0; i < bumper->pairs; i++) {
		uint64_t index = hsa_queue_add_write_index_scacq_screl(bumper->queue, 2);

		fill_bump(bumper, index + 1);
		fill_bump(bumper, index);
	}
	return NULL;
}

int story_many_threads(int argc, char **argv)
{
	uint32_t total = (uint32_t)hsa_app_argument(argc, argv, 1, "DISPATCHES", 10000, 1u << 20);
	uint32_t want[THREADS], each = total / THREADS / 2 * 2;
	struct bumper bumpers[THREADS];
	struct hsa_app app;
	bool right;

	hsa_app_init(&app);

	struct hsa_app_kernel kernel = hsa_app_find_kernel(&app, "bump");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 256);
	hsa_signal_t done = hsa_app_signal_create(each * THREADS);
	uint32_t *cells = hsa_app_alloc_device(&app, sizeof(want));
	uint32_t *got = hsa_app_alloc_host(&app, sizeof(want));

	HSA_CHECK(hsa_amd_memory_fill(cells, 0, THREADS));
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t *cell = cells + i;

		want[i] = each;
		bumpers[i] = (struct bumper){ .app = &app, .queue = queue, .kernel = kernel, .done = done,
					      .pairs = each / 2 };
		bumpers[i].kernargs = hsa_app_kernargs(&app, &kernel, &cell, sizeof(cell));
	}
	for (uint32_t i = 0; i < THREADS; i++)
		if (pthread_create(&bumpers[i].thread, NULL, bump_all, &bumpers[i]) != 0)
			hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(bumpers[i].thread, NULL);
	wait_zero(&app, done);
	hsa_app_copy_to_host(&app, got, cells, sizeof(want));
	right = hsa_app_same_u32("dispatches by thread", got, want, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		hsa_app_free(bumpers[i].kernargs);
	hsa_app_free(got);
	hsa_app_free(cells);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return right ? HSA_APP_OK : HSA_APP_FAILED;
}

/* 8, contract 3: five times the ring, without waiting. */
int story_nearly_full(int argc, char **argv)
{
	struct hsa_app app;
	struct mixer mixer;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 320);
	for (uint32_t i = 0; i < 320; i++) {
		uint64_t index = mixer_reserve(&mixer, 1);

		mixer_fill(&mixer, index, i, i == 319 ? mixer.done : none);
		mixer_publish(&mixer, index);
		/* the first 60 come under one ring, so that the ring is nearly full when it is first looked at */
		if (i >= 59)
			mixer_ring(&mixer, index);
	}
	hsa_app_wait(&app, mixer.done);
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 26: a vendor packet whose every field matters, between two dispatches. */
int story_vendor_packet(int argc, char **argv)
{
	hsa_amd_barrier_value_packet_t *packet;
	hsa_signal_t gate, passed;
	struct hsa_app app;
	struct mixer mixer;
	uint64_t index;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);
	gate = hsa_app_signal_create(0);
	passed = hsa_app_signal_create(1);
	index = mixer_reserve(&mixer, 3);
	mixer_fill(&mixer, index, 3, none);
	packet = mixer_slot(&mixer, index + 1);
	memset((char *)packet + 4, 0, 60);
	packet->signal = gate;
	packet->value = 0x1200000034;
	packet->mask = 0xff000000ff;
	packet->cond = HSA_SIGNAL_CONDITION_EQ;
	packet->completion_signal = passed;
	mixer_fill(&mixer, index + 2, 4, mixer.done);
	mixer_publish(&mixer, index + 2);
	__atomic_store_n((uint32_t *)packet,
			 HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1u << HSA_PACKET_HEADER_BARRIER |
				 (uint32_t)HSA_AMD_PACKET_TYPE_BARRIER_VALUE << 16,
			 __ATOMIC_RELEASE);
	mixer_publish(&mixer, index);
	mixer_ring(&mixer, index + 2);

	/* right under the mask is the third alone */
	static const hsa_signal_value_t values[] = { 0x34, 0x1200000033, 0x12abcdef34 };

	for (int i = 0; i < 3; i++) {
		if (hsa_signal_wait_scacquire(passed, HSA_SIGNAL_CONDITION_LT, 1, app.wait_slice / 5,
					      HSA_WAIT_STATE_BLOCKED) < 1)
			hsa_app_die(HSA_APP_FAILED, "the barrier let packets pass before its value was there");
		hsa_signal_store_screlease(gate, values[i]);
	}
	wait_zero(&app, passed);
	hsa_app_wait(&app, mixer.done);
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	HSA_CHECK(hsa_signal_destroy(passed));
	HSA_CHECK(hsa_signal_destroy(gate));
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 26: a packet of a type that does not exist: the error is the same as without us, and on the application's queue. */
int story_unknown_packet(int argc, char **argv)
{
	struct hsa_app app;
	struct mixer mixer;
	uint64_t index;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);
	index = mixer_reserve(&mixer, 2);
	mixer_fill(&mixer, index, 3, none);
	mixer_fill_barrier(&mixer, index + 1, none, mixer.done);
	mixer_publish(&mixer, index);
	__atomic_store_n((uint32_t *)mixer_slot(&mixer, index + 1), 77u, __ATOMIC_RELEASE);
	mixer_ring(&mixer, index + 1);
	hsa_app_wait(&app, mixer.done);
	hsa_app_die(HSA_APP_FAILED, "a packet of type 77 completed");
}

/* 27: the doorbell is stored through its address, by the host and by a kernel. The address is where the device library's own
 * signal operations find it (amd_hsa_signal.h): hsa_amd_signal_value_pointer refuses the doorbell of a hardware queue. */

static volatile int64_t *doorbell_of(hsa_queue_t *queue)
{
	amd_signal_t *signal = (amd_signal_t *)(uintptr_t)queue->doorbell_signal.handle;

	if (signal->kind == AMD_SIGNAL_KIND_USER)
		return &signal->value;
	return (volatile int64_t *)signal->hardware_doorbell_ptr;
}

int story_ring_by_pointer(int argc, char **argv)
{
	volatile int64_t *doorbell;
	struct hsa_app app;
	struct mixer mixer;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);
	doorbell = doorbell_of(mixer.queue);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t index = mixer_reserve(&mixer, 1);

		mixer_fill(&mixer, index, i, mixer.done);
		mixer_publish(&mixer, index);
		__atomic_store_n(doorbell, (int64_t)index, __ATOMIC_RELEASE);
		hsa_app_wait(&app, mixer.done);
	}
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

int story_ring_from_device(int argc, char **argv)
{
	struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };
	struct {
		volatile int64_t *doorbell;
		int64_t index;
	} args;
	struct hsa_app app;
	struct mixer mixer;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 16);

	struct hsa_app_kernel ring = hsa_app_find_kernel(&app, "ring");
	hsa_queue_t *ringer = hsa_app_queue_create(&app, 64);
	hsa_signal_t rung = hsa_app_signal_create(1);

	args.doorbell = doorbell_of(mixer.queue);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t index = mixer_reserve(&mixer, 1);

		mixer_fill(&mixer, index, i, mixer.done);
		mixer_publish(&mixer, index);
		args.index = (int64_t)index;

		void *kernargs = hsa_app_kernargs(&app, &ring, &args, sizeof(args));

		hsa_app_dispatch(&app, ringer, &ring, &one, kernargs, rung);
		hsa_app_wait(&app, rung);
		hsa_app_wait(&app, mixer.done);
		hsa_app_free(kernargs);
	}
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	HSA_CHECK(hsa_signal_destroy(rung));
	HSA_CHECK(hsa_queue_destroy(ringer));
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 29: the slot is overwritten as soon as the read index has passed it, the arguments as soon as the kernel is complete. */
int story_overwritten(int argc, char **argv)
{
	hsa_signal_t gate;
	struct hsa_app app;
	struct mixer mixer;

	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, 64);
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t index = mixer_reserve(&mixer, 2);

		/* something in front that is resolved only after the ring, so that there is time to overwrite in */
		gate = hsa_app_signal_create(1);
		mixer_fill_barrier(&mixer, index, gate, none);
		mixer_fill(&mixer, index + 1, i, mixer.done);
		mixer_publish_barrier(&mixer, index);
		mixer_publish(&mixer, index + 1);
		mixer_ring(&mixer, index + 1);
		hsa_signal_store_screlease(gate, 0);
		while (hsa_queue_load_read_index_scacquire(mixer.queue) < index + 2)
			sched_yield();
		memset((char *)mixer_slot(&mixer, index) + 4, 0xee, 60);
		memset((char *)mixer_slot(&mixer, index + 1) + 4, 0xee, 60);
		hsa_app_wait(&app, mixer.done);
		memset(mixer.kernargs + 64 * (size_t)i, 0xee, 64);
		HSA_CHECK(hsa_signal_destroy(gate));
	}
	if (!mixer_check(&mixer))
		return HSA_APP_FAILED;
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
