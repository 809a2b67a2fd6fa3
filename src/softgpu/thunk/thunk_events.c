/* SPDX-License-Identifier: MIT */
#include "thunk.h"

#include <stdlib.h>
#include <string.h>

uint32_t thunk_event_id(const HsaEvent *event)
{
	return event ? event->EventId : 0;
}

/* The runtime polls Flags from other threads, so it is written last. */
static void on_fault(void *user, const struct sg_memory_fault *fault)
{
	HsaEvent *event = user;
	HsaMemoryAccessFault *out = &event->EventData.EventData.MemoryAccessFault;

	out->NodeId = fault->node;
	out->VirtualAddress = fault->address & ~4095ull;
	memset(&out->Failure, 0, sizeof(out->Failure));
	if (fault->hang)
		out->Failure.ErrorType = 3;
	else if (fault->read_only)
		out->Failure.ReadOnly = 1;
	else
		out->Failure.NotPresent = 1;
	__atomic_store_n((uint32_t *)&out->Flags, HSA_EVENTID_MEMORY_FATAL_PROCESS,
	                 __ATOMIC_RELEASE);
}

HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *EventDesc, bool ManualReset, bool IsSignaled,
                                HsaEvent **Event)
{
	CHECK_OPEN();
	if (!EventDesc || !Event || EventDesc->EventType >= HSA_EVENTTYPE_MAXID)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HsaEvent *event = calloc(1, sizeof(*event));
	uint64_t *mailbox;
	uint32_t id;

	if (!event)
		return HSAKMT_STATUS_NO_MEMORY;
	event->EventData.EventType = EventDesc->EventType;
	if (EventDesc->EventType == HSA_EVENTTYPE_SIGNAL)
		event->EventData.EventData.SyncVar = EventDesc->SyncVar;

	struct sg_event_request request = {
		.memory_fault = EventDesc->EventType == HSA_EVENTTYPE_MEMORY,
		.manual_reset = ManualReset,
		.signaled = IsSignaled,
		.on_fault = on_fault,
		.user = event,
	};
	enum sg_status status = sg_event_create(&request, &id, &mailbox);

	if (status != SG_OK) {
		free(event);
		return thunk_status(status);
	}
	event->EventId = id;
	event->EventData.HWData1 = id;
	/* Device and runtime wake waiters through the mailbox: never 0. */
	event->EventData.HWData2 = (uint64_t)(uintptr_t)mailbox;
	event->EventData.HWData3 = id;
	*Event = event;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *Event)
{
	CHECK_OPEN();
	if (!Event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	enum sg_status status = sg_event_destroy(Event->EventId);

	if (status == SG_OK)
		free(Event);
	return thunk_status(status);
}

HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *Event)
{
	CHECK_OPEN();
	enum sg_status status = sg_event_set(thunk_event_id(Event));

	/* A host signal operation ends in this call, and a barrier packet may wait
	 * for that signal. */
	sg_device_kick();
	return thunk_status(status);
}

HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *Event)
{
	CHECK_OPEN();
	return thunk_status(sg_event_reset(thunk_event_id(Event)));
}

HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *Event)
{
	CHECK_OPEN();
	return thunk_status(sg_event_query(thunk_event_id(Event)));
}

static HSAKMT_STATUS wait(HsaEvent *events[], HSAuint32 count, bool all, HSAuint32 milliseconds,
                          uint64_t *ages)
{
	uint32_t few[32], *ids = few;

	CHECK_OPEN();
	if (!events || count == 0)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (count > 32) {
		ids = calloc(count, sizeof(*ids));
		if (!ids)
			return HSAKMT_STATUS_NO_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		ids[i] = thunk_event_id(events[i]);
	enum sg_status status = sg_event_wait(ids, count, all, milliseconds, ages);

	if (ids != few)
		free(ids);
	return status == SG_ERROR ? HSAKMT_STATUS_WAIT_FAILURE : thunk_status(status);
}

HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *Event, HSAuint32 Milliseconds)
{
	return wait(&Event, 1, true, Milliseconds, NULL);
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *Events[], HSAuint32 NumEvents, bool WaitOnAll,
                                         HSAuint32 Milliseconds)
{
	return wait(Events, NumEvents, WaitOnAll, Milliseconds, NULL);
}

HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *Event, HSAuint32 Milliseconds, uint64_t *event_age)
{
	return wait(&Event, 1, true, Milliseconds, event_age);
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *Events[], HSAuint32 NumEvents,
                                             bool WaitOnAll, HSAuint32 Milliseconds,
                                             uint64_t *event_age)
{
	return wait(Events, NumEvents, WaitOnAll, Milliseconds, event_age);
}
