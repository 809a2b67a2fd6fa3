/* SPDX-License-Identifier: MIT */
/*
 * The snapshot's kernels. A work-group of 64 work-items takes one chunk after
 * another; a work-item moves 16 bytes a step, four steps at a time, so that
 * eight loads are under way before the first value is needed. Where a step
 * begins is the same in all work-items, so addresses are a scalar plus a lane's
 * constant offset.
 *
 * A mark is written for a chunk only when there is something to say: marks lie
 * in host memory, and nothing else of these kernels crosses the link.
 */
#include "dialect.h"

#define LANES KR_GROUP_LANES
#define STEP (16u * LANES)

/* A chunk as the group sees it: whole 16-byte units in the middle, and up to 15
 * bytes at each end. */
struct shape {
	const KR_GLOBAL kr_u8 *from;
	KR_GLOBAL kr_u8 *to;
	kr_u32 head, units, tail;
};

KR_INLINE struct shape shape_of(const KR_CONST struct kr_chunk *chunk, kr_u32 to_copy)
{
	kr_u64 memory = chunk->memory, copy = chunk->copy;
	kr_u32 bytes = chunk->bytes;
	struct shape s;

	kr_u64 other = (memory ^ copy) & (0 - (kr_u64)to_copy);

	s.from = (const KR_GLOBAL kr_u8 *)(copy ^ other);
	s.to = (KR_GLOBAL kr_u8 *)(memory ^ other);
	s.head = (kr_u32)(0 - memory) & 15u;
	if (s.head > bytes)
		s.head = bytes;
	s.units = (bytes - s.head) >> 4;
	s.tail = (bytes - s.head) & 15u;
	return s;
}

/* The byte that this lane looks after at the ends: lanes 0 to 14 those of the
 * head, 16 to 30 those of the tail; ~0 for none. */
KR_INLINE kr_u32 end_byte(struct shape s, kr_u32 lane)
{
	if (lane < s.head)
		return lane;
	if (lane >= 16u && lane - 16u < s.tail)
		return s.head + 16u * s.units + lane - 16u;
	return ~0u;
}

KR_INLINE kr_vec get(const KR_GLOBAL kr_u8 *p, kr_u32 at)
{
	return *(const KR_GLOBAL kr_vec *)(p + at);
}

KR_INLINE void put(KR_GLOBAL kr_u8 *p, kr_u32 at, kr_vec v)
{
	*(KR_GLOBAL kr_vec *)(p + at) = v;
}

KR_INLINE kr_u32 differs(kr_vec a, kr_vec b)
{
	return (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
}

/* ---- copy ---- */

KR_KERNEL kreplay_copy(struct kr_job job)
{
	const kr_u32 lane = KR_LANE(), at = 16u * lane;

	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		struct shape s = shape_of((const KR_CONST struct kr_chunk *)job.chunks + c, job.mode & KR_JOB_TO_COPY);
		const KR_GLOBAL kr_u8 *a = s.from + s.head;
		KR_GLOBAL kr_u8 *b = s.to + s.head;
		kr_u32 left = s.units, end;

		for (; left >= 4u * LANES; left -= 4u * LANES, a += 4u * STEP, b += 4u * STEP) {
			KR_SCALAR(a);
			KR_SCALAR(b);
			kr_vec v0 = get(a, at), v1 = get(a, at + STEP);
			kr_vec v2 = get(a, at + 2u * STEP), v3 = get(a, at + 3u * STEP);

			put(b, at, v0);
			put(b, at + STEP, v1);
			put(b, at + 2u * STEP, v2);
			put(b, at + 3u * STEP, v3);
		}
		for (; left >= LANES; left -= LANES, a += STEP, b += STEP)
			put(b, at, get(a, at));
		if (lane < left)
			put(b, at, get(a, at));
		if (s.head + s.tail != 0u && (end = end_byte(s, lane)) != ~0u)
			s.to[end] = s.from[end];
	}
}

/* ---- compare, and write what differs ---- */

/* One unit: writes it when it differs and writing is asked for. */
KR_INLINE kr_u32 sync_unit(KR_GLOBAL kr_u8 *to, kr_u32 at, kr_vec now, kr_vec wanted, kr_u32 look)
{
	if (differs(now, wanted) == 0u)
		return 0u;
	if (!look)
		put(to, at, wanted);
	return 16u;
}

/* The bytes at the ends of a chunk. */
KR_INLINE kr_u32 sync_end(struct shape s, kr_u32 end, kr_u32 look)
{
	kr_u8 wanted;

	if (end == ~0u || s.to[end] == (wanted = s.from[end]))
		return 0u;
	if (!look)
		s.to[end] = wanted;
	return 1u;
}

/* Marks: the bytes written (of those that KR_JOB_LOOK would have been), in
 * units of 16 and in bytes at the ends of a chunk. */
KR_KERNEL kreplay_sync(struct kr_job job)
{
	KR_SHARED kr_u32 sum;
	const kr_u32 lane = KR_LANE(), at = 16u * lane, look = job.mode & KR_JOB_LOOK;

	if (lane == 0u)
		sum = 0u;
	KR_BARRIER();
	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_CONST struct kr_chunk *chunk = (const KR_CONST struct kr_chunk *)job.chunks + c;
		struct shape s = shape_of(chunk, job.mode & KR_JOB_TO_COPY);
		const KR_GLOBAL kr_u8 *a = s.from + s.head;
		KR_GLOBAL kr_u8 *b = s.to + s.head;
		kr_u32 left = s.units, written = 0;

		for (; left >= 4u * LANES; left -= 4u * LANES, a += 4u * STEP, b += 4u * STEP) {
			KR_SCALAR(a);
			KR_SCALAR(b);
			kr_vec a0 = get(a, at), a1 = get(a, at + STEP);
			kr_vec a2 = get(a, at + 2u * STEP), a3 = get(a, at + 3u * STEP);
			kr_vec b0 = get(b, at), b1 = get(b, at + STEP);
			kr_vec b2 = get(b, at + 2u * STEP), b3 = get(b, at + 3u * STEP);

			if ((differs(a0, b0) | differs(a1, b1) | differs(a2, b2) | differs(a3, b3)) != 0u) {
				written += sync_unit(b, at, b0, a0, look);
				written += sync_unit(b, at + STEP, b1, a1, look);
				written += sync_unit(b, at + 2u * STEP, b2, a2, look);
				written += sync_unit(b, at + 3u * STEP, b3, a3, look);
			}
		}
		for (; left >= LANES; left -= LANES, a += STEP, b += STEP)
			written += sync_unit(b, at, get(b, at), get(a, at), look);
		if (lane < left)
			written += sync_unit(b, at, get(b, at), get(a, at), look);
		if (s.head + s.tail != 0u)
			written += sync_end(s, end_byte(s, lane), look);
		if (!KR_ANY(written))
			continue;
		KR_ADD32(&sum, written);
		KR_BARRIER();
		if (lane == 0u) {
			((KR_GLOBAL kr_u32 *)job.marks)[chunk->slot] = sum;
			sum = 0u;
		}
		KR_BARRIER();
	}
}

/* ---- hash ---- */

/*
 * 128 bits: two accumulators a lane, each fed with a 32 x 32 -> 64 product of
 * one half of the unit under position-dependent keys and with the other half as
 * it is, so that no key makes either half invisible. Stirred after every fourth
 * unit; mixed with the lane's number in the end, and summed over the lanes.
 */
struct lane_hash {
	kr_u64 a, b;
};

#define HASH_STEP(h, v, k0, k1, k2, k3) \
	do { \
		(h).a = ((kr_u64)((v).x ^ (k0)) * ((v).y ^ (k1)) + (h).a) ^ ((kr_u64)(v).w << 32 | (v).z); \
		(h).b = ((kr_u64)((v).z ^ (k2)) * ((v).w ^ (k3)) + (h).b) ^ ((kr_u64)(v).y << 32 | (v).x); \
	} while (0)

/* Keys and multipliers: digits of pi. */
#define HASH_STEP0(h, v) HASH_STEP(h, v, 0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u)
#define HASH_STEP1(h, v) HASH_STEP(h, v, 0xa4093822u, 0x299f31d0u, 0x082efa98u, 0xec4e6c89u)
#define HASH_STEP2(h, v) HASH_STEP(h, v, 0x452821e6u, 0x38d01377u, 0xbe5466cfu, 0x34e90c6cu)
#define HASH_STEP3(h, v) HASH_STEP(h, v, 0xc0ac29b7u, 0xc97c50ddu, 0x3f84d5b5u, 0xb5470917u)

KR_INLINE void hash_stir(struct lane_hash *h)
{
	h->a = (h->a ^ (h->a >> 47)) * 0x9216d5d9u;
	h->b = (h->b ^ (h->b >> 47)) * 0x8979fb1bu;
}

/* The finaliser of MurmurHash3 (public domain), which lets every bit through. */
KR_INLINE kr_u64 hash_mix(kr_u64 x)
{
	x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdul;
	x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ul;
	return x ^ (x >> 33);
}

/* Marks: the chunk's bytes when its hash is not the one that is kept. */
KR_KERNEL kreplay_hash(struct kr_job job)
{
	KR_SHARED kr_u64 sum[2];
	const kr_u32 lane = KR_LANE(), at = 16u * lane;

	if (lane < 2u)
		sum[lane] = 0u;
	KR_BARRIER();
	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_CONST struct kr_chunk *chunk = (const KR_CONST struct kr_chunk *)job.chunks + c;
		struct shape s = shape_of(chunk, 1u);
		const KR_GLOBAL kr_u8 *a = s.from + s.head;
		struct lane_hash h = {0x0801f2e2858efc16ul + lane, 0x636920d871574e69ul - lane};
		kr_u32 left = s.units, end;

		for (; left >= 4u * LANES; left -= 4u * LANES, a += 4u * STEP) {
			KR_SCALAR(a);
			kr_vec v0 = get(a, at), v1 = get(a, at + STEP);
			kr_vec v2 = get(a, at + 2u * STEP), v3 = get(a, at + 3u * STEP);

			HASH_STEP0(h, v0);
			HASH_STEP1(h, v1);
			HASH_STEP2(h, v2);
			HASH_STEP3(h, v3);
			hash_stir(&h);
		}
		for (; left != 0u; left -= left < LANES ? left : LANES, a += STEP)
			if (lane < left) {
				kr_vec v = get(a, at);

				HASH_STEP0(h, v);
				hash_stir(&h);
			}
		if (s.head + s.tail != 0u && (end = end_byte(s, lane)) != ~0u) {
			h.a += 0x57u + s.from[end];
			hash_stir(&h);
		}
		KR_ADD64(&sum[0], hash_mix(h.a + lane));
		KR_ADD64(&sum[1], hash_mix(h.b ^ (h.a << 1)));
		KR_BARRIER();
		if (lane == 0u) {
			KR_GLOBAL kr_u64 *kept = (KR_GLOBAL kr_u64 *)chunk->copy;
			kr_u64 x = hash_mix(sum[0] + chunk->bytes), y = hash_mix(sum[1] ^ x);

			sum[0] = sum[1] = 0u;
			if (kept[0] != x || kept[1] != y) {
				((KR_GLOBAL kr_u32 *)job.marks)[chunk->slot] = chunk->bytes;
				if (job.mode & KR_JOB_TAKE) {
					kept[0] = x;
					kept[1] = y;
				}
			}
		}
		KR_BARRIER();
	}
}

/* ---- which bytes differ ---- */

/* One bit for each of four bytes: those of x that are not 0. */
KR_INLINE kr_u32 nonzero_bytes(kr_u32 x)
{
	x |= x >> 4;
	x |= x >> 2;
	x |= x >> 1;
	return (x & 0x01010101u) * 0x10204080u >> 28;
}

KR_INLINE kr_u32 nonzero_bytes4(kr_vec a, kr_vec b)
{
	return nonzero_bytes(a.x ^ b.x) | nonzero_bytes(a.y ^ b.y) << 4 | nonzero_bytes(a.z ^ b.z) << 8 |
	       nonzero_bytes(a.w ^ b.w) << 12;
}

/* The same for up to 15 bytes at an end of a chunk, one after the other. */
KR_INLINE kr_u32 differing_ends(struct shape s, kr_u32 at, kr_u32 count)
{
	kr_u32 mask = 0;

	for (kr_u32 i = 0; i < count; i++)
		mask |= (kr_u32)(s.from[at + i] != s.to[at + i]) << i;
	return mask;
}

/*
 * A bit for each byte of a chunk, from the 16-byte border below it on: whether memory and copy differ there. 16 bits at
 * a time; `slot` is the index of the first such word, and `marks` is where words go.
 */
KR_KERNEL kreplay_diff(struct kr_job job)
{
	const kr_u32 lane = KR_LANE(), at = 16u * lane;

	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_CONST struct kr_chunk *chunk = (const KR_CONST struct kr_chunk *)job.chunks + c;
		KR_GLOBAL kr_u16 *words = (KR_GLOBAL kr_u16 *)job.marks + chunk->slot;
		struct shape s = shape_of(chunk, 1u);
		const KR_GLOBAL kr_u8 *a = s.from + s.head, *b = s.to + s.head;
		const kr_u32 skew = (kr_u32)chunk->memory & 15u;

		if (skew != 0u) {
			if (lane == 0u)
				words[0] = (kr_u16)(differing_ends(s, 0, s.head) << skew);
			words++;
		}
		for (kr_u32 i = 0; i < s.units; i += LANES, a += STEP, b += STEP)
			if (i + lane < s.units)
				words[i + lane] = (kr_u16)nonzero_bytes4(get(a, at), get(b, at));
		if (lane == 0u && s.tail != 0u)
			words[s.units] = (kr_u16)differing_ends(s, s.head + 16u * s.units, s.tail);
	}
}
