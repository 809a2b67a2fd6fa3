/* SPDX-License-Identifier: MIT */
/*
 * Fixture: a libhsakmt.so.1 loaded by path, its functions called through
 * pointers, so that a test sees exactly what a runtime sees.
 */
#ifndef TESTS_THUNK_KMT_H
#define TESTS_THUNK_KMT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsakmt.h>

/* Symbol at node HSAKMT_1; fails the test if missing. */
void *kmt_symbol(const char *name);
#define KMT(name) ((__typeof__(&name))kmt_symbol(#name))

/* cmocka set-up with a SPEC in *state (a string), and tear-down that checks
 * that descriptors and mappings are as many as before. */
int kmt_setup(void **state);
int kmt_teardown(void **state);

uint64_t kmt_now_ns(void);
/* Waits up to 20 s for *word to become `value`: a signal's that was made without an event, or one of which the event
 * tells. */
void kmt_expect(volatile int64_t *word, int64_t value);
void kmt_expect_event(volatile int64_t *word, int64_t value, HsaEvent *event);
/* The same of a signal that counts down, and may be further than that. */
void kmt_expect_at_most(volatile int64_t *word, int64_t value);
/* For what may not happen: by its return the device has looked at every queue, after all that came before the call. */
void kmt_device_turn(void);

#define GPU_NODE 1

/* Page-aligned memory of a node; freed with kmt_free. */
void *kmt_alloc(uint32_t node, uint64_t size);
void kmt_free(void *address, uint64_t size);

HsaEvent *kmt_event(HSA_EVENTTYPE type, bool manual);

/* An AQL queue as the runtime sets one up. */
struct kmt_queue {
	amd_queue_t *amd;
	uint8_t *ring;
	uint32_t packets;
	HsaEvent *event;
	volatile int64_t reason;
	HsaQueueResource resource;
	uint32_t doorbell_type; /* of the card */
};
void kmt_queue_create(struct kmt_queue *queue, uint32_t packets);
void kmt_queue_destroy(struct kmt_queue *queue);
/* Writes a packet of 64 bytes to the next slot, of which there must be one; header last; rings. */
uint64_t kmt_queue_put(struct kmt_queue *queue, const void *packet);
void kmt_queue_ring(struct kmt_queue *queue, uint64_t index);

/* A signal the device can decrement; event NULL: the one that kmt_expect waits for. */
void kmt_signal_init(amd_signal_t *signal, int64_t value, HsaEvent *event);

#define HEADER(type, barrier) \
	(uint16_t)((type) << HSA_PACKET_HEADER_TYPE | (barrier) << HSA_PACKET_HEADER_BARRIER)

#endif
