/* SPDX-License-Identifier: MIT */
/*
 * The strict switches, each held to its rule on the real runtime: arguments are the
 * code object and the switch that KREPLAY_SOFTGPU has.
 */
#include "strict.h"

#include <hsa/amd_hsa_signal.h>

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
			barrier_and(queue, first, (hsa_signal_t){0});
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

/* With delay=4000 the gaps are 2 ms in the mean, and microseconds without. All times are of one clock. */
static void delays(void **state)
{
	uint64_t **kernarg = hsa_client_host(&client, 4096), *when = hsa_client_host(&client, 4096);
	hsa_signal_t done = make_signal(1);
	const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)done.handle;
	uint64_t before_start = 0, before_end = 0;
	const int rounds = 25;

	(void)state;
	*kernarg = when;
	for (int i = 0; i < rounds; i++) {
		hsa_signal_store_relaxed(done, 1);
		uint64_t rung = now_ns(CLOCK_BOOTTIME);

		hsa_client_launch(queue, &(struct hsa_launch){
			.kernel = hsa_client_kernel(&client, 0, "stamp"), .grid = {1}, .group = {1},
			.kernarg = kernarg, .completion = done,
		});
		hsa_client_wait(done);
		assert_in_range(*when, rung, signal->end_ts);
		before_start += *when - rung;
		before_end += signal->end_ts - *when;
	}
	assert_true(before_start / rounds > 700000);
	assert_true(before_end / rounds > 700000);
	assert_int_equal(overtakings(BARRIER_BIT), 0);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	HSA_CHECK(hsa_amd_memory_pool_free(when));
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
	hsa_signal_t done[5], again = make_signal(1);
	hsa_signal_condition_t below[5];
	hsa_signal_value_t one[5];

	(void)state;
	*counter = 0;
	for (int i = 0; i < 5; i++) {
		done[i] = make_signal(1);
		below[i] = HSA_SIGNAL_CONDITION_LT;
		one[i] = 1;
		arrive(&kernargs[i], i, 1, false, done[i]);
	}
	/* All end but one, whose signal then is the first. */
	for (uint32_t left = 5; left > 1; left--) {
		uint32_t ended = hsa_amd_signal_wait_any(left, done, below, one, hsa_client_ticks(20000),
		                                         HSA_WAIT_STATE_BLOCKED, NULL);

		assert_in_range(ended, 0, left - 1);
		HSA_CHECK(hsa_signal_destroy(done[ended]));
		done[ended] = done[left - 1];
	}
	/* Time is what is measured: what a device with a hung dispatch takes of 100 ms. */
	uint64_t busy = now_ns(CLOCK_PROCESS_CPUTIME_ID);

	assert_int_equal(hsa_signal_wait_scacquire(done[0], HSA_SIGNAL_CONDITION_LT, 1, hsa_client_ticks(100),
	                                           HSA_WAIT_STATE_BLOCKED), 1);
	assert_true(now_ns(CLOCK_PROCESS_CPUTIME_ID) - busy < 10000000);
	assert_int_equal(*counter, 4);
	/* What needs its end waits; the queue can go nevertheless. */
	arrive(&kernargs[0], 0, 1, true, again);
	device_turn();
	assert_int_equal(hsa_signal_load_scacquire(again), 1);
	HSA_CHECK(hsa_queue_destroy(queue));
	queue = make_queue();
	arrive(&kernargs[0], 0, 1, true, again);
	hsa_client_wait(again);
	assert_int_equal(hsa_signal_load_scacquire(done[0]), 1);
	HSA_CHECK(hsa_signal_destroy(done[0]));
	HSA_CHECK(hsa_signal_destroy(again));
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
