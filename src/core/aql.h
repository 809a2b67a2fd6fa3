/* SPDX-License-Identifier: MIT */
/* Architected Queueing Language packets, HSA System Architecture 2.9. */
#ifndef KR_AQL_H
#define KR_AQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <hsa/hsa.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

union kr_packet {
	_Atomic uint32_t head; /* header in the low half, setup (or reserved) in the high */
	hsa_kernel_dispatch_packet_t dispatch;
	hsa_barrier_and_packet_t barrier;
	uint64_t words[8];
};
_Static_assert(sizeof(union kr_packet) == 64, "AQL packets are 64 bytes");

static inline unsigned
kr_packet_type(uint32_t head)
{
	return (head >> HSA_PACKET_HEADER_TYPE) & 0xff;
}

/* Copies a packet, header last and with release, as publishing one wants. */
static inline void
kr_packet_publish(union kr_packet *to, const union kr_packet *from, uint32_t head)
{
	memcpy((char *)to + 4, (const char *)from + 4, sizeof(*to) - 4);
	atomic_store_explicit(&to->head, head, memory_order_release);
}

/* A header with both fences at system scope. */
static inline uint32_t
kr_packet_header(unsigned type, bool barrier)
{
	return type << HSA_PACKET_HEADER_TYPE | (uint32_t)barrier << HSA_PACKET_HEADER_BARRIER |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
	       HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
}

/* The completion signal of any packet type that has one: all at offset 56
 * (HSA 2.9.6 to 2.9.8; vendor packets of AMD as well). */
static inline hsa_signal_t
kr_packet_signal(const union kr_packet *packet)
{
	return (hsa_signal_t){.handle = packet->words[7]};
}

static inline amd_signal_t *
kr_signal_amd(hsa_signal_t signal)
{
	return (amd_signal_t *)(uintptr_t)signal.handle;
}

/* None, or one that a packet can complete: not a doorbell, and not one that has been destroyed, as far as it tells. */
static inline bool
kr_signal_is_sound(hsa_signal_t signal)
{
	return signal.handle == 0 || kr_signal_amd(signal)->kind == AMD_SIGNAL_KIND_USER;
}

/* Whether a packet processor runs it: otherwise it stops the queue with an error, and what comes behind never runs (HSA 2.9.6). */
static inline bool
kr_dispatch_is_sound(const hsa_kernel_dispatch_packet_t *k)
{
	const uint32_t group[3] = {k->workgroup_size_x, k->workgroup_size_y, k->workgroup_size_z};
	const uint32_t grid[3] = {k->grid_size_x, k->grid_size_y, k->grid_size_z};
	unsigned dimensions = k->setup & ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);

	for (unsigned i = 0; i < dimensions; i++)
		if (group[i] == 0 || grid[i] == 0)
			return false;
	return dimensions != 0 && k->kernel_object != 0 && kr_signal_is_sound(k->completion_signal);
}

#endif
