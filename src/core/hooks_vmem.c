/* SPDX-License-Identifier: MIT */
/*
 * Virtual-memory mappings, and who may reach what.
 *
 * A new mapping can be reached by nobody: for a window to read it would be a fault of the device, and to write back
 * what is read-only as well. So it is in its owner's scope for as long as the owner may read and write it. What an
 * agent may write and no snapshot of its own memory holds makes its outcome say so.
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "core/agents.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "kreplay/kreplay.h"

enum { MAY_WRITE = HSA_ACCESS_PERMISSION_WO, MAY_BOTH = HSA_ACCESS_PERMISSION_RW };

/* Memory that was made in this process. What is known here is alive in the runtime: counts go up after the runtime's
 * and down before. So another process's memory that is given the handle in its place is not taken for it. */
struct memory {
	uint64_t handle, pool;
	unsigned count; /* of references and mappings */
};

struct mapping {
	uintptr_t base;
	size_t size;
	uint64_t handle, pool;
	bool ours;              /* made in this process */
	enum kr_pool_kind kind; /* if it is */
	struct kr_agent *owner; /* likewise; NULL: the host */
	uint32_t access;        /* the owner's */
	uint64_t writers;       /* if it is not: the agents that may write it, a bit each */
	bool tracked;           /* an allocation */
	bool attached;          /* written and not saved */
	struct mapping *next;
};

static struct {
	pthread_mutex_t mutex;
	void *memory, *mappings; /* trees */
	_Atomic unsigned mapped;
	struct kr_agent *life; /* the first agent, which is another one when the runtime comes up once more */
} vmem = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int
by_handle(const void *a, const void *b)
{
	const struct memory *x = a, *y = b;

	return x->handle < y->handle ? -1 : x->handle > y->handle;
}

/* Those that overlap are the same. */
static int
by_place(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->base + x->size <= y->base ? -1 : x->base >= y->base + y->size;
}

static void
forget(struct mapping *m)
{
	if (m->attached)
		kr_tracker_detach((void *)m->base);
	free(m);
}

static void
lock(void)
{
	struct kr_agent *life = kr_agent_at(0);

	pthread_mutex_lock(&vmem.mutex);
	if (vmem.life == life)
		return;
	vmem.life = life;
	tdestroy(vmem.memory, free);
	tdestroy(vmem.mappings, free); /* the tracker has forgotten them with the agents */
	vmem.memory = vmem.mappings = NULL;
	vmem.mapped = 0;
}

static void
unlock(void)
{
	pthread_mutex_unlock(&vmem.mutex);
}

/* ---- memory; with the mutex held ---- */

static struct memory *
memory_of(uint64_t handle)
{
	struct memory key = {.handle = handle}, **found = tfind(&key, &vmem.memory, by_handle);

	return found != NULL ? *found : NULL;
}

/* Memory that was made here, in `pool`. */
static void
hold(uint64_t handle, uint64_t pool)
{
	struct memory *m = memory_of(handle);

	if (m == NULL && (m = calloc(1, sizeof(*m))) != NULL) {
		*m = (struct memory){.handle = handle, .pool = pool};
		if (tsearch(m, &vmem.memory, by_handle) == NULL) {
			free(m);
			m = NULL; /* passes for another process's */
		}
	}
	if (m != NULL)
		m->count++;
}

/* The pool that it was made in, 0: it was not made here. */
static uint64_t
let_go(uint64_t handle)
{
	struct memory *m = memory_of(handle);
	uint64_t pool = m != NULL ? m->pool : 0;

	if (m != NULL && --m->count == 0) {
		tdelete(m, &vmem.memory, by_handle);
		free(m);
	}
	return pool;
}

/* ---- mappings; with the mutex held ---- */

static struct mapping *
mapping_at(uintptr_t address)
{
	struct mapping key = {.base = address, .size = 1}, **found;

	if (vmem.mapped == 0)
		return NULL;
	found = tfind(&key, &vmem.mappings, by_place);
	return found != NULL ? *found : NULL;
}

/* Notes a mapping with the tracker as what it is now. */
static void
settle(struct mapping *m)
{
	bool tracked = m->ours && (m->kind != KR_POOL_DEVICE || m->access == MAY_BOTH);
	bool attached = !tracked && (m->ours ? (m->access & MAY_WRITE) != 0 : m->writers != 0);

	if (tracked && !m->tracked)
		kr_tracker_add((void *)m->base, m->size, m->pool, 0, KREPLAY_REGION_VMEM);
	if (attached != m->attached)
		(attached ? kr_tracker_attach : kr_tracker_detach)((void *)m->base);
	m->tracked = tracked;
	m->attached = attached;
}

static void
insert(struct mapping *m)
{
	struct mapping **place = tsearch(m, &vmem.mappings, by_place);

	if (place == NULL || *place != m) {
		kr_tracker_attach((void *)m->base); /* for ever: nobody will know it when it goes */
		free(m);
		return;
	}
	if (m->ours)
		hold(m->handle, m->pool);
	vmem.mapped++;
	settle(m);
}

/* The mapping that is there, taken out. */
static struct mapping *
take(uintptr_t address)
{
	struct mapping *m;

	lock();
	m = mapping_at(address);
	if (m != NULL) {
		tdelete(m, &vmem.mappings, by_place);
		vmem.mapped--;
		if (m->ours)
			let_go(m->handle);
	}
	unlock();
	return m;
}

/* ---- handles ---- */

hsa_status_t
kr_hook_hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags,
                                   struct kr_vmem_handle *handle)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_handle_create(pool, size, type, flags, handle);
	struct kr_agent *owner = NULL;

	if (kr_pool_kind(pool.handle, &owner) != KR_POOL_UNKNOWN && kr_snapshot_make_room(status, owner))
		status = kr_next.hsa_amd_vmem_handle_create(pool, size, type, flags, handle);
	if (status == HSA_STATUS_SUCCESS) {
		lock();
		hold(handle->handle, pool.handle);
		unlock();
	}
	return status;
}

hsa_status_t
kr_hook_hsa_amd_vmem_handle_release(struct kr_vmem_handle handle)
{
	hsa_status_t status;
	uint64_t pool;

	lock();
	pool = let_go(handle.handle);
	unlock();
	status = kr_next.hsa_amd_vmem_handle_release(handle);
	if (status != HSA_STATUS_SUCCESS && pool != 0) {
		lock();
		hold(handle.handle, pool);
		unlock();
	}
	return status;
}

/* One reference more, if it is memory that was made here. */
static void
hold_known(uint64_t handle)
{
	struct memory *m;

	lock();
	m = memory_of(handle);
	if (m != NULL)
		m->count++;
	unlock();
}

hsa_status_t
kr_hook_hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, struct kr_vmem_handle *handle)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_import_shareable_handle(dmabuf_fd, handle);

	if (status == HSA_STATUS_SUCCESS)
		hold_known(handle->handle);
	return status;
}

hsa_status_t
kr_hook_hsa_amd_vmem_retain_alloc_handle(struct kr_vmem_handle *handle, void *va)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_retain_alloc_handle(handle, va);

	if (status == HSA_STATUS_SUCCESS)
		hold_known(handle->handle);
	return status;
}

/* ---- mappings ---- */

hsa_status_t
kr_hook_hsa_amd_vmem_map(void *va, size_t size, size_t in_offset, struct kr_vmem_handle handle, uint64_t flags)
{
	hsa_status_t status = kr_next.hsa_amd_vmem_map(va, size, in_offset, handle, flags);
	struct memory *memory;
	struct mapping *m;

	if (status != HSA_STATUS_SUCCESS || !kr_agents_init())
		return status;
	m = calloc(1, sizeof(*m));
	if (m == NULL) {
		kr_tracker_attach(va);
		return status;
	}
	*m = (struct mapping){.base = (uintptr_t)va, .size = size, .handle = handle.handle};
	lock();
	memory = memory_of(handle.handle);
	m->ours = memory != NULL;
	if (m->ours) {
		m->pool = memory->pool;
		m->kind = kr_pool_kind(m->pool, &m->owner);
	}
	insert(m);
	unlock();
	return status;
}

hsa_status_t
kr_hook_hsa_amd_vmem_unmap(void *va, size_t size)
{
	uintptr_t at = (uintptr_t)va, end = at + size;
	struct mapping *gone = NULL, *m;
	struct kr_allocation taken;
	hsa_status_t status;

	/* Some runtimes take several at once. */
	for (; at < end && (m = take(at)) != NULL; at = m->base + m->size) {
		if (m->tracked)
			kr_tracker_take((void *)m->base, &taken);
		m->tracked = false;
		m->next = gone;
		gone = m;
	}
	status = kr_next.hsa_amd_vmem_unmap(va, size);
	lock();
	while ((m = gone) != NULL) {
		gone = m->next;
		if (status == HSA_STATUS_SUCCESS)
			forget(m);
		else
			insert(m);
	}
	unlock();
	return status;
}

/* ---- access ---- */

/* Before the agent's access changes: what of its own may not be in its reach any more goes out of scope. Waits for the
 * window that is open. */
static void
withdraw(uintptr_t at, uintptr_t end, hsa_agent_t agent, uint32_t permission)
{
	const struct kr_agent *a = kr_agent_find(agent);
	struct kr_allocation taken;
	struct mapping *m;

	while (at < end) {
		uintptr_t base = 0;

		lock();
		m = mapping_at(at);
		at = m != NULL ? m->base + m->size : end;
		if (m != NULL && m->tracked && m->kind == KR_POOL_DEVICE && m->owner == a && m->access != permission) {
			m->tracked = false;
			base = m->base;
		}
		unlock();
		if (base != 0)
			kr_tracker_take((void *)base, &taken);
	}
}

static uint64_t
bit_of(const struct kr_agent *agent)
{
	for (unsigned i = 0; i < 64 && kr_agent_at(i) != NULL; i++)
		if (kr_agent_at(i) == agent)
			return UINT64_C(1) << i;
	return 0;
}

static void
note_access(struct mapping *m, struct kr_agent *agent, uint32_t permission)
{
	if (!m->ours)
		m->writers = permission & MAY_WRITE ? m->writers | bit_of(agent) : m->writers & ~bit_of(agent);
	else if (m->owner == agent)
		m->access = permission;
	else if (m->owner != NULL && permission & MAY_WRITE)
		atomic_store(&agent->writes_peers, true);
}

/* After the call that changes the agent's access. */
static void
settle_access(uintptr_t at, uintptr_t end, hsa_agent_t agent, uint32_t permission, hsa_status_t status)
{
	struct kr_agent *a = kr_agent_find(agent);
	struct mapping *m;

	/* It ended half-way, so what the agent may do is not known: nothing is read, and what it may write is said. */
	if (status == HSA_STATUS_ERROR)
		permission = MAY_WRITE;
	lock();
	for (; at < end && (m = mapping_at(at)) != NULL; at = m->base + m->size) {
		if (a != NULL && (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR))
			note_access(m, a, permission);
		settle(m);
	}
	unlock();
}

hsa_status_t
kr_hook_hsa_amd_vmem_set_access(void *va, size_t size, const struct kr_vmem_access *access, size_t count)
{
	uintptr_t at = (uintptr_t)va, end = at + size;
	hsa_status_t status;

	for (size_t i = 0; i < count; i++)
		withdraw(at, end, access[i].agent, access[i].permission);
	status = kr_next.hsa_amd_vmem_set_access(va, size, access, count);
	for (size_t i = 0; i < count; i++)
		settle_access(at, end, access[i].agent, access[i].permission, status);
	return status;
}

/* Where what hsa_amd_agents_allow_access gives access to ends: it is the mapping of an address, and those that follow
 * it without a gap. 0: the address is in none. */
static uintptr_t
end_of_run(const void *address)
{
	struct mapping *m;
	uintptr_t end = 0;

	if (vmem.mapped == 0)
		return 0;
	lock();
	for (m = mapping_at((uintptr_t)address); m != NULL; m = mapping_at(end))
		end = m->base + m->size;
	unlock();
	return end;
}

/* An agent with access to another agent's memory can write what no snapshot of
 * its own memory holds. */
static void
note_peers(const void *ptr, uint32_t num_agents, const hsa_agent_t *agents)
{
	struct kr_allocation a;
	struct kr_agent *agent;

	if (!kr_tracker_find(ptr, &a) || a.agent == NULL)
		return;
	for (uint32_t i = 0; i < num_agents; i++) {
		agent = kr_agent_find(agents[i]);
		if (agent != NULL && agent != a.agent)
			atomic_store(&agent->writes_peers, true);
	}
}

hsa_status_t
kr_hook_hsa_amd_agents_allow_access(uint32_t num_agents, const hsa_agent_t *agents, const uint32_t *flags,
                                    const void *ptr)
{
	uintptr_t end = end_of_run(ptr);
	hsa_status_t status = kr_next.hsa_amd_agents_allow_access(num_agents, agents, flags, ptr);

	for (uint32_t i = 0; i < num_agents && end != 0; i++)
		settle_access((uintptr_t)ptr, end, agents[i], MAY_BOTH, status);
	if (status == HSA_STATUS_SUCCESS && end == 0)
		note_peers(ptr, num_agents, agents);
	return status;
}
