/* SPDX-License-Identifier: MIT */
/* Attributes of shared virtual memory, as lists of pairs. */
#include "thunk.h"

#define NO_NODE 0xffffffffu /* what the runtime gives for "anywhere", and is given for "no one place" */

struct change {
	const HSA_SVM_ATTRIBUTE *list;
	unsigned int count;
};

static bool is_access(HSAuint32 type)
{
	return type == HSA_SVM_ATTR_ACCESS || type == HSA_SVM_ATTR_ACCESS_IN_PLACE || type == HSA_SVM_ATTR_NO_ACCESS;
}

/* Nothing is changed unless all of the list can be. */
static HSAKMT_STATUS check(const HSA_SVM_ATTRIBUTE *a, bool get)
{
	switch (a->type) {
	case HSA_SVM_ATTR_PREFERRED_LOC:
	case HSA_SVM_ATTR_PREFETCH_LOC:
		if (get || (a->type == HSA_SVM_ATTR_PREFERRED_LOC && a->value == NO_NODE))
			return HSAKMT_STATUS_SUCCESS;
		return a->value < sg_node_count() ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
	case HSA_SVM_ATTR_ACCESS:
	case HSA_SVM_ATTR_ACCESS_IN_PLACE:
	case HSA_SVM_ATTR_NO_ACCESS:
		/* The host's is a flag. */
		return sg_gpu_info(a->value) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
	case HSA_SVM_ATTR_SET_FLAGS:
	case HSA_SVM_ATTR_CLR_FLAGS:
	case HSA_SVM_ATTR_GRANULARITY:
		return HSAKMT_STATUS_SUCCESS;
	}
	return HSAKMT_STATUS_ERROR;
}

static HSAKMT_STATUS check_list(const void *start, HSAuint64 size, unsigned int count, const HSA_SVM_ATTRIBUTE *list,
                                bool get)
{
	HSAKMT_STATUS status = start && size && (list || !count) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;

	for (unsigned int i = 0; i < count && status == HSAKMT_STATUS_SUCCESS; i++)
		status = check(&list[i], get);
	return status;
}

static void apply(struct sg_svm *what, void *data)
{
	const struct change *change = data;

	for (unsigned int i = 0; i < change->count; i++) {
		HSAuint32 type = change->list[i].type, value = change->list[i].value;
		uint32_t gpu = is_access(type) ? 1u << (value - 1) : 0;

		switch (type) {
		case HSA_SVM_ATTR_PREFERRED_LOC: what->preferred = value; break;
		case HSA_SVM_ATTR_PREFETCH_LOC: what->prefetch = value; break;
		case HSA_SVM_ATTR_GRANULARITY: what->granularity = value < 63 ? value : 63; break;
		case HSA_SVM_ATTR_SET_FLAGS: what->flags_any = what->flags_all |= value; break;
		case HSA_SVM_ATTR_CLR_FLAGS: what->flags_any = what->flags_all &= ~value; break;
		default:
			what->access &= ~gpu;
			what->in_place &= ~gpu;
			if (type == HSA_SVM_ATTR_ACCESS)
				what->access |= gpu;
			else if (type == HSA_SVM_ATTR_ACCESS_IN_PLACE)
				what->in_place |= gpu;
		}
	}
}

HSAKMT_STATUS hsaKmtSVMSetAttr(void *start_addr, HSAuint64 size, unsigned int nattr, HSA_SVM_ATTRIBUTE *attrs)
{
	struct change change = {attrs, nattr};
	HSAKMT_STATUS status;

	CHECK_OPEN();
	status = check_list(start_addr, size, nattr, attrs, false);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	return thunk_status(sg_svm_set((uintptr_t)start_addr, size, apply, &change));
}

HSAKMT_STATUS hsaKmtSVMGetAttr(void *start_addr, HSAuint64 size, unsigned int nattr, HSA_SVM_ATTRIBUTE *attrs)
{
	struct sg_svm what;
	HSAKMT_STATUS status;

	CHECK_OPEN();
	status = check_list(start_addr, size, nattr, attrs, true);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = thunk_status(sg_svm_get((uintptr_t)start_addr, size, &what));
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	for (unsigned int i = 0; i < nattr; i++) {
		HSA_SVM_ATTRIBUTE *a = &attrs[i];
		uint32_t gpu = is_access(a->type) ? 1u << (a->value - 1) : 0;

		switch (a->type) {
		case HSA_SVM_ATTR_PREFERRED_LOC: a->value = what.preferred; break;
		case HSA_SVM_ATTR_PREFETCH_LOC: a->value = what.prefetch; break;
		case HSA_SVM_ATTR_GRANULARITY: a->value = what.granularity; break;
		/* Of all of the range; and those that none of it has. */
		case HSA_SVM_ATTR_SET_FLAGS: a->value = what.flags_all; break;
		case HSA_SVM_ATTR_CLR_FLAGS: a->value = ~what.flags_any; break;
		default:
			a->type = what.access & gpu ? HSA_SVM_ATTR_ACCESS :
			          what.in_place & gpu ? HSA_SVM_ATTR_ACCESS_IN_PLACE : HSA_SVM_ATTR_NO_ACCESS;
		}
	}
	return HSAKMT_STATUS_SUCCESS;
}
