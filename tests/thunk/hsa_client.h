/* SPDX-License-Identifier: MIT */
/* Fixture: an ordinary client of the real HSA runtime. */
#ifndef TESTS_THUNK_HSA_CLIENT_H
#define TESTS_THUNK_HSA_CLIENT_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints and exits with 1 unless the call succeeds. */
#define HSA_CHECK(call) hsa_check(call, #call, __FILE__, __LINE__)
void hsa_check(hsa_status_t status, const char *call, const char *file, int line);

struct hsa_client {
	hsa_agent_t cpu, gpus[16];
	uint32_t gpu_count;
	hsa_amd_memory_pool_t system, kernarg, vram[16];
	hsa_executable_t executable[16];
};

/* hsa_init, agents, pools; the code object is loaded for each GPU if named. */
void hsa_client_open(struct hsa_client *client, const char *code_object);
void hsa_client_close(struct hsa_client *client);

/* Host memory that every GPU may use, or device memory of GPU `gpu`. */
void *hsa_client_host(struct hsa_client *client, size_t size);
void *hsa_client_device(struct hsa_client *client, uint32_t gpu, size_t size);

struct hsa_kernel {
	uint64_t object;
	uint32_t kernarg_size, group_size, private_size;
};
struct hsa_kernel hsa_client_kernel(struct hsa_client *client, uint32_t gpu, const char *name);

struct hsa_launch {
	struct hsa_kernel kernel;
	uint32_t grid[3];
	uint16_t group[3];
	uint32_t dynamic_group; /* bytes */
	void *kernarg;
	bool barrier;
	hsa_signal_t completion;
};
/* Exits with 1 if the ring is full: no signal tells when it is not. */
void hsa_client_launch(hsa_queue_t *queue, const struct hsa_launch *launch);

/* Waits up to 20 s for what is asked of the signal's value, and returns it; exits with 1 otherwise. */
hsa_signal_value_t hsa_client_await(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value);
/* To be below 1. */
void hsa_client_wait(hsa_signal_t signal);
/* How long `ms` are to the runtime's waits. */
uint64_t hsa_client_ticks(uint32_t ms);

#endif
