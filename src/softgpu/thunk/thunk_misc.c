/* SPDX-License-Identifier: MIT */
/* Opening and closing, clocks, modes, and what is refused. */
#include "thunk.h"

HSAKMT_STATUS thunk_status(enum sg_status status)
{
	static const HSAKMT_STATUS table[] = {
		[SG_OK] = HSAKMT_STATUS_SUCCESS,
		[SG_ERROR] = HSAKMT_STATUS_ERROR,
		[SG_ALREADY_OPEN] = HSAKMT_STATUS_KERNEL_ALREADY_OPENED,
		[SG_CLOSED] = HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED,
		[SG_INVALID] = HSAKMT_STATUS_INVALID_PARAMETER,
		[SG_BAD_NODE] = HSAKMT_STATUS_INVALID_NODE_UNIT,
		[SG_BAD_HANDLE] = HSAKMT_STATUS_INVALID_HANDLE,
		[SG_NO_MEMORY] = HSAKMT_STATUS_NO_MEMORY,
		[SG_RESOURCES] = HSAKMT_STATUS_OUT_OF_RESOURCES,
		[SG_NOT_FOUND] = HSAKMT_STATUS_MEMORY_NOT_REGISTERED,
		[SG_NOT_SUPPORTED] = HSAKMT_STATUS_NOT_SUPPORTED,
		[SG_TIMEOUT] = HSAKMT_STATUS_WAIT_TIMEOUT,
	};

	return table[status];
}

HSAKMT_STATUS hsaKmtOpenKFD(void)
{
	return thunk_status(sg_open());
}

HSAKMT_STATUS hsaKmtCloseKFD(void)
{
	return thunk_status(sg_close());
}

HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *VersionInfo)
{
	CHECK_OPEN();
	if (!VersionInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* 1.4: SRAM ECC is reported; 1.7 and later would promise calls we refuse. */
	VersionInfo->KernelInterfaceMajorVersion = 1;
	VersionInfo->KernelInterfaceMinorVersion = 6;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 NodeId, HsaClockCounters *Counters)
{
	CHECK_OPEN();
	if (NodeId >= sg_node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!Counters)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	uint64_t now = sg_clock_ns();

	Counters->GPUClockCounter = now;
	Counters->CPUClockCounter = now;
	Counters->SystemClockCounter = now;
	Counters->SystemClockFrequencyHz = SG_CLOCK_HZ;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtRuntimeEnable(void *rDebug, bool setupTtmp)
{
	(void)rDebug;
	(void)setupTtmp;
	CHECK_OPEN();
	/* Success tells the runtime that queues report exceptions by reason bits. */
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
	CHECK_OPEN();
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *caps_mask)
{
	CHECK_OPEN();
	if (!caps_mask)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*caps_mask = 0;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
	CHECK_OPEN();
	if (!enable)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*enable = 0;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable)
{
	CHECK_OPEN();
	return enable ? HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 NodeId, void *TrapHandlerBaseAddress,
                                   HSAuint64 TrapHandlerSizeInBytes, void *TrapBufferBaseAddress,
                                   HSAuint64 TrapBufferSizeInBytes)
{
	(void)TrapHandlerBaseAddress;
	(void)TrapHandlerSizeInBytes;
	(void)TrapBufferBaseAddress;
	(void)TrapBufferSizeInBytes;
	CHECK_OPEN();
	/* Traps are reported by the engine itself; the handler's code never runs. */
	return sg_gpu_info(NodeId) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* Refused functions say so on every call. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define SG_EXPORT(name)
#define SG_REFUSE(name, parameters)                                       \
	__attribute__((visibility("default"))) HSAKMT_STATUS name parameters; \
	HSAKMT_STATUS name parameters                                     \
	{                                                                 \
		sg_log("%s is not supported", #name);                     \
		return HSAKMT_STATUS_NOT_SUPPORTED;                       \
	}
#include "exports.def"
#undef SG_EXPORT
#undef SG_REFUSE
#pragma GCC diagnostic pop
