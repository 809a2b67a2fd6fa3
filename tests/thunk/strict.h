/* SPDX-License-Identifier: MIT */
/* What the runtime-level test programs share: one client, its queues and signals. */
#ifndef TESTS_THUNK_STRICT_H
#define TESTS_THUNK_STRICT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hsa_client.h"

#include <cmocka.h>

static struct hsa_client client;
static const char *program, *code_object;

static inline int open_client(void **state)
{
	(void)state;
	hsa_client_open(&client, code_object);
	assert_true(client.gpu_count > 0);
	return 0;
}

static inline int close_client(void **state)
{
	(void)state;
	hsa_client_close(&client);
	return 0;
}

static inline hsa_queue_t *make_queue_of(uint32_t gpu, hsa_queue_type32_t type)
{
	hsa_queue_t *queue;

	HSA_CHECK(hsa_queue_create(client.gpus[gpu], 64, type, NULL, NULL, UINT32_MAX, UINT32_MAX,
	                           &queue));
	return queue;
}

static inline hsa_queue_t *make_queue(void)
{
	return make_queue_of(0, HSA_QUEUE_TYPE_MULTI);
}

static inline hsa_signal_t make_signal(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	HSA_CHECK(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

static inline void barrier_and(hsa_queue_t *queue, hsa_signal_t dependency, hsa_signal_t completion)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_barrier_and_packet_t *p = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;

	memset((char *)p + 2, 0, sizeof(*p) - 2);
	p->dep_signal[3] = dependency;
	p->completion_signal = completion;
	__atomic_store_n(&p->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

/* For what may not happen: by its return the device has looked at every queue, after all that came before the call.
 * (A look that saw the first ring may have passed the other queues before; the one that sees the second has not. More
 * of them are for the device's other threads.) */
static inline void device_turn(void)
{
	hsa_queue_t *witness = make_queue();
	hsa_signal_t done = make_signal(1);

	for (int i = 0; i < 4; i++) {
		hsa_signal_store_relaxed(done, 1);
		barrier_and(witness, (hsa_signal_t){0}, done);
		hsa_client_wait(done);
	}
	HSA_CHECK(hsa_queue_destroy(witness));
	HSA_CHECK(hsa_signal_destroy(done));
}

/* A queue whose error callback tells a signal. */
struct error_queue {
	hsa_queue_t *queue;
	hsa_signal_t reported; /* HSA_STATUS_SUCCESS until then */
};

static inline void on_queue_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
	struct error_queue *error = data;

	if (source == error->queue)
		hsa_signal_store_screlease(error->reported, status);
}

static inline void make_error_queue(struct error_queue *error)
{
	error->reported = make_signal(HSA_STATUS_SUCCESS);
	HSA_CHECK(hsa_queue_create(client.gpus[0], 64, HSA_QUEUE_TYPE_MULTI, on_queue_error, error, UINT32_MAX,
	                           UINT32_MAX, &error->queue));
}

static inline hsa_status_t await_error(const struct error_queue *error)
{
	return (hsa_status_t)hsa_client_await(error->reported, HSA_SIGNAL_CONDITION_NE, HSA_STATUS_SUCCESS);
}

static inline void destroy_error_queue(const struct error_queue *error)
{
	HSA_CHECK(hsa_queue_destroy(error->queue));
	HSA_CHECK(hsa_signal_destroy(error->reported));
}

static inline hsa_status_t load_code(const void *bytes, size_t size, hsa_executable_t *executable)
{
	hsa_code_object_reader_t reader;
	hsa_status_t status = hsa_code_object_reader_create_from_memory(bytes, size, &reader);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
	                                    executable));
	status = hsa_executable_load_agent_code_object(*executable, client.gpus[0], reader, NULL, NULL);
	if (status == HSA_STATUS_SUCCESS)
		status = hsa_executable_freeze(*executable, NULL);
	HSA_CHECK(hsa_code_object_reader_destroy(reader));
	if (status != HSA_STATUS_SUCCESS)
		HSA_CHECK(hsa_executable_destroy(*executable));
	return status;
}

static inline void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = malloc(1 << 20);

	assert_non_null(file);
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* This program again, with another mode and SPEC (NULL: the same); its output and status. */
static inline int in_process(const char *spec, const char *mode, const char *argument, char *output,
                             size_t size)
{
	char command[1024];
	size_t length;
	FILE *pipe;

	snprintf(command, sizeof(command), "ulimit -c 0; %s%s%s exec '%s' '%s' %s '%s' 2>&1",
	         spec ? "KREPLAY_SOFTGPU='" : "", spec ? spec : "", spec ? "'" : "", program,
	         code_object, mode, argument);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(output, 1, size - 1, pipe);
	output[length] = 0;
	return pclose(pipe);
}

#endif
