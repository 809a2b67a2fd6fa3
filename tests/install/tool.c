/* SPDX-License-Identifier: MIT */
/* A tool of somebody else, in C and in C++: says how many passes it saw. */
#include <kreplay/kreplay.h>

#include <stdio.h>

static unsigned passes;

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	(void)user_data;
	(void)data;
	if (record.phase == KREPLAY_CALLBACK_PHASE_EXIT)
		passes++;
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t pass = KREPLAY_KERNEL_REPLAY_PASS;
	kreplay_context_id_t context;

	(void)finalize_func;
	(void)data;
	return kreplay_create_context(&context) != KREPLAY_STATUS_SUCCESS ||
	       kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, &pass, 1,
							  on_replay, NULL) != KREPLAY_STATUS_SUCCESS ||
	       kreplay_start_context(context) != KREPLAY_STATUS_SUCCESS;
}

static void finalize(void *data)
{
	(void)data;
	fprintf(stderr, "tool: %u passes\n", passes);
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, finalize, NULL };

	(void)version;
	(void)runtime_version;
	(void)priority;
	client_id->name = "out-of-tree";
	return &result;
}
