/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/newer.h"
#include "core/tracker.h"

#define STAGE (4u << 20)

static char *stage; /* pinned */
static hsa_signal_t copied;

void
runtime_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	exit(1);
}

struct kr_agent *
runtime_start(void)
{
	struct kr_agent *agent;

	CHECK(hsa_init() == HSA_STATUS_SUCCESS);
#define HOOK(table, name) kr_next.name = name;
#define NEED(table, name) kr_next.name = name;
#define NEWER(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
	CHECK(kr_agents_init());
	agent = kr_agent_at(0);
	CHECK(agent != NULL);
	CHECK(kr_pinned_alloc(agent, STAGE, (void **)&stage));
	CHECK(hsa_signal_create(0, 0, NULL, &copied) == HSA_STATUS_SUCCESS);
	return agent;
}

void
runtime_stop(void)
{
	struct kr_agent *agent;

	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++)
		kr_snapshot_destroy(agent);
	hsa_amd_memory_pool_free(stage);
	hsa_signal_destroy(copied);
	kr_tracker_clear();
	kr_agents_finish();
	CHECK(hsa_shut_down() == HSA_STATUS_SUCCESS);
}

void *
runtime_alloc(struct kr_agent *agent, size_t bytes)
{
	void *memory = NULL;

	CHECK(kr_hook_hsa_amd_memory_pool_allocate(agent->device_pool, bytes, 0, &memory) == HSA_STATUS_SUCCESS);
	return memory;
}

void
runtime_free(void *memory)
{
	CHECK(kr_hook_hsa_amd_memory_pool_free(memory) == HSA_STATUS_SUCCESS);
}

static void
copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t bytes)
{
	hsa_signal_store_relaxed(copied, 1);
	CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, NULL, copied) == HSA_STATUS_SUCCESS);
	CHECK(hsa_signal_wait_scacquire(copied, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
}

void
runtime_write(struct kr_agent *agent, void *to, const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += STAGE) {
		size_t step = bytes - at < STAGE ? bytes - at : STAGE;

		memcpy(stage, (const char *)from + at, step);
		copy((char *)to + at, agent->handle, stage, kr_host_agent(), step);
	}
}

void
runtime_read(struct kr_agent *agent, void *to, const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += STAGE) {
		size_t step = bytes - at < STAGE ? bytes - at : STAGE;

		copy(stage, kr_host_agent(), (const char *)from + at, agent->handle, step);
		memcpy((char *)to + at, stage, step);
	}
}

/* The doors are not here; the API table names their hooks all the same. */
hsa_status_t
kr_hook_hsa_init(void)
{
	return hsa_init();
}

hsa_status_t
kr_hook_hsa_shut_down(void)
{
	return hsa_shut_down();
}
