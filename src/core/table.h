/* SPDX-License-Identifier: MIT */
/*
 * The runtime's API tables, mirrored in C: the public header that declares them
 * is C++. A table is a version followed by function pointers; its minor_id is
 * its size in bytes, and no slot beyond that size is ever touched.
 */
#ifndef KR_TABLE_H
#define KR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct kr_table_version {
	uint32_t major_id;
	uint32_t minor_id; /* sizeof the table that the runtime was built with */
	uint32_t step_id;
	uint32_t reserved;
};

struct kr_api_table { /* core and AMD extension tables alike */
	struct kr_table_version version;
	void *slot[];
};

struct kr_root_table { /* HsaApiTable */
	struct kr_table_version version;
	struct kr_api_table *core;
	struct kr_api_table *amd;
	struct kr_api_table *finalizer;
	struct kr_api_table *image;
};

enum kr_core_slot {
#define SLOT(name, since) KR_core_##name,
#include "core/core_table.def"
#undef SLOT
	KR_CORE_SLOTS
};

enum kr_amd_slot {
#define SLOT(name, since) KR_amd_##name,
#include "core/amd_table.def"
#undef SLOT
	KR_AMD_SLOTS
};

/* Where a slot of enum kr_amd_slot lies in a table of `slots` slots; -1: not in it. */
int kr_amd_slot_index(enum kr_amd_slot slot, unsigned slots);

/* Copies the functions that the engine calls into kr_next and puts the hooks
 * into the table. False, with nothing touched, when the table lacks a function
 * that the engine cannot do without or has another major version. */
bool kr_table_attach(struct kr_root_table *root);

/* Puts the saved functions back where the hooks still are. */
void kr_table_detach(void);

#endif
