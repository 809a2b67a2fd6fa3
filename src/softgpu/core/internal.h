/* SPDX-License-Identifier: MIT */
/* What the files of core/ share with each other and with nobody else. */
#ifndef SOFTGPU_INTERNAL_H
#define SOFTGPU_INTERNAL_H

#include <setjmp.h>
#include <stdatomic.h>

#include "options.h"
#include "sg.h"

#define SG_PAGE 4096ull
#define SG_HUGE (2ull << 20)

/* SH_MEM_BASES as the kernel driver sets them up: LDS at 1 << 48, scratch at 2 << 48. */
#define SG_LDS_APERTURE (1ull << 48)
#define SG_PRIVATE_APERTURE (2ull << 48)

/* ---- state.c ---- */

extern struct sg_options sg_opt; /* constant while open */

/* The seed's sequence; for the strict modes only. */
uint64_t sg_random(void);
/* Up to delay_us from now, as sg_monotonic_ns() tells time. */
uint64_t sg_random_delay(void);
/* True for the one call of its kind that is to go wrong. */
bool sg_inject(enum sg_injection kind);
/* The clock for time stamps: never twice the same, never back. */
uint64_t sg_stamp(void);

void sg_sleep_ns(uint64_t ns);
int sg_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns); /* 0: no deadline */
void sg_futex_wake(_Atomic uint32_t *word, int count);
uint64_t sg_monotonic_ns(void);

/* ---- guard.c: touching memory that may not be there ---- */

/*
 * Packets, descriptors, signals and copy operands are addresses that a client
 * made up. A device thread touches them between SG_TRY and sg_guard_end; an
 * access that nothing maps comes back as a second return of SG_TRY:
 *
 *	struct sg_guard guard;
 *	if (!SG_TRY(&guard)) { ... guard.address ...; return; }
 *	...
 *	sg_guard_end(&guard);
 *
 * No client memory may be touched with a lock held.
 */
struct sg_guard {
	sigjmp_buf jump;
	struct sg_guard *outer;
	volatile uint64_t address;
	volatile bool refused; /* something is mapped there, but not for this access */
};
#define SG_TRY(guard) (sg_guard_begin(guard), sigsetjmp((guard)->jump, 0) == 0)
void sg_guard_begin(struct sg_guard *guard);
void sg_guard_end(struct sg_guard *guard);
/* An access to what is no address at all, of which a processor would not say where it was. */
void *sg_guard_wild(uint64_t address);
bool sg_guard_install(void); /* once; then gcn_catch_faults() keeps what a client may install over it below */

/* ---- memory.c, vram.c ---- */

/* Device address to the pointer through which this process reads it. They
 * differ for registered memory of the host, and under private-vram. */
struct sg_window {
	uint64_t base, size, delta;
};
extern struct sg_window sg_window;

static inline void *sg_ptr(uint64_t address)
{
	if (address >> 48)
		return sg_guard_wild(address);
	if (address >> 47)
		address -= GCN_HOST_BIT;
	else if (address - sg_window.base < sg_window.size)
		address += sg_window.delta;
	return (void *)(uintptr_t)address;
}

/* And back, for the address of a fault. */
static inline uint64_t sg_device_address(uint64_t address)
{
	if (sg_window.delta && address - sg_window.base - sg_window.delta < sg_window.size)
		address -= sg_window.delta;
	return address;
}

void sg_svm_reset(void); /* svm.c */
void sg_svm_forget(uint64_t start, uint64_t size); /* whole pages, before they are unmapped */

enum sg_status sg_vram_open(void);
void sg_vram_close(void);
enum sg_status sg_vram_alloc(uint32_t gpu, uint64_t size, void *fixed, uint64_t *address);
/* `shared`: once others have had a handle. As long as one of them holds it, only the mapping goes. */
void sg_vram_free(uint32_t gpu, uint64_t address, uint64_t size, bool shared);
/* Another process's memory, seen as the GPU's own. */
enum sg_status sg_vram_import(uint32_t gpu, int fd, uint64_t offset, uint64_t size,
                              uint64_t *address);
void sg_vram_drop(uint32_t gpu, uint64_t address, uint64_t size);
uint64_t sg_vram_available(uint32_t gpu);
/* The file behind an address, for sharing. */
void sg_vram_backing(uint32_t gpu, uint64_t address, int *fd, uint64_t *offset);

/* ---- share.c: pieces of those files that other processes hold ---- */

/* The serial number of a new handle, valid until it ends; 0: there is none. */
uint32_t sg_share_begin(int fd);
void sg_share_end(int fd, uint32_t serial);
/* Whether an importer holds it. Asked after sg_share_end, no new one comes. */
bool sg_share_held(int fd, uint64_t offset, uint64_t size);
/* The importer's side, on a descriptor that it opened. False: the handle is out of date; close the descriptor. */
bool sg_share_hold(int fd, uint64_t offset, uint64_t size, uint32_t serial);
void sg_share_release(int fd, uint64_t offset, uint64_t size); /* closes it */

enum sg_status sg_memory_open(void);
void sg_memory_close(void);
/* Calls back for each executable allocation, with the module's lock held. */
void sg_memory_each_executable(void (*call)(uint64_t base, uint64_t size, void *data), void *data);
/* The allocation around an address; false if none. */
bool sg_memory_find(uint64_t address, uint64_t *base, uint64_t *size);

/* ---- events.c ---- */

void sg_event_fault(const struct sg_memory_fault *fault);
void sg_events_reset(void);

/* ---- doorbell.c ---- */

extern _Atomic uint64_t sg_doorbells[];

void sg_doorbell_open(void);
void sg_doorbell_close(void);
/* After arming, a ring or a wake ends the sleep. False: cannot. */
bool sg_doorbell_arm(void);
void sg_doorbell_sleep(void);
void sg_doorbell_disarm(void);
void sg_doorbell_wake(void);

/* ---- queue.c ---- */

#define SG_MAX_QUEUES 1024
/* Words: a cache line a doorbell, so that clients ringing different queues do
 * not slow each other down. */
#define SG_DOORBELL_STRIDE 8
#define SG_MAX_IN_FLIGHT 16 /* dispatches of one queue that run at once */

/* Exception bits of the KFD's queue error mask: bit number plus one. */
enum sg_queue_error {
	SG_QERR_WAVE_ABORT = 1,
	SG_QERR_WAVE_TRAP = 2,
	SG_QERR_ILLEGAL_INSTRUCTION = 4,
	SG_QERR_APERTURE_VIOLATION = 6,
	SG_QERR_DIM_INVALID = 16,
	SG_QERR_GROUP_SEGMENT_INVALID = 17,
	SG_QERR_CODE_INVALID = 18,
	SG_QERR_PACKET_UNSUPPORTED = 20,
	SG_QERR_WORKGROUP_SIZE_INVALID = 21,
	SG_QERR_REGISTER_SIZE_INVALID = 22,
	SG_QERR_VENDOR_UNSUPPORTED = 23,
};

struct sg_dispatch;

struct sg_queue {
	const struct sg_gpu_info *gpu;
	enum sg_queue_kind kind;
	uint32_t slot;
	uint8_t *ring;
	uint64_t ring_bytes;
	_Atomic uint64_t *read_pointer;
	_Atomic uint64_t *write_pointer;
	_Atomic int64_t *error_reason;
	uint32_t error_event;

	/* Owned by the stepping thread (the slot's busy flag). */
	uint64_t read;      /* packets, or bytes for SDMA */
	uint64_t limit;     /* what has been rung for */
	uint64_t head_time; /* when the packet at `read` was first looked at; 0 not yet */
	uint64_t not_before;/* delay: no step before this time; 0 at once */
	enum { SG_HEAD_NEW, SG_HEAD_STARTED, SG_HEAD_ENDING } head; /* delay: how far it is */
	uint64_t copied;    /* SDMA: bytes of the packet at `read` already done */
	bool copying;       /* SDMA: in a copy, which may be many packets and a signal */
	bool copy_failed;   /* SDMA: injected; its signal is still to be told */

	_Atomic int32_t priority; /* work of a higher one is taken first */
	struct gcn_gws *gws; /* NULL: not a cooperative queue */

	_Atomic uint32_t in_flight;
	_Atomic bool failed;
	_Atomic bool suspended;
	_Atomic bool dead;
	_Atomic(struct sg_dispatch *) spare;
};

/* Stops the queue and tells its owner; the text goes to stderr as one line. */
void sg_queue_fail(struct sg_queue *queue, enum sg_queue_error error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Stops the queue and raises the memory-fault event. `refused`: see struct sg_guard. */
void sg_queue_memory_fault(struct sg_queue *queue, uint64_t address, bool refused, const char *what);
void sg_queue_hang(struct sg_queue *queue, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Asks for a step although the doorbell did not change. */
void sg_queue_poke(uint32_t slot);

/* Steps every queue that has something to do. True if one moved. */
bool sg_queues_poll(void);
bool sg_queues_any(void);
/* Some queue should be stepped: rung, poked, or waiting for memory to change, of
 * which nobody tells. */
bool sg_queues_stir(void);
void sg_queues_reset(void);
void sg_queues_close(void);
/* One step of a queue, under its slot's busy flag. */
enum sg_step {
	SG_STEP_IDLE,    /* wait for the doorbell or a poke */
	SG_STEP_BLOCKED, /* waits for memory: step again at polling rate */
	SG_STEP_MORE,    /* did something, may do more at once */
};
enum sg_step sg_aql_step(struct sg_queue *queue, bool *moved);
enum sg_step sg_sdma_step(struct sg_queue *queue, bool *moved);

/* ---- aql.c ---- */

/* Timestamps, value, mailbox, event: in this order. False: not a signal. */
bool sg_signal_complete(uint64_t handle, uint64_t start, uint64_t end);

/* ---- dispatch.c ---- */

struct sg_dispatch {
	uint32_t packet[16] __attribute__((aligned(64))); /* what DISPATCH_PTR points to */
	struct sg_queue *queue;
	struct gcn_launch launch;
	uint64_t descriptor; /* device address */
	uint64_t signal;
	uint64_t start;
	uint32_t groups[3];
	uint64_t group_count;
	uint64_t next_group;            /* under the scheduler's lock */
	uint64_t multiplier, offset;    /* reorder: a permutation of the groups; else 0 */
	uint64_t due;                   /* on the scheduler's timer list until this time */
	bool ending;                    /* delay: all done but its completion */
	bool hung;                      /* injected: never starts */
	struct sg_dispatch *next, *prev;/* scheduler's lists */
	struct sg_dispatch *flight_next, **flight_link; /* all that run, dispatch.c */
	_Atomic uint64_t left;          /* groups not yet finished */
	_Atomic bool cancelled;
};

/* Launches the packet. False when the queue has failed. Needs a guard. */
bool sg_dispatch_launch(struct sg_queue *queue, const void *packet, uint64_t packet_id);
/* `count` groups are done; the last one completes the dispatch. */
void sg_dispatch_groups_done(struct sg_dispatch *dispatch, uint64_t count);
/* Completes it; only for what was deferred in `ending`. */
void sg_dispatch_end(struct sg_dispatch *dispatch);
void sg_dispatch_fault(struct sg_dispatch *dispatch, const struct gcn_fault *fault);
/* Drops what the instruction set remembers of code that nothing runs now. */
void sg_dispatch_invalidate_code(void);
/* The code is about to go: whatever runs it dies of a memory fault first. */
void sg_dispatch_evict_code(uint64_t base, uint64_t size);
/* Cancels a queue's dispatches; their groups end at the next slice. */
void sg_dispatch_cancel(struct sg_queue *queue);
void sg_dispatch_reset(void); /* after fork */
static inline void sg_dispatch_group_id(const struct sg_dispatch *d, uint64_t index,
                                        uint32_t id[3])
{
	if (d->multiplier)
		index = (uint64_t)(((unsigned __int128)index * d->multiplier + d->offset) %
		                   d->group_count);
	id[0] = (uint32_t)(index % d->groups[0]);
	index /= d->groups[0];
	id[1] = (uint32_t)(index % d->groups[1]);
	id[2] = (uint32_t)(index / d->groups[1]);
}

/* ---- kname.c ---- */

/* The kernel's name from the loaded code object's symbols, else its address. */
void sg_kernel_name(uint64_t descriptor, char *text, size_t size);

/* ---- sched.c ---- */

enum sg_status sg_sched_start(void); /* idempotent */
void sg_sched_stop(void);
void sg_sched_reset(void);           /* after fork */
void sg_sched_submit(struct sg_dispatch *dispatch);
/* Nothing happens to it before `due`, or before it is cancelled. */
void sg_sched_defer(struct sg_dispatch *dispatch);
/* Some dispatch was cancelled. */
void sg_sched_recheck(void);

#endif
