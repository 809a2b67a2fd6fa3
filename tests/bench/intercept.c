/* SPDX-License-Identifier: MIT */
/*
 * For HSA_TOOLS_LIB: every queue becomes one of the runtime's own intercept queues, with a handler
 * that forwards. What kreplay's forwarding is measured against.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <stdbool.h>

#include "core/table.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*packet_writer)(const void *packets, uint64_t count);
typedef void (*packet_handler)(const void *packets, uint64_t count, uint64_t user_index, void *data,
			       packet_writer writer);
typedef void (*error_callback)(hsa_status_t status, hsa_queue_t *source, void *data);

/* Declared in the runtime's hsa_api_trace.h, which is C++. */
static hsa_status_t (*intercept_create)(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
					error_callback callback, void *data, uint32_t private_segment_size,
					uint32_t group_segment_size, hsa_queue_t **queue);
static hsa_status_t (*intercept_register)(hsa_queue_t *queue, packet_handler handler, void *data);

EXPORT const uint32_t HSA_AMD_TOOL_PRIORITY = 1000;
EXPORT bool OnLoad(struct kr_root_table *table, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

static void forward(const void *packets, uint64_t count, uint64_t user_index, void *data, packet_writer writer)
{
	(void)user_index;
	(void)data;
	writer(packets, count);
}

static hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, error_callback callback,
			   void *data, uint32_t private_segment_size, uint32_t group_segment_size,
			   hsa_queue_t **queue)
{
	hsa_status_t status = intercept_create(agent, size, type, callback, data, private_segment_size,
					       group_segment_size, queue);

	return status == HSA_STATUS_SUCCESS ? intercept_register(*queue, forward, NULL) : status;
}

/* Where a slot lies depends on how many the table has, see amd_table.def. */
static void *amd_function(const struct kr_api_table *table, enum kr_amd_slot wanted)
{
	int slots = (int)((table->version.minor_id - sizeof(table->version)) / sizeof(void *));
	int at = 0;

#define SLOT(name, since) \
	if (KR_amd_##name == wanted) \
		return table->slot[at]; \
	at += (since) <= slots;
#include "core/amd_table.def"
#undef SLOT
	return NULL;
}

EXPORT bool OnLoad(struct kr_root_table *table, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names)
{
	(void)runtime_version;
	(void)failed_tools;
	(void)failed_tool_names;
	intercept_create =
		(__typeof__(intercept_create))amd_function(table->amd, KR_amd_hsa_amd_queue_intercept_create);
	intercept_register =
		(__typeof__(intercept_register))amd_function(table->amd, KR_amd_hsa_amd_queue_intercept_register);
	table->core->slot[KR_core_hsa_queue_create] = (void *)create;
	return true;
}

EXPORT void OnUnload(void)
{
}
