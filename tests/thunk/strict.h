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
