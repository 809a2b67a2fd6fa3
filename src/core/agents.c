/* SPDX-License-Identifier: MIT */
#include "core/agents.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/proxy.h"

#define MAX_GPUS 64
#define MAX_POOLS 512

struct pool {
	uint64_t handle;
	enum kr_pool_kind kind;
	struct kr_agent *owner;
};

static struct {
	pthread_mutex_t mutex;
	struct kr_agent *gpu[MAX_GPUS];
	unsigned gpus;
	struct pool pool[MAX_POOLS];
	unsigned pools;
	hsa_agent_t host_agent;
	hsa_amd_memory_pool_t host_pool;
	hsa_region_t host_region;
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

uint64_t
kr_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uintptr_t
kr_thread_token(void)
{
	static _Thread_local char token;

	return (uintptr_t)&token;
}

/* ---- enumeration ---- */

static void
add_pool(uint64_t handle, uint32_t flags, struct kr_agent *owner)
{
	struct pool *p;

	if (table.pools == MAX_POOLS || kr_pool_kind(handle, NULL) != KR_POOL_UNKNOWN)
		return;
	p = &table.pool[table.pools++];
	p->handle = handle;
	p->owner = owner;
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		p->kind = KR_POOL_KERNARG;
	else if (owner == NULL)
		p->kind = KR_POOL_HOST;
	else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
		p->kind = KR_POOL_DEVICE;
	else
		p->kind = KR_POOL_FINE_GRAINED;
}

static hsa_status_t
visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct kr_agent *owner = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;
	size_t size = 0;

	if (kr_next.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) !=
	        HSA_STATUS_SUCCESS ||
	    segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	kr_next.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
	kr_next.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
	add_pool(pool.handle, flags, owner);
	if (owner != NULL && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)) {
		owner->memory_bytes += size;
		if (owner->device_pool.handle == 0)
			owner->device_pool = pool;
	}
	if (owner == NULL && table.host_pool.handle == 0 &&
	    (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) &&
	    !(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT))
		table.host_pool = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
visit_region(hsa_region_t region, void *data)
{
	struct kr_agent *owner = data;
	hsa_region_segment_t segment;
	uint32_t flags = 0;

	if (kr_next.hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment) != HSA_STATUS_SUCCESS ||
	    segment != HSA_REGION_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	kr_next.hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
	/* Region and pool flags have the same bits (hsa.h, hsa_ext_amd.h). */
	add_pool(region.handle, flags, owner);
	if (owner == NULL && table.host_region.handle == 0 &&
	    (flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED) && !(flags & HSA_REGION_GLOBAL_FLAG_KERNARG))
		table.host_region = region;
	return HSA_STATUS_SUCCESS;
}

/* The first is the native one. */
static hsa_status_t
visit_isa(hsa_isa_t isa, void *data)
{
	struct kr_agent *agent = data;
	uint32_t length = 0;

	if (kr_next.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) == HSA_STATUS_SUCCESS &&
	    length < sizeof(agent->isa))
		kr_next.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, agent->isa);
	return HSA_STATUS_INFO_BREAK;
}

static struct kr_agent *
agent_create(hsa_agent_t handle)
{
	struct kr_agent *agent = calloc(1, sizeof(*agent));
	pthread_condattr_t monotonic;

	if (agent == NULL)
		return NULL;
	agent->handle = handle;
	agent->type = HSA_DEVICE_TYPE_GPU;
	kr_next.hsa_agent_get_info(handle, HSA_AGENT_INFO_NAME, agent->name);
	kr_next.hsa_agent_get_info(handle, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT,
				   &agent->compute_units);
	kr_next.hsa_agent_iterate_isas(handle, visit_isa, agent);
	kr_next.hsa_agent_get_info(handle, HSA_AGENT_INFO_NODE, &agent->node);
	pthread_mutex_init(&agent->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&agent->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return agent;
}

static hsa_status_t
visit_agent(hsa_agent_t handle, void *data)
{
	struct kr_agent *agent = NULL;
	hsa_device_type_t type;

	if (kr_next.hsa_agent_get_info(handle, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS)
		return HSA_STATUS_SUCCESS;
	if (type == HSA_DEVICE_TYPE_GPU) {
		if (table.gpus == MAX_GPUS || (agent = agent_create(handle)) == NULL)
			return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
		table.gpu[table.gpus++] = agent;
	} else if (type != HSA_DEVICE_TYPE_CPU) {
		return HSA_STATUS_SUCCESS;
	} else if (table.host_agent.handle == 0) {
		table.host_agent = handle;
	}
	kr_next.hsa_amd_agent_iterate_memory_pools(handle, visit_pool, agent);
	kr_next.hsa_agent_iterate_regions(handle, visit_region, agent);
	return HSA_STATUS_SUCCESS;
}

_Atomic bool kr_agents_ready;

bool
kr_agents_enumerate(void)
{
	hsa_status_t status;

	pthread_mutex_lock(&table.mutex);
	if (!kr_agents_ready) {
		status = kr_next.hsa_iterate_agents(visit_agent, NULL);
		if (status == HSA_STATUS_SUCCESS)
			kr_agents_ready = true;
		else
			kr_log(KR_LOG_WARN, "agents", "cannot enumerate agents: %s", kr_status_text(status));
	}
	pthread_mutex_unlock(&table.mutex);
	return kr_agents_ready;
}

void
kr_agents_finish(void)
{
	/* Kept: a thread that still submits while the runtime goes down holds on to
	 * them by its queue. There is one for each agent and hsa_init. */
	static struct kr_agent *retired;

	pthread_mutex_lock(&table.mutex);
	for (unsigned i = 0; i < table.gpus; i++) {
		table.gpu[i]->retired = retired;
		retired = table.gpu[i];
	}
	table.gpus = table.pools = 0;
	table.host_agent.handle = table.host_pool.handle = table.host_region.handle = 0;
	kr_agents_ready = false;
	pthread_mutex_unlock(&table.mutex);
}

struct kr_agent *
kr_agent_find(hsa_agent_t handle)
{
	if (!kr_agents_init())
		return NULL;
	for (unsigned i = 0; i < table.gpus; i++)
		if (table.gpu[i]->handle.handle == handle.handle)
			return table.gpu[i];
	return NULL;
}

struct kr_agent *
kr_agent_at(unsigned index)
{
	return kr_agents_init() && index < table.gpus ? table.gpu[index] : NULL;
}

bool
kr_host_pool(hsa_amd_memory_pool_t *pool)
{
	*pool = table.host_pool;
	return table.host_pool.handle != 0;
}

bool
kr_host_region(hsa_region_t *region)
{
	*region = table.host_region;
	return table.host_region.handle != 0;
}

hsa_agent_t
kr_host_agent(void)
{
	return table.host_agent;
}

enum kr_pool_kind
kr_pool_kind(uint64_t handle, struct kr_agent **owner)
{
	for (unsigned i = 0; i < table.pools; i++)
		if (table.pool[i].handle == handle) {
			if (owner != NULL)
				*owner = table.pool[i].owner;
			return table.pool[i].kind;
		}
	return KR_POOL_UNKNOWN;
}

/* ---- the lock ---- */

static bool
wait_changed(struct kr_agent *agent, uint64_t deadline)
{
	struct timespec ts = {.tv_sec = (time_t)(deadline / 1000000000u),
	                      .tv_nsec = (long)(deadline % 1000000000u)};

	if (deadline == 0)
		return pthread_cond_wait(&agent->changed, &agent->mutex) == 0;
	return pthread_cond_timedwait(&agent->changed, &agent->mutex, &ts) == 0;
}

bool
kr_agent_is_writer(const struct kr_agent *agent)
{
	return atomic_load_explicit(&agent->writer, memory_order_relaxed) == kr_thread_token();
}

bool
kr_agent_wait_open(struct kr_agent *agent, uint64_t deadline)
{
	bool open;

	pthread_mutex_lock(&agent->mutex);
	agent->waiting++;
	agent->kept++;
	while (kr_agent_is_closed(agent) && wait_changed(agent, deadline))
		;
	agent->waiting--;
	agent->kept--;
	open = !kr_agent_is_closed(agent);
	if (agent->owed > 0 && --agent->owed == 0)
		pthread_cond_broadcast(&agent->changed);
	pthread_mutex_unlock(&agent->mutex);
	return open;
}

void
kr_agent_enter(struct kr_agent *agent)
{
	if (agent == NULL)
		return;
	for (;;) {
		atomic_fetch_add(&agent->readers, 1);
		if (!kr_agent_is_closed(agent))
			return;
		kr_agent_leave(agent);
		kr_agent_wait_open(agent, 0);
	}
}

void
kr_agent_leave(struct kr_agent *agent)
{
	if (agent == NULL)
		return;
	atomic_fetch_sub(&agent->readers, 1);
	if (atomic_load(&agent->writer) != 0) {
		pthread_mutex_lock(&agent->mutex);
		pthread_cond_broadcast(&agent->changed);
		pthread_mutex_unlock(&agent->mutex);
	}
}

bool
kr_agent_write_lock(struct kr_agent *agent, uint64_t deadline)
{
	bool locked;

	pthread_mutex_lock(&agent->mutex);
	agent->waiting++;
	while ((agent->window || agent->owed > 0) && wait_changed(agent, deadline))
		;
	agent->waiting--;
	if (agent->window || agent->owed > 0) {
		pthread_mutex_unlock(&agent->mutex);
		return false;
	}
	agent->window = true;
	atomic_store(&agent->writer, kr_thread_token());
	/* Copies: submissions only, or synchronous copies, which end by themselves. */
	while (atomic_load(&agent->readers) != 0 && wait_changed(agent, deadline))
		;
	locked = atomic_load(&agent->readers) == 0;
	/* Queues: whoever is submitting when we closed the door has a few stores to go. */
	for (struct kr_proxy *q = agent->queues; q != NULL && locked; q = q->next_on_agent)
		while (atomic_load(&q->owner) == KR_QUEUE_SUBMITTING)
			sched_yield();
	pthread_mutex_unlock(&agent->mutex);
	if (!locked)
		kr_agent_write_unlock(agent);
	return locked;
}

void
kr_agent_write_unlock(struct kr_agent *agent)
{
	pthread_mutex_lock(&agent->mutex);
	atomic_store(&agent->writer, 0);
	agent->window = false;
	/* Whom this window kept goes before the next one, or windows in a row keep them for ever. */
	agent->owed = agent->kept;
	pthread_cond_broadcast(&agent->changed);
	pthread_mutex_unlock(&agent->mutex);
}
