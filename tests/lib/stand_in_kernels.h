/* SPDX-License-Identifier: MIT */
/* The snapshot's kernels written a second time, plainly, for a stand-in device: what src/core/device/kernels.cl is held
 * against, byte for byte. */
#ifndef STAND_IN_KERNELS_H
#define STAND_IN_KERNELS_H

#include "stand_in.h"

#define STAND_IN_ISA "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"

/* For stand_in.kernel_named. */
stand_in_kernel stand_in_snapshot_kernel(const char *name);

#endif
