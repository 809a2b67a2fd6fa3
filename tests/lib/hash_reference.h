/* SPDX-License-Identifier: MIT */
/* The snapshot's chunk hash written a second time, plainly: what src/core/device/kernels.cl is held against. */
#ifndef HASH_REFERENCE_H
#define HASH_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The hash of one chunk at `address`, whose bytes are at `data`. */
void hash_reference(uint64_t address, const void *data, size_t bytes, uint64_t hash[2]);

#ifdef __cplusplus
}
#endif

#endif
