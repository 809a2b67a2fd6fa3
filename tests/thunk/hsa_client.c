/* SPDX-License-Identifier: MIT */
#include "hsa_client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hsa_check(hsa_status_t status, const char *call, const char *file, int line)
{
	const char *text = "unknown status";

	if (status == HSA_STATUS_SUCCESS)
		return;
	hsa_status_string(status, &text);
	fprintf(stderr, "%s:%d: %s: 0x%x %s\n", file, line, call, status, text);
	exit(1);
}

static hsa_status_t on_agent(hsa_agent_t agent, void *data)
{
	struct hsa_client *client = data;
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU)
		client->cpu = agent;
	else if (type == HSA_DEVICE_TYPE_GPU && client->gpu_count < 16)
		client->gpus[client->gpu_count++] = agent;
	return HSA_STATUS_SUCCESS;
}

struct pools {
	hsa_amd_memory_pool_t coarse, kernarg;
};

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct pools *pools = data;
	hsa_amd_segment_t segment;
	uint32_t flags;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		pools->kernarg = pool;
	else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
		pools->coarse = pool;
	return HSA_STATUS_SUCCESS;
}

static void load(struct hsa_client *client, const char *path)
{
	for (uint32_t i = 0; i < client->gpu_count; i++) {
		hsa_code_object_reader_t reader;
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0) {
			perror(path);
			exit(1);
		}
		HSA_CHECK(hsa_code_object_reader_create_from_file(fd, &reader));
		HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL,
		                                    HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
		                                    &client->executable[i]));
		HSA_CHECK(hsa_executable_load_agent_code_object(client->executable[i],
		                                                client->gpus[i], reader, NULL, NULL));
		HSA_CHECK(hsa_executable_freeze(client->executable[i], NULL));
		HSA_CHECK(hsa_code_object_reader_destroy(reader));
		close(fd);
	}
}

void hsa_client_open(struct hsa_client *client, const char *code_object)
{
	struct pools pools = {0};

	memset(client, 0, sizeof(*client));
	HSA_CHECK(hsa_init());
	HSA_CHECK(hsa_iterate_agents(on_agent, client));
	HSA_CHECK(hsa_amd_agent_iterate_memory_pools(client->cpu, on_pool, &pools));
	client->system = pools.coarse;
	client->kernarg = pools.kernarg;
	for (uint32_t i = 0; i < client->gpu_count; i++) {
		HSA_CHECK(hsa_amd_agent_iterate_memory_pools(client->gpus[i], on_pool, &pools));
		client->vram[i] = pools.coarse;
	}
	if (code_object)
		load(client, code_object);
}

void hsa_client_close(struct hsa_client *client)
{
	for (uint32_t i = 0; i < client->gpu_count; i++) {
		if (client->executable[i].handle)
			HSA_CHECK(hsa_executable_destroy(client->executable[i]));
	}
	HSA_CHECK(hsa_shut_down());
}

void *hsa_client_host(struct hsa_client *client, size_t size)
{
	void *p;

	HSA_CHECK(hsa_amd_memory_pool_allocate(client->kernarg, size, 0, &p));
	HSA_CHECK(hsa_amd_agents_allow_access(client->gpu_count, client->gpus, NULL, p));
	memset(p, 0, size);
	return p;
}

void *hsa_client_device(struct hsa_client *client, uint32_t gpu, size_t size)
{
	void *p;

	HSA_CHECK(hsa_amd_memory_pool_allocate(client->vram[gpu], size, 0, &p));
	return p;
}

struct hsa_kernel hsa_client_kernel(struct hsa_client *client, uint32_t gpu, const char *name)
{
	struct hsa_kernel kernel;
	hsa_executable_symbol_t symbol;
	char full[128];

	snprintf(full, sizeof(full), "%s.kd", name);
	HSA_CHECK(hsa_executable_get_symbol_by_name(client->executable[gpu], full,
	                                            &client->gpus[gpu], &symbol));
	HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
	                                         &kernel.object));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
		&kernel.kernarg_size));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_size));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
		&kernel.private_size));
	return kernel;
}

void hsa_client_launch(hsa_queue_t *queue, const struct hsa_launch *launch)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_kernel_dispatch_packet_t *p = (hsa_kernel_dispatch_packet_t *)queue->base_address +
	                                  (index & (queue->size - 1));
	uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
	                  launch->barrier << HSA_PACKET_HEADER_BARRIER |
	                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
	                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	if (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
		fprintf(stderr, "packet %llu: the ring is full\n", (unsigned long long)index);
		exit(1);
	}
	p->setup = 3;
	p->workgroup_size_x = launch->group[0];
	p->workgroup_size_y = launch->group[1] ? launch->group[1] : 1;
	p->workgroup_size_z = launch->group[2] ? launch->group[2] : 1;
	p->reserved0 = 0;
	p->grid_size_x = launch->grid[0];
	p->grid_size_y = launch->grid[1] ? launch->grid[1] : 1;
	p->grid_size_z = launch->grid[2] ? launch->grid[2] : 1;
	p->private_segment_size = launch->kernel.private_size;
	p->group_segment_size = launch->kernel.group_size + launch->dynamic_group;
	p->kernel_object = launch->kernel.object;
	p->kernarg_address = launch->kernarg;
	p->reserved2 = 0;
	p->completion_signal = launch->completion;
	__atomic_store_n(&p->header, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

uint64_t hsa_client_ticks(uint32_t ms)
{
	uint64_t frequency;

	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	return ms * frequency / 1000;
}

static bool holds(hsa_signal_value_t now, hsa_signal_condition_t condition, hsa_signal_value_t value)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ: return now == value;
	case HSA_SIGNAL_CONDITION_NE: return now != value;
	case HSA_SIGNAL_CONDITION_LT: return now < value;
	default: return now >= value;
	}
}

hsa_signal_value_t hsa_client_await(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value)
{
	hsa_signal_value_t now = hsa_signal_wait_scacquire(signal, condition, value, hsa_client_ticks(20000),
	                                                   HSA_WAIT_STATE_BLOCKED);

	if (holds(now, condition, value))
		return now;
	fprintf(stderr, "a signal is still %lld after 20 s\n", (long long)now);
	exit(1);
}

void hsa_client_wait(hsa_signal_t signal)
{
	hsa_client_await(signal, HSA_SIGNAL_CONDITION_LT, 1);
}
