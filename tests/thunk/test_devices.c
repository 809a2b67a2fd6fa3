/* SPDX-License-Identifier: MIT */
/*
 * The real runtime on two GPUs: peers, sharing between processes, queues of every
 * kind, events, time. Runs again as a child in the mode named behind the code object.
 */
#include "strict.h"

#include <hsa/amd_hsa_signal.h>
#include <semaphore.h>

static void launch(hsa_queue_t *queue, uint32_t gpu, const char *kernel, void *kernarg,
                   uint32_t groups, hsa_signal_t done)
{
	hsa_client_launch(queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, gpu, kernel),
		.grid = {64 * groups}, .group = {64}, .kernarg = kernarg, .barrier = true,
		.completion = done,
	});
}

struct add {
	const int *a, *b;
	int *c;
	int n;
};

static void add(uint32_t gpu, const int *a, const int *b, int *c, int n)
{
	hsa_queue_t *queue = make_queue_of(gpu, HSA_QUEUE_TYPE_MULTI);
	struct add *kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1);

	*kernarg = (struct add){a, b, c, n};
	launch(queue, gpu, "vector_add", kernarg, (uint32_t)(n + 63) / 64, done);
	hsa_client_wait(done);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

#define N 10240

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                 size_t size)
{
	hsa_signal_t done = make_signal(1);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, NULL, done));
	hsa_client_wait(done);
	assert_int_equal(hsa_signal_load_relaxed(done), 0);
	HSA_CHECK(hsa_signal_destroy(done));
}

static void peers(void **state)
{
	int *host = hsa_client_host(&client, N * 4), *back = hsa_client_host(&client, N * 4);
	int *mine = hsa_client_device(&client, 0, N * 4), *peer = hsa_client_device(&client, 1, N * 4);
	hsa_amd_memory_pool_access_t access;
	uint32_t hops;

	(void)state;
	assert_int_equal(client.gpu_count, 2);
	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(client.gpus[0], client.vram[1],
	                                             HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(client.gpus[0], client.vram[1],
	                                             HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
	                                             &hops));
	assert_int_equal(hops, 1);
	for (int i = 0; i < N; i++)
		host[i] = i * 3;
	HSA_CHECK(hsa_amd_agents_allow_access(2, client.gpus, NULL, mine));
	HSA_CHECK(hsa_amd_agents_allow_access(2, client.gpus, NULL, peer));
	copy(mine, client.gpus[0], host, client.cpu, N * 4);
	copy(peer, client.gpus[1], mine, client.gpus[0], N * 4);
	/* Each GPU reads its own and the other's memory. */
	add(0, mine, peer, peer, N);
	add(1, mine, peer, mine, N);
	copy(back, client.cpu, mine, client.gpus[0], N * 4);
	for (int i = 0; i < N; i++)
		assert_int_equal(back[i], i * 9);
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	HSA_CHECK(hsa_amd_memory_pool_free(back));
	HSA_CHECK(hsa_amd_memory_pool_free(mine));
	HSA_CHECK(hsa_amd_memory_pool_free(peer));
}

static void locked_host_memory(void **state)
{
	int *a = malloc(N * 4 + 52), *b = malloc(N * 4), *at[2];

	(void)state;
	a += 13; /* neither aligned nor whole pages */
	for (int i = 0; i < N; i++)
		a[i] = b[i] = i;
	HSA_CHECK(hsa_amd_memory_lock(a, N * 4, client.gpus, 1, (void **)&at[0]));
	HSA_CHECK(hsa_amd_memory_lock(b, N * 4, NULL, 0, (void **)&at[1]));
	add(0, at[0], at[1], at[1], N);
	for (int i = 0; i < N; i++)
		assert_int_equal(b[i], 2 * i);
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	HSA_CHECK(hsa_amd_pointer_info(at[0] + 5, &info, NULL, NULL, NULL));
	assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
	assert_ptr_equal(info.hostBaseAddress, a);
	HSA_CHECK(hsa_amd_memory_unlock(a));
	HSA_CHECK(hsa_amd_memory_unlock(b));
	free(a - 13);
	free(b);
}

static void to_hex(char *text, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", ((const unsigned char *)bytes)[i]);
}

static void from_hex(void *bytes, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned value = 0;

		sscanf(text + 2 * i, "%2x", &value);
		((unsigned char *)bytes)[i] = (unsigned char)value;
	}
}

/* The other process: doubles what is in the parent's memory, then tells it. */
static int ipc_child(const char *text)
{
	hsa_amd_ipc_memory_t memory;
	hsa_amd_ipc_signal_t handle;
	hsa_signal_t signal;
	int *data, *host;

	hsa_client_open(&client, code_object);
	from_hex(&memory, text, sizeof(memory));
	from_hex(&handle, text + 2 * sizeof(memory), sizeof(handle));
	HSA_CHECK(hsa_amd_ipc_memory_attach(&memory, N * 4, 1, &client.gpus[1], (void **)&data));
	HSA_CHECK(hsa_amd_ipc_signal_attach(&handle, &signal));
	host = hsa_client_host(&client, N * 4);
	HSA_CHECK(hsa_memory_copy(host, data, N * 4));
	if (host[77] != 77) {
		fprintf(stderr, "%d is not 77\n", host[77]);
		return 1;
	}
	add(1, data, data, data, N);
	HSA_CHECK(hsa_amd_ipc_memory_detach(data));
	hsa_signal_subtract_screlease(signal, 1);
	HSA_CHECK(hsa_signal_destroy(signal));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	hsa_client_close(&client);
	return 0;
}

static void between_processes(void **state)
{
	int *host = hsa_client_host(&client, N * 4), *data = hsa_client_device(&client, 1, N * 4);
	char text[2 * (sizeof(hsa_amd_ipc_memory_t) + sizeof(hsa_amd_ipc_signal_t)) + 1];
	hsa_amd_ipc_memory_t memory;
	hsa_amd_ipc_signal_t handle;
	hsa_signal_t signal;
	char output[4096];

	(void)state;
	for (int i = 0; i < N; i++)
		host[i] = i;
	HSA_CHECK(hsa_memory_copy(data, host, N * 4));
	HSA_CHECK(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &signal));
	HSA_CHECK(hsa_amd_ipc_memory_create(data, N * 4, &memory));
	HSA_CHECK(hsa_amd_ipc_signal_create(signal, &handle));
	to_hex(text, &memory, sizeof(memory));
	to_hex(text + 2 * sizeof(memory), &handle, sizeof(handle));
	int status = in_process(NULL, "ipc", text, output, sizeof(output));

	if (status)
		print_error("%s", output);
	assert_int_equal(status, 0);
	assert_int_equal(hsa_signal_load_scacquire(signal), 0);
	HSA_CHECK(hsa_memory_copy(host, data, N * 4));
	for (int i = 0; i < N; i++)
		assert_int_equal(host[i], 2 * i);
	HSA_CHECK(hsa_signal_destroy(signal));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	HSA_CHECK(hsa_amd_memory_pool_free(data));
	/* A handle of something that is no longer there. */
	memset(&memory, 0x5a, sizeof(memory));
	assert_int_not_equal(hsa_amd_ipc_memory_attach(&memory, N * 4, 0, NULL, (void **)&data),
	                     HSA_STATUS_SUCCESS);
}

static void masks_and_priorities(void **state)
{
	hsa_queue_t *high = make_queue(), *low = make_queue();
	void **kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done[2] = {make_signal(1), make_signal(1)};
	uint32_t mask[2] = {0x0f, 0};

	(void)state;
	HSA_CHECK(hsa_amd_queue_cu_set_mask(low, 64, mask));
	memset(mask, 0, sizeof(mask));
	HSA_CHECK(hsa_amd_queue_cu_get_mask(low, 64, mask));
	assert_int_equal(mask[0], 0x0f);
	HSA_CHECK(hsa_amd_queue_set_priority(high, HSA_AMD_QUEUE_PRIORITY_HIGH));
	HSA_CHECK(hsa_amd_queue_set_priority(low, HSA_AMD_QUEUE_PRIORITY_LOW));
	kernarg[0] = kernarg + 2;
	const amd_signal_t *first = (const amd_signal_t *)(uintptr_t)done[0].handle;
	const amd_signal_t *second = (const amd_signal_t *)(uintptr_t)done[1].handle;
	uint64_t rung, middle;
	int tries = 0;

	/* The one group of the low queue has to wait until all of the high one have begun.
	 * A host that was too slow to ring in time has shown nothing. */
	do {
		for (int i = 0; i < 2; i++)
			hsa_signal_store_relaxed(done[i], 1);
		launch(high, 0, "count", kernarg, 20000, done[0]);
		launch(low, 0, "count", kernarg, 1, done[1]);
		rung = now_ns(CLOCK_BOOTTIME);
		hsa_client_wait(done[0]);
		hsa_client_wait(done[1]);
		middle = first->start_ts + (first->end_ts - first->start_ts) / 2;
		assert_int_equal(*(int *)(kernarg + 2), ++tries * 20001 * 64);
	} while (rung >= middle && tries < 20);
	assert_true(rung >= middle || second->start_ts > middle);
	for (int i = 0; i < 2; i++)
		HSA_CHECK(hsa_signal_destroy(done[i]));
	HSA_CHECK(hsa_queue_destroy(high));
	HSA_CHECK(hsa_queue_destroy(low));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* More groups than threads meet at a grid barrier. */
static void cooperative(void **state)
{
	hsa_queue_t *queue = make_queue_of(0, HSA_QUEUE_TYPE_COOPERATIVE);
	struct error_queue plain;
	uint32_t *init = hsa_client_host(&client, 4096);
	void **kernarg = hsa_client_host(&client, 4096);
	int *words = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1);
	bool able;

	(void)state;
	HSA_CHECK(hsa_agent_get_info(client.gpus[0], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES,
	                             &able));
	assert_true(able);
	init[0] = 60 - 1;
	kernarg[0] = &words[0];
	kernarg[1] = &words[1];
	hsa_client_launch(queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "grid_init"), .grid = {1}, .group = {1},
		.kernarg = init, .barrier = true,
	});
	hsa_client_launch(queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "grid_rounds"), .grid = {60 * 128},
		.group = {128}, .kernarg = kernarg, .barrier = true, .completion = done,
	});
	hsa_client_wait(done);
	assert_int_equal(words[0], 300);
	assert_int_equal(words[1], 0);
	HSA_CHECK(hsa_queue_destroy(queue));
	/* There is always one more, and only cooperative queues have the barrier. */
	HSA_CHECK(hsa_queue_destroy(make_queue_of(0, HSA_QUEUE_TYPE_COOPERATIVE)));
	make_error_queue(&plain);
	launch(plain.queue, 0, "grid_init", init, 1, (hsa_signal_t){0});
	assert_int_equal(await_error(&plain), HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
	destroy_error_queue(&plain);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(init));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	HSA_CHECK(hsa_amd_memory_pool_free(words));
}

static void spin_locks(void **state)
{
	hsa_queue_t *queues[2] = {make_queue_of(0, HSA_QUEUE_TYPE_MULTI),
	                          make_queue_of(1, HSA_QUEUE_TYPE_MULTI)};
	void **kernarg = hsa_client_host(&client, 4096);
	int *words = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(2);

	(void)state;
	kernarg[0] = &words[0];
	kernarg[1] = &words[1];
	for (uint32_t i = 0; i < 2; i++)
		launch(queues[i], i, "locked_count", kernarg, 50, done);
	hsa_client_wait(done);
	assert_int_equal(words[1], 1000);
	for (int i = 0; i < 2; i++)
		HSA_CHECK(hsa_queue_destroy(queues[i]));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	HSA_CHECK(hsa_amd_memory_pool_free(words));
}

static void time_goes_on(void **state)
{
	hsa_queue_t *queue = make_queue();
	hsa_signal_t done[40];
	hsa_amd_profiling_dispatch_time_t time, before = {0};
	uint64_t last = 0;

	(void)state;
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 40; i++) {
			done[i] = make_signal(1);
			launch(queue, 0, "nothing", NULL, 1, done[i]);
		}
		for (int i = 0; i < 40; i++) {
			const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)done[i].handle;

			hsa_client_wait(done[i]);
			/* The device's own stamps: each later than the one before. */
			assert_true(signal->start_ts > last);
			assert_true(signal->end_ts > signal->start_ts);
			last = signal->end_ts;
			/* And what the runtime makes of them. */
			HSA_CHECK(hsa_amd_profiling_get_dispatch_time(client.gpus[0], done[i], &time));
			assert_true(time.end >= time.start);
			assert_true(time.start >= before.end);
			before = time;
			HSA_CHECK(hsa_signal_destroy(done[i]));
		}
	}
	HSA_CHECK(hsa_queue_destroy(queue));
}

static sem_t told; /* by a thread of the runtime's */

static bool await_told(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	return sem_timedwait(&told, &end) == 0;
}

static bool tell(hsa_signal_value_t value, void *data)
{
	(void)value;
	(void)data;
	sem_post(&told);
	return false;
}

static void idle_costs_nothing(void **state)
{
	hsa_queue_t *queue = make_queue();
	hsa_signal_t done = make_signal(1), never = make_signal(1);
	uint64_t before;

	(void)state;
	launch(queue, 0, "nothing", NULL, 1, done);
	hsa_client_wait(done);
	hsa_signal_store_relaxed(done, 1);
	HSA_CHECK(hsa_amd_signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1, tell, NULL));
	/* Time is what is measured: what the process takes of half a second, the device's way to sleep included. */
	before = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_int_equal(hsa_signal_wait_scacquire(never, HSA_SIGNAL_CONDITION_LT, 1, hsa_client_ticks(500),
	                                           HSA_WAIT_STATE_BLOCKED), 1);
	assert_true(now_ns(CLOCK_PROCESS_CPUTIME_ID) - before < 10000000); /* 2% */
	/* It wakes by the ring alone: this thread does not wait in the runtime, and whoever does began before. */
	launch(queue, 0, "nothing", NULL, 1, done);
	assert_true(await_told());
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_signal_destroy(never));
	HSA_CHECK(hsa_queue_destroy(queue));
}

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data)
{
	if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
		*(hsa_amd_gpu_memory_fault_info_t *)data = event->memory_fault;
		sem_post(&told);
	}
	return HSA_STATUS_SUCCESS;
}

/* A memory fault that the program takes care of: GPU 1, then GPU 0 still works. */
static int fault_event(void)
{
	hsa_amd_gpu_memory_fault_info_t fault = {0};
	void **kernarg;
	int *c;

	hsa_client_open(&client, code_object);
	HSA_CHECK(hsa_amd_register_system_event_handler(on_event, &fault));
	kernarg = hsa_client_host(&client, 4096);
	kernarg[0] = (void *)0x12345000;
	launch(make_queue_of(1, HSA_QUEUE_TYPE_MULTI), 1, "wild_store", kernarg, 1, make_signal(1));
	if (!await_told() || fault.virtual_address != 0x12345000 || fault.agent.handle != client.gpus[1].handle ||
	    !(fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT)) {
		fprintf(stderr, "fault at %llx, reasons %x\n", (unsigned long long)fault.virtual_address,
		        fault.fault_reason_mask);
		return 1;
	}
	c = hsa_client_host(&client, 4096);
	c[3] = 4;
	add(0, c, c, c, 1000);
	return c[3] == 8 ? 0 : 1;
}

static void memory_fault_event(void **state)
{
	char output[4096];
	int status = in_process(NULL, "fault", "", output, sizeof(output));

	(void)state;
	if (status)
		print_error("%s", output);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers),
		cmocka_unit_test(locked_host_memory),
		cmocka_unit_test(between_processes),
		cmocka_unit_test(masks_and_priorities),
		cmocka_unit_test(cooperative),
		cmocka_unit_test(spin_locks),
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(idle_costs_nothing),
		cmocka_unit_test(memory_fault_event),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	if (argc > 3 && !strcmp(argv[2], "ipc"))
		return ipc_child(argv[3]);
	if (argc > 2)
		return fault_event();
	return cmocka_run_group_tests(tests, open_client, close_client);
}
