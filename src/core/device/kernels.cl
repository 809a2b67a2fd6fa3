/* SPDX-License-Identifier: MIT */
/*
 * The snapshot's kernels. A work-group of 64 work-items takes one chunk after
 * another; a work-item moves 16 bytes a step, four steps at a time, so that
 * eight loads are under way before the first value is needed.
 *
 * A mark is written for a chunk only when there is something to say: marks lie
 * in host memory, and nothing else of these kernels crosses the link.
 */
#include "dialect.h"

#define LANES KR_GROUP_LANES

/* A chunk as the group sees it: whole 16-byte units in the middle, and up to 15
 * bytes at each end. */
struct shape {
	kr_u64 from, to;
	kr_u32 head, units, tail;
};

KR_INLINE kr_u64 uniform64(kr_u64 x)
{
	return KR_UNIFORM(x >> 32) * 0x100000000ul | KR_UNIFORM(x);
}

KR_INLINE struct shape shape_of(const KR_GLOBAL struct kr_chunk *chunk, kr_u32 to_copy)
{
	kr_u64 memory = uniform64(chunk->memory), copy = uniform64(chunk->copy);
	kr_u32 bytes = KR_UNIFORM(chunk->bytes);
	struct shape s;

	s.from = to_copy ? memory : copy;
	s.to = to_copy ? copy : memory;
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

KR_INLINE kr_u32 differs(kr_vec a, kr_vec b)
{
	return (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
}

/* ---- copy ---- */

KR_KERNEL kreplay_copy(struct kr_job job)
{
	const kr_u32 lane = KR_LANE();

	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_GLOBAL struct kr_chunk *chunk = (const KR_GLOBAL struct kr_chunk *)job.chunks + c;
		struct shape s = shape_of(chunk, job.mode & KR_JOB_TO_COPY);
		const KR_GLOBAL kr_vec *a = (const KR_GLOBAL kr_vec *)(s.from + s.head);
		KR_GLOBAL kr_vec *b = (KR_GLOBAL kr_vec *)(s.to + s.head);
		kr_u32 i = 0, end;

		for (; i + 4u * LANES <= s.units; i += 4u * LANES) {
			kr_vec v0 = a[i + lane];
			kr_vec v1 = a[i + LANES + lane];
			kr_vec v2 = a[i + 2u * LANES + lane];
			kr_vec v3 = a[i + 3u * LANES + lane];

			b[i + lane] = v0;
			b[i + LANES + lane] = v1;
			b[i + 2u * LANES + lane] = v2;
			b[i + 3u * LANES + lane] = v3;
		}
		for (i += lane; i < s.units; i += LANES)
			b[i] = a[i];
		if (s.head + s.tail != 0u && (end = end_byte(s, lane)) != ~0u)
			((KR_GLOBAL kr_u8 *)s.to)[end] = ((const KR_GLOBAL kr_u8 *)s.from)[end];
	}
}

/* ---- compare, and write what differs ---- */

/* One unit: writes it when it differs and writing is asked for. */
KR_INLINE kr_u32 sync_unit(KR_GLOBAL kr_vec *to, kr_vec now, kr_vec wanted, kr_u32 look)
{
	if (differs(now, wanted) == 0u)
		return 0u;
	if (!look)
		*to = wanted;
	return 16u;
}

/* Marks: the bytes written (of those that KR_JOB_LOOK would have been), in
 * units of 16 and in bytes at the ends of a chunk. */
KR_KERNEL kreplay_sync(struct kr_job job)
{
	KR_SHARED kr_u32 sum;
	const kr_u32 lane = KR_LANE(), look = job.mode & KR_JOB_LOOK;

	if (lane == 0u)
		sum = 0u;
	KR_BARRIER();
	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_GLOBAL struct kr_chunk *chunk = (const KR_GLOBAL struct kr_chunk *)job.chunks + c;
		struct shape s = shape_of(chunk, job.mode & KR_JOB_TO_COPY);
		const KR_GLOBAL kr_vec *a = (const KR_GLOBAL kr_vec *)(s.from + s.head);
		KR_GLOBAL kr_vec *b = (KR_GLOBAL kr_vec *)(s.to + s.head);
		kr_u32 i = 0, end, written = 0;

		for (; i + 4u * LANES <= s.units; i += 4u * LANES) {
			kr_vec a0 = a[i + lane];
			kr_vec a1 = a[i + LANES + lane];
			kr_vec a2 = a[i + 2u * LANES + lane];
			kr_vec a3 = a[i + 3u * LANES + lane];
			kr_vec b0 = b[i + lane];
			kr_vec b1 = b[i + LANES + lane];
			kr_vec b2 = b[i + 2u * LANES + lane];
			kr_vec b3 = b[i + 3u * LANES + lane];

			if ((differs(a0, b0) | differs(a1, b1) | differs(a2, b2) | differs(a3, b3)) != 0u) {
				written += sync_unit(b + i + lane, b0, a0, look);
				written += sync_unit(b + i + LANES + lane, b1, a1, look);
				written += sync_unit(b + i + 2u * LANES + lane, b2, a2, look);
				written += sync_unit(b + i + 3u * LANES + lane, b3, a3, look);
			}
		}
		for (i += lane; i < s.units; i += LANES)
			written += sync_unit(b + i, b[i], a[i], look);
		if (s.head + s.tail != 0u && (end = end_byte(s, lane)) != ~0u) {
			kr_u8 wanted = ((const KR_GLOBAL kr_u8 *)s.from)[end];

			if (((KR_GLOBAL kr_u8 *)s.to)[end] != wanted) {
				if (!look)
					((KR_GLOBAL kr_u8 *)s.to)[end] = wanted;
				written++;
			}
		}
		if (written != 0u)
			KR_ADD32(&sum, written);
		KR_BARRIER();
		if (lane == 0u && sum != 0u) {
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
	const kr_u32 lane = KR_LANE();

	if (lane < 2u)
		sum[lane] = 0u;
	KR_BARRIER();
	for (kr_u32 c = KR_GROUP(); c < job.count; c += job.groups) {
		const KR_GLOBAL struct kr_chunk *chunk = (const KR_GLOBAL struct kr_chunk *)job.chunks + c;
		struct shape s = shape_of(chunk, 1u);
		const KR_GLOBAL kr_vec *a = (const KR_GLOBAL kr_vec *)(s.from + s.head);
		struct lane_hash h = {0x0801f2e2858efc16ul + lane, 0x636920d871574e69ul - lane};
		kr_u32 i = 0, end;

		for (; i + 4u * LANES <= s.units; i += 4u * LANES) {
			kr_vec v0 = a[i + lane];
			kr_vec v1 = a[i + LANES + lane];
			kr_vec v2 = a[i + 2u * LANES + lane];
			kr_vec v3 = a[i + 3u * LANES + lane];

			HASH_STEP0(h, v0);
			HASH_STEP1(h, v1);
			HASH_STEP2(h, v2);
			HASH_STEP3(h, v3);
			hash_stir(&h);
		}
		for (i += lane; i < s.units; i += LANES) {
			kr_vec v = a[i];

			HASH_STEP0(h, v);
			hash_stir(&h);
		}
		if (s.head + s.tail != 0u && (end = end_byte(s, lane)) != ~0u) {
			h.a += 0x57u + ((const KR_GLOBAL kr_u8 *)s.from)[end];
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
