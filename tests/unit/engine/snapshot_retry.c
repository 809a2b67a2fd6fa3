/* SPDX-License-Identifier: MIT */
/* A call of the program's that finds no memory is made again once snapshots have given back theirs: it does not fail
 * because of us. One row for each call that takes memory. */
#include "engine_test.h"

#include "core/log.h"
#include "core/proxy.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "core/watcher.h"
#include "stand_in_kernels.h"

enum { SIZE = 4096, MIB = 1 << 20 };
static const hsa_status_t no_memory = HSA_STATUS_ERROR_OUT_OF_RESOURCES, wrong = HSA_STATUS_ERROR_INVALID_ARGUMENT;

static struct kr_agent *gpu;

static int
setup(void **state)
{
	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	stand_in.isa = STAND_IN_ISA;
	stand_in.kernel_named = stand_in_snapshot_kernel;
	stand_in.device_room = 4 * MIB; /* two of the program's, one copy, and a little */
	gpu = kr_agents_init() ? kr_agent_find(STAND_IN_GPU) : NULL;
	return kr_snapshot_of(gpu) == NULL;
}

static int
teardown(void **state)
{
	kr_watcher_stop();
	kr_snapshot_destroy(gpu);
	assert_int_equal(stand_in.live_allocations, 0);
	assert_int_equal(stand_in.live_queues, 0);
	return 0;
}

/* ---- the runtime runs short ---- */

static unsigned calls, failures; /* the first so many fail */
static hsa_status_t how;

#define SHORT(name, parameters, arguments) \
	static __typeof__(kr_next.name) real_##name; \
\
	static hsa_status_t short_##name parameters \
	{ \
		return calls++ < failures ? how : real_##name arguments; \
	} \
\
	static void run_short_##name(bool begin) \
	{ \
		if (begin) { \
			real_##name = kr_next.name; \
			kr_next.name = short_##name; \
		} else { \
			kr_next.name = real_##name; \
		} \
	}

typedef void on_error(hsa_status_t, hsa_queue_t *, void *);

SHORT(hsa_memory_allocate, (hsa_region_t region, size_t size, void **p), (region, size, p))
SHORT(hsa_amd_memory_pool_allocate,
      (hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **p),
      (pool, size, flags, p))
SHORT(hsa_amd_memory_lock,
      (void *host, size_t size, hsa_agent_t *agents, int n, void **p),
      (host, size, agents, n, p))
SHORT(hsa_amd_memory_lock_to_pool,
      (void *host, size_t size, hsa_agent_t *agents, int n, hsa_amd_memory_pool_t pool, uint32_t flags, void **p),
      (host, size, agents, n, pool, flags, p))
SHORT(hsa_amd_vmem_handle_create,
      (hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags, struct kr_vmem_handle *handle),
      (pool, size, type, flags, handle))
SHORT(hsa_queue_create,
      (hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, on_error *callback, void *data, uint32_t private,
       uint32_t group, hsa_queue_t **queue),
      (agent, size, type, callback, data, private, group, queue))
SHORT(hsa_amd_counted_queue_acquire,
      (hsa_agent_t agent, uint32_t type, uint32_t priority, on_error *callback, void *data, uint64_t flags,
       hsa_queue_t **queue),
      (agent, type, priority, callback, data, flags, queue))
SHORT(hsa_executable_load_agent_code_object,
      (hsa_executable_t e, hsa_agent_t agent, hsa_code_object_reader_t reader, const char *options,
       hsa_loaded_code_object_t *loaded),
      (e, agent, reader, options, loaded))
SHORT(hsa_executable_load_program_code_object,
      (hsa_executable_t e, hsa_code_object_reader_t reader, const char *options, hsa_loaded_code_object_t *loaded),
      (e, reader, options, loaded))
SHORT(hsa_executable_load_code_object,
      (hsa_executable_t e, hsa_agent_t agent, hsa_code_object_t object, const char *options),
      (e, agent, object, options))

/* ---- the program's calls, each with its end ---- */

static void *got;
static hsa_queue_t *queue;
static struct kr_vmem_handle handle;
static const hsa_executable_t executable = {1};

static const hsa_amd_memory_pool_t device_pool = {STAND_IN_DEVICE_POOL}, host_pool = {STAND_IN_HOST_POOL};
static const hsa_code_object_reader_t reader = {1};

static hsa_status_t
allocate_region(void)
{
	return kr_hook_hsa_memory_allocate((hsa_region_t){STAND_IN_DEVICE_POOL}, SIZE, &got);
}

static hsa_status_t
allocate_pool(void)
{
	return kr_hook_hsa_amd_memory_pool_allocate(device_pool, SIZE, 0, &got);
}

static hsa_status_t
allocate_host(void)
{
	return kr_hook_hsa_amd_memory_pool_allocate(host_pool, SIZE, 0, &got);
}

static void
free_it(void)
{
	assert_int_equal(kr_hook_hsa_amd_memory_pool_free(got), 0);
}

static char host[SIZE];

static hsa_status_t
lock(void)
{
	return kr_hook_hsa_amd_memory_lock(host, SIZE, NULL, 0, &got);
}

static hsa_status_t
lock_to_pool(void)
{
	return kr_hook_hsa_amd_memory_lock_to_pool(host, SIZE, NULL, 0, host_pool, 0, &got);
}

static void
unlock(void)
{
	assert_int_equal(kr_hook_hsa_amd_memory_unlock(host), 0);
}

static hsa_status_t
create_handle(void)
{
	return kr_hook_hsa_amd_vmem_handle_create(device_pool, SIZE, 0, 0, &handle);
}

static void
release_handle(void)
{
	assert_int_equal(kr_hook_hsa_amd_vmem_handle_release(handle), 0);
}

static hsa_status_t
create_queue(void)
{
	return kr_proxy_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
}

static hsa_status_t
create_plain_queue(void)
{
	return kr_queue_create_plain(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, 0, 0, &queue);
}

static void
destroy_queue(void)
{
	assert_int_equal(kr_hook_hsa_queue_destroy(queue), 0);
}

static hsa_status_t
acquire_queue(void)
{
	return kr_hook_hsa_amd_counted_queue_acquire(STAND_IN_GPU, HSA_QUEUE_TYPE_MULTI, 0, NULL, NULL, 0, &queue);
}

static void
release_queue(void)
{
	assert_int_equal(kr_hook_hsa_amd_counted_queue_release(queue), 0);
}

static hsa_status_t
load_reader(void)
{
	return kr_hook_hsa_executable_load_agent_code_object(executable, STAND_IN_GPU, reader, NULL, NULL);
}

static hsa_status_t
load_program_reader(void)
{
	return kr_hook_hsa_executable_load_program_code_object(executable, reader, NULL, NULL);
}

static hsa_status_t
load_object(void)
{
	return kr_hook_hsa_executable_load_code_object(executable, STAND_IN_GPU, (hsa_code_object_t){1}, NULL);
}

static void
unload(void)
{
	assert_int_equal(kr_hook_hsa_executable_destroy(executable), 0);
}

static const struct row {
	const char *name;
	void (*run_short)(bool begin);
	hsa_status_t (*call)(void);
	void (*end)(void);
} rows[] = {
#define ROW(name, call, end) {#call, run_short_##name, call, end}
	ROW(hsa_memory_allocate, allocate_region, free_it),
	ROW(hsa_amd_memory_pool_allocate, allocate_pool, free_it),
	ROW(hsa_amd_memory_pool_allocate, allocate_host, free_it),
	ROW(hsa_amd_memory_lock, lock, unlock),
	ROW(hsa_amd_memory_lock_to_pool, lock_to_pool, unlock),
	ROW(hsa_amd_vmem_handle_create, create_handle, release_handle),
	ROW(hsa_queue_create, create_queue, destroy_queue),
	ROW(hsa_queue_create, create_plain_queue, destroy_queue),
	ROW(hsa_amd_counted_queue_acquire, acquire_queue, release_queue),
	ROW(hsa_executable_load_agent_code_object, load_reader, unload),
	ROW(hsa_executable_load_program_code_object, load_program_reader, unload),
	ROW(hsa_executable_load_code_object, load_object, unload),
};

/* A window leaves a snapshot behind, half of it on the device and half on the host; then the call fails so many times. */
static hsa_status_t
call_short(const struct row *row, unsigned times, hsa_status_t status, bool retain)
{
	kreplay_phase_stats_t stats;
	hsa_status_t result;
	void *p = device_alloc(MIB), *q = device_alloc(MIB);

	print_message("%s\n", row->name);
	assert_int_equal(kr_snapshot_take(gpu->snapshot, &stats), KREPLAY_DECLINE_NONE);
	kr_snapshot_close(gpu->snapshot);
	if (!retain)
		assert_true(kr_snapshot_yield(NULL));
	calls = 0;
	failures = times;
	how = status;
	row->run_short(true);
	result = row->call();
	row->run_short(false);
	if (result == HSA_STATUS_SUCCESS)
		row->end();
	kr_hook_hsa_amd_memory_pool_free(p);
	kr_hook_hsa_amd_memory_pool_free(q);
	return result;
}

#define EACH_ROW const struct row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++

static void
a_call_that_finds_no_memory_is_made_again(void **state)
{
	for (EACH_ROW) {
		assert_int_equal(call_short(row, 1, no_memory, true), HSA_STATUS_SUCCESS);
		assert_int_equal(calls, 2);
		assert_false(kr_snapshot_yield(gpu)); /* it was given back */
		assert_false(kr_snapshot_yield(NULL));
	}
}

static void
it_is_made_again_once(void **state)
{
	for (EACH_ROW) {
		assert_int_equal(call_short(row, 2, no_memory, true), no_memory);
		assert_int_equal(calls, 2);
	}
}

static void
where_nothing_is_retained_it_is_not(void **state)
{
	for (EACH_ROW) {
		assert_int_equal(call_short(row, 1, no_memory, false), no_memory);
		assert_int_equal(calls, 1);
	}
}

static void
another_error_is_the_programs(void **state)
{
	for (EACH_ROW) {
		assert_int_equal(call_short(row, 1, wrong, true), wrong);
		assert_int_equal(calls, 1);
		assert_true(kr_snapshot_yield(gpu)); /* still there */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_call_that_finds_no_memory_is_made_again),
		TEST(it_is_made_again_once),
		TEST(where_nothing_is_retained_it_is_not),
		TEST(another_error_is_the_programs),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
