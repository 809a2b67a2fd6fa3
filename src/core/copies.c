/* SPDX-License-Identifier: MIT */
#include "core/copies.h"

#include <stdlib.h>

#include "core/snapshot.h"

struct kr_fence {
	uint32_t *host, *device; /* two words each */
	hsa_signal_t done;
	bool pending; /* fences of an earlier window that gave up still wait */
};

void
kr_copy_fence_destroy(struct kr_agent *agent)
{
	struct kr_fence *f = agent->fence;

	if (f == NULL || f->pending) /* a pending one still writes: it stays */
		return;
	if (f->host != NULL)
		kr_next.hsa_amd_memory_pool_free(f->host);
	if (f->device != NULL)
		kr_next.hsa_amd_memory_pool_free(f->device);
	if (f->done.handle != 0)
		kr_next.hsa_signal_destroy(f->done);
	free(f);
	agent->fence = NULL;
}

static struct kr_fence *
fence_of(struct kr_agent *agent)
{
	struct kr_fence *f = agent->fence;

	if (f != NULL)
		return f;
	agent->fence = f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	if (agent->device_pool.handle == 0 ||
	    kr_next.hsa_signal_create(0, 0, NULL, &f->done) != HSA_STATUS_SUCCESS ||
	    !kr_pinned_alloc(agent, 4096, (void **)&f->host) ||
	    kr_next.hsa_amd_memory_pool_allocate(agent->device_pool, 4096, 0, (void **)&f->device) !=
		    HSA_STATUS_SUCCESS) {
		kr_copy_fence_destroy(agent);
		return NULL;
	}
	return f;
}

/* Directions, as the runtime gives each an engine of its own. */
enum { TO_HOST, FROM_HOST, INSIDE };

static hsa_status_t
copy_word(struct kr_agent *agent, int direction, uint32_t engine)
{
	hsa_agent_t host = kr_host_agent(), device = agent->handle;
	struct kr_fence *f = agent->fence;
	hsa_agent_t to_agent = direction == TO_HOST ? host : device, from_agent = direction == FROM_HOST ? host : device;
	uint32_t *to = direction == TO_HOST ? f->host : direction == FROM_HOST ? f->device : f->device + 1;
	uint32_t *from = direction == FROM_HOST ? f->host + 1 : f->device;

	if (engine != 0)
		return kr_next.hsa_amd_memory_async_copy_on_engine(to, to_agent, from, from_agent, 4, 0, NULL, f->done,
								   engine, true);
	return kr_next.hsa_amd_memory_async_copy(to, to_agent, from, from_agent, 4, 0, NULL, f->done);
}

static bool
fence(struct kr_agent *agent, int direction, uint32_t engine)
{
	kr_next.hsa_signal_add_relaxed(agent->fence->done, 1);
	if (copy_word(agent, direction, engine) == HSA_STATUS_SUCCESS)
		return true;
	kr_next.hsa_signal_subtract_relaxed(agent->fence->done, 1);
	return false;
}

/* One direction: the runtime's own choice of engine (bit 0 of the note), and
 * every engine that was named. What could not be fenced stays noted. */
static bool
fence_direction(struct kr_agent *agent, int direction)
{
	uint64_t noted = atomic_exchange(&agent->copied[direction], 0);

	for (unsigned bit = 0; noted >> bit != 0; bit++) {
		if (!(noted >> bit & 1))
			continue;
		if (!fence(agent, direction, bit == 0 ? 0 : 1u << (bit - 1))) {
			atomic_fetch_or(&agent->copied[direction], noted >> bit << bit);
			return false;
		}
	}
	return true;
}

bool
kr_copy_fence(struct kr_agent *agent, uint64_t deadline)
{
	struct kr_fence *f;

	if (atomic_load(&agent->copied[TO_HOST]) == 0 && atomic_load(&agent->copied[FROM_HOST]) == 0 &&
	    atomic_load(&agent->copied[INSIDE]) == 0 && (agent->fence == NULL || !agent->fence->pending))
		return true;
	f = fence_of(agent);
	if (f == NULL)
		return false;
	f->pending = true;
	if (!fence_direction(agent, TO_HOST) || !fence_direction(agent, FROM_HOST) || !fence_direction(agent, INSIDE))
		return false;
	while (f->pending && (deadline == 0 || kr_now_ns() < deadline))
		f->pending = kr_next.hsa_signal_wait_scacquire(f->done, HSA_SIGNAL_CONDITION_LT, 1, 10000000,
							       HSA_WAIT_STATE_BLOCKED) >= 1;
	return !f->pending;
}

void
kr_copy_enter(struct kr_agent *a, struct kr_agent *b)
{
	kr_agent_enter(a < b ? a : b);
	if (a != b)
		kr_agent_enter(a < b ? b : a);
}

void
kr_copy_leave(struct kr_agent *a, struct kr_agent *b)
{
	kr_agent_leave(a);
	if (a != b)
		kr_agent_leave(b);
}

void
kr_copy_note(struct kr_agent *to, struct kr_agent *from, uint32_t engine)
{
	uint64_t note = engine != 0 ? (uint64_t)engine << 1 : 1;

	if (to != NULL && from == NULL)
		atomic_fetch_or(&to->copied[FROM_HOST], note);
	if (from != NULL && to == NULL)
		atomic_fetch_or(&from->copied[TO_HOST], note);
	if (to != NULL && from != NULL) {
		atomic_fetch_or(&to->copied[INSIDE], note);
		atomic_fetch_or(&from->copied[INSIDE], note);
	}
}

void
kr_copy_note_any(struct kr_agent *agent)
{
	for (int direction = 0; direction < 3; direction++)
		atomic_fetch_or(&agent->copied[direction], 1);
}
