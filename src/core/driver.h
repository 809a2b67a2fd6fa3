/* SPDX-License-Identifier: MIT */
/* The driver that is there without a tool: so many passes for the kernels and dispatches that the options choose. */
#ifndef KR_CORE_DRIVER_H
#define KR_CORE_DRIVER_H

#include <stdbool.h>

#include "core/replay.h"
#include "options/options.h"

/*
 * Makes and starts the driver's context; the configuration must be open (kr_tools_load sees to that). False when another
 * context drives already, or with the reason in the log.
 */
bool kr_driver_configure(const struct kr_options *options);

/* Whether the options choose this dispatch. */
bool kr_driver_selects(const kreplay_kernel_dispatch_info_t *info);

/*
 * Whether the built-in driver drives and will never choose a dispatch of this kernel: it then need not be asked. Costs
 * what a look into a cache costs.
 */
bool kr_driver_ignores(uint64_t kernel_id);

/* Forgets all, for tests. */
void kr_driver_reset(void);

#endif
