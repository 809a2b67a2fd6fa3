/* SPDX-License-Identifier: MIT */
/*
 * Device memory: one sparse memory file a GPU, mapped piecewise into a window
 * of address space that is reserved once. Position in the window and position
 * in the file are the same number, so an address names its backing (sharing
 * needs that) and neighbouring allocations share one kernel mapping.
 *
 * Under private-vram the window stays without access and the contents are
 * mapped a second time, sg_window.delta higher: a host access that a card
 * without a large BAR would refuse is a SIGSEGV.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct extent {
	uint64_t start, size; /* offsets in the GPU's part of the window */
};

struct vram {
	int fd;
	uint64_t base; /* device address of offset 0 */
	uint64_t used;
	struct extent *free; /* sorted by start, never adjacent */
	size_t count, capacity;
	struct lingering *lingering;
};

/* Freed by its owner, and held by another process. */
struct lingering {
	struct lingering *next;
	struct extent extent;
};

struct sg_window sg_window;

/* Room for fragmentation: a card has page tables, we have addresses. */
#define WINDOW_FACTOR 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vram vrams[SG_MAX_GPUS];
static void *reservation;
static uint64_t reservation_bytes;

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static bool insert_extent(struct vram *vram, size_t at, struct extent extent)
{
	if (vram->count == vram->capacity) {
		size_t capacity = vram->capacity ? vram->capacity * 2 : 64;
		struct extent *grown = realloc(vram->free, capacity * sizeof(*grown));

		if (!grown)
			return false;
		vram->free = grown;
		vram->capacity = capacity;
	}
	memmove(&vram->free[at + 1], &vram->free[at], (vram->count - at) * sizeof(extent));
	vram->free[at] = extent;
	vram->count++;
	return true;
}

static void remove_extent(struct vram *vram, size_t at)
{
	vram->count--;
	memmove(&vram->free[at], &vram->free[at + 1],
	        (vram->count - at) * sizeof(struct extent));
}

/* Cuts [start, start + size) out of extent `at`, which contains it. */
static bool take(struct vram *vram, size_t at, uint64_t start, uint64_t size)
{
	struct extent *e = &vram->free[at];
	uint64_t before = start - e->start;
	uint64_t after = e->start + e->size - (start + size);

	if (before && after) {
		struct extent tail = {start + size, after};

		if (!insert_extent(vram, at + 1, tail))
			return false;
		vram->free[at].size = before;
	} else if (before) {
		e->size = before;
	} else if (after) {
		e->start += size;
		e->size = after;
	} else {
		remove_extent(vram, at);
	}
	return true;
}

static void give(struct vram *vram, uint64_t start, uint64_t size)
{
	size_t low = 0, high = vram->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (vram->free[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	bool joins_next = low < vram->count && start + size == vram->free[low].start;

	if (low > 0 && vram->free[low - 1].start + vram->free[low - 1].size == start) {
		vram->free[low - 1].size += size;
		if (joins_next) {
			vram->free[low - 1].size += vram->free[low].size;
			remove_extent(vram, low);
		}
	} else if (joins_next) {
		vram->free[low].start = start;
		vram->free[low].size += size;
	} else if (!insert_extent(vram, low, (struct extent){start, size})) {
		sg_log("out of host memory: %llu bytes of device addresses lost",
		       (unsigned long long)size);
	}
}

static enum sg_status open_gpu(struct vram *vram, uint64_t base, uint64_t span)
{
	memset(vram, 0, sizeof(*vram));
	vram->base = base;
	vram->fd = memfd_create("softgpu-vram", MFD_CLOEXEC);
	if (vram->fd < 0)
		return SG_RESOURCES;
	if (ftruncate(vram->fd, (off_t)span) || !insert_extent(vram, 0, (struct extent){0, span}))
		return SG_NO_MEMORY;
	return SG_OK;
}

/* Reserves `factor` times the memory of the largest card for each card. */
static bool reserve(uint64_t factor, uint64_t *span)
{
	uint64_t largest = SG_HUGE;

	for (uint32_t i = 0; i < sg_opt.gpu_count; i++) {
		if (sg_gpu_info(i + 1)->vram_bytes > largest)
			largest = sg_gpu_info(i + 1)->vram_bytes;
	}
	*span = round_up(largest, SG_HUGE) * factor;
	reservation_bytes = *span * sg_opt.gpu_count * (sg_opt.private_vram ? 2 : 1) + SG_HUGE;
	reservation = mmap(NULL, reservation_bytes, PROT_NONE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reservation == MAP_FAILED)
		reservation = NULL;
	return reservation != NULL;
}

enum sg_status sg_vram_open(void)
{
	enum sg_status status = SG_OK;
	uint64_t span, factor = WINDOW_FACTOR;

	for (uint32_t i = 0; i < SG_MAX_GPUS; i++)
		vrams[i].fd = -1;
	while (!reserve(factor, &span)) {
		factor /= 2;
		if (factor == 0) {
			sg_log("cannot reserve %llu MiB of address space: %s",
			       (unsigned long long)(reservation_bytes >> 20), strerror(errno));
			return SG_NO_MEMORY;
		}
	}
	madvise(reservation, reservation_bytes, MADV_DONTFORK);
	madvise(reservation, reservation_bytes, MADV_DONTDUMP);

	uint64_t base = round_up((uint64_t)(uintptr_t)reservation, SG_HUGE);
	uint64_t window = span * sg_opt.gpu_count;

	/* Wavefronts and this library reach the contents through the same window. */
	sg_window = (struct sg_window){base, window, sg_opt.private_vram ? window : 0};
	if (sg_opt.private_vram)
		gcn_set_window(sg_window.base, sg_window.size, sg_window.delta);
	else
		gcn_set_window(0, 0, 0);
	for (uint32_t i = 0; i < sg_opt.gpu_count && status == SG_OK; i++)
		status = open_gpu(&vrams[i], base + i * span, span);
	if (status != SG_OK)
		sg_vram_close();
	return status;
}

void sg_vram_close(void)
{
	/* Also runs in a forked child, where the lock may be anyone's. */
	pthread_mutex_init(&lock, NULL);
	for (uint32_t i = 0; i < SG_MAX_GPUS; i++) {
		if (vrams[i].capacity || vrams[i].base) {
			if (vrams[i].fd >= 0)
				close(vrams[i].fd);
			free(vrams[i].free);
		}
		for (struct lingering *l = vrams[i].lingering, *next; l; l = next) {
			next = l->next;
			free(l);
		}
		memset(&vrams[i], 0, sizeof(vrams[i]));
		vrams[i].fd = -1;
	}
	if (reservation)
		munmap(reservation, reservation_bytes);
	reservation = NULL;
	memset(&sg_window, 0, sizeof(sg_window));
}

static bool map(const struct vram *vram, uint64_t start, uint64_t size)
{
	void *at = (void *)(uintptr_t)(vram->base + start + sg_window.delta);

	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
	         vram->fd, (off_t)start) == MAP_FAILED)
		return false;
	madvise(at, size, MADV_DONTFORK);
	return true;
}

static void unmap(const struct vram *vram, uint64_t start, uint64_t size)
{
	void *at = (void *)(uintptr_t)(vram->base + start + sg_window.delta);

	mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	madvise(at, size, MADV_DONTFORK);
	madvise(at, size, MADV_DONTDUMP);
}

/* First fit, 2 MiB aligned from 2 MiB on: the runtime's fragment blocks must be. */
static bool place(struct vram *vram, uint64_t size, const void *fixed, uint64_t *start)
{
	uint64_t alignment = size >= SG_HUGE ? SG_HUGE : SG_PAGE;

	for (size_t i = 0; i < vram->count; i++) {
		const struct extent *e = &vram->free[i];
		uint64_t at = fixed ? (uint64_t)(uintptr_t)fixed - vram->base
		                    : round_up(e->start, alignment);

		if (at < e->start || at - e->start > e->size || e->size - (at - e->start) < size)
			continue;
		*start = at;
		return take(vram, i, at, size);
	}
	return false;
}

static void release(struct vram *vram, uint64_t start, uint64_t size)
{
	fallocate(vram->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start, (off_t)size);
	give(vram, start, size);
	vram->used -= size;
}

static void reap(struct vram *vram)
{
	for (struct lingering **link = &vram->lingering; *link;) {
		struct lingering *l = *link;

		if (sg_share_held(vram->fd, l->extent.start, l->extent.size)) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		release(vram, l->extent.start, l->extent.size);
		free(l);
	}
}

enum sg_status sg_vram_alloc(uint32_t gpu, uint64_t size, void *fixed, uint64_t *address)
{
	struct vram *vram = &vrams[gpu];
	enum sg_status status = SG_NO_MEMORY;
	uint64_t start;

	pthread_mutex_lock(&lock);
	reap(vram);
	if (size <= sg_gpu_info(gpu + 1)->vram_bytes - vram->used &&
	    place(vram, size, fixed, &start)) {
		if (map(vram, start, size)) {
			vram->used += size;
			*address = vram->base + start;
			status = SG_OK;
		} else {
			give(vram, start, size);
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void sg_vram_free(uint32_t gpu, uint64_t address, uint64_t size, bool shared)
{
	struct vram *vram = &vrams[gpu];
	uint64_t start = address - vram->base;
	struct lingering *l = NULL;

	pthread_mutex_lock(&lock);
	unmap(vram, start, size);
	if (shared && sg_share_held(vram->fd, start, size)) {
		l = malloc(sizeof(*l));
		if (l) {
			*l = (struct lingering){vram->lingering, {start, size}};
			vram->lingering = l;
		} else {
			sg_log("out of host memory: %llu bytes of device memory lost", (unsigned long long)size);
		}
	} else {
		release(vram, start, size);
	}
	pthread_mutex_unlock(&lock);
}

enum sg_status sg_vram_import(uint32_t gpu, int fd, uint64_t offset, uint64_t size,
                              uint64_t *address)
{
	struct vram *vram = &vrams[gpu];
	enum sg_status status = SG_NO_MEMORY;
	uint64_t start;

	/* Only addresses: the memory is accounted for where it was allocated. */
	pthread_mutex_lock(&lock);
	if (place(vram, size, NULL, &start)) {
		void *at = (void *)(uintptr_t)(vram->base + start + sg_window.delta);

		if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
		         (off_t)offset) == MAP_FAILED) {
			give(vram, start, size);
		} else {
			madvise(at, size, MADV_DONTFORK);
			*address = vram->base + start;
			status = SG_OK;
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void sg_vram_drop(uint32_t gpu, uint64_t address, uint64_t size)
{
	struct vram *vram = &vrams[gpu];

	pthread_mutex_lock(&lock);
	unmap(vram, address - vram->base, size);
	give(vram, address - vram->base, size);
	pthread_mutex_unlock(&lock);
}

uint64_t sg_vram_available(uint32_t gpu)
{
	pthread_mutex_lock(&lock);
	reap(&vrams[gpu]);
	uint64_t left = sg_gpu_info(gpu + 1)->vram_bytes - vrams[gpu].used;

	pthread_mutex_unlock(&lock);
	return left;
}

void sg_vram_backing(uint32_t gpu, uint64_t address, int *fd, uint64_t *offset)
{
	*fd = vrams[gpu].fd;
	*offset = address - vrams[gpu].base;
}
