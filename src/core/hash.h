/* SPDX-License-Identifier: MIT */
/*
 * A 128-bit hash for telling contents apart within one process: two 64-bit
 * lanes of multiply-and-fold over 16-byte steps, finished with the length.
 * Not for storage and not against an adversary.
 */
#ifndef KR_HASH_H
#define KR_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kr_hash {
	uint64_t a, b, length;
};

#define KR_HASH_INIT ((struct kr_hash){0x243f6a8885a308d3u, 0x13198a2e03707344u, 0}) /* digits of pi */

static inline uint64_t
kr_hash_fold(uint64_t x, uint64_t y)
{
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Every call but the last must bring a multiple of 16 bytes. */
static inline void
kr_hash_add(struct kr_hash *h, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t w[2];

	h->length += size;
	while (size > 0) {
		size_t step = size < 16 ? size : 16;

		w[0] = w[1] = 0;
		memcpy(w, p, step);
		h->a = kr_hash_fold(h->a ^ w[0], w[1] ^ 0xa4093822299f31d1u) + h->b;
		h->b = kr_hash_fold(h->b ^ w[1], w[0] ^ 0x082efa98ec4e6c89u) ^ (h->a >> 29);
		p += step;
		size -= step;
	}
}

static inline void
kr_hash_finish(const struct kr_hash *h, uint64_t hash[2])
{
	hash[0] = kr_hash_fold(h->a ^ h->length, h->b ^ 0x452821e638d01377u);
	hash[1] = kr_hash_fold(h->b + h->length, h->a ^ 0xbe5466cf34e90c6cu);
}

#endif
