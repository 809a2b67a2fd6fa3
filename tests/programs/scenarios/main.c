/* SPDX-License-Identifier: MIT */
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

struct scenario scenario;

EXPORT uint64_t scenario_passes(const kreplay_kernel_dispatch_info_t *info)
{
	if (scenario.queue && info->queue_id.handle != scenario.queue->id)
		return 0;
	if (scenario.every && info->dispatch_id % scenario.every != 0)
		return 0;
	return scenario.passes;
}

EXPORT void scenario_callback(int operation, int phase,
			      const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	if (scenario.on_callback && scenario_passes(&payload->dispatch_info) != 0)
		scenario.on_callback(operation, phase, payload);
	if (phase != KREPLAY_CALLBACK_PHASE_EXIT)
		return;
	if (operation == KREPLAY_KERNEL_REPLAY_PASS) {
		if (payload->current_pass == 0 && scenario.after_first)
			scenario.after_first();
		if (payload->current_pass + 1 == payload->total_passes && scenario.after_last)
			scenario.after_last();
	} else if (operation == KREPLAY_KERNEL_REPLAY_CONFIG && payload->outcome != KREPLAY_OUTCOME_ONCE) {
		scenario.windows++;
		scenario.replayed += payload->outcome == KREPLAY_OUTCOME_REPLAYED;
		scenario.declined += payload->outcome == KREPLAY_OUTCOME_DECLINED;
		scenario.flags |= payload->flags;
		scenario.left_out_host = payload->left_out_bytes[KREPLAY_LEFT_OUT_HOST] +
					 payload->left_out_bytes[KREPLAY_LEFT_OUT_FINE_GRAINED];
		if (payload->decline != KREPLAY_DECLINE_NONE)
			scenario.decline = payload->decline;
	}
}

/* --- a thread on demand --- */

static void *help(void *data)
{
	struct helper *helper = data;

	for (;;) {
		while (sem_wait(&helper->go) != 0)
			;
		if (helper->stop)
			return NULL;
		helper->work(helper->data);
		sem_post(&helper->done);
	}
}

void helper_start(struct helper *helper, void (*work)(void *), void *data)
{
	memset(helper, 0, sizeof(*helper));
	helper->work = work;
	helper->data = data;
	sem_init(&helper->go, 0, 0);
	sem_init(&helper->done, 0, 0);
	if (pthread_create(&helper->thread, NULL, help, helper) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
}

void helper_poke(struct helper *helper, unsigned milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	helper->busy = true;
	sem_post(&helper->go);
	if (sem_clockwait(&helper->done, CLOCK_MONOTONIC, &until) == 0)
		helper->busy = false;
}

void helper_wait(struct helper *helper)
{
	while (helper->busy)
		helper->busy = sem_wait(&helper->done) != 0;
}

void helper_stop(struct helper *helper)
{
	helper_wait(helper);
	helper->stop = true;
	sem_post(&helper->go);
	pthread_join(helper->thread, NULL);
}

/* --- packets by hand --- */

struct mix_args {
	uint32_t *values;
	uint32_t amount;
	uint32_t n;
};

void mixer_init(struct mixer *mixer, struct hsa_app *app, uint32_t queue_packets, uint32_t most_dispatches)
{
	size_t bytes = MIXER_VALUES * sizeof(uint32_t);

	memset(mixer, 0, sizeof(*mixer));
	mixer->app = app;
	mixer->most = most_dispatches;
	mixer->kernel = hsa_app_find_kernel(app, "mix");
	mixer->queue = hsa_app_queue_create(app, queue_packets);
	mixer->done = hsa_app_signal_create(1);
	mixer->values = hsa_app_alloc_device(app, bytes);
	mixer->host = hsa_app_alloc_host(app, bytes);
	memset(mixer->host, 0, bytes);
	hsa_app_copy_to_device(app, mixer->values, mixer->host, bytes);
	HSA_CHECK(hsa_amd_memory_pool_allocate(app->kernarg, 64 * (size_t)most_dispatches, 0,
					       (void **)&mixer->kernargs));
	hsa_agent_t agents[2] = { app->cpu, app->gpu };

	HSA_CHECK(hsa_amd_agents_allow_access(2, agents, NULL, mixer->kernargs));
}

void mixer_finish(struct mixer *mixer)
{
	HSA_CHECK(hsa_queue_destroy(mixer->queue));
	HSA_CHECK(hsa_signal_destroy(mixer->done));
	hsa_app_free(mixer->kernargs);
	hsa_app_free(mixer->host);
	hsa_app_free(mixer->values);
}

void *mixer_slot(struct mixer *mixer, uint64_t index)
{
	return (char *)mixer->queue->base_address + (index & (mixer->queue->size - 1)) * 64;
}

uint64_t mixer_reserve(struct mixer *mixer, uint32_t count)
{
	uint64_t index = hsa_queue_add_write_index_screlease(mixer->queue, count);

	while (index + count - 1 - hsa_queue_load_read_index_scacquire(mixer->queue) >= mixer->queue->size) {
		if (mixer->app->queue_error)
			exit(HSA_APP_QUEUE_ERROR);
		sched_yield();
	}
	return index;
}

void mixer_fill(struct mixer *mixer, uint64_t index, uint32_t amount, hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t *packet = mixer_slot(mixer, index);
	struct mix_args args = { .values = mixer->values, .amount = amount, .n = MIXER_VALUES };
	char *block = mixer->kernargs + 64 * (size_t)mixer->dispatches++;

	if (mixer->dispatches > mixer->most)
		hsa_app_die(HSA_APP_USAGE, "more than %u dispatches", mixer->most);
	memset(block, 0, 64);
	memcpy(block, &args, sizeof(args));
	memset((char *)packet + 4, 0, 60);
	packet->workgroup_size_x = 64;
	packet->workgroup_size_y = packet->workgroup_size_z = 1;
	packet->grid_size_x = MIXER_VALUES;
	packet->grid_size_y = packet->grid_size_z = 1;
	packet->private_segment_size = mixer->kernel.private_bytes;
	packet->group_segment_size = mixer->kernel.group_bytes;
	packet->kernel_object = mixer->kernel.object;
	packet->kernarg_address = block;
	packet->completion_signal = done;
	mixer->want = mixer->want * 3 + amount;
}

void mixer_fill_barrier(struct mixer *mixer, uint64_t index, hsa_signal_t dependency, hsa_signal_t done)
{
	hsa_barrier_and_packet_t *packet = mixer_slot(mixer, index);

	memset((char *)packet + 4, 0, 60);
	packet->dep_signal[0] = dependency;
	packet->completion_signal = done;
}

static void publish(struct mixer *mixer, uint64_t index, hsa_packet_type_t type, uint32_t setup)
{
	uint32_t header = (uint32_t)type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	__atomic_store_n((uint32_t *)mixer_slot(mixer, index), header | setup << 16, __ATOMIC_RELEASE);
}

void mixer_publish(struct mixer *mixer, uint64_t index)
{
	publish(mixer, index, HSA_PACKET_TYPE_KERNEL_DISPATCH, 1);
}

void mixer_publish_barrier(struct mixer *mixer, uint64_t index)
{
	publish(mixer, index, HSA_PACKET_TYPE_BARRIER_AND, 0);
}

void mixer_ring(struct mixer *mixer, uint64_t index)
{
	hsa_signal_store_screlease(mixer->queue->doorbell_signal, (hsa_signal_value_t)index);
}

bool mixer_check(struct mixer *mixer)
{
	uint32_t want[MIXER_VALUES];

	hsa_app_copy_to_host(mixer->app, mixer->host, mixer->values, sizeof(want));
	for (uint32_t i = 0; i < MIXER_VALUES; i++)
		want[i] = mixer->want;
	return hsa_app_same_u32("mixed", mixer->host, want, MIXER_VALUES);
}

void wait_zero(struct hsa_app *app, hsa_signal_t signal)
{
	hsa_signal_value_t value;

	do {
		value = hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, app->wait_slice,
						  HSA_WAIT_STATE_BLOCKED);
		if (app->queue_error)
			exit(HSA_APP_QUEUE_ERROR);
	} while (value > 0);
	if (value < 0)
		hsa_app_die(HSA_APP_FAILED, "a completion signal was decremented twice or holds an error: %lld",
			    (long long)value);
}

/* --- all agents --- */

struct gpus {
	hsa_agent_t agents[MOST_AGENTS];
	uint32_t count;
};

static hsa_status_t add_gpu(hsa_agent_t agent, void *data)
{
	struct gpus *gpus = data;
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU && gpus->count < MOST_AGENTS)
		gpus->agents[gpus->count++] = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t pick_coarse(hsa_amd_memory_pool_t pool, void *data)
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

uint32_t agents_init(struct hsa_app *apps)
{
	struct gpus gpus = { .count = 0 };

	hsa_app_init(&apps[0]);
	HSA_CHECK(hsa_iterate_agents(add_gpu, &gpus));
	for (uint32_t i = 0; i < gpus.count; i++) {
		if (gpus.agents[i].handle == apps[0].gpu.handle)
			continue;
		apps[i] = apps[0];
		apps[i].gpu = gpus.agents[i];
		HSA_CHECK(hsa_amd_agent_iterate_memory_pools(apps[i].gpu, pick_coarse, &apps[i].device));
		HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
						    &apps[i].executable));
		HSA_CHECK(hsa_executable_load_agent_code_object(apps[i].executable, apps[i].gpu, apps[i].reader, NULL,
								NULL));
		HSA_CHECK(hsa_executable_freeze(apps[i].executable, NULL));
	}
	return gpus.count;
}

void agents_finish(struct hsa_app *apps, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		HSA_CHECK(hsa_executable_destroy(apps[i].executable));
	hsa_app_finish(&apps[0]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*tell)(int, char **);
	} stories[] = {
#define STORY(name) { #name, story_##name },
		STORIES(STORY)
#undef STORY
	};

	for (size_t i = 0; argc > 1 && i < sizeof(stories) / sizeof(stories[0]); i++) {
		if (strcmp(argv[1], stories[i].name) != 0)
			continue;

		int status = stories[i].tell(argc - 1, argv + 1);

		if (status == HSA_APP_OK)
			printf("scenarios: %s ok\n", argv[1]);
		return status;
	}
	hsa_app_die(HSA_APP_USAGE, "no such story: %s", argc > 1 ? argv[1] : "(none)");
}
