/* SPDX-License-Identifier: MIT */
/* contract 5: which memory a snapshot covers, and what the outcome says of the rest. */
#include "scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };

static struct hsa_app app;
static struct adder adder;

static void expect(bool right, const char *what)
{
	if (!right)
		hsa_app_die(HSA_APP_FAILED, "%s", what);
}

/* What CONFIG EXIT of the last window said. */
static struct outcome {
	uint64_t left_out[KREPLAY_LEFT_OUT_CLASSES], bytes;
	uint32_t flags;
} outcome;

static void keep(int operation, int phase, const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	if (operation != KREPLAY_KERNEL_REPLAY_CONFIG || phase != KREPLAY_CALLBACK_PHASE_EXIT)
		return;
	memcpy(outcome.left_out, payload->left_out_bytes, sizeof(outcome.left_out));
	outcome.bytes = payload->snapshot.bytes;
	outcome.flags = payload->flags;
}

static struct outcome ask(void)
{
	uint64_t before = scenario.replayed;

	adder_launch(&adder);
	expect(scenario.replayed == before + 1, "a launch was not replayed");
	return outcome;
}

/* --- pools and regions --- */

struct search {
	uint32_t flags; /* one of these */
	bool pick_region;
	hsa_amd_memory_pool_t pool;
	hsa_region_t region;
	bool found;
};

static hsa_status_t look_at_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct search *search = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (!(flags & search->flags))
		return HSA_STATUS_SUCCESS;
	search->pool = pool;
	search->found = true;
	return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t look_at_region(hsa_region_t region, void *data)
{
	struct search *search = data;
	hsa_region_segment_t segment;
	uint32_t flags = 0;

	HSA_CHECK(hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment));
	if (segment != HSA_REGION_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	HSA_CHECK(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
	if (!(flags & search->flags))
		return HSA_STATUS_SUCCESS;
	search->region = region;
	search->found = true;
	return HSA_STATUS_INFO_BREAK;
}

/* --- in scope --- */

/* `mix` on memory that was allocated in some other way: 0 * 3 + 5 once, 65 after three passes without restore. */
static void mix_once(uint32_t *values, const char *what)
{
	struct hsa_app_range range = { .grid = { 64 }, .group = { 64 } };
	struct hsa_app_kernel mix = hsa_app_find_kernel(&app, "mix");
	uint32_t *host = hsa_app_alloc_host(&app, 256), want[64];
	struct {
		uint32_t *values;
		uint32_t amount, n;
	} args = { values, 5, 64 };
	void *kernargs = hsa_app_kernargs(&app, &mix, &args, sizeof(args));

	HSA_CHECK(hsa_amd_memory_fill(values, 0, 64));
	hsa_app_dispatch(&app, adder.queue, &mix, &range, kernargs, adder.done);
	hsa_app_wait(&app, adder.done);
	hsa_app_copy_to_host(&app, host, values, sizeof(want));
	for (int i = 0; i < 64; i++)
		want[i] = 5;
	expect(hsa_app_same_u32(what, host, want, 64), "a replay shows in memory that is in scope");
	hsa_app_free(kernargs);
	hsa_app_free(host);
}

/* A kernel that is given memory out of scope: what it adds there is added by every pass, and nothing else happens. */
static void bump_thrice(uint32_t *cell, const char *what)
{
	struct hsa_app_kernel bump = hsa_app_find_kernel(&app, "bump");
	uint32_t *host = hsa_app_alloc_host(&app, 64);
	void *kernargs = hsa_app_kernargs(&app, &bump, &cell, sizeof(cell));

	HSA_CHECK(hsa_amd_memory_fill(cell, 40, 1));
	hsa_app_dispatch(&app, adder.queue, &bump, &one, kernargs, adder.done);
	hsa_app_wait(&app, adder.done);
	HSA_CHECK(hsa_memory_copy(host, cell, 4));
	if (*host != 43)
		hsa_app_die(HSA_APP_FAILED, "%s: three passes have left %u, not 43", what, *host);
	hsa_app_free(kernargs);
	hsa_app_free(host);
}

static void *take(hsa_amd_memory_pool_t pool, size_t bytes)
{
	hsa_agent_t agents[2] = { app.cpu, app.gpu };
	hsa_amd_memory_pool_access_t access;
	void *memory;

	HSA_CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(app.gpu, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
	if (access == HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT)
		HSA_CHECK(hsa_amd_agents_allow_access(2, agents, NULL, memory));
	return memory;
}

/* Two answers differ in one class alone, and by so much; class -1: in what is in scope. */
static void expect_difference(const struct outcome *before, const struct outcome *after, int class, uint64_t bytes,
			      const char *what)
{
	for (int i = 0; i < KREPLAY_LEFT_OUT_CLASSES; i++)
		if (after->left_out[i] - before->left_out[i] != (i == class ? bytes : 0))
			hsa_app_die(HSA_APP_FAILED, "%s: class %d went from %" PRIu64 " to %" PRIu64, what, i,
				    before->left_out[i], after->left_out[i]);
	if (after->bytes - before->bytes != (class < 0 ? bytes : 0))
		hsa_app_die(HSA_APP_FAILED, "%s: the snapshot went from %" PRIu64 " to %" PRIu64 " bytes", what,
			    before->bytes, after->bytes);
}

int story_scopes(int argc, char **argv)
{
	static const struct {
		const char *what;
		bool of_gpu;
		uint32_t flag;
		int class;
		bool writable; /* kernels write there in earnest */
	} rows[] = {
		{ "coarse-grained", true, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, -1, true },
		{ "fine-grained", true, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, KREPLAY_LEFT_OUT_FINE_GRAINED, true },
		{ "host", false, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, KREPLAY_LEFT_OUT_HOST, true },
		{ "kernarg", false, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, KREPLAY_LEFT_OUT_KERNARG, false },
	};
	struct search coarse = { .flags = HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED };
	void *memory;

	hsa_app_init(&app);
	adder_init(&adder, &app, 256, 3);
	scenario.passes = 3;
	scenario.on_callback = keep;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct search search = { .flags = rows[i].flag };
		struct outcome before = ask(), after;
		uint64_t bytes = 4096 * (3 + 2 * i);

		HSA_CHECK(hsa_amd_agent_iterate_memory_pools(rows[i].of_gpu ? app.gpu : app.cpu, look_at_pool, &search));
		if (!search.found) {
			fprintf(stderr, "scenarios: there is no %s pool here\n", rows[i].what);
			continue;
		}
		memory = take(search.pool, bytes);
		after = ask();
		expect_difference(&before, &after, rows[i].class, bytes, rows[i].what);
		if (rows[i].class < 0)
			mix_once(memory, rows[i].what);
		else if (rows[i].writable)
			bump_thrice(memory, rows[i].what);
		HSA_CHECK(hsa_amd_memory_pool_free(memory));
		after = ask();
		expect_difference(&before, &after, -1, 0, rows[i].what);
	}

	HSA_CHECK(hsa_agent_iterate_regions(app.gpu, look_at_region, &coarse));
	expect(coarse.found, "the agent has no coarse-grained region");
	struct outcome before = ask(), after;

	HSA_CHECK(hsa_memory_allocate(coarse.region, 4096 * 13, &memory));
	after = ask();
	expect_difference(&before, &after, -1, 4096 * 13, "region");
	mix_once(memory, "region");
	HSA_CHECK(hsa_memory_free(memory));
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	adder_finish(&adder);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* --- memory of others --- */

/* The agent that may write the other one's memory says so; the other one, which may not, does not. */
int story_peer_memory(int argc, char **argv)
{
	static struct hsa_app apps[MOST_AGENTS];
	struct adder owner;
	void *memory;

	if (agents_init(apps) != 2)
		hsa_app_die(HSA_APP_FAILED, "there are not two agents");
	app = apps[0];
	adder_init(&adder, &apps[0], 256, 3);
	adder_init(&owner, &apps[1], 256, 4);
	scenario.passes = 3;
	scenario.on_callback = keep;
	expect(!(ask().flags & KREPLAY_FLAG_PEER_MEMORY), "there is no memory of a peer, and the outcome says that there is");
	HSA_CHECK(hsa_amd_memory_pool_allocate(apps[1].device, 8192, 0, &memory));
	HSA_CHECK(hsa_amd_agents_allow_access(1, &apps[0].gpu, NULL, memory));
	expect(ask().flags & KREPLAY_FLAG_PEER_MEMORY, "the outcome does not say that a peer's memory can be written");
	adder_launch(&owner);
	expect(scenario.replayed == 3, "not every launch was replayed");
	expect(!(outcome.flags & KREPLAY_FLAG_PEER_MEMORY), "the owner was taken for one that writes a peer's memory");
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
	if (!adder_check(&adder) || !adder_check(&owner))
		return HSA_APP_FAILED;
	adder_finish(&owner);
	adder_finish(&adder);
	agents_finish(apps, 2);
	return HSA_APP_OK;
}

enum { SHARED_BYTES = 4u << 20 };

/* In the other process: attaches what it is sent. */
static int attach(int from)
{
	hsa_amd_ipc_memory_t handle;
	void *memory;

	if (read(from, &handle, sizeof(handle)) != sizeof(handle))
		return HSA_APP_FAILED;
	hsa_app_init(&app);
	adder_init(&adder, &app, 256, 3);
	scenario.passes = 3;
	scenario.on_callback = keep;
	expect(!(ask().flags & KREPLAY_FLAG_PEER_MEMORY), "nothing is attached, and the outcome says that there is");
	HSA_CHECK(hsa_amd_ipc_memory_attach(&handle, SHARED_BYTES, 1, &app.gpu, &memory));
	expect(ask().flags & KREPLAY_FLAG_PEER_MEMORY, "the outcome does not name another process's memory");
	HSA_CHECK(hsa_amd_ipc_memory_detach(memory));
	expect(!(ask().flags & KREPLAY_FLAG_PEER_MEMORY), "detached, and the outcome does not say so");
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	adder_finish(&adder);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

int story_ipc_memory(int argc, char **argv)
{
	hsa_amd_ipc_memory_t handle;
	int ends[2], status;
	void *memory;
	pid_t child;

	/* before HSA is up: a process of its own */
	if (pipe(ends) != 0 || (child = fork()) < 0)
		hsa_app_die(HSA_APP_FAILED, "no pipe or no process");
	if (child == 0) {
		close(ends[1]);
		exit(attach(ends[0]));
	}
	close(ends[0]);
	hsa_app_init(&app);
	memory = hsa_app_alloc_device(&app, SHARED_BYTES);
	HSA_CHECK(hsa_amd_ipc_memory_create(memory, SHARED_BYTES, &handle));
	if (write(ends[1], &handle, sizeof(handle)) != sizeof(handle))
		hsa_app_die(HSA_APP_FAILED, "the pipe is closed");
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != HSA_APP_OK)
		hsa_app_die(HSA_APP_FAILED, "the other process did not end well (wait status 0x%x)", (unsigned)status);
	hsa_app_free(memory);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
