/* SPDX-License-Identifier: MIT */
/*
 * The runtime as the engine calls it: one table of next functions.
 *
 * A door fills it (from the dynamic linker, or from the API table that the
 * runtime hands to its tools) before anything else of the engine runs; unit
 * tests fill it with stand-ins. The engine never calls an hsa_* symbol itself.
 */
#ifndef KR_NEXT_H
#define KR_NEXT_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "core/newer.h"

struct kr_next {
#define HOOK(table, name) __typeof__(name) *name;
#define NEED(table, name) __typeof__(name) *name;
#define NEWER(table, name) kr_type_##name *name; /* NULL: the runtime has none */
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
};

extern struct kr_next kr_next;

/* The hooks, each with the type of what it wraps. */
#define HOOK(table, name) __typeof__(name) kr_hook_##name;
#define NEED(table, name)
#define NEWER(table, name) kr_type_##name kr_hook_##name;
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER

/* hsa.h declares these two without a parameter list. */
hsa_status_t kr_hook_hsa_init(void);
hsa_status_t kr_hook_hsa_shut_down(void);

/* "HSA_STATUS_ERROR_...: text", never NULL. */
const char *kr_status_text(hsa_status_t status);

#endif
