/* SPDX-License-Identifier: MIT */
/* The AQL packet processor: HSA Platform System Architecture 1.2, section 2.9. */
#include "internal.h"

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#define PACKET_BYTES 64
#define STEP_PACKETS 64 /* then other queues have their turn */

/* Vendor packet formats, in the byte behind the header. */
enum { FORMAT_PM4_IB = 1, FORMAT_BARRIER_VALUE = 2 };

/* PM4 type 3 opcodes. */
enum { PM4_NOP = 0x10, PM4_INDIRECT_BUFFER = 0x3f, PM4_ACQUIRE_MEM = 0x58 };

/* Packet to read completion signal of; barrier and vendor packets agree on its place. */
struct packet_tail {
	uint8_t body[56];
	uint64_t completion_signal;
};

bool sg_signal_complete(uint64_t handle, uint64_t start, uint64_t end)
{
	if (!handle)
		return true;

	amd_signal_t *signal = sg_ptr(handle);

	if (signal->kind != AMD_SIGNAL_KIND_USER)
		return false;
	/* Once the value is down the owner may destroy the signal: read all before. */
	uint64_t mailbox = signal->event_mailbox_ptr;
	uint32_t event = signal->event_id;

	signal->start_ts = start;
	signal->end_ts = end;
	__atomic_fetch_sub(&signal->value, 1, __ATOMIC_SEQ_CST);
	if (mailbox) {
		__atomic_store_n((uint64_t *)sg_ptr(mailbox), event, __ATOMIC_RELEASE);
		sg_event_set(event);
	}
	return true;
}

static int64_t signal_value(uint64_t handle)
{
	const amd_signal_t *signal = sg_ptr(handle);

	return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
}

static bool barrier_and_ready(const hsa_barrier_and_packet_t *packet)
{
	for (int i = 0; i < 5; i++) {
		if (packet->dep_signal[i].handle && signal_value(packet->dep_signal[i].handle))
			return false;
	}
	return true;
}

static bool barrier_or_ready(const hsa_barrier_or_packet_t *packet)
{
	bool any = false;

	for (int i = 0; i < 5; i++) {
		if (!packet->dep_signal[i].handle)
			continue;
		if (!signal_value(packet->dep_signal[i].handle))
			return true;
		any = true;
	}
	return !any;
}

/* 1 ready, 0 not yet, -1 not a condition. */
static int barrier_value_ready(const hsa_amd_barrier_value_packet_t *packet)
{
	if (!packet->signal.handle)
		return 1;

	int64_t value = signal_value(packet->signal.handle) & packet->mask;

	switch (packet->cond) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == packet->value;
	case HSA_SIGNAL_CONDITION_NE:
		return value != packet->value;
	case HSA_SIGNAL_CONDITION_LT:
		return value < packet->value;
	case HSA_SIGNAL_CONDITION_GTE:
		return value >= packet->value;
	}
	return -1;
}

/* Runs `dwords` of PM4. What the runtime submits is NOPs and cache control. */
static bool run_pm4(struct sg_queue *queue, const uint32_t *words, uint32_t dwords, int depth)
{
	for (uint32_t i = 0; i < dwords;) {
		uint32_t header = words[i];
		uint32_t opcode = header >> 8 & 0xff;
		uint32_t body = (header >> 16 & 0x3fff) + 1;

		if (header >> 30 == 2) { /* type 2: filler of one word */
			i++;
			continue;
		}
		if (header >> 30 != 3 || body > dwords - i - 1) {
			sg_queue_fail(queue, SG_QERR_VENDOR_UNSUPPORTED,
			              "PM4 header 0x%08x is malformed", header);
			return false;
		}
		switch (opcode) {
		case PM4_NOP:
			break;
		case PM4_ACQUIRE_MEM:
			sg_dispatch_invalidate_code();
			break;
		case PM4_INDIRECT_BUFFER:
			if (depth == 0 && body >= 3) {
				uint64_t base = (words[i + 1] & ~3u) |
				                (uint64_t)(words[i + 2] & 0xffff) << 32;

				if (!run_pm4(queue, sg_ptr(base), words[i + 3] & 0xfffff, 1))
					return false;
				break;
			}
			/* fallthrough */
		default:
			sg_queue_fail(queue, SG_QERR_VENDOR_UNSUPPORTED,
			              "PM4 opcode 0x%02x (header 0x%08x) is not supported", opcode,
			              header);
			return false;
		}
		i += 1 + body;
	}
	return true;
}

/* PARKED: the end of a dispatch will tell. */
enum outcome { DONE, WAIT, PARKED, FAILED };

static enum outcome complete(struct sg_queue *queue, const void *packet)
{
	const struct packet_tail *tail = packet;

	if (sg_opt.delay_us && queue->head != SG_HEAD_ENDING) {
		queue->head = SG_HEAD_ENDING;
		queue->not_before = sg_random_delay();
		return WAIT;
	}
	atomic_thread_fence(memory_order_seq_cst);
	if (!tail->completion_signal ||
	    sg_signal_complete(tail->completion_signal, queue->head_time, sg_stamp()))
		return DONE;
	sg_queue_fail(queue, SG_QERR_PACKET_UNSUPPORTED,
	              "completion signal 0x%llx of packet %llu is not a signal",
	              (unsigned long long)tail->completion_signal, (unsigned long long)queue->read);
	return FAILED;
}

static enum outcome vendor_packet(struct sg_queue *queue, const uint32_t *packet)
{
	uint32_t format = packet[0] >> 16 & 0xff;

	if (format == FORMAT_BARRIER_VALUE) {
		int ready = barrier_value_ready((const void *)packet);

		if (ready == 1)
			return complete(queue, packet);
		if (ready == 0)
			return WAIT;
	} else if (format == FORMAT_PM4_IB) {
		/* A four-word jump to the buffer sits behind the header. */
		return run_pm4(queue, packet + 1, 4, 0) ? complete(queue, packet) : FAILED;
	}
	sg_queue_fail(queue, SG_QERR_VENDOR_UNSUPPORTED,
	              "vendor packet %llu: format %u, condition %u not supported",
	              (unsigned long long)queue->read, format, packet[10]);
	return FAILED;
}

static enum outcome run_packet(struct sg_queue *queue, const void *packet, uint16_t header)
{
	unsigned type = header >> HSA_PACKET_HEADER_TYPE & 0xff;

	if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
		if (atomic_load(&queue->in_flight) >= SG_MAX_IN_FLIGHT)
			return PARKED;
		return sg_dispatch_launch(queue, packet, queue->read) ? DONE : FAILED;
	}
	if (!queue->head_time && ((const struct packet_tail *)packet)->completion_signal)
		queue->head_time = sg_stamp();
	/* What it waited for was met once and may have changed since. */
	if (queue->head == SG_HEAD_ENDING)
		return complete(queue, packet);
	switch (type) {
	case HSA_PACKET_TYPE_BARRIER_AND:
		return barrier_and_ready(packet) ? complete(queue, packet) : WAIT;
	case HSA_PACKET_TYPE_BARRIER_OR:
		return barrier_or_ready(packet) ? complete(queue, packet) : WAIT;
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		return vendor_packet(queue, packet);
	}
	sg_queue_fail(queue, SG_QERR_PACKET_UNSUPPORTED, "packet %llu: type %u is not supported",
	              (unsigned long long)queue->read, type);
	return FAILED;
}

/* Gives the slot back: header first, then the index that lets producers in. */
static void retire(struct sg_queue *queue, uint32_t *packet)
{
	__atomic_store_n((uint16_t *)packet, HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE,
	                 __ATOMIC_RELEASE);
	queue->read++;
	queue->head_time = 0;
	queue->head = SG_HEAD_NEW;
	atomic_store_explicit(queue->read_pointer, queue->read, memory_order_release);
}

enum sg_step sg_aql_step(struct sg_queue *queue, bool *moved)
{
	uint64_t mask = queue->ring_bytes / PACKET_BYTES - 1;

	for (int n = 0; n < STEP_PACKETS; n++) {
		if (queue->read == queue->limit)
			return SG_STEP_IDLE;
		uint32_t *packet = (uint32_t *)(queue->ring + (queue->read & mask) * PACKET_BYTES);
		uint16_t header = __atomic_load_n((uint16_t *)packet, __ATOMIC_ACQUIRE);

		/* Rung for, but its producer has not finished: look again later. */
		if ((header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_INVALID)
			return SG_STEP_BLOCKED;
		/* Barrier bit: every earlier packet must have completed. The last
		 * dispatch to end pokes the queue. */
		if ((header >> HSA_PACKET_HEADER_BARRIER & 1) && atomic_load(&queue->in_flight))
			return SG_STEP_IDLE;
		if (sg_opt.delay_us && queue->head == SG_HEAD_NEW) {
			queue->head = SG_HEAD_STARTED;
			queue->not_before = sg_random_delay();
			return SG_STEP_BLOCKED;
		}
		atomic_thread_fence(memory_order_seq_cst); /* acquire fence of the packet */
		switch (run_packet(queue, packet, header)) {
		case WAIT:
			return SG_STEP_BLOCKED;
		case PARKED:
		case FAILED:
			return SG_STEP_IDLE;
		case DONE:
			retire(queue, packet);
			*moved = true;
			break;
		}
	}
	return SG_STEP_MORE;
}
