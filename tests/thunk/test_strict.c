/* SPDX-License-Identifier: MIT */
/*
 * The strict switches, each held to its rule on the real runtime: arguments are the
 * code object and the switch that KREPLAY_SOFTGPU has.
 */
#include "strict.h"

#define ROUNDS 300

static int *counter, *order;
static hsa_queue_t *queue;

static int set_up(void **state)
{
	open_client(state);
	counter = hsa_client_host(&client, 4096);
	order = hsa_client_host(&client, 4096);
	queue = make_queue();
	return 0;
}

static int tear_down(void **state)
{
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_amd_memory_pool_free(counter));
	HSA_CHECK(hsa_amd_memory_pool_free(order));
	return close_client(state);
}

struct arrive {
	int *counter, *order;
	int id;
};

static void arrive(struct arrive *kernarg, int id, uint32_t groups, bool barrier, hsa_signal_t done)
{
	*kernarg = (struct arrive){counter, order, id};
	hsa_client_launch(queue, &(struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "arrive"),
		.grid = {64 * groups}, .group = {64}, .kernarg = kernarg, .barrier = barrier,
		.completion = done,
	});
}

static void barrier_and(hsa_signal_t dependency)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_barrier_and_packet_t *p = (hsa_barrier_and_packet_t *)queue->base_address +
	                              index % queue->size;

	memset((char *)p + 2, 0, sizeof(*p) - 2);
	p->dep_signal[0] = dependency;
	__atomic_store_n(&p->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

enum order { FREE, BARRIER_BIT, DEPENDENCY };

/* How often the second of two dispatches came first. */
static int overtakings(enum order how)
{
	struct arrive *kernargs = hsa_client_host(&client, 4096);
	hsa_signal_t all = make_signal(0), first = make_signal(0);
	int count = 0;

	for (int i = 0; i < ROUNDS; i++) {
		*counter = 0;
		hsa_signal_store_relaxed(all, how == DEPENDENCY ? 1 : 2);
		hsa_signal_store_relaxed(first, 1);
		arrive(&kernargs[0], 0, 1, false, how == DEPENDENCY ? first : all);
		if (how == DEPENDENCY)
			barrier_and(first);
		arrive(&kernargs[1], 1, 1, how == BARRIER_BIT, all);
		hsa_client_wait(all);
		count += order[0] == 1;
	}
	HSA_CHECK(hsa_signal_destroy(all));
	HSA_CHECK(hsa_signal_destroy(first));
	HSA_CHECK(hsa_amd_memory_pool_free(kernargs));
	return count;
}

static void reorder_overtakes(void **state)
{
	int count = overtakings(FREE);

	(void)state;
	/* Either order, and neither seldom. */
	assert_in_range(count, ROUNDS / 10, ROUNDS - ROUNDS / 10);
}

static void reorder_keeps_dependencies(void **state)
{
	(void)state;
	assert_int_equal(overtakings(BARRIER_BIT), 0);
	assert_int_equal(overtakings(DEPENDENCY), 0);
}

static void reorder_groups(void **state)
{
	struct arrive *kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1);
	int steps = 0;
	bool seen[64] = {0};

	(void)state;
	*counter = 0;
	arrive(kernarg, 0, 64, false, done);
	hsa_client_wait(done);
	for (int i = 0; i < 64; i++) {
		assert_in_range(order[i], 0, 63);
		assert_false(seen[order[i]]);
		seen[order[i]] = true;
		steps += i && order[i] == order[i - 1] + 1;
	}
	assert_true(steps < 48);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* The first waits for what the second does: they must run at once. */
static void reorder_concurrent(void **state)
{
	void **kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(2);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "wait_for_flag"),
		.grid = {64}, .group = {64}, .kernarg = kernarg, .completion = done,
	};

	(void)state;
	kernarg[0] = counter;
	kernarg[1] = order;
	for (int i = 0; i < 50; i++) {
		*counter = 0;
		hsa_signal_store_relaxed(done, 2);
		launch.kernel = hsa_client_kernel(&client, 0, "wait_for_flag");
		hsa_client_launch(queue, &launch);
		launch.kernel = hsa_client_kernel(&client, 0, "set_flag");
		hsa_client_launch(queue, &launch);
		hsa_client_wait(done);
	}
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* With delay=4000 the gaps are 2 ms in the mean, and microseconds without. */
static void delays(void **state)
{
	struct arrive *kernarg = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1);
	uint64_t before_start = 0, before_end = 0;
	const int rounds = 25;

	(void)state;
	for (int i = 0; i < rounds; i++) {
		*counter = 0;
		hsa_signal_store_relaxed(done, 1);
		uint64_t rung = now_ns(CLOCK_MONOTONIC);

		arrive(kernarg, i, 1, true, done);
		while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) == 0)
			;
		uint64_t ran = now_ns(CLOCK_MONOTONIC);

		while (hsa_signal_load_scacquire(done) > 0)
			;
		before_start += ran - rung;
		before_end += now_ns(CLOCK_MONOTONIC) - ran;
		assert_int_equal(order[0], i);
	}
	assert_true(before_start / rounds > 700000);
	assert_true(before_end / rounds > 700000);
	assert_int_equal(overtakings(BARRIER_BIT), 0);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* inject=alloc:80, and fewer allocations than that at the start. */
static void failed_allocation(void **state)
{
	void *blocks[120];
	int failed = 0;

	(void)state;
	for (int i = 0; i < 120; i++) {
		hsa_status_t status = hsa_amd_memory_pool_allocate(client.vram[0], 4 << 20, 0, &blocks[i]);

		if (status != HSA_STATUS_SUCCESS) {
			assert_int_equal(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
			blocks[i] = NULL;
			failed++;
		}
	}
	assert_int_equal(failed, 1);
	for (int i = 0; i < 120; i++) {
		if (blocks[i])
			HSA_CHECK(hsa_amd_memory_pool_free(blocks[i]));
	}
}

/* inject=queue:6 */
static void failed_queue(void **state)
{
	hsa_queue_t *queues[8];
	int failed = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		hsa_status_t status = hsa_queue_create(client.gpus[0], 64, HSA_QUEUE_TYPE_MULTI, NULL,
		                                       NULL, UINT32_MAX, UINT32_MAX, &queues[i]);

		if (status != HSA_STATUS_SUCCESS) {
			assert_int_equal(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
			queues[i] = NULL;
			failed++;
		}
	}
	assert_int_equal(failed, 1);
	for (int i = 0; i < 8; i++) {
		if (queues[i])
			HSA_CHECK(hsa_queue_destroy(queues[i]));
	}
}

/* inject=copy:2 */
static void failed_copy(void **state)
{
	uint8_t *device = hsa_client_device(&client, 0, 1 << 20);
	uint8_t *from = hsa_client_host(&client, 1 << 20), *to = hsa_client_host(&client, 1 << 20);
	hsa_signal_t done = make_signal(1);

	(void)state;
	memset(from, 0x55, 1 << 20);
	HSA_CHECK(hsa_amd_memory_async_copy(device, client.gpus[0], from, client.cpu, 1 << 20, 0, NULL,
	                                    done));
	hsa_client_wait(done);
	assert_int_equal(hsa_signal_load_relaxed(done), 0);
	for (int i = 0; i < 2; i++) {
		hsa_signal_store_relaxed(done, 1);
		HSA_CHECK(hsa_amd_memory_async_copy(to, client.cpu, device, client.gpus[0], 1 << 20, 0,
		                                    NULL, done));
		hsa_client_wait(done);
		/* How the runtime's interface tells of a failed copy. */
		assert_true(i == 0 ? hsa_signal_load_relaxed(done) < 0
		                   : hsa_signal_load_relaxed(done) == 0);
		for (int k = 0; k < 1 << 20; k++)
			assert_int_equal(to[k], i == 0 ? 0 : 0x55);
	}
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	HSA_CHECK(hsa_amd_memory_pool_free(from));
	HSA_CHECK(hsa_amd_memory_pool_free(to));
}

/* inject=hang:3, in which the runtime's own dispatches count too */
static void hung_dispatch(void **state)
{
	struct arrive *kernargs = hsa_client_host(&client, 4096);
	hsa_signal_t done[5];
	int left = 0;

	(void)state;
	*counter = 0;
	for (int i = 0; i < 5; i++) {
		done[i] = make_signal(1);
		arrive(&kernargs[i], i, 1, false, done[i]);
	}
	for (int i = 0; i < 5000 && __atomic_load_n(counter, __ATOMIC_ACQUIRE) < 4; i++)
		usleep(1000);
	usleep(50000);
	uint64_t busy = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	usleep(200000);
	assert_true(now_ns(CLOCK_PROCESS_CPUTIME_ID) - busy < 20000000);
	assert_int_equal(*counter, 4);
	for (int i = 0; i < 5; i++)
		left += hsa_signal_load_scacquire(done[i]) > 0;
	assert_int_equal(left, 1);
	/* What needs its end waits; the queue can go nevertheless. */
	hsa_signal_store_relaxed(done[0], 1);
	arrive(&kernargs[0], 0, 1, true, done[0]);
	usleep(20000);
	assert_int_equal(hsa_signal_load_scacquire(done[0]), 1);
	HSA_CHECK(hsa_queue_destroy(queue));
	queue = make_queue();
	arrive(&kernargs[0], 0, 1, true, done[0]);
	hsa_client_wait(done[0]);
	for (int i = 0; i < 5; i++)
		HSA_CHECK(hsa_signal_destroy(done[i]));
	HSA_CHECK(hsa_amd_memory_pool_free(kernargs));
}

static int pool_has(uint64_t bytes)
{
	size_t size;

	HSA_CHECK(hsa_amd_memory_pool_get_info(client.vram[0], HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
	return size == bytes;
}

/* vram=64M: as much as that, and what is freed is there again. */
static void small_vram(void **state)
{
	void *blocks[16];
	int count = 0;
	hsa_status_t status = HSA_STATUS_SUCCESS;

	(void)state;
	assert_true(pool_has(64 << 20));
	for (int round = 0; round < 2; round++) {
		for (count = 0; count < 16; count++) {
			status = hsa_amd_memory_pool_allocate(client.vram[0], 8 << 20, 0, &blocks[count]);
			if (status != HSA_STATUS_SUCCESS)
				break;
		}
		assert_int_equal(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
		assert_in_range(count, 6, 8);
		for (int i = 0; i < count; i++)
			HSA_CHECK(hsa_amd_memory_pool_free(blocks[i]));
	}
}

/* private-vram: no host access, but copies and kernels reach it. */
static int host_touch(void)
{
	hsa_client_open(&client, code_object);
	volatile int *device = hsa_client_device(&client, 0, 4096);

	*device = 1;
	return *device == 1 ? 0 : 1;
}

static void private_vram(void **state)
{
	char output[4096];
	int status = in_process(NULL, "touch", "", output, sizeof(output));
	int *device = hsa_client_device(&client, 0, 4096), *host = hsa_client_host(&client, 4096);
	hsa_amd_memory_pool_access_t access;

	(void)state;
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 139);
	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(client.cpu, client.vram[0],
	                                             HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
	assert_int_equal(access, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
	HSA_CHECK(hsa_amd_memory_fill(device, 77, 1024));
	HSA_CHECK(hsa_memory_copy(host, device, 4096));
	for (int i = 0; i < 1024; i++)
		assert_int_equal(host[i], 77);
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	/* Without the switch the same access is fine. */
	status = in_process("vram=64M", "touch", "", output, sizeof(output));
	assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const struct CMUnitTest reorder[] = {
	TEST(reorder_overtakes), TEST(reorder_keeps_dependencies), TEST(reorder_groups),
	TEST(reorder_concurrent),
};
static const struct CMUnitTest delay[] = {TEST(delays)};
static const struct CMUnitTest alloc[] = {TEST(failed_allocation)};
static const struct CMUnitTest queue_[] = {TEST(failed_queue)};
static const struct CMUnitTest copy[] = {TEST(failed_copy)};
static const struct CMUnitTest hang[] = {TEST(hung_dispatch)};
static const struct CMUnitTest vram[] = {TEST(small_vram)};
static const struct CMUnitTest private[] = {TEST(private_vram)};

#define RUN(mode, list) \
	if (!strcmp(argv[2], mode)) \
		return cmocka_run_group_tests_name(mode, list, NULL, NULL)

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s CODE-OBJECT SWITCH\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	if (!strcmp(argv[2], "touch"))
		return host_touch();
	RUN("reorder", reorder);
	RUN("delay", delay);
	RUN("alloc", alloc);
	RUN("queue", queue_);
	RUN("copy", copy);
	RUN("hang", hang);
	RUN("vram", vram);
	RUN("private", private);
	fprintf(stderr, "no such switch: %s\n", argv[2]);
	return 2;
}
