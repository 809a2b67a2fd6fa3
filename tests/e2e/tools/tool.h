/* SPDX-License-Identifier: MIT */
/* What the test tools share: a log file, named by an environment variable, and the way contexts are made. */
#ifndef E2E_TOOL_H
#define E2E_TOOL_H

#include <kreplay/kreplay.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef kreplay_callback_tracing_kernel_replay_data_t replay_data;
typedef kreplay_callback_tracing_kernel_dispatch_data_t dispatch_data;

static FILE *tool_log;

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
	va_list args;

	if (!tool_log)
		return;
	va_start(args, format);
	vfprintf(tool_log, format, args);
	va_end(args);
	fflush(tool_log); /* the program may end in any way */
}

__attribute__((unused)) static uint64_t number(const char *variable, uint64_t fallback)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 10) : fallback;
}

/* A context with one service of all (count 0) or these operations, started when `start`. Anything unexpected ends the
 * program: the test sees its exit status. */
__attribute__((unused)) static kreplay_context_id_t make_context(kreplay_callback_tracing_kind_t kind,
								 const kreplay_tracing_operation_t *operations,
								 size_t count, kreplay_callback_tracing_cb_t callback,
								 int start)
{
	kreplay_context_id_t context = { 0 };
	kreplay_status_t status = kreplay_create_context(&context);

	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_configure_callback_tracing_service(context, kind, operations, count, callback, NULL);
	if (status == KREPLAY_STATUS_SUCCESS && start)
		status = kreplay_start_context(context);
	if (status != KREPLAY_STATUS_SUCCESS) {
		fprintf(stderr, "tool: no context: %s\n", kreplay_get_status_string(status));
		_exit(99);
	}
	return context;
}

/* Defines kreplay_configure with a log that `variable` names. */
#define TOOL(tool_name, variable, initialize_function, finalize_function)                                   \
	static int tool_initialize(kreplay_client_finalize_t finalize_func, void *data)                      \
	{                                                                                                    \
		const char *path = getenv(variable);                                                         \
                                                                                                             \
		if (path && !(tool_log = fopen(path, "w"))) {                                                \
			perror(path);                                                                        \
			_exit(99);                                                                           \
		}                                                                                            \
		return initialize_function(finalize_func, data);                                             \
	}                                                                                                    \
	KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *kreplay_configure(                              \
		uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client) \
	{                                                                                                    \
		static kreplay_tool_configure_result_t result = { sizeof result, tool_initialize,            \
								  finalize_function, NULL };                 \
                                                                                                             \
		(void)version, (void)runtime_version, (void)priority;                                        \
		client->name = tool_name;                                                                    \
		return &result;                                                                              \
	}

#endif
