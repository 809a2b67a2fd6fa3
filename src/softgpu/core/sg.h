/* SPDX-License-Identifier: MIT */
/*
 * The device seam: everything a front-end (the thunk, or a later device-model
 * door) may ask of the software GPU. It speaks of nodes, memory, events and
 * queues in its own types, so that a front-end is a translation and no more.
 *
 * Threads: every function may be called from any thread, at any time between
 * sg_open and the matching sg_close. A forked child starts closed.
 */
#ifndef SOFTGPU_SG_H
#define SOFTGPU_SG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../gpus/gpus.h"

enum sg_status {
	SG_OK,
	SG_ERROR,
	SG_ALREADY_OPEN,  /* counted; close as often as opened */
	SG_CLOSED,        /* not open, or not open since fork */
	SG_INVALID,       /* argument */
	SG_BAD_NODE,
	SG_BAD_HANDLE,
	SG_NO_MEMORY,
	SG_RESOURCES,     /* out of events, queues, threads, descriptors */
	SG_NOT_FOUND,     /* address belongs to nothing we know */
	SG_NOT_SUPPORTED,
	SG_TIMEOUT,
};

#define SG_MAX_GPUS 16
#define SG_MAX_NODES (SG_MAX_GPUS + 1)
#define SG_CPU_NODE 0

/* One line on stderr, prefixed with the library's name. */
void sg_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- life cycle and topology ---- */

enum sg_status sg_open(void);
enum sg_status sg_close(void);
bool sg_is_open(void);

/* One GPU as this run was asked to present it. */
struct sg_gpu_info {
	const struct sg_gpu_data *data;
	uint32_t node;
	uint32_t compute_units;
	uint32_t shader_engines;
	uint64_t vram_bytes;
	bool private_vram;
	uint32_t doorbell_type;
	uint64_t lds_aperture, private_aperture;
};

uint32_t sg_node_count(void);
/* NULL for the CPU node and for nodes that do not exist. */
const struct sg_gpu_info *sg_gpu_info(uint32_t node);

/* CLOCK_BOOTTIME in nanoseconds; the GPU's counter is the same clock. */
uint64_t sg_clock_ns(void);
#define SG_CLOCK_HZ 1000000000ull

/* ---- memory ---- */

enum sg_memory_kind {
	SG_MEM_NONE,
	SG_MEM_SYSTEM,
	SG_MEM_VRAM,
	SG_MEM_SCRATCH,   /* address space only */
	SG_MEM_USER,      /* registered host range */
	SG_MEM_IMPORTED,  /* shared by a process */
};

struct sg_alloc_request {
	uint32_t node;
	uint64_t size;          /* multiple of 4096 */
	uint32_t flags;         /* the front-end's flags, kept and given back */
	bool scratch;
	bool executable;
	bool shareable;         /* system memory that another process may import */
	void *fixed;            /* exact address wanted, or NULL */
};

struct sg_memory_info {
	enum sg_memory_kind kind;
	uint32_t node;
	uint32_t flags;
	uint64_t base, size;
	bool host_access;
	void *user_data;
	uint32_t registered_count, mapped_count;
	const uint32_t *registered_nodes; /* valid while the record lives */
	const uint32_t *mapped_nodes;
};

enum sg_status sg_memory_alloc(const struct sg_alloc_request *request, void **address);
enum sg_status sg_memory_free(void *address);
enum sg_status sg_memory_register(void *address, uint64_t size, uint32_t flags,
                                  const uint32_t *nodes, uint64_t node_count);
enum sg_status sg_memory_deregister(void *address);
/* node_count 0: all GPUs, or those registered. */
enum sg_status sg_memory_map(void *address, uint64_t size, const uint32_t *nodes,
                             uint64_t node_count);
enum sg_status sg_memory_unmap(void *address);
enum sg_status sg_memory_query(const void *address, struct sg_memory_info *info);
enum sg_status sg_memory_set_user_data(const void *address, void *data);
enum sg_status sg_memory_available(uint32_t node, uint64_t *bytes);

/* Word 6 holds the size in pages: the runtime marks fragments in its top bit
 * and low nine bits, so those of a 2 MiB aligned block stay clear. */
#define SG_SHARE_WORDS 8
enum sg_status sg_memory_share(void *address, uint64_t size, uint32_t handle[SG_SHARE_WORDS]);
enum sg_status sg_memory_import(const uint32_t handle[SG_SHARE_WORDS], const uint32_t *nodes,
                                uint64_t node_count, void **address, uint64_t *size);

/* ---- attributes of shared virtual memory ---- */

#define SG_SVM_NOWHERE 0xffffffffu
enum { SG_SVM_HOST_ACCESS = 1, SG_SVM_COHERENT = 2 }; /* of the flags, those that are set to begin with */

struct sg_svm {
	uint32_t preferred, prefetch;  /* nodes */
	uint32_t flags_all, flags_any; /* the same but for a range of several parts */
	uint32_t granularity;          /* log2 of pages */
	uint32_t access, in_place;     /* a bit for each GPU, the first in bit 0 */
};

/* Both take whole pages that the process has mapped, else INVALID or ERROR. `change` is called for each part of the
 * range, with the module's lock held. */
enum sg_status sg_svm_set(uint64_t start, uint64_t size, void (*change)(struct sg_svm *what, void *data), void *data);
enum sg_status sg_svm_get(uint64_t start, uint64_t size, struct sg_svm *what);

/* ---- events ---- */

struct sg_memory_fault {
	uint32_t node;
	uint64_t address;
	bool read_only; /* a write to what may only be read */
	bool hang; /* no address to blame: the engine stopped */
};

struct sg_event_request {
	bool memory_fault;   /* signalled by every memory fault */
	bool manual_reset;
	bool signaled;
	/* For memory_fault: called before the event is signalled, with the
	 * module's lock held; must not call back. */
	void (*on_fault)(void *user, const struct sg_memory_fault *fault);
	void *user;
};

/* The mailbox is where the device writes the event's id; never NULL. */
enum sg_status sg_event_create(const struct sg_event_request *request, uint32_t *id,
                               uint64_t **mailbox);
enum sg_status sg_event_destroy(uint32_t id);
enum sg_status sg_event_set(uint32_t id);
enum sg_status sg_event_reset(uint32_t id);
enum sg_status sg_event_query(uint32_t id); /* SG_OK when signalled, else SG_TIMEOUT */

#define SG_WAIT_FOREVER 0xffffffffu
/* Auto-reset events wake every thread that waits when they are set, and stay
 * set only if none did. A set that the calling thread missed since its last wait
 * for the event ends the wait at once. `ages` may be NULL; else an entry that is not 0 and
 * differs from the event's age counts as signalled, and all are updated. */
enum sg_status sg_event_wait(const uint32_t *ids, uint32_t count, bool all, uint32_t milliseconds,
                             uint64_t *ages);

/* ---- queues ---- */

enum sg_queue_kind { SG_QUEUE_AQL, SG_QUEUE_SDMA };

struct sg_queue_request {
	uint32_t node;
	enum sg_queue_kind kind;
	int32_t priority;
	void *ring;
	uint64_t ring_bytes;
	/* AQL: the caller's pointers (inside an amd_queue_t). SDMA: filled in. */
	uint64_t *read_pointer;
	uint64_t *write_pointer;
	/* Where exception bits go, and the event that tells; may be NULL and 0. */
	volatile int64_t *error_reason;
	uint32_t error_event;
	/* out */
	uint64_t id;
	uint64_t *doorbell;
};

/* The host changed something a packet may wait for: look at once. */
void sg_device_kick(void);

enum sg_status sg_queue_create(struct sg_queue_request *request);
enum sg_status sg_queue_destroy(uint64_t id);
/* Percentage 0 suspends, anything else resumes. */
enum sg_status sg_queue_update(uint64_t id, uint32_t percentage, int32_t priority);
/* Global wave sync for an AQL queue; one queue of a GPU at a time. */
#define SG_GWS_SLOTS 64
enum sg_status sg_queue_alloc_gws(uint64_t id, uint32_t count, uint32_t *first);
enum sg_status sg_queue_set_cu_mask(uint64_t id, const uint32_t *mask, uint32_t bits);

#endif
