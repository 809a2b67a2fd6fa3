/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_TEST_H
#define ENGINE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/next.h"
#include "stand_in.h"

/* Device memory as an application gets it. */
static inline void *
device_alloc(size_t size)
{
	void *p = NULL;

	assert_int_equal(kr_hook_hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){STAND_IN_DEVICE_POOL}, size, 0, &p),
			 HSA_STATUS_SUCCESS);
	return p;
}

#endif
