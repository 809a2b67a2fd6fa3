/* SPDX-License-Identifier: MIT */
#include "core/fence.h"

#include <stdlib.h>

#include "core/snapshot_internal.h"

struct kr_fence {
	uint32_t *host, *device; /* two words each */
	hsa_signal_t done;
	bool pending; /* fences of an earlier window that gave up still wait */
};

void
kr_fence_destroy(struct kr_agent *agent)
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
		kr_fence_destroy(agent);
		return NULL;
	}
	return f;
}

static bool
fence(struct kr_agent *agent, _Atomic bool *flag, void *to, hsa_agent_t to_agent, const void *from,
      hsa_agent_t from_agent)
{
	struct kr_fence *f = agent->fence;

	if (!atomic_exchange(flag, false))
		return true;
	kr_next.hsa_signal_add_relaxed(f->done, 1);
	if (kr_next.hsa_amd_memory_async_copy(to, to_agent, from, from_agent, 4, 0, NULL, f->done) ==
	    HSA_STATUS_SUCCESS)
		return true;
	kr_next.hsa_signal_subtract_relaxed(f->done, 1);
	atomic_store(flag, true);
	return false;
}

bool
kr_fence_copies(struct kr_agent *agent, uint64_t deadline)
{
	hsa_agent_t host = kr_host_agent(), device = agent->handle;
	struct kr_fence *f;

	if (!atomic_load(&agent->copied_to_host) && !atomic_load(&agent->copied_from_host) &&
	    !atomic_load(&agent->copied_inside) && (agent->fence == NULL || !agent->fence->pending))
		return true;
	f = fence_of(agent);
	if (f == NULL || !fence(agent, &agent->copied_to_host, f->host, host, f->device, device) ||
	    !fence(agent, &agent->copied_from_host, f->device, device, f->host, host) ||
	    !fence(agent, &agent->copied_inside, f->device + 1, device, f->device, device))
		return false;
	f->pending = true;
	while (f->pending && (deadline == 0 || kr_now_ns() < deadline))
		f->pending = kr_next.hsa_signal_wait_scacquire(f->done, HSA_SIGNAL_CONDITION_LT, 1, 10000000,
							       HSA_WAIT_STATE_BLOCKED) >= 1;
	return !f->pending;
}
