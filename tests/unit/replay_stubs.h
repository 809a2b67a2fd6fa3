/* SPDX-License-Identifier: MIT */
/* Stand-ins for what the tool-facing core calls: the log, the clock, names, the report. */
#ifndef KR_TEST_REPLAY_STUBS_H
#define KR_TEST_REPLAY_STUBS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/replay.h"

/* Lines of warning or worse, and the last of them. */
extern unsigned stub_warnings;
extern char stub_last_warning[512];

/* Calls of kr_kernel_name. */
extern unsigned stub_name_calls;

/* What the report was told. */
extern unsigned stub_executions;
extern unsigned stub_windows;
extern unsigned stub_notes;
extern char stub_last_note[512];
extern bool stub_interrupted;
extern kreplay_outcome_t stub_last_outcome;

void stub_reset(void);

#endif
