/* SPDX-License-Identifier: MIT */
#include "thunk.h"

HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 NodeId, HSA_QUEUE_TYPE Type, HSAuint32 QueuePercentage,
                                HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
                                HSAuint64 QueueSizeInBytes, HsaEvent *Event,
                                HsaQueueResource *QueueResource)
{
	CHECK_OPEN();
	if (!QueueResource || QueuePercentage > 100 || Priority < HSA_QUEUE_PRIORITY_MINIMUM ||
	    Priority > HSA_QUEUE_PRIORITY_MAXIMUM)
		return HSAKMT_STATUS_INVALID_PARAMETER;

	struct sg_queue_request request = {
		.node = NodeId,
		.priority = Priority,
		.ring = QueueAddress,
		.ring_bytes = QueueSizeInBytes,
	};

	switch (Type) {
	case HSA_QUEUE_COMPUTE_AQL:
		request.kind = SG_QUEUE_AQL;
		request.read_pointer = QueueResource->Queue_read_ptr_aql;
		request.write_pointer = QueueResource->Queue_write_ptr_aql;
		request.error_reason = QueueResource->ErrorReason;
		request.error_event = thunk_event_id(Event);
		break;
	case HSA_QUEUE_SDMA:
	case HSA_QUEUE_SDMA_XGMI:
		request.kind = SG_QUEUE_SDMA;
		break;
	default:
		sg_log("hsaKmtCreateQueue: queue type %d is not supported", (int)Type);
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	enum sg_status status = sg_queue_create(&request);

	if (status != SG_OK)
		return thunk_status(status);
	QueueResource->QueueId = request.id;
	QueueResource->Queue_DoorBell_aql = request.doorbell;
	QueueResource->Queue_write_ptr_aql = request.write_pointer;
	QueueResource->Queue_read_ptr_aql = request.read_pointer;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID QueueId, HSAuint32 QueuePercentage,
                                HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
                                HSAuint64 QueueSize, HsaEvent *Event)
{
	(void)QueueAddress;
	(void)QueueSize;
	(void)Event;
	CHECK_OPEN();
	if (QueuePercentage > 100 || Priority < HSA_QUEUE_PRIORITY_MINIMUM ||
	    Priority > HSA_QUEUE_PRIORITY_MAXIMUM)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return thunk_status(sg_queue_update(QueueId, QueuePercentage, Priority));
}

HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID QueueId)
{
	CHECK_OPEN();
	return thunk_status(sg_queue_destroy(QueueId));
}

HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID QueueId, HSAuint32 CUMaskCount,
                                   HSAuint32 *QueueCUMask)
{
	CHECK_OPEN();
	if (CUMaskCount % 32)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return thunk_status(sg_queue_set_cu_mask(QueueId, QueueCUMask, CUMaskCount));
}

HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID QueueId, HSAuint32 nGWS, HSAuint32 *firstGWS)
{
	uint32_t first;

	CHECK_OPEN();
	enum sg_status status = sg_queue_alloc_gws(QueueId, nGWS, firstGWS ? firstGWS : &first);

	return thunk_status(status);
}
