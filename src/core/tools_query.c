/* SPDX-License-Identifier: MIT */
/* The public functions that only look something up. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <kreplay/kreplay.h>

#include "core/engine.h"

struct status_text {
	kreplay_status_t status;
	const char *name;
	const char *text;
};

#define STATUS(id, text) { KREPLAY_STATUS_##id, "KREPLAY_STATUS_" #id, text }

static const struct status_text status_texts[] = {
	STATUS(SUCCESS, "Success."),
	STATUS(ERROR, "The call failed."),
	STATUS(ERROR_CONTEXT_NOT_FOUND, "No context has this id."),
	STATUS(ERROR_KIND_NOT_FOUND, "There is no such tracing kind."),
	STATUS(ERROR_OPERATION_NOT_FOUND, "The tracing kind has no such operation."),
	STATUS(ERROR_AGENT_NOT_FOUND, "No agent has this handle."),
	STATUS(ERROR_CONTEXT_ERROR, "A context cannot be toggled here: only PASS ENTER allows it."),
	STATUS(ERROR_CONTEXT_INVALID, "The context cannot be used in this way."),
	STATUS(ERROR_CONTEXT_NOT_STARTED, "The context is not started."),
	STATUS(ERROR_SERVICE_ALREADY_CONFIGURED, "The service is configured already."),
	STATUS(ERROR_CONFIGURATION_LOCKED, "The configuration is open only while a tool initializes."),
	STATUS(ERROR_INCOMPATIBLE_ABI, "The size of a struct is none that this library can serve."),
	STATUS(ERROR_INVALID_ARGUMENT, "An argument is invalid."),
	STATUS(ERROR_FINALIZED, "The tool has been finalized."),
	STATUS(ERROR_OUT_OF_RESOURCES, "Memory or another resource is exhausted."),
	STATUS(ERROR_NOT_AVAILABLE, "Not available on this thread or at this time."),
	STATUS(ERROR_KERNEL_NOT_FOUND, "No kernel has this id."),
};

static const struct status_text *find_status(kreplay_status_t status)
{
	for (size_t i = 0; i < sizeof status_texts / sizeof status_texts[0]; i++)
		if (status_texts[i].status == status)
			return &status_texts[i];
	return NULL;
}

const char *kreplay_get_status_name(kreplay_status_t status)
{
	const struct status_text *found = find_status(status);

	return found ? found->name : NULL;
}

const char *kreplay_get_status_string(kreplay_status_t status)
{
	const struct status_text *found = find_status(status);

	return found ? found->text : NULL;
}

const char *kreplay_decline_name(kreplay_decline_t decline)
{
	static const char *const names[] = {
		[KREPLAY_DECLINE_NONE] = "none",
		[KREPLAY_DECLINE_OUT_OF_MEMORY] = "out of memory",
		[KREPLAY_DECLINE_COPY_FAILED] = "copy failed",
		[KREPLAY_DECLINE_VARIABLES_UNKNOWN] = "variables unknown",
		[KREPLAY_DECLINE_OVER_BUDGET] = "over budget",
		[KREPLAY_DECLINE_DRAIN_TIMEOUT] = "drain timeout",
		[KREPLAY_DECLINE_STUCK_PASS] = "stuck pass",
		[KREPLAY_DECLINE_REENTRANT] = "reentrant",
		[KREPLAY_DECLINE_BAD_PASS_COUNT] = "bad pass count",
		[KREPLAY_DECLINE_UNSUPPORTED_PACKET] = "unsupported packet",
		[KREPLAY_DECLINE_PASS_FAILED] = "pass failed",
		[KREPLAY_DECLINE_SHUTTING_DOWN] = "shutting down",
		[KREPLAY_DECLINE_EXTERNALLY_VISIBLE] = "externally visible",
	};
	_Static_assert(sizeof names / sizeof names[0] == KREPLAY_DECLINE_LAST, "a name for each reason");

	return (unsigned)decline < KREPLAY_DECLINE_LAST ? names[decline] : "unknown";
}

kreplay_status_t kreplay_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
	if (major)
		*major = KREPLAY_VERSION_MAJOR;
	if (minor)
		*minor = KREPLAY_VERSION_MINOR;
	if (patch)
		*patch = KREPLAY_VERSION_PATCH;
	return KREPLAY_STATUS_SUCCESS;
}

kreplay_status_t kreplay_get_timestamp(kreplay_timestamp_t *timestamp)
{
	if (!timestamp)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	*timestamp = kr_timestamp_ns();
	return KREPLAY_STATUS_SUCCESS;
}

/* --- kinds and operations --- */

static const char *const dispatch_operations[KREPLAY_KERNEL_DISPATCH_LAST] = {
	[KREPLAY_KERNEL_DISPATCH_NONE] = "KERNEL_DISPATCH_NONE",
	[KREPLAY_KERNEL_DISPATCH_ENQUEUE] = "KERNEL_DISPATCH_ENQUEUE",
	[KREPLAY_KERNEL_DISPATCH_COMPLETE] = "KERNEL_DISPATCH_COMPLETE",
};

static const char *const replay_operations[KREPLAY_KERNEL_REPLAY_LAST] = {
	[KREPLAY_KERNEL_REPLAY_NONE] = "KERNEL_REPLAY_NONE",
	[KREPLAY_KERNEL_REPLAY_CONFIG] = "KERNEL_REPLAY_CONFIG",
	[KREPLAY_KERNEL_REPLAY_PASS] = "KERNEL_REPLAY_PASS",
	[KREPLAY_KERNEL_REPLAY_SNAPSHOT] = "KERNEL_REPLAY_SNAPSHOT",
	[KREPLAY_KERNEL_REPLAY_RESTORE] = "KERNEL_REPLAY_RESTORE",
};

static const struct {
	const char *name;
	const char *const *operations;
	int count;
} kinds[KREPLAY_CALLBACK_TRACING_LAST] = {
	[KREPLAY_CALLBACK_TRACING_NONE] = { "NONE", NULL, 0 },
	[KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH] = { "KERNEL_DISPATCH", dispatch_operations,
						       KREPLAY_KERNEL_DISPATCH_LAST },
	[KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY] = { "KERNEL_REPLAY", replay_operations, KREPLAY_KERNEL_REPLAY_LAST },
};

static kreplay_status_t give(const char *text, const char **name, uint64_t *name_len)
{
	*name = text;
	if (name_len)
		*name_len = strlen(text);
	return KREPLAY_STATUS_SUCCESS;
}

kreplay_status_t kreplay_query_callback_tracing_kind_name(kreplay_callback_tracing_kind_t kind, const char **name,
							  uint64_t *name_len)
{
	if (!name)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	if ((unsigned)kind >= KREPLAY_CALLBACK_TRACING_LAST)
		return KREPLAY_STATUS_ERROR_KIND_NOT_FOUND;
	return give(kinds[kind].name, name, name_len);
}

kreplay_status_t kreplay_query_callback_tracing_kind_operation_name(kreplay_callback_tracing_kind_t kind,
								    kreplay_tracing_operation_t operation,
								    const char **name, uint64_t *name_len)
{
	if (!name)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	if ((unsigned)kind >= KREPLAY_CALLBACK_TRACING_LAST)
		return KREPLAY_STATUS_ERROR_KIND_NOT_FOUND;
	if (operation < 0 || operation >= kinds[kind].count)
		return KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND;
	return give(kinds[kind].operations[operation], name, name_len);
}

/* --- kernels and agents --- */

kreplay_status_t kreplay_query_kernel_name(kreplay_kernel_id_t kernel_id, int mangled, const char **name,
					   uint64_t *name_len)
{
	const char *text;

	if (!name)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	text = kr_kernel_name(kernel_id, mangled != 0);
	if (!text)
		return KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND;
	return give(text, name, name_len);
}

kreplay_status_t kreplay_query_agent_info(kreplay_agent_id_t agent_id, kreplay_agent_info_t *info)
{
	kreplay_agent_info_t mine = { .size = sizeof mine };
	uint64_t room;

	if (!info)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	room = info->size;
	/* Beyond a page it is no struct of any later version but a size that was never set. */
	if (room < offsetof(kreplay_agent_info_t, memory_bytes) || room > 4096)
		return KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI;
	if (!kr_agent_info(agent_id.handle, &mine))
		return KREPLAY_STATUS_ERROR_AGENT_NOT_FOUND;
	mine.id = agent_id;
	mine.size = room < sizeof mine ? room : sizeof mine;
	memcpy(info, &mine, mine.size);
	if (room > sizeof mine)
		memset((char *)info + sizeof mine, 0, room - sizeof mine);
	return KREPLAY_STATUS_SUCCESS;
}
