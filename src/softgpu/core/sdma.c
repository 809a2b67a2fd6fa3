/* SPDX-License-Identifier: MIT */
/*
 * The copy engine: SDMA 4 packets, as the runtime and the kernel driver's
 * tests build them. Pointers and doorbell are byte offsets that only grow;
 * counts are one less than what they mean.
 */
#include "internal.h"

#include <string.h>

enum {
	OP_NOP = 0,
	OP_COPY = 1,
	OP_FENCE = 5,
	OP_TRAP = 6,
	OP_POLL_REGMEM = 8,
	OP_ATOMIC = 10,
	OP_CONST_FILL = 11,
	OP_TIMESTAMP = 13,
	OP_GCR = 17,
};
enum { COPY_LINEAR = 0, COPY_LINEAR_RECT = 4 };
enum { TIMESTAMP_GET_GLOBAL = 2 };
enum { GCR_USER = 1 };
enum { ATOMIC_ADD64 = 47 };

#define STEP_PACKETS 64
#define COPY_SLICE (1u << 20) /* then other queues have their turn */

enum outcome { DONE, WAIT, AGAIN, FAILED };

/* Words of the longest packet; a packet may wrap at the end of the ring. */
#define MAX_WORDS 13

static uint32_t packet_words(uint32_t header)
{
	switch (header & 0xff) {
	case OP_NOP:
		return 1 + (header >> 16 & 0x3fff); /* count of words to skip */
	case OP_COPY:
		return (header >> 8 & 0xff) == COPY_LINEAR        ? 7
		       : (header >> 8 & 0xff) == COPY_LINEAR_RECT ? 13
		                                                  : 0;
	case OP_FENCE:
		return 4;
	case OP_TRAP:
		return 2;
	case OP_POLL_REGMEM:
		return 6;
	case OP_ATOMIC:
		return 8;
	case OP_CONST_FILL:
	case OP_GCR:
		return 5;
	case OP_TIMESTAMP:
		return 3;
	}
	return 0;
}

static uint64_t address(const uint32_t *words)
{
	return words[0] | (uint64_t)words[1] << 32;
}

static enum outcome copy_linear(struct sg_queue *queue, const uint32_t *w)
{
	/* Less one. 22 bits on early gfx9, with zeros above them; gfx90a has 30, and ROCr 6 uses them. */
	uint64_t bytes = (w[1] & 0x3fffffff) + 1ull;
	uint64_t from = address(w + 3) + queue->copied;
	uint64_t to = address(w + 5) + queue->copied;
	uint64_t slice = bytes - queue->copied;

	if (slice > COPY_SLICE)
		slice = COPY_SLICE;
	memmove(sg_ptr(to), sg_ptr(from), slice);
	queue->copied += slice;
	return queue->copied == bytes ? DONE : AGAIN;
}

static enum outcome copy_rect(struct sg_queue *queue, const uint32_t *w)
{
	unsigned element = w[0] >> 29; /* log2 of bytes */
	uint64_t from = address(w + 1), to = address(w + 6);
	uint64_t from_x = w[3] & 0x3fff, from_y = w[3] >> 16 & 0x3fff, from_z = w[4] & 0x7ff;
	uint64_t to_x = w[8] & 0x3fff, to_y = w[8] >> 16 & 0x3fff, to_z = w[9] & 0x7ff;
	uint64_t from_pitch = (w[4] >> 13) + 1ull, to_pitch = (w[9] >> 13) + 1ull;
	uint64_t from_slice = (w[5] & 0xfffffff) + 1ull, to_slice = (w[10] & 0xfffffff) + 1ull;
	uint64_t columns = (w[11] & 0x3fff) + 1ull, rows = (w[11] >> 16 & 0x3fff) + 1ull;
	uint64_t layers = (w[12] & 0x7ff) + 1ull;

	if (element > 4) {
		sg_queue_hang(queue, "rectangle copy with element code %u", element);
		return FAILED;
	}
	/* `copied` counts rows here. */
	for (uint64_t done = 0; queue->copied < rows * layers; queue->copied++) {
		uint64_t y = queue->copied % rows, z = queue->copied / rows;
		uint64_t a = (from_z + z) * from_slice + (from_y + y) * from_pitch + from_x;
		uint64_t b = (to_z + z) * to_slice + (to_y + y) * to_pitch + to_x;

		if (done >= COPY_SLICE)
			return AGAIN;
		memmove(sg_ptr(to + (b << element)), sg_ptr(from + (a << element)),
		        columns << element);
		done += columns << element;
	}
	return DONE;
}

static enum outcome fill(struct sg_queue *queue, const uint32_t *w)
{
	unsigned size = w[0] >> 30; /* 0 byte, 1 half, 2 word */
	uint64_t bytes = (w[4] & 0x3fffffff) + 1ull;
	uint64_t to = address(w + 1);
	uint32_t value = w[3];

	if (size > 2) {
		sg_queue_hang(queue, "fill with size code %u", size);
		return FAILED;
	}
	if (size == 2) /* the count is of words less one, in bytes */
		bytes = (w[4] & 0x3ffffffc) + 4ull;
	if (size == 0)
		value = (value & 0xff) * 0x01010101u;
	else if (size == 1)
		value = (value & 0xffff) * 0x00010001u;
	uint8_t *p = sg_ptr(to);

	for (uint64_t i = 0; i + 4 <= bytes; i += 4)
		memcpy(p + i, &value, 4);
	memcpy(p + (bytes & ~3ull), &value, bytes & 3);
	return DONE;
}

static enum outcome poll(struct sg_queue *queue, const uint32_t *w)
{
	bool memory = w[0] >> 31, flush = w[0] >> 26 & 1;
	unsigned function = w[0] >> 28 & 7;

	/* Not memory: the HDP flush of the runtime, a register write and read that
	 * has nothing to flush here. Its third word is the only thing set. */
	if (!memory && (flush || (function == 0 && w[2] == 0x80000000)))
		return DONE;
	if (!memory) {
		sg_queue_hang(queue, "poll of register 0x%x is not supported", w[1]);
		return FAILED;
	}
	uint32_t value = __atomic_load_n((uint32_t *)sg_ptr(address(w + 1)), __ATOMIC_ACQUIRE) &
	                 w[4];
	uint32_t reference = w[3];
	const bool holds[8] = {
		true,               value < reference,  value <= reference, value == reference,
		value != reference, value >= reference, value > reference,  false,
	};

	if (function == 7) {
		sg_queue_hang(queue, "poll with function 7");
		return FAILED;
	}
	return holds[function] ? DONE : WAIT;
}

/* One command of a client is copies, then what tells of them. */
static bool fails(struct sg_queue *queue)
{
	if (!queue->copying && sg_inject(SG_INJECT_COPY)) {
		queue->copy_failed = true;
		sg_log("a copy on node %u fails, as asked for", queue->gpu->node);
	}
	queue->copying = true;
	return queue->copy_failed;
}

/* The signal of a failed copy becomes negative: hsa_amd_memory_async_copy. */
static void add64(struct sg_queue *queue, const uint32_t *w)
{
	uint64_t *word = sg_ptr(address(w + 1));

	if (queue->copy_failed)
		__atomic_store_n(word, (uint64_t)-1, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_add(word, address(w + 3), __ATOMIC_SEQ_CST);
	queue->copying = queue->copy_failed = false;
}

static enum outcome run(struct sg_queue *queue, const uint32_t *w)
{
	unsigned op = w[0] & 0xff, sub = w[0] >> 8 & 0xff;

	switch (op) {
	case OP_NOP:
		return DONE;
	case OP_COPY:
		if (fails(queue))
			return DONE;
		return sub == COPY_LINEAR ? copy_linear(queue, w) : copy_rect(queue, w);
	case OP_FENCE:
		__atomic_store_n((uint32_t *)sg_ptr(address(w + 1)), w[3], __ATOMIC_RELEASE);
		return DONE;
	case OP_TRAP:
		sg_event_set(w[1] & 0xfffffff);
		return DONE;
	case OP_POLL_REGMEM:
		return poll(queue, w);
	case OP_ATOMIC:
		if (w[0] >> 25 != ATOMIC_ADD64)
			break;
		add64(queue, w);
		return DONE;
	case OP_CONST_FILL:
		return fill(queue, w);
	case OP_TIMESTAMP:
		if (sub != TIMESTAMP_GET_GLOBAL)
			break;
		__atomic_store_n((uint64_t *)sg_ptr(address(w + 1)), sg_stamp(),
		                 __ATOMIC_RELEASE);
		return DONE;
	case OP_GCR:
		if (sub != GCR_USER)
			break;
		atomic_thread_fence(memory_order_seq_cst);
		return DONE;
	}
	sg_queue_hang(queue, "packet with opcode %u, sub-opcode %u, header 0x%08x is not supported",
	              op, sub, w[0]);
	return FAILED;
}

/* The packet at `read`, copied to `words` so that wrapping does not matter. */
static bool fetch(struct sg_queue *queue, uint32_t *words, uint32_t *count)
{
	uint64_t mask = queue->ring_bytes - 1;
	uint32_t header;

	memcpy(&header, queue->ring + (queue->read & mask), 4);
	*count = packet_words(header);
	if (*count == 0) {
		sg_queue_hang(queue, "packet header 0x%08x (opcode %u) is not supported", header,
		              header & 0xff);
		return false;
	}
	for (uint32_t i = 0; i < *count && i < MAX_WORDS; i++)
		memcpy(&words[i], queue->ring + ((queue->read + i * 4ull) & mask), 4);
	return true;
}

enum sg_step sg_sdma_step(struct sg_queue *queue, bool *moved)
{
	for (int n = 0; n < STEP_PACKETS; n++) {
		uint32_t words[MAX_WORDS], count;

		if (queue->read == queue->limit)
			return SG_STEP_IDLE;
		if ((queue->limit - queue->read) % 4 || !fetch(queue, words, &count))
			return SG_STEP_IDLE;
		if (count * 4ull > queue->limit - queue->read) {
			/* A NOP may name more words than the ring has left; no other may. */
			if ((words[0] & 0xff) != OP_NOP) {
				sg_queue_hang(queue, "packet 0x%08x is cut off by the write pointer",
				              words[0]);
				return SG_STEP_IDLE;
			}
			count = (uint32_t)((queue->limit - queue->read) / 4);
		}
		if (sg_opt.delay_us && queue->head == SG_HEAD_NEW) {
			queue->head = SG_HEAD_STARTED;
			queue->not_before = sg_random_delay();
			return SG_STEP_BLOCKED;
		}
		switch (run(queue, words)) {
		case WAIT:
			return SG_STEP_BLOCKED;
		case AGAIN:
			*moved = true;
			return SG_STEP_MORE;
		case FAILED:
			return SG_STEP_IDLE;
		case DONE:
			break;
		}
		queue->copied = 0;
		queue->head = SG_HEAD_NEW;
		queue->read += count * 4ull;
		atomic_store_explicit(queue->read_pointer, queue->read, memory_order_release);
		*moved = true;
	}
	return SG_STEP_MORE;
}
