/* SPDX-License-Identifier: MIT */
/* Wants to drive although somebody else does, then is content with watching; and tries what is not allowed later. */
#include "tool.h"

static int passes;

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	kreplay_context_id_t late;

	if (passes++ == 0)
		say("late context: %s\n", kreplay_get_status_name(kreplay_create_context(&late)));
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t config[] = { KREPLAY_KERNEL_REPLAY_CONFIG };
	static const kreplay_tracing_operation_t pass[] = { KREPLAY_KERNEL_REPLAY_PASS };
	kreplay_context_id_t context;

	kreplay_create_context(&context);
	say("config: %s\n", kreplay_get_status_name(kreplay_configure_callback_tracing_service(
				    context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, config, 1, on_replay, NULL)));
	say("all: %s\n", kreplay_get_status_name(kreplay_configure_callback_tracing_service(
				 context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, on_replay, NULL)));
	say("pass: %s\n", kreplay_get_status_name(kreplay_configure_callback_tracing_service(
				  context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, pass, 1, on_replay, NULL)));
	kreplay_start_context(context);
	return 0;
}

static void finalize(void *data)
{
	say("%d callbacks\n", passes);
}

TOOL("second_driver", "E2E_SECOND_LOG", initialize, finalize)
