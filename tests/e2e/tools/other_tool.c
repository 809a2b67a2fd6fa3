/* SPDX-License-Identifier: MIT */
/*
 * Another library of HSA_TOOLS_LIB, with an interest of its own in queues: it counts those that are made (OTHER_WRAPS) or
 * has the runtime show it the packets of each (hsa_amd_queue_intercept_create). At the end it writes what it has counted to
 * the file that E2E_OTHER_LOG names.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa_table.h"

#define EXPORT __attribute__((visibility("default")))

/* of hsa_api_trace.h, which is C++ */
typedef void (*packet_writer)(const void *packets, uint64_t count);
typedef void (*packet_handler)(const void *packets, uint64_t count, uint64_t user_index, void *data,
			       packet_writer writer);

static _Atomic uint64_t queues, packets;
static __typeof__(&hsa_queue_create) next_create;
#ifndef OTHER_WRAPS
static __typeof__(&hsa_queue_create) intercept_create;
static hsa_status_t (*intercept_register)(hsa_queue_t *queue, packet_handler handler, void *data);

static void on_packets(const void *batch, uint64_t count, uint64_t user_index, void *data, packet_writer writer)
{
	packets += count;
	writer(batch, count);
}
#endif

static hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			   void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
			   uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	queues++;
#ifdef OTHER_WRAPS
	return next_create(agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
#else
	hsa_status_t status = intercept_create(agent, size, type, callback, data, private_segment_size,
					       group_segment_size, queue);

	return status == HSA_STATUS_SUCCESS ? intercept_register(*queue, on_packets, NULL) : status;
#endif
}

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names)
{
	memcpy(&next_create, &root->core->slot[CORE_QUEUE_CREATE], sizeof(void *));
#ifndef OTHER_WRAPS
	memcpy(&intercept_create, amd_slot(root, AMD_INTERCEPT_CREATE), sizeof(void *));
	memcpy(&intercept_register, amd_slot(root, AMD_INTERCEPT_REGISTER), sizeof(void *));
#endif
	root->core->slot[CORE_QUEUE_CREATE] = (void *)create;
	return true;
}

EXPORT void OnUnload(void)
{
	const char *path = getenv("E2E_OTHER_LOG");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "queues %d packets %d\n", queues > 0, packets > 0);
	fclose(file);
}
