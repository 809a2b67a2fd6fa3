/* SPDX-License-Identifier: MIT */
/* Which address belongs to what: allocations, registered and imported ranges. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct record {
	uint64_t base, size;
	enum sg_memory_kind kind;
	uint32_t node;
	uint32_t flags;
	bool executable;
	uint32_t serial;       /* of the handle that others may have; 0: none */
	bool shareable;        /* system memory in `system_file` */
	int held_file;         /* imported: what is held, at file_offset */
	uint64_t file_offset;
	uint32_t references;   /* registered ranges */
	void *user_data;
	uint32_t registered_count, mapped_count;
	uint32_t registered_nodes[SG_MAX_NODES], mapped_nodes[SG_MAX_NODES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *owned;      /* tsearch tree of records that do not overlap */
static void *registered; /* tree keyed by base and size; these may overlap */
static int system_file = -1;
static uint64_t system_file_end;

/* Shareable system memory that was freed while another process held it. */
static struct lingering {
	struct lingering *next;
	uint64_t offset, size;
} *lingering;
static pthread_mutex_t linger_lock = PTHREAD_MUTEX_INITIALIZER; /* taken last */

#define SHARE_MAGIC 0x53474d31u /* "SGM1" */

static int compare_overlap(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->base + x->size <= y->base)
		return -1;
	return x->base >= y->base + y->size;
}

static int compare_exact(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static struct record *find_owned(uint64_t address)
{
	struct record key = {.base = address, .size = 1};
	struct record **node = tfind(&key, &owned, compare_overlap);

	return node ? *node : NULL;
}

/* Registered ranges are few and may overlap, so the walk looks at them all. */
struct search {
	uint64_t address;
	struct record *found;
	bool exact_base;
};

static void search_visit(const void *node, VISIT which, void *data)
{
	struct record *r = *(struct record *const *)node;
	struct search *s = data;

	if (which != postorder && which != leaf)
		return;
	if (s->exact_base ? r->base == s->address
	                  : s->address - r->base < r->size) {
		if (!s->found || r->size > s->found->size)
			s->found = r;
	}
}

static struct record *find_registered(uint64_t address, bool exact_base)
{
	struct search s = {address, NULL, exact_base};

	if (registered)
		twalk_r(registered, search_visit, &s);
	return s.found;
}

static struct record *find_any(uint64_t address)
{
	struct record *r = find_owned(address);

	return r ? r : find_registered(address, false);
}

static bool insert(struct record *r)
{
	return tsearch(r, &owned, compare_overlap) != NULL;
}

enum sg_status sg_memory_open(void)
{
	system_file = memfd_create("softgpu-system", MFD_CLOEXEC);
	if (system_file < 0)
		return SG_RESOURCES;
	system_file_end = 0;
	return SG_OK;
}

static void drop_record(void *data)
{
	struct record *r = data;

	/* VRAM goes with its window. System memory that the client never freed may
	 * hold objects it still uses, so it stays mapped, as with the kernel driver. */
	if (r->kind == SG_MEM_IMPORTED)
		close(r->held_file); /* a forked child's copy: the lock is the parent's */
	free(r);
}

void sg_memory_close(void)
{
	/* Also runs in a forked child, where the lock may be anyone's. */
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&linger_lock, NULL);
	tdestroy(owned, drop_record);
	tdestroy(registered, free);
	owned = registered = NULL;
	while (lingering) {
		struct lingering *next = lingering->next;

		free(lingering);
		lingering = next;
	}
	if (system_file >= 0)
		close(system_file);
	system_file = -1;
}

static void punch(uint64_t offset, uint64_t size)
{
	fallocate(system_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

static void reap(void)
{
	pthread_mutex_lock(&linger_lock);
	for (struct lingering **link = &lingering; *link;) {
		struct lingering *l = *link;

		if (sg_share_held(system_file, l->offset, l->size)) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		punch(l->offset, l->size);
		free(l);
	}
	pthread_mutex_unlock(&linger_lock);
}

static enum sg_status alloc_system(const struct sg_alloc_request *request, struct record *r)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	int fd = -1;
	void *at;

	if (request->shareable) {
		reap();
		if (ftruncate(system_file, (off_t)(system_file_end + request->size)))
			return SG_NO_MEMORY;
		flags = MAP_SHARED;
		fd = system_file;
		r->file_offset = system_file_end;
		r->shareable = true;
	}
	if (request->fixed)
		flags |= MAP_FIXED_NOREPLACE;
	at = mmap(request->fixed, request->size, PROT_READ | PROT_WRITE, flags, fd,
	          (off_t)r->file_offset);
	if (at == MAP_FAILED)
		return SG_NO_MEMORY;
	if (request->fixed && at != request->fixed) { /* kernel without NOREPLACE */
		munmap(at, request->size);
		return SG_NO_MEMORY;
	}
	if (request->shareable)
		system_file_end += request->size;
	madvise(at, request->size, MADV_DONTFORK);
	r->kind = SG_MEM_SYSTEM;
	r->base = (uint64_t)(uintptr_t)at;
	return SG_OK;
}

static enum sg_status alloc_scratch(const struct sg_alloc_request *request, struct record *r)
{
	/* Wavefronts keep their scratch with them; the runtime only wants addresses. */
	void *at = mmap(request->fixed, request->size, PROT_NONE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
	                (request->fixed ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (at == MAP_FAILED)
		return SG_NO_MEMORY;
	madvise(at, request->size, MADV_DONTFORK);
	r->kind = SG_MEM_SCRATCH;
	r->base = (uint64_t)(uintptr_t)at;
	return SG_OK;
}

static void release_system(const struct record *r)
{
	struct lingering *l = NULL;

	munmap((void *)(uintptr_t)r->base, r->size);
	if (!r->shareable)
		return;
	if (r->serial)
		sg_share_end(system_file, r->serial);
	pthread_mutex_lock(&linger_lock);
	if (!r->serial || !sg_share_held(system_file, r->file_offset, r->size)) {
		punch(r->file_offset, r->size);
	} else if ((l = malloc(sizeof(*l)))) {
		*l = (struct lingering){lingering, r->file_offset, r->size};
		lingering = l;
	}
	pthread_mutex_unlock(&linger_lock);
	reap();
}

static void release_backing(const struct record *r)
{
	uint64_t offset;
	int fd;

	if (r->kind != SG_MEM_VRAM) {
		release_system(r);
		return;
	}
	sg_vram_backing(r->node - 1, r->base, &fd, &offset);
	if (r->serial)
		sg_share_end(fd, r->serial);
	sg_vram_free(r->node - 1, r->base, r->size, r->serial != 0);
}

/* The runtime tries an allocation that failed a second time, after it has emptied
 * its caches; that is no second request. Scratch is only address space. */
static bool injected(const struct sg_alloc_request *request)
{
	static _Thread_local struct sg_alloc_request failed;
	bool again = failed.size == request->size && failed.node == request->node &&
	             failed.flags == request->flags;

	failed.size = 0;
	if (again || request->scratch || !sg_inject(SG_INJECT_ALLOC))
		return again;
	failed = *request;
	sg_log("allocation of %llu bytes on node %u fails, as asked for",
	       (unsigned long long)request->size, request->node);
	return true;
}

enum sg_status sg_memory_alloc(const struct sg_alloc_request *request, void **address)
{
	enum sg_status status;
	struct record *r;

	if (request->size == 0 || request->size % SG_PAGE)
		return SG_INVALID;
	if (request->node >= sg_node_count())
		return SG_BAD_NODE;
	if (injected(request))
		return SG_NO_MEMORY;
	r = calloc(1, sizeof(*r));
	if (!r)
		return SG_NO_MEMORY;
	r->size = request->size;
	r->node = request->node;
	r->flags = request->flags;
	r->executable = request->executable;

	pthread_mutex_lock(&lock);
	if (request->scratch) {
		status = request->node == SG_CPU_NODE ? SG_BAD_NODE : alloc_scratch(request, r);
	} else if (request->node == SG_CPU_NODE) {
		status = alloc_system(request, r);
	} else {
		r->kind = SG_MEM_VRAM;
		status = sg_vram_alloc(request->node - 1, request->size, request->fixed, &r->base);
	}
	if (status == SG_OK && !insert(r)) {
		release_backing(r);
		status = SG_NO_MEMORY;
	}
	if (status == SG_OK)
		*address = (void *)(uintptr_t)r->base;
	else
		free(r);
	pthread_mutex_unlock(&lock);
	return status;
}

enum sg_status sg_memory_free(void *address)
{
	pthread_mutex_lock(&lock);
	struct record *r = find_owned((uint64_t)(uintptr_t)address);

	if (r && (r->base != (uint64_t)(uintptr_t)address || r->kind == SG_MEM_IMPORTED))
		r = NULL;
	if (r)
		tdelete(r, &owned, compare_overlap);
	pthread_mutex_unlock(&lock);
	if (!r)
		return SG_NOT_FOUND;
	/* Outside the lock: evicting waits for wavefronts that still run this code. */
	if (r->executable)
		sg_dispatch_evict_code(r->base, r->size);
	sg_svm_forget(r->base, r->size);
	release_backing(r);
	free(r);
	return SG_OK;
}

static enum sg_status set_nodes(uint32_t *list, uint32_t *count, const uint32_t *nodes,
                                uint64_t node_count)
{
	if (node_count > SG_MAX_NODES || (node_count && !nodes))
		return SG_INVALID;
	for (uint64_t i = 0; i < node_count; i++) {
		if (nodes[i] >= sg_node_count())
			return SG_BAD_NODE;
	}
	if (node_count)
		memcpy(list, nodes, node_count * sizeof(*list));
	*count = (uint32_t)node_count;
	return SG_OK;
}

enum sg_status sg_memory_register(void *address, uint64_t size, uint32_t flags,
                                  const uint32_t *nodes, uint64_t node_count)
{
	enum sg_status status = SG_OK;
	struct record key = {.base = (uint64_t)(uintptr_t)address, .size = size};

	if (!address || !size || key.base + size < key.base)
		return SG_INVALID;
	pthread_mutex_lock(&lock);
	/* Registering part of an allocation is allowed and changes nothing of it. */
	struct record *r = find_owned(key.base);
	struct record **node = r ? NULL : tfind(&key, &registered, compare_exact);

	if (r) {
		if (nodes)
			status = set_nodes(r->registered_nodes, &r->registered_count, nodes,
			                   node_count);
	} else if (node) {
		(*node)->references++;
	} else if ((r = calloc(1, sizeof(*r))) == NULL) {
		status = SG_NO_MEMORY;
	} else {
		*r = key;
		r->kind = SG_MEM_USER;
		r->flags = flags;
		r->references = 1;
		status = set_nodes(r->registered_nodes, &r->registered_count, nodes, node_count);
		if (status == SG_OK && !tsearch(r, &registered, compare_exact))
			status = SG_NO_MEMORY;
		if (status != SG_OK)
			free(r);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static void drop_import(const struct record *r)
{
	sg_svm_forget(r->base, r->size);
	if (r->node == SG_CPU_NODE)
		munmap((void *)(uintptr_t)r->base, r->size);
	else
		sg_vram_drop(r->node - 1, r->base, r->size);
	sg_share_release(r->held_file, r->file_offset, r->size);
}

enum sg_status sg_memory_deregister(void *address)
{
	enum sg_status status = SG_OK;

	pthread_mutex_lock(&lock);
	struct record *r = find_owned((uint64_t)(uintptr_t)address);

	if (r && r->kind == SG_MEM_IMPORTED) {
		tdelete(r, &owned, compare_overlap);
		drop_import(r);
		free(r);
	} else if (!r) {
		r = find_registered((uint64_t)(uintptr_t)address, true);
		if (!r) {
			status = SG_NOT_FOUND;
		} else if (--r->references == 0) {
			tdelete(r, &registered, compare_exact);
			free(r);
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

enum sg_status sg_memory_map(void *address, uint64_t size, const uint32_t *nodes,
                             uint64_t node_count)
{
	uint32_t all[SG_MAX_GPUS];
	enum sg_status status = SG_NOT_FOUND;

	pthread_mutex_lock(&lock);
	struct record *r = find_any((uint64_t)(uintptr_t)address);

	if (r && size > r->base + r->size - (uint64_t)(uintptr_t)address)
		status = SG_INVALID;
	else if (r) {
		if (!node_count && r->registered_count) {
			nodes = r->registered_nodes;
			node_count = r->registered_count;
		} else if (!node_count) {
			for (uint32_t i = 0; i < sg_opt.gpu_count; i++)
				all[i] = i + 1;
			nodes = all;
			node_count = sg_opt.gpu_count;
		}
		status = set_nodes(r->mapped_nodes, &r->mapped_count, nodes, node_count);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

enum sg_status sg_memory_unmap(void *address)
{
	pthread_mutex_lock(&lock);
	struct record *r = find_any((uint64_t)(uintptr_t)address);

	/* A piece of the scratch pool may go while the rest stays. */
	if (r && r->base == (uint64_t)(uintptr_t)address)
		r->mapped_count = 0;
	pthread_mutex_unlock(&lock);
	return r ? SG_OK : SG_NOT_FOUND;
}

enum sg_status sg_memory_query(const void *address, struct sg_memory_info *info)
{
	memset(info, 0, sizeof(*info));
	pthread_mutex_lock(&lock);
	struct record *r = find_any((uint64_t)(uintptr_t)address);

	if (r) {
		*info = (struct sg_memory_info){
			.kind = r->kind,
			.node = r->node,
			.flags = r->flags,
			.base = r->base,
			.size = r->size,
			.host_access = r->kind != SG_MEM_SCRATCH &&
			               !(r->node != SG_CPU_NODE && sg_opt.private_vram),
			.user_data = r->user_data,
			.registered_count = r->registered_count,
			.registered_nodes = r->registered_nodes,
			.mapped_count = r->mapped_count,
			.mapped_nodes = r->mapped_nodes,
		};
	}
	pthread_mutex_unlock(&lock);
	return r ? SG_OK : SG_NOT_FOUND;
}

enum sg_status sg_memory_set_user_data(const void *address, void *data)
{
	pthread_mutex_lock(&lock);
	struct record *r = find_any((uint64_t)(uintptr_t)address);

	if (r)
		r->user_data = data;
	pthread_mutex_unlock(&lock);
	return r ? SG_OK : SG_NOT_FOUND;
}

enum sg_status sg_memory_available(uint32_t node, uint64_t *bytes)
{
	if (!sg_gpu_info(node))
		return SG_BAD_NODE;
	*bytes = sg_vram_available(node - 1);
	return SG_OK;
}

/* Handle words: magic, pid, descriptor, node, page in the file, serial number, pages, flags. */
enum sg_status sg_memory_share(void *address, uint64_t size, uint32_t handle[SG_SHARE_WORDS])
{
	enum sg_status status = SG_NOT_FOUND;

	pthread_mutex_lock(&lock);
	struct record *r = find_owned((uint64_t)(uintptr_t)address);

	if (r && (r->base != (uint64_t)(uintptr_t)address || r->size != size)) {
		status = SG_INVALID; /* whole allocations only */
	} else if (r && (r->kind == SG_MEM_VRAM || r->shareable)) {
		int fd = system_file;
		uint64_t offset = r->file_offset;

		if (r->kind == SG_MEM_VRAM)
			sg_vram_backing(r->node - 1, r->base, &fd, &offset);
		if (!r->serial)
			r->serial = sg_share_begin(fd);
		handle[0] = SHARE_MAGIC;
		handle[1] = (uint32_t)getpid();
		handle[2] = (uint32_t)fd;
		handle[3] = r->node;
		handle[4] = (uint32_t)(offset / SG_PAGE); /* a card's 16 TiB of addresses fit */
		handle[5] = r->serial;
		handle[6] = (uint32_t)(r->size / SG_PAGE);
		handle[7] = r->flags;
		status = r->serial ? SG_OK : SG_RESOURCES;
	} else if (r) {
		status = SG_NOT_SUPPORTED; /* ordinary host memory has no handle */
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static enum sg_status map_import(struct record *r)
{
	uint64_t offset = r->file_offset;
	int fd = r->held_file;
	void *at;

	if (r->node != SG_CPU_NODE)
		return sg_vram_import(r->node - 1, fd, offset, r->size, &r->base);
	at = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (at == MAP_FAILED)
		return SG_NO_MEMORY;
	madvise(at, r->size, MADV_DONTFORK);
	r->base = (uint64_t)(uintptr_t)at;
	return SG_OK;
}

enum sg_status sg_memory_import(const uint32_t handle[SG_SHARE_WORDS], const uint32_t *nodes,
                                uint64_t node_count, void **address, uint64_t *size)
{
	char path[64];
	enum sg_status status;
	struct record *r;
	int fd;

	if (handle[0] != SHARE_MAGIC || handle[3] >= sg_node_count() || !handle[6])
		return SG_BAD_HANDLE;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", handle[1], handle[2]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return SG_BAD_HANDLE;
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return SG_NO_MEMORY;
	}
	r->size = handle[6] * SG_PAGE;
	r->kind = SG_MEM_IMPORTED;
	r->node = handle[3];
	r->flags = handle[7];
	r->held_file = fd;
	r->file_offset = handle[4] * SG_PAGE;
	status = set_nodes(r->registered_nodes, &r->registered_count, nodes, node_count);
	if (status == SG_OK && !sg_share_hold(fd, r->file_offset, r->size, handle[5]))
		status = SG_BAD_HANDLE;
	if (status == SG_OK)
		status = map_import(r);
	if (status != SG_OK) {
		close(fd);
	} else {
		pthread_mutex_lock(&lock);
		if (!insert(r))
			status = SG_NO_MEMORY;
		pthread_mutex_unlock(&lock);
		if (status != SG_OK)
			drop_import(r);
	}
	if (status != SG_OK) {
		free(r);
		return status;
	}
	*address = (void *)(uintptr_t)r->base;
	*size = r->size;
	return SG_OK;
}

struct executable_walk {
	void (*call)(uint64_t base, uint64_t size, void *data);
	void *data;
};

static void executable_visit(const void *node, VISIT which, void *data)
{
	const struct record *r = *(struct record *const *)node;
	struct executable_walk *walk = data;

	if ((which == postorder || which == leaf) && r->executable)
		walk->call(r->base, r->size, walk->data);
}

void sg_memory_each_executable(void (*call)(uint64_t base, uint64_t size, void *data), void *data)
{
	struct executable_walk walk = {call, data};

	pthread_mutex_lock(&lock);
	if (owned)
		twalk_r(owned, executable_visit, &walk);
	pthread_mutex_unlock(&lock);
}

bool sg_memory_find(uint64_t address, uint64_t *base, uint64_t *size)
{
	pthread_mutex_lock(&lock);
	struct record *r = find_any(address);

	if (r) {
		*base = r->base;
		*size = r->size;
	}
	pthread_mutex_unlock(&lock);
	return r != NULL;
}
