/* SPDX-License-Identifier: MIT */
/*
 * The queue proxy: the application's queue is a soft queue of the runtime, the
 * hardware queue behind it is written by nobody but us.
 *
 * Consumption is exclusive: whoever takes `owner` moves packets, in order, from
 * the soft ring to the hardware ring. A ringer that finds the owner busy leaves
 * a note in `rings` and returns; the owner looks again before it goes. An owner
 * that has to wait (for another window, for predecessors) does so parked, that
 * is, outside the agent's reader side, and when it takes too long hands the
 * queue to its worker thread.
 *
 * The hardware ring has room for twice the soft ring, and the soft read index
 * follows the hardware's, so that an application sees its queue fill up exactly
 * as it would without us and we never wait for room in front of it.
 */
#ifndef KR_PROXY_H
#define KR_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/aql.h"
#include "core/next.h"
#include "core/replay.h"

struct kr_agent;
struct kr_kernel;

enum { KR_QUEUE_FREE, KR_QUEUE_SUBMITTING, KR_QUEUE_PARKED };

/* How far the packet that was taken from the soft ring has come. */
enum kr_stage {
	KR_STAGE_NONE,   /* no packet in hand */
	KR_STAGE_TAKEN,  /* copied; nobody was asked yet */
	KR_STAGE_ONCE,   /* to be forwarded */
	KR_STAGE_WINDOW, /* to be replayed */
};

struct kr_proxy {
	/* The dispatch path's own cache lines. */
	_Atomic uint32_t owner;
	uint32_t mask;            /* soft ring */
	union kr_packet *ring;
	amd_queue_t *soft_amd;
	_Atomic uint64_t taken_to; /* soft index of the next packet to take */
	uint32_t hw_mask;
	_Atomic uint32_t tracked; /* packets with the completer, see completer.h */
	union kr_packet *hw_ring;
	uint64_t hw_write;        /* next hardware slot to fill */
	volatile uint64_t *hw_read_index, *hw_write_index; /* NULL: ask the runtime, see queues.c */
	uint64_t hw_seen;         /* hardware read index, as last looked at */
	/* The kernel object of the last dispatch that nobody needed to look at, its row
	 * in the journal, and whether that is because the driver ignores the kernel. */
	uint64_t counted_object, counted_generation;
	uint32_t counted_row;
	bool counted_ignored;
	uint8_t lane;             /* of the journal, this queue's alone; 0: everybody's */
	uint64_t hw_rung;         /* what the hardware doorbell was last told, plus 1 */
	uint64_t hw_idle_at;      /* everything before this hardware index has finished */
	hsa_signal_t hw_doorbell;
	_Atomic uint64_t rings __attribute__((aligned(64)));
	/* Of the ring that left its packets to somebody else: the thread that rang; 0: no call rang. */
	_Atomic uint64_t rung_by;
	bool on_worker; /* the owner is the worker; the owner's */
	/* soft read index = soft_base + (hardware read index - hw_base), at least soft_base. */
	_Atomic uint64_t soft_base, hw_base;

	hsa_queue_t *hw;
	hsa_queue_t *soft;
	hsa_signal_t doorbell;    /* the soft queue's */
	struct kr_agent *agent;
	struct kr_proxy *next_on_agent; /* or in the list of spare ones */
	struct kr_proxy *abandoned;     /* the next that the runtime went down with */
	uint64_t id;
	void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
	void *callback_data;

	/* The packet in hand; the owner's. */
	enum kr_stage stage;
	union kr_packet packet;
	struct kr_replay replay;
	bool asked; /* replay has begun and must be ended */
	struct kr_kernel *kernel;

	/* Signals of ours, made with the queue so that their number stays constant. */
	hsa_signal_t pass_signal, drain_signal;
	pthread_mutex_t drain_mutex; /* guards the next two; the owner and a writer may both drain */
	bool drain_pending; /* a drain packet of ours is still parked in the hardware queue */
	uint64_t drain_index;

	/* Worker: made at the first hand-over. */
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t worker;
	bool has_worker, handed, stop;

	uint64_t watched;   /* the completer's: its last round that waited for something of this queue */
	uint64_t looked_at; /* the watcher's: taken_to + 1 at its last look when a packet was there */
	_Atomic bool dying;  /* being destroyed */
	_Atomic bool stopped; /* by an error, or inactivated: what is in it never runs */
};

hsa_status_t kr_proxy_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                             void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                             uint32_t private_segment_size, uint32_t group_segment_size,
                             hsa_queue_t **queue);
hsa_status_t kr_proxy_destroy(struct kr_proxy *proxy);
hsa_status_t kr_proxy_inactivate(struct kr_proxy *proxy);

/* The runtime's own queue, noted as one that windows have to drain. */
hsa_status_t kr_queue_create_plain(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                   void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                   uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue);

struct kr_proxy *kr_proxy_of_queue(const hsa_queue_t *queue);   /* NULL: not ours */
struct kr_proxy *kr_proxy_of_doorbell(hsa_signal_t signal);     /* NULL: not ours */
extern _Atomic uint32_t kr_proxy_count;

/* The doorbell was rung: takes packets until the first INVALID header, or
 * leaves them to whoever is at it. Any thread. */
void kr_proxy_ring(struct kr_proxy *proxy);

/* This thread is in a callback for the packet that the queue has in hand. */
bool kr_proxy_is_in_hand(const struct kr_proxy *proxy);

/* Brings the soft queue's read index up to date, and says what it is. Any thread. */
uint64_t kr_proxy_refresh(struct kr_proxy *proxy);

/* Writes one packet to the hardware queue and rings. By the owner, or by the
 * writer of the agent, who is alone at the parked queues. */
void kr_proxy_submit(struct kr_proxy *proxy, const union kr_packet *packet);

#endif
