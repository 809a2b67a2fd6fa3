/* SPDX-License-Identifier: MIT */
/*
 * What the host and the device kernels share: the work list and the arguments.
 * Included as C, as OpenCL C and as CUDA.
 */
#ifndef KR_DEVICE_LAYOUT_H
#define KR_DEVICE_LAYOUT_H

#if defined(__OPENCL_C_VERSION__)
typedef unsigned char kr_u8;
typedef unsigned short kr_u16;
typedef unsigned int kr_u32;
typedef unsigned long kr_u64;
#else
#include <stdint.h>
typedef uint8_t kr_u8;
typedef uint16_t kr_u16;
typedef uint32_t kr_u32;
typedef uint64_t kr_u64;
#endif

/* One piece of work for one work-group: a run of bytes of one region and its
 * counterpart, which lies at the same offset from a 16-byte border. */
struct kr_chunk {
	kr_u64 memory; /* the application's */
	kr_u64 copy;   /* in a snapshot on the device, or in a staging buffer; kreplay_hash: two words for its hash */
	kr_u32 bytes;  /* not 0 */
	kr_u32 slot;   /* index of its mark, or of its first word for kreplay_diff */
};

/* The arguments, by value, of every kernel. */
struct kr_job {
	kr_u64 chunks; /* of struct kr_chunk */
	kr_u64 marks;  /* kr_u32 a slot, in host memory, 0 before: see the kernels; kreplay_diff: kr_u16, anywhere */
	kr_u32 count;  /* of chunks */
	kr_u32 groups; /* work-groups in the grid: each takes every groups-th chunk */
	kr_u32 mode;   /* KR_JOB_* */
	kr_u32 reserved;
};

/* kreplay_copy, kreplay_sync: which way. kreplay_sync: whether to write at all.
 * kreplay_hash: whether the hash is set, or only looked at. */
#define KR_JOB_TO_COPY 1u
#define KR_JOB_TO_MEMORY 2u
#define KR_JOB_LOOK 4u
#define KR_JOB_TAKE 8u

#define KR_GROUP_LANES 64u /* work-items of a work-group */

#endif
