/* SPDX-License-Identifier: MIT */
#include "hash_reference.h"

#include <string.h>

#define LANES 64

static uint64_t
mix(uint64_t x)
{
	x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
	x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
	return x ^ (x >> 33);
}

static void
step(uint64_t h[2], const unsigned char *unit, unsigned which)
{
	static const uint32_t key[4][4] = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
					   {0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
					   {0x452821e6, 0x38d01377, 0xbe5466cf, 0x34e90c6c},
					   {0xc0ac29b7, 0xc97c50dd, 0x3f84d5b5, 0xb5470917}};
	uint32_t w[4];

	memcpy(w, unit, 16);
	h[0] = ((uint64_t)(w[0] ^ key[which][0]) * (w[1] ^ key[which][1]) + h[0]) ^ ((uint64_t)w[3] << 32 | w[2]);
	h[1] = ((uint64_t)(w[2] ^ key[which][2]) * (w[3] ^ key[which][3]) + h[1]) ^ ((uint64_t)w[1] << 32 | w[0]);
}

static void
stir(uint64_t h[2])
{
	h[0] = (h[0] ^ (h[0] >> 47)) * 0x9216d5d9u;
	h[1] = (h[1] ^ (h[1] >> 47)) * 0x8979fb1bu;
}

void
hash_reference(uint64_t address, const void *data, size_t bytes, uint64_t hash[2])
{
	const unsigned char *p = data;
	size_t head = -address & 15, units, tail, whole;
	uint64_t sum[2] = {0, 0};

	if (head > bytes)
		head = bytes;
	units = (bytes - head) / 16;
	tail = (bytes - head) % 16;
	whole = units / (4 * LANES) * (4 * LANES);
	for (unsigned lane = 0; lane < LANES; lane++) {
		uint64_t h[2] = {0x0801f2e2858efc16u + lane, 0x636920d871574e69u - lane};

		for (size_t i = 0; i < whole; i += 4 * LANES) {
			for (unsigned k = 0; k < 4; k++)
				step(h, p + head + 16 * (i + k * LANES + lane), k);
			stir(h);
		}
		for (size_t i = whole + lane; i < units; i += LANES) {
			step(h, p + head + 16 * i, 0);
			stir(h);
		}
		if (lane < head || (lane >= 16 && lane - 16 < tail)) {
			h[0] += 0x57u + p[lane < head ? lane : head + 16 * units + lane - 16];
			stir(h);
		}
		sum[0] += mix(h[0] + lane);
		sum[1] += mix(h[1] ^ (h[0] << 1));
	}
	hash[0] = mix(sum[0] + bytes);
	hash[1] = mix(sum[1] ^ hash[0]);
}
