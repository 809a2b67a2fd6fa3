/* SPDX-License-Identifier: MIT */
/* What the files of the thunk front-end share. */
#ifndef SOFTGPU_THUNK_H
#define SOFTGPU_THUNK_H

#pragma GCC visibility push(default)
#include <hsakmt.h>

/* Newer than the installed header; ROCr 6.1 imports them. */
HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes);
HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *Event, HSAuint32 Milliseconds, uint64_t *event_age);
HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *Events[], HSAuint32 NumEvents,
                                             bool WaitOnAll, HSAuint32 Milliseconds,
                                             uint64_t *event_age);
HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *caps_mask);
HSAKMT_STATUS hsaKmtReplaceAsanHeaderPage(void *addr);
HSAKMT_STATUS hsaKmtReturnAsanHeaderPage(void *addr);
#pragma GCC visibility pop

#include "../core/sg.h"

HSAKMT_STATUS thunk_status(enum sg_status status);

/* First line of every function that needs an open device. */
#define CHECK_OPEN()                                                \
	do {                                                        \
		if (!sg_is_open())                                  \
			return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED; \
	} while (0)

/* The id behind a client's event, 0 for NULL. */
uint32_t thunk_event_id(const HsaEvent *event);

#endif
