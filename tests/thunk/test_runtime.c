/* SPDX-License-Identifier: MIT */
/*
 * The unmodified HSA runtime on the software GPU: run with the library path
 * set, KREPLAY_SOFTGPU as wanted and the code object as argument.
 */
#include "strict.h"

static void queue_loop(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++)
		HSA_CHECK(hsa_queue_destroy(make_queue()));
}

static void barrier_chain(void **state)
{
	hsa_queue_t *first = make_queue(), *second = make_queue();
	hsa_signal_t host = make_signal(1), middle = make_signal(1), end = make_signal(1);

	(void)state;
	barrier_and(second, middle, end);
	barrier_and(first, host, middle);
	device_turn();
	assert_int_equal(hsa_signal_load_scacquire(end), 1);
	hsa_signal_store_screlease(host, 0);
	hsa_client_wait(end);
	HSA_CHECK(hsa_queue_destroy(first));
	HSA_CHECK(hsa_queue_destroy(second));
	HSA_CHECK(hsa_signal_destroy(host));
	HSA_CHECK(hsa_signal_destroy(middle));
	HSA_CHECK(hsa_signal_destroy(end));
}

static void async_copies(void **state)
{
	static const size_t sizes[] = {1, 3, 4, 5, 63, 64, 65, 4095, 4097, 1000003, (9u << 20) + 13};
	const size_t room = 10u << 20;
	uint8_t *from = hsa_client_host(&client, room), *to = hsa_client_host(&client, room);
	uint8_t *device = hsa_client_device(&client, 0, room);
	hsa_signal_t up = make_signal(1), down = make_signal(1);

	(void)state;
	for (size_t i = 0; i < room; i++)
		from[i] = (uint8_t)(i * 31 + i / 257);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		hsa_signal_store_relaxed(up, 1);
		hsa_signal_store_relaxed(down, 1);
		memset(to, 0, sizes[i] + 1);
		/* The second copy is queued before the first has run. */
		HSA_CHECK(hsa_amd_memory_async_copy(device, client.gpus[0], from, client.cpu,
		                                    sizes[i], 0, NULL, up));
		HSA_CHECK(hsa_amd_memory_async_copy(to, client.cpu, device, client.gpus[0],
		                                    sizes[i], 1, &up, down));
		hsa_client_wait(down);
		assert_memory_equal(from, to, sizes[i]);
		assert_int_equal(to[sizes[i]], 0);
	}
	HSA_CHECK(hsa_signal_destroy(up));
	HSA_CHECK(hsa_signal_destroy(down));
	HSA_CHECK(hsa_amd_memory_pool_free(from));
	HSA_CHECK(hsa_amd_memory_pool_free(to));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
}

/* hsa_memory_copy and fill run the runtime's own kernels. */
static void blit_kernels(void **state)
{
	static const size_t sizes[] = {1, 7, 64, 4097, 300001};
	const size_t room = 1u << 20;
	uint8_t *from = hsa_client_host(&client, room), *to = hsa_client_host(&client, room);
	uint8_t *device = hsa_client_device(&client, 0, room);

	(void)state;
	for (size_t i = 0; i < room; i++)
		from[i] = (uint8_t)(i * 13 + i / 251);
	for (size_t i = 0; i < 5; i++) {
		for (size_t skew = 0; skew < 3; skew++) {
			memset(to, 0xcc, room);
			HSA_CHECK(hsa_memory_copy(device, from + skew, sizes[i]));
			HSA_CHECK(hsa_memory_copy(to + 1, device, sizes[i]));
			assert_memory_equal(to + 1, from + skew, sizes[i]);
			assert_int_equal(to[0], 0xcc);
			assert_int_equal(to[1 + sizes[i]], 0xcc);
		}
	}
	HSA_CHECK(hsa_amd_memory_fill(device, 0x01020304, 12345));
	HSA_CHECK(hsa_memory_copy(to, device, 12346 * 4));
	for (size_t i = 0; i < 12345; i++)
		assert_int_equal(((uint32_t *)to)[i], 0x01020304);
	HSA_CHECK(hsa_amd_memory_pool_free(from));
	HSA_CHECK(hsa_amd_memory_pool_free(to));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
}

/* Launches and waits; the kernarg block is made from `bytes`. */
static void run(hsa_queue_t *queue, const char *name, const void *args, size_t bytes,
                struct hsa_launch launch)
{
	launch.kernel = hsa_client_kernel(&client, 0, name);
	launch.kernarg = hsa_client_host(&client, 4096);
	memcpy(launch.kernarg, args, bytes);
	launch.completion = make_signal(1);
	hsa_client_launch(queue, &launch);
	hsa_client_wait(launch.completion);
	HSA_CHECK(hsa_amd_memory_pool_free(launch.kernarg));
	HSA_CHECK(hsa_signal_destroy(launch.completion));
}

static void kernels(void **state)
{
	hsa_queue_t *queue = make_queue();
	int *a = hsa_client_host(&client, 1 << 20), *b = a + (1 << 16), *c = b + (1 << 16);

	(void)state;
	for (int i = 0; i < 1 << 16; i++) {
		a[i] = i;
		b[i] = i * i;
	}
	struct {
		int *a, *b, *c;
		int n;
	} add = {a, b, c, 50001};

	run(queue, "vector_add", &add, sizeof(add),
	    (struct hsa_launch){.grid = {50176}, .group = {256}});
	for (int i = 0; i < 50001; i++)
		assert_int_equal(c[i], i + i * i);
	assert_int_equal(c[50001], 0);

	struct {
		int *out;
		int width, height;
	} ids = {c, 13, 7};

	run(queue, "ids", &ids, sizeof(ids),
	    (struct hsa_launch){.grid = {13, 7, 5}, .group = {4, 3, 2}});
	for (int z = 0; z < 5; z++)
		for (int y = 0; y < 7; y++)
			for (int x = 0; x < 13; x++) {
				int want = (x / 4) | (y / 3) << 6 | (z / 2) << 12 | (x % 4) << 18 |
				           (y % 3) << 24 | (z % 2) << 28;

				assert_int_equal(c[(z * 7 + y) * 13 + x], want);
			}

	struct {
		int *data;
		uint32_t offset;
	} reverse = {a, 0};

	run(queue, "reverse_in_group", &reverse, sizeof(reverse),
	    (struct hsa_launch){.grid = {4096}, .group = {1024}, .dynamic_group = 4096});
	for (int i = 0; i < 4096; i++)
		assert_int_equal(a[i], i / 1024 * 1024 + 1023 - i % 1024);

	struct {
		int *out, *index;
	} scratch = {c, b};

	for (int i = 0; i < 64; i++)
		b[i] = (i * 11) & 63;
	run(queue, "scratch", &scratch, sizeof(scratch),
	    (struct hsa_launch){.grid = {1000}, .group = {128}});
	for (int i = 0; i < 1000; i++) {
		int stack[64];

		for (int k = 0; k < 64; k++)
			stack[k] = i * 64 + k;
		for (int k = 0; k < 64; k++)
			stack[b[k]] += stack[b[63 - k]];
		assert_int_equal(c[i], stack[b[i & 63]]);
	}
	HSA_CHECK(hsa_amd_memory_pool_free(a));
	HSA_CHECK(hsa_queue_destroy(queue));
}

/* Kernels that spin must not keep others from running: on another queue's
 * kernel, on the host, and on a later packet of the same queue. */
static void spinning_kernels(void **state)
{
	hsa_queue_t *queues[2] = {make_queue(), make_queue()};
	volatile int *flag = hsa_client_host(&client, 4096);
	int *out = hsa_client_host(&client, 1 << 20);
	void **kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1), begun = make_signal(1);
	struct hsa_launch wait = {
		.kernel = hsa_client_kernel(&client, 0, "wait_for_flag"),
		.grid = {64 * 100}, .group = {64}, .kernarg = kernarg, .completion = done,
	};
	struct hsa_launch set = {
		.kernel = hsa_client_kernel(&client, 0, "set_flag"),
		.grid = {1}, .group = {1}, .kernarg = kernarg,
	};

	(void)state;
	kernarg[0] = (void *)flag;
	kernarg[1] = out;
	kernarg[2] = (void *)(uintptr_t)begun.handle;
	for (int i = 0; i < 3; i++) {
		*flag = 0;
		memset(out, 0, 64 * 100 * 4);
		hsa_signal_store_relaxed(done, 1);
		hsa_signal_store_relaxed(begun, 1);
		hsa_client_launch(queues[0], &wait);
		hsa_client_wait(begun);
		assert_int_equal(hsa_signal_load_scacquire(done), 1);
		if (i < 2)
			hsa_client_launch(queues[i], &set);
		else
			__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
		hsa_client_wait(done);
		for (int k = 0; k < 64 * 100; k++)
			assert_int_equal(out[k], 1);
	}
	/* And a queue whose kernel never ends can be destroyed. */
	*flag = 0;
	hsa_signal_store_relaxed(done, 1);
	hsa_signal_store_relaxed(begun, 1);
	hsa_client_launch(queues[0], &wait);
	hsa_client_wait(begun);
	HSA_CHECK(hsa_queue_destroy(queues[0]));
	assert_int_equal(hsa_signal_load_scacquire(done), 1);
	HSA_CHECK(hsa_queue_destroy(queues[1]));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_signal_destroy(begun));
	HSA_CHECK(hsa_amd_memory_pool_free((void *)flag));
	HSA_CHECK(hsa_amd_memory_pool_free(out));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* More packets than slots, no barrier bits, one signal counting them all. */
static void many_dispatches(void **state)
{
	hsa_queue_t *queue = make_queue();
	int *counter = hsa_client_host(&client, 4096);
	void **kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(3000);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "count"),
		.grid = {130}, .group = {64}, .kernarg = kernarg, .completion = done,
	};

	(void)state;
	kernarg[0] = counter;
	for (int i = 0; i < 3000; i++) {
		/* The ring is kept full. Whoever completes has made room for another in the slot before. */
		if (i >= 63)
			hsa_client_await(done, HSA_SIGNAL_CONDITION_LT, 3000 - (i - 62) + 1);
		launch.barrier = i % 7 == 0;
		hsa_client_launch(queue, &launch);
	}
	hsa_client_wait(done);
	assert_int_equal(*counter, 3000 * 130);
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(counter));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* The runtime's own error callback gets an illegal instruction. */
static void illegal_instruction(void **state)
{
	struct error_queue error;
	int *out = hsa_client_host(&client, 4096);
	void **kernarg = hsa_client_host(&client, 4096);

	(void)state;
	make_error_queue(&error);
	kernarg[0] = out;
	hsa_client_launch(error.queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "unknown_instruction"),
		.grid = {1}, .group = {1}, .kernarg = kernarg,
	});
	assert_int_equal(await_error(&error), HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
	assert_int_equal(out[0], 1);
	destroy_error_queue(&error);
	HSA_CHECK(hsa_amd_memory_pool_free(out));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* In a process of its own: the runtime aborts. */
static int wild_store(void)
{
	hsa_queue_t *queue;
	void **kernarg;

	hsa_client_open(&client, code_object);
	kernarg = hsa_client_host(&client, 4096);
	kernarg[0] = (void *)0x12345000;
	queue = make_queue();
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "wild_store"),
		.grid = {64}, .group = {64}, .kernarg = kernarg, .completion = make_signal(1),
	};

	hsa_client_launch(queue, &launch);
	hsa_client_wait(launch.completion);
	return 0;
}

/* Exits while a kernel runs that never ends. */
static int exit_busy(void)
{
	hsa_queue_t *queue;
	hsa_signal_t begun;
	void **kernarg;

	hsa_client_open(&client, code_object);
	begun = make_signal(1);
	kernarg = hsa_client_host(&client, 4096);
	kernarg[0] = hsa_client_host(&client, 4096);
	kernarg[1] = kernarg[0];
	kernarg[2] = (void *)(uintptr_t)begun.handle;
	queue = make_queue();
	hsa_client_launch(queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "wait_for_flag"),
		.grid = {6400}, .group = {64}, .kernarg = kernarg,
	});
	hsa_client_wait(begun);
	return 0;
}

/* A host access to device memory. */
static int host_touch(void)
{
	hsa_client_open(&client, code_object);
	volatile int *device = hsa_client_device(&client, 0, 4096);

	*device = 1;
	return *device == 1 ? 0 : 1;
}

static void memory_fault(void **state)
{
	char output[4096];
	int status = in_process(NULL, "wild_store", "", output, sizeof(output));

	(void)state;
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 134);
	assert_non_null(strstr(output, "kernel wild_store"));
	assert_non_null(strstr(output, "Memory access fault by GPU node-1"));
	assert_non_null(strstr(output, "0x12345000"));
}

static void host_access(void **state)
{
	char output[4096];
	int status = in_process(NULL, "host_touch", "", output, sizeof(output));
	const char *spec = getenv("KREPLAY_SOFTGPU");

	(void)state;
	if (spec && strstr(spec, "private-vram"))
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 139);
	else
		assert_int_equal(status, 0);
}

static void exit_while_busy(void **state)
{
	char output[4096];
	int status = in_process(NULL, "exit_busy", "", output, sizeof(output));

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void profiling(void **state)
{
	hsa_queue_t *queue = make_queue();
	hsa_amd_profiling_dispatch_time_t time;
	uint64_t before, after;
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "nothing"),
		.grid = {64}, .group = {64}, .completion = make_signal(1),
	};

	(void)state;
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
	hsa_client_launch(queue, &launch);
	hsa_client_wait(launch.completion);
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
	HSA_CHECK(hsa_amd_profiling_get_dispatch_time(client.gpus[0], launch.completion, &time));
	/* The runtime interpolates between clock readings in floating point. */
	assert_true(time.start + 100000 >= before && time.end <= after + 100000);
	assert_true(time.end >= time.start);
	HSA_CHECK(hsa_signal_destroy(launch.completion));
	HSA_CHECK(hsa_queue_destroy(queue));
}

static void reopen(void **state)
{
	for (int i = 0; i < 3; i++) {
		close_client(state);
		open_client(state);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_loop),
		cmocka_unit_test(barrier_chain),
		cmocka_unit_test(async_copies),
		cmocka_unit_test(blit_kernels),
		cmocka_unit_test(kernels),
		cmocka_unit_test(spinning_kernels),
		cmocka_unit_test(many_dispatches),
		cmocka_unit_test(profiling),
		cmocka_unit_test(illegal_instruction),
		cmocka_unit_test(reopen),
		cmocka_unit_test(memory_fault),
		cmocka_unit_test(host_access),
		cmocka_unit_test(exit_while_busy),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	if (argc > 2 && !strcmp(argv[2], "wild_store"))
		return wild_store();
	if (argc > 2 && !strcmp(argv[2], "host_touch"))
		return host_touch();
	if (argc > 2)
		return exit_busy();
	return cmocka_run_group_tests(tests, open_client, close_client);
}
