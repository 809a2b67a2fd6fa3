/* SPDX-License-Identifier: MIT */
/* Virtual memory of newer runtimes: whose it is, for how long a handle says so, and what access has to do with it. */
#include "replay_tool.h"

#include <sched.h>

#include "core/agents.h"
#include "core/log.h"
#include "core/tracker.h"

enum {
	BYTES = 4096,
	NONE = 0,
	RO = HSA_ACCESS_PERMISSION_RO,
	WO = HSA_ACCESS_PERMISSION_WO,
	RW = HSA_ACCESS_PERMISSION_RW
};

static char *va; /* room for two mappings */

static int
setup(void **state)
{
	va = calloc(2, BYTES);
	return va == NULL || replay_setup(state);
}

static int
teardown(void **state)
{
	kr_hook_hsa_amd_vmem_unmap(va, BYTES);
	kr_hook_hsa_amd_vmem_unmap(va + BYTES, BYTES);
	assert_int_equal(kr_tracker_attached(), 0);
	free(va);
	return replay_teardown(state);
}

static struct kr_vmem_handle
make(uint64_t pool)
{
	struct kr_vmem_handle handle = {0};

	assert_int_equal(kr_hook_hsa_amd_vmem_handle_create((hsa_amd_memory_pool_t){pool}, BYTES, 0, 0, &handle), 0);
	return handle;
}

static struct kr_vmem_handle
import(int fd)
{
	struct kr_vmem_handle handle = {0};

	assert_int_equal(kr_hook_hsa_amd_vmem_import_shareable_handle(fd, &handle), 0);
	return handle;
}

static void
release(struct kr_vmem_handle handle)
{
	assert_int_equal(kr_hook_hsa_amd_vmem_handle_release(handle), 0);
}

static hsa_status_t
access(char *at, size_t size, hsa_agent_t agent, uint32_t permission)
{
	const struct kr_vmem_access access = {permission, agent};

	return kr_hook_hsa_amd_vmem_set_access(at, size, &access, 1);
}

static void
map(char *at, struct kr_vmem_handle handle)
{
	assert_int_equal(kr_hook_hsa_amd_vmem_map(at, BYTES, 0, handle, 0), 0);
}

/* As programs do: with access at once. */
static void
map_rw(char *at, struct kr_vmem_handle handle)
{
	map(at, handle);
	assert_int_equal(access(at, BYTES, STAND_IN_GPU, RW), 0);
}

static void
unmap(char *at, size_t size)
{
	assert_int_equal(kr_hook_hsa_amd_vmem_unmap(at, size), 0);
}

/* What a window says: how many mappings are saved, and whether the agent may write what is not saved. */
static void
expect(unsigned mappings, bool others)
{
	kr_next.hsa_signal_store_relaxed(done, 1);
	stand_in_dispatch(queue, bump, cell, done);
	wait_done();
	assert_int_equal(saw.outcome, KREPLAY_OUTCOME_REPLAYED);
	assert_int_equal(saw.snapshot_bytes, 1024 + mappings * BYTES);
	assert_int_equal(!!(saw.flags & KREPLAY_FLAG_PEER_MEMORY), others);
}

/* ---- handles ---- */

/* The runtime gives the value of a handle that is gone to memory of another process. */
static void
expect_gone(struct kr_vmem_handle ours)
{
	struct kr_vmem_handle theirs = import(STAND_IN_THEIRS);

	assert_int_equal(theirs.handle, ours.handle);
	map_rw(va, theirs);
	expect(0, true);
	unmap(va, BYTES);
	release(theirs);
	expect(0, false);
}

static void
a_value_that_is_used_again_is_not_ours(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL);

	release(handle);
	expect_gone(handle);
}

static void
a_retained_handle_is_ours(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL), again = {0};

	map_rw(va, handle);
	assert_int_equal(kr_hook_hsa_amd_vmem_retain_alloc_handle(&again, va), 0);
	assert_int_equal(again.handle, handle.handle);
	release(handle);
	unmap(va, BYTES);
	map_rw(va, handle);
	expect(1, false);
	unmap(va, BYTES);
	release(handle);
	expect_gone(handle);
}

/* A mapping keeps its memory, and the memory its handle. */
static void
a_mapped_handle_is_ours(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL);

	map_rw(va, handle);
	release(handle);
	expect(1, false);
	map_rw(va + BYTES, handle);
	expect(2, false);
	unmap(va, BYTES);
	expect(1, false);
	unmap(va + BYTES, BYTES);
	expect_gone(handle);
}

static void
our_own_memory_imported_is_ours(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL), again = import((int)handle.handle);

	assert_int_equal(again.handle, handle.handle);
	release(handle);
	map_rw(va, handle);
	expect(1, false);
	unmap(va, BYTES);
	release(handle);
	expect_gone(handle);
}

static void
a_release_that_fails_changes_nothing(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL);

	stand_in.vmem_release = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_vmem_handle_release(handle), 0);
	map_rw(va, handle);
	expect(1, false);
	release(handle);
	assert_int_not_equal(kr_hook_hsa_amd_vmem_handle_release(handle), 0); /* one too many */
	stand_in.vmem_unmap = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_vmem_unmap(va, BYTES), 0);
	map_rw(va + BYTES, handle);
	expect(2, false);
	unmap(va, BYTES);
	unmap(va + BYTES, BYTES);
	expect_gone(handle);
}

static void
a_call_that_fails_maps_nothing(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL);

	assert_int_not_equal(kr_hook_hsa_amd_vmem_map(va, BYTES, 0, (struct kr_vmem_handle){12345}, 0), 0);
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, RW), HSA_STATUS_ERROR_INVALID_ALLOCATION);
	map_rw(va, handle);
	assert_int_not_equal(kr_hook_hsa_amd_vmem_unmap(va + 1, BYTES - 1), 0);
	expect(1, false);
}

static void
nothing_is_known_after_the_runtime_went_down(void **state)
{
	struct kr_vmem_handle handle = make(STAND_IN_DEVICE_POOL), theirs = import(STAND_IN_THEIRS);

	map_rw(va, theirs);
	assert_int_equal(kr_tracker_attached(), 1);
	assert_int_equal(replay_teardown(state) || replay_setup(state), 0);
	expect_gone(handle);
}

/* ---- access ---- */

static void
memory_is_saved_while_its_owner_may_write_it(void **state)
{
	static const struct {
		uint32_t access;
		bool saved, said;
	} rows[] = {{NONE, false, false}, {RW, true, false}, {RW, true, false}, {RO, false, false}, {WO, false, true},
		    {RW, true, false},    {NONE, false, false}};

	map(va, make(STAND_IN_DEVICE_POOL));
	expect(0, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(access(va, BYTES, STAND_IN_GPU, rows[i].access), 0);
		/* nor does what others may do to it change that */
		assert_int_equal(access(va, BYTES, STAND_IN_GPU2, rows[i].access), 0);
		assert_int_equal(access(va, BYTES, STAND_IN_CPU, rows[i].access), 0);
		expect(rows[i].saved, rows[i].said);
	}
	access(va, BYTES, STAND_IN_GPU, WO);
	unmap(va, BYTES);
	expect(0, false);
}

static void
memory_of_another_agent_is_said_when_it_may_be_written(void **state)
{
	map(va, make(STAND_IN_DEVICE_POOL2));
	assert_int_equal(access(va, BYTES, STAND_IN_GPU2, RW), 0);
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, NONE), 0);
	expect(0, false);
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, RO), 0);
	expect(0, false);
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, RW), 0);
	expect(0, true);
	assert_false(kr_agent_find(STAND_IN_GPU2)->writes_peers);
}

static void
memory_of_another_process_is_said_while_it_may_be_written(void **state)
{
	map(va, import(STAND_IN_THEIRS));
	expect(0, false);
	access(va, BYTES, STAND_IN_GPU, RO);
	expect(0, false);
	access(va, BYTES, STAND_IN_GPU, WO);
	expect(0, true);
	access(va, BYTES, STAND_IN_GPU2, RW);
	access(va, BYTES, STAND_IN_GPU, RO);
	expect(0, true); /* whose, is not told apart */
	access(va, BYTES, STAND_IN_GPU2, NONE);
	expect(0, false);
	access(va, BYTES, STAND_IN_GPU, RW);
	unmap(va, BYTES);
	expect(0, false);
}

/* The host's memory is the host's whoever has access, and fine-grained memory is left out as ever. */
static void
other_memory_is_left_out_and_counted(void **state)
{
	map_rw(va, make(STAND_IN_HOST_POOL));
	map(va + BYTES, make(STAND_IN_FINE_POOL));
	expect(0, false);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_HOST], BYTES);
	assert_int_equal(saw.left_out[KREPLAY_LEFT_OUT_FINE_GRAINED], BYTES);
}

static void
one_call_may_be_about_several_mappings(void **state)
{
	map(va, make(STAND_IN_DEVICE_POOL));
	map(va + BYTES, make(STAND_IN_DEVICE_POOL));
	assert_int_equal(access(va, 2 * BYTES, STAND_IN_GPU, RW), 0);
	expect(2, false);
	assert_int_equal(access(va, 2 * BYTES, STAND_IN_GPU, NONE), 0);
	expect(0, false);
	assert_int_equal(access(va, 2 * BYTES, STAND_IN_GPU, RW), 0);
	stand_in.vmem_unmap = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_vmem_unmap(va, 2 * BYTES), 0);
	expect(2, false);
	unmap(va, 2 * BYTES);
	expect(0, false);
}

/* It takes an address anywhere in a mapping, and what follows that mapping without a gap. */
static void
the_older_call_gives_access_to_mappings_too(void **state)
{
	hsa_agent_t agents[] = {STAND_IN_GPU, STAND_IN_CPU};

	map(va, make(STAND_IN_DEVICE_POOL));
	map(va + BYTES, make(STAND_IN_DEVICE_POOL));
	assert_int_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, va + 100), 0);
	expect(2, false);
	assert_int_equal(access(va, 2 * BYTES, STAND_IN_GPU, RO), 0);
	assert_int_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, va + BYTES + 100), 0);
	expect(1, false);
	unmap(va, 2 * BYTES);
	map(va, make(STAND_IN_DEVICE_POOL2));
	stand_in.allow_access = (struct stand_in_point){.fail_at = 1};
	assert_int_not_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, va), 0);
	expect(0, false);
	assert_int_equal(kr_hook_hsa_amd_agents_allow_access(2, agents, NULL, va), 0);
	expect(0, true);
}

static void
a_call_that_fails_changes_nothing_or_is_not_trusted(void **state)
{
	map_rw(va, make(STAND_IN_DEVICE_POOL));
	assert_int_equal(access(va, 2 * BYTES, STAND_IN_GPU, NONE), HSA_STATUS_ERROR_INVALID_ALLOCATION);
	expect(1, false);
	stand_in.vmem_access = (struct stand_in_point){.fail_at = 1};
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, RO), HSA_STATUS_ERROR);
	expect(0, true);
	assert_int_equal(access(va, BYTES, STAND_IN_GPU, RW), 0);
	expect(1, false);
}

static pthread_t thread;
static hsa_agent_t whose;
static uint32_t wanted;
static _Atomic bool changed;
static bool early; /* it was changed while the window was open */

static void *
change_access(void *unused)
{
	access(va, BYTES, whose, wanted);
	changed = true;
	return NULL;
}

static void
start_change(uint64_t pass)
{
	if (pass != 0)
		return;
	pthread_create(&thread, NULL, change_access, NULL);
	while (kr_agent_find(STAND_IN_GPU)->waiting == 0 && !changed)
		sched_yield();
	early = changed;
}

/* The window reads and writes the memory to its end; what changes nothing for it does not wait. */
static void
access_is_taken_away_after_the_window(void **state)
{
	const struct {
		hsa_agent_t agent;
		uint32_t permission;
		bool early;
	} rows[] = {{STAND_IN_GPU2, RW, true},
		    {STAND_IN_GPU2, NONE, true},
		    {STAND_IN_CPU, RO, true},
		    {STAND_IN_GPU, RW, true},
		    {STAND_IN_GPU, NONE, false}};

	map_rw(va, make(STAND_IN_DEVICE_POOL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		whose = rows[i].agent;
		wanted = rows[i].permission;
		changed = false;
		in_pass_exit = start_change;
		expect(1, false);
		pthread_join(thread, NULL);
		in_pass_exit = NULL;
		assert_int_equal(early, rows[i].early);
	}
	expect(0, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_value_that_is_used_again_is_not_ours),
		TEST(a_retained_handle_is_ours),
		TEST(a_mapped_handle_is_ours),
		TEST(our_own_memory_imported_is_ours),
		TEST(a_release_that_fails_changes_nothing),
		TEST(a_call_that_fails_maps_nothing),
		TEST(nothing_is_known_after_the_runtime_went_down),
		TEST(memory_is_saved_while_its_owner_may_write_it),
		TEST(memory_of_another_agent_is_said_when_it_may_be_written),
		TEST(memory_of_another_process_is_said_while_it_may_be_written),
		TEST(other_memory_is_left_out_and_counted),
		TEST(one_call_may_be_about_several_mappings),
		TEST(the_older_call_gives_access_to_mappings_too),
		TEST(a_call_that_fails_changes_nothing_or_is_not_trusted),
		TEST(access_is_taken_away_after_the_window),
	};

	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
