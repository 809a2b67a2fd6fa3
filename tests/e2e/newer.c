/* SPDX-License-Identifier: MIT */
/*
 * Calls that only newer runtimes have, on the stand-in runtime: what the one at hand cannot show.
 * contract 5: virtual-memory mappings are in scope, and those of another process are said.
 * contract 4: copies on an engine and in batches wait for windows.
 */
#include "replay_tool.h"

#include <sched.h>

#include "core/agents.h"

enum { BYTES = 4096 };

/* ---- virtual memory ---- */

static void
dispatch_on(uint32_t *where)
{
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, bump, where, done);
	wait_done();
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
}

static uint32_t *
mapped(struct kr_vmem_handle handle)
{
	const struct kr_vmem_access access = {HSA_ACCESS_PERMISSION_RW, STAND_IN_GPU};
	uint32_t *va = calloc(1, BYTES);

	assert_non_null(va);
	assert_int_equal(kr_hook_hsa_amd_vmem_map(va, BYTES, 0, handle, 0), 0);
	assert_int_equal(kr_hook_hsa_amd_vmem_set_access(va, BYTES, &access, 1), 0);
	return va;
}

static uint32_t *
made(uint64_t pool)
{
	struct kr_vmem_handle handle = {0};

	assert_int_equal(kr_hook_hsa_amd_vmem_handle_create((hsa_amd_memory_pool_t){pool}, BYTES, 0, 0, &handle), 0);
	return mapped(handle);
}

static void
mapped_memory_is_in_scope(void **state)
{
	uint32_t *va = made(STAND_IN_DEVICE_POOL);

	dispatch_on(va);
	assert_int_equal(*va, 1); /* five passes, one execution */
	assert_int_equal(saw.snapshot_bytes, 1024 + BYTES);
	assert_false(saw.flags & KREPLAY_FLAG_PEER_MEMORY);

	/* an unmap that fails changes nothing */
	stand_in.vmem_unmap = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_vmem_unmap(va, BYTES), 0);
	dispatch_on(va);
	assert_int_equal(*va, 2);
	assert_int_equal(saw.snapshot_bytes, 1024 + BYTES);

	assert_int_equal(kr_hook_hsa_amd_vmem_unmap(va, BYTES), 0);
	dispatch_on(cell);
	assert_int_equal(saw.snapshot_bytes, 1024);
	free(va);
}

static void
mapped_memory_of_another_kind_is_left_out(void **state)
{
	uint32_t *host = made(STAND_IN_HOST_POOL), *theirs = made(STAND_IN_DEVICE_POOL2);

	dispatch_on(cell);
	assert_int_equal(saw.snapshot_bytes, 1024);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], BYTES);
	kr_hook_hsa_amd_vmem_unmap(host, BYTES);
	kr_hook_hsa_amd_vmem_unmap(theirs, BYTES);
	dispatch_on(cell);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], 0);
	free(host);
	free(theirs);
}

/* A handle that was imported and not made here. */
static void
mapped_memory_of_another_process_is_said(void **state)
{
	struct kr_vmem_handle handle = {0};
	uint32_t *va;

	assert_int_equal(kr_hook_hsa_amd_vmem_import_shareable_handle(STAND_IN_THEIRS, &handle), 0);
	va = mapped(handle);
	dispatch_on(cell);
	assert_true(saw.flags & KREPLAY_FLAG_PEER_MEMORY);
	assert_int_equal(saw.snapshot_bytes, 1024);
	assert_int_equal(kr_hook_hsa_amd_vmem_unmap(va, BYTES), 0);
	dispatch_on(cell);
	assert_false(saw.flags & KREPLAY_FLAG_PEER_MEMORY);
	free(va);
}

/* ---- copies ---- */

static pthread_t thread;
static uint32_t *target;
static _Atomic bool copied;
static bool in_batch;

static void *
copy_away(void *arg)
{
	static const uint32_t source = 77;
	struct stand_in_batch batch = {target, &source};
	hsa_signal_t end = stand_in_signal(1);

	if (in_batch) {
		kr_hook_hsa_amd_memory_async_batch_copy(&batch, 1, 0, NULL);
	} else {
		kr_hook_hsa_amd_memory_async_copy_on_engine(target, STAND_IN_GPU, &source, STAND_IN_CPU, 4, 0, NULL, end, 1,
							    false);
		kr_next.hsa_signal_wait_scacquire(end, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
	}
	copied = true;
	kr_next.hsa_signal_destroy(end);
	return NULL;
}

static void
start_copy(uint64_t pass)
{
	if (pass != 0)
		return;
	pthread_create(&thread, NULL, copy_away, NULL);
	/* it either waits or comes through; the latter is the fault */
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0 && !copied)
		sched_yield();
	assert_false(copied);
}

static void
copy_waits(bool batch)
{
	in_batch = batch;
	copied = false;
	target = device_alloc(64);
	in_pass_exit = start_copy;
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	pthread_join(thread, NULL);
	assert_true(copied);
	assert_int_equal(*target, 77);
	assert_int_equal(*cell, 101);
	kr_hook_hsa_amd_memory_pool_free(target);
}

static void
a_copy_on_an_engine_waits_for_the_window(void **state)
{
	copy_waits(false);
}

static void
a_batch_of_copies_waits_for_the_window(void **state)
{
	copy_waits(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		REPLAY_TEST(mapped_memory_is_in_scope),
		REPLAY_TEST(mapped_memory_of_another_kind_is_left_out),
		REPLAY_TEST(mapped_memory_of_another_process_is_said),
		REPLAY_TEST(a_copy_on_an_engine_waits_for_the_window),
		REPLAY_TEST(a_batch_of_copies_waits_for_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
