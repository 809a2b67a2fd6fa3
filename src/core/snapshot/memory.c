/* SPDX-License-Identifier: MIT */
/* Memory of ours: allocated, counted, and kept in stores. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/snapshot/internal.h"

#define SMALLEST_SEGMENT (256u << 10)

static struct {
	_Atomic uint64_t now, peak;
} held[2]; /* host, device */

static void
account(enum kr_place place, size_t bytes, bool more)
{
	unsigned side = place == KR_IN_DEVICE;
	uint64_t now, peak;

	if (!more) {
		atomic_fetch_sub(&held[side].now, bytes);
		return;
	}
	now = atomic_fetch_add(&held[side].now, bytes) + bytes;
	peak = atomic_load(&held[side].peak);
	while (now > peak && !atomic_compare_exchange_weak(&held[side].peak, &peak, now))
		;
}

void
kr_snapshot_peaks(uint64_t *host_bytes, uint64_t *device_bytes)
{
	*host_bytes = atomic_load(&held[0].peak);
	*device_bytes = atomic_load(&held[1].peak);
}

bool
kr_pinned_alloc(struct kr_agent *agent, size_t size, void **memory)
{
	hsa_amd_memory_pool_t pool;

	*memory = NULL;
	if (!kr_host_pool(&pool) ||
	    kr_next.hsa_amd_memory_pool_allocate(pool, size, 0, memory) != HSA_STATUS_SUCCESS)
		return false;
	if (kr_next.hsa_amd_agents_allow_access(1, &agent->handle, NULL, *memory) == HSA_STATUS_SUCCESS)
		return true;
	kr_next.hsa_amd_memory_pool_free(*memory);
	*memory = NULL;
	return false;
}

bool
kr_memory_alloc(struct kr_agent *agent, enum kr_place place, size_t bytes, void **memory)
{
	bool ok;

	*memory = NULL;
	if (place == KR_IN_PINNED) {
		ok = kr_pinned_alloc(agent, bytes, memory);
	} else if (place == KR_IN_DEVICE) {
		ok = agent->device_pool.handle != 0 &&
		     kr_next.hsa_amd_memory_pool_allocate(agent->device_pool, bytes, 0, memory) == HSA_STATUS_SUCCESS;
	} else {
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ok = *memory != MAP_FAILED;
	}
	if (ok)
		account(place, bytes, true);
	else
		*memory = NULL;
	return ok;
}

void
kr_memory_free(enum kr_place place, void *memory, size_t bytes)
{
	if (memory == NULL)
		return;
	if (place == KR_IN_PAGEABLE)
		munmap(memory, bytes);
	else
		kr_next.hsa_amd_memory_pool_free(memory);
	account(place, bytes, false);
}

/* ---- how much there is ---- */

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t
address_space_room(void)
{
	struct rlimit limit;
	uint64_t pages;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	pages = kr_number_in("/proc/self/statm", "");
	return pages == UINT64_MAX ? UINT64_MAX : less(limit.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

uint64_t
kr_host_memory_available(void)
{
	uint64_t kib = kr_number_in("/proc/meminfo", "MemAvailable:");
	uint64_t room = kib == UINT64_MAX ? UINT64_MAX : kib * 1024, other = kr_cgroup_room("");

	if (other < room)
		room = other;
	other = address_space_room();
	return other < room ? other : room;
}

/* ---- stores ---- */

static bool
reserve(struct kr_extent **array, size_t *room, size_t count)
{
	size_t wanted = *room ? *room * 2 : 16;
	struct kr_extent *grown;

	if (count < *room)
		return true;
	grown = realloc(*array, wanted * sizeof(*grown));
	if (grown == NULL)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

static void
remove_hole(struct kr_store *store, size_t i)
{
	memmove(&store->holes[i], &store->holes[i + 1], (--store->hole_count - i) * sizeof(*store->holes));
}

void *
kr_store_take(struct kr_store *store, size_t bytes)
{
	for (size_t i = 0; i < store->hole_count; i++) {
		struct kr_extent *hole = &store->holes[i];
		char *slot = hole->base;

		if (hole->bytes < bytes)
			continue;
		hole->base += bytes;
		hole->bytes -= bytes;
		if (hole->bytes == 0)
			remove_hole(store, i);
		return slot;
	}
	return NULL;
}

/* Slots of different segments are not joined: a segment ends with a line that
 * is never handed out. */
void
kr_store_give(struct kr_store *store, void *slot, size_t bytes)
{
	size_t low = 0, high = store->hole_count;
	char *base = slot;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (store->holes[middle].base < base)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && store->holes[low - 1].base + store->holes[low - 1].bytes == base) {
		store->holes[low - 1].bytes += bytes;
		if (low < store->hole_count && base + bytes == store->holes[low].base) {
			store->holes[low - 1].bytes += store->holes[low].bytes;
			remove_hole(store, low);
		}
		return;
	}
	if (low < store->hole_count && base + bytes == store->holes[low].base) {
		store->holes[low].base = base;
		store->holes[low].bytes += bytes;
		return;
	}
	/* Without memory for the note the slot is lost until the store is released. */
	if (!reserve(&store->holes, &store->hole_room, store->hole_count))
		return;
	memmove(&store->holes[low + 1], &store->holes[low], (store->hole_count++ - low) * sizeof(*store->holes));
	store->holes[low] = (struct kr_extent){base, bytes};
}

bool
kr_store_grow(struct kr_store *store, size_t bytes)
{
	size_t wanted = bytes < SMALLEST_SEGMENT ? SMALLEST_SEGMENT : bytes;
	void *base;

	if (!reserve(&store->segments, &store->segment_room, store->segment_count) ||
	    !reserve(&store->holes, &store->hole_room, store->hole_count))
		return false;
	wanted += KR_SLOT_ALIGN;
	if (!kr_memory_alloc(store->agent, store->place, wanted, &base))
		return false;
	store->segments[store->segment_count++] = (struct kr_extent){base, wanted};
	store->bytes += wanted;
	kr_store_give(store, base, wanted - KR_SLOT_ALIGN);
	return true;
}

void
kr_store_release(struct kr_store *store)
{
	for (size_t i = 0; i < store->segment_count; i++)
		kr_memory_free(store->place, store->segments[i].base, store->segments[i].bytes);
	free(store->segments);
	free(store->holes);
	*store = (struct kr_store){.agent = store->agent, .place = store->place};
}
