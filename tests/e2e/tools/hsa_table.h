/* SPDX-License-Identifier: MIT */
/* The few slots of the runtime's API tables that two of the test libraries need. The public header that declares the tables
 * is C++; this is where its version for ROCr 5.2 has them. */
#ifndef E2E_HSA_TABLE_H
#define E2E_HSA_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct hsa_table {
	uint32_t major_id, minor_id, step_id, reserved; /* minor_id: bytes */
	void *slot[];
};

struct hsa_tables {
	uint32_t major_id, minor_id, step_id, reserved;
	struct hsa_table *core, *amd, *finalizer, *image;
};

enum {
	CORE_QUEUE_CREATE = 7,
	CORE_SIGNAL_CREATE = 37,
	CORE_SIGNAL_DESTROY = 38,
	CORE_EXTENSION_TABLE = 98,
	AMD_POOL_ALLOCATE = 13,
	AMD_ASYNC_COPY = 15,
	AMD_SIGNAL_CREATE = 31,
	AMD_INTERCEPT_CREATE = 35,
	AMD_INTERCEPT_REGISTER = 36,
};

/* Where it lies in this table: from 55 slots on there are two new ones behind AMD_ASYNC_COPY. */
static inline void **amd_slot(const struct hsa_tables *tables, int index)
{
	bool newer = (tables->amd->minor_id - 16) / sizeof(void *) >= 55;

	return &tables->amd->slot[index + (newer && index > AMD_ASYNC_COPY ? 2 : 0)];
}

#endif
