/* SPDX-License-Identifier: MIT */
#ifndef KR_SLOTS_H
#define KR_SLOTS_H

#include <stdbool.h>

#define HOOK(table, name) extern void *kr_slot_##name;
#define NEED(table, name)
#define NEWER(table, name) HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER

/* First call of any exported function: finds the runtime, fills the slots. */
void kr_slots_resolve(void);

/* The runtime's own functions into all slots: this door is closed from now on. */
void kr_slots_pass_through(void);

#endif
