/* SPDX-License-Identifier: MIT */
/* Test fixture: loads an AMD GPU code object and launches one kernel on the instruction-set module. */
#ifndef ELF_KERNEL_H
#define ELF_KERNEL_H

#include "gcn.h"

struct code_object;

struct code_object *code_load(const char *path);
void code_unload(struct code_object *c);

/* Fills launch state from NAME's descriptor; false when there is none. */
bool code_kernel(struct code_object *c, const char *name, const void *kernarg, struct gcn_launch *l);

/* Runs the whole grid; GCN_DONE, or GCN_FAULT with the fault. */
enum gcn_status code_run(const struct gcn_launch *l, struct gcn_fault *f);

#endif
