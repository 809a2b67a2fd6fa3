/* SPDX-License-Identifier: MIT */
/*
 * The template tool: a whole kreplay plugin to start from. docs/writing-a-tool.md walks through it.
 *
 * It repeats every dispatch a few times and says of each one how long its kernel took, at best and at worst, and how many
 * bytes it changed:
 *
 *	saxpy: 5 passes, 10.2 .. 11.7 us, 4096 bytes changed
 *
 * Build	cc -shared -fPIC -I<include> -o template_tool.so template_tool.c
 * Use		KREPLAY_TOOL=./template_tool.so kreplay run -- ./app
 *		TEMPLATE_TOOL_PASSES	how often to run each dispatch (5)
 *		TEMPLATE_TOOL_OUTPUT	a file to write to (standard error)
 */
#include <kreplay/kreplay.h>

#include <stdio.h>
#include <stdlib.h>

/* The tool's own. kreplay hands it back to initialize, to finalize and to every callback. */
struct tool {
	FILE *output;
	uint64_t passes;
	uint64_t dispatches; /* replayed; counted by several threads at once */
};

/* What is known of one dispatch. Made in CONFIG ENTER, gone after CONFIG EXIT. */
struct dispatch {
	const struct tool *tool;
	uint64_t passes;
	uint64_t min_ns, max_ns;
	uint64_t bytes_changed;
	int changes_known;
};

/*
 * The dispatch whose pass is running on this thread. Everything between PASS ENTER and PASS EXIT comes on one thread, the
 * KERNEL_DISPATCH records included, so this is how those records find their dispatch.
 */
static _Thread_local struct dispatch *current;

/* --- how often: asked once for each dispatch, after CONFIG ENTER --- */

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	const struct dispatch *dispatch = (const struct dispatch *)user_data.ptr;

	(void)info; /* a choosier tool looks at the kernel, the grid or the agent here */
	return dispatch->tool->passes;
}

/* --- what was changed: the memory view, in PASS EXIT --- */

static int add_range(const kreplay_memory_range_t *range, void *data)
{
	*(uint64_t *)data += range->bytes;
	return 0; /* go on */
}

static void look_at_memory(struct dispatch *dispatch, const kreplay_memory_view_t *memory)
{
	uint64_t bytes = 0;

	/* The ranges that differ from the snapshot now: what this pass has changed. */
	if (memory && memory->iterate_changes(memory, add_range, &bytes) == KREPLAY_STATUS_SUCCESS) {
		dispatch->bytes_changed = bytes;
		dispatch->changes_known = 1;
	}
}

/* --- the report: in CONFIG EXIT, which comes for every CONFIG ENTER --- */

static void print_dispatch(struct tool *tool, const struct dispatch *dispatch,
			   const kreplay_callback_tracing_kernel_replay_data_t *payload)
{
	const char *name;
	char changed[64] = "changes unknown";

	if (kreplay_query_kernel_name(payload->dispatch_info.kernel_id, 0, &name, NULL) != KREPLAY_STATUS_SUCCESS)
		name = "(unnamed kernel)";
	if (payload->outcome == KREPLAY_OUTCOME_DECLINED) {
		fprintf(tool->output, "%s: not replayed: %s\n", name, kreplay_decline_name(payload->decline));
		return;
	}
	if (payload->outcome != KREPLAY_OUTCOME_REPLAYED)
		return;
	if (dispatch->changes_known)
		snprintf(changed, sizeof changed, "%llu bytes changed", (unsigned long long)dispatch->bytes_changed);
	fprintf(tool->output, "%s: %llu passes, %.1f .. %.1f us, %s\n", name, (unsigned long long)dispatch->passes,
		(double)dispatch->min_ns / 1e3, (double)dispatch->max_ns / 1e3, changed);
	__atomic_add_fetch(&tool->dispatches, 1, __ATOMIC_RELAXED);
}

/* --- the KERNEL_REPLAY callback --- */

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	struct tool *tool = (struct tool *)data;
	kreplay_callback_tracing_kernel_replay_data_t *payload =
		(kreplay_callback_tracing_kernel_replay_data_t *)record.payload;
	int entering = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;
	struct dispatch *dispatch;

	switch (record.operation) {
	case KREPLAY_KERNEL_REPLAY_CONFIG:
		if (entering) {
			dispatch = (struct dispatch *)calloc(1, sizeof *dispatch);
			if (!dispatch)
				return; /* replay_pass_count stays NULL: this dispatch is left alone */
			dispatch->tool = tool;
			dispatch->min_ns = UINT64_MAX;
			user_data->ptr = dispatch; /* every later callback of this dispatch gets it */
			payload->replay_pass_count = pass_count;
		} else {
			dispatch = (struct dispatch *)user_data->ptr;
			if (dispatch)
				print_dispatch(tool, dispatch, payload);
			free(dispatch);
		}
		break;
	case KREPLAY_KERNEL_REPLAY_PASS:
		dispatch = (struct dispatch *)user_data->ptr;
		if (entering) {
			current = dispatch;
		} else {
			current = NULL;
			dispatch->passes++;
			look_at_memory(dispatch, payload->memory);
		}
		break;
	default:
		break; /* later versions may have more operations */
	}
}

/* --- the KERNEL_DISPATCH callback: one for each execution, with its times --- */

static void on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const kreplay_callback_tracing_kernel_dispatch_data_t *payload =
		(const kreplay_callback_tracing_kernel_dispatch_data_t *)record.payload;
	uint64_t ns = payload->end_timestamp - payload->start_timestamp;

	(void)user_data;
	(void)data;
	if (!current || record.operation != KREPLAY_KERNEL_DISPATCH_COMPLETE)
		return; /* not a pass of ours, or not over yet */
	if (ns < current->min_ns)
		current->min_ns = ns;
	if (ns > current->max_ns)
		current->max_ns = ns;
}

/* --- the tool's life --- */

static int setup_contexts(struct tool *tool)
{
	static const kreplay_tracing_operation_t replay_operations[] = { KREPLAY_KERNEL_REPLAY_CONFIG,
									  KREPLAY_KERNEL_REPLAY_PASS };
	static const kreplay_tracing_operation_t dispatch_operations[] = { KREPLAY_KERNEL_DISPATCH_COMPLETE };
	kreplay_context_id_t replay, dispatch;
	kreplay_status_t status = kreplay_create_context(&replay);

	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_configure_callback_tracing_service(replay, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY,
								    replay_operations, 2, on_replay, tool);
	/* A context of its own, so that a pass could switch the records off with replay_stop_context. */
	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_create_context(&dispatch);
	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_configure_callback_tracing_service(dispatch, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH,
								    dispatch_operations, 1, on_dispatch, tool);
	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_start_context(dispatch);
	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_start_context(replay);
	if (status == KREPLAY_STATUS_SUCCESS)
		return 0;
	/* SERVICE_ALREADY_CONFIGURED, for instance: another tool drives the replay. */
	fprintf(stderr, "template_tool: %s\n", kreplay_get_status_string(status));
	return -1;
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	struct tool *tool = (struct tool *)data;
	const char *passes = getenv("TEMPLATE_TOOL_PASSES"), *path = getenv("TEMPLATE_TOOL_OUTPUT");

	(void)finalize_func; /* for a tool that wants to end before the program does */
	tool->passes = passes ? strtoull(passes, NULL, 10) : 5;
	tool->output = path ? fopen(path, "w") : stderr;
	if (!tool->output) {
		perror(path);
		return -1; /* kreplay drops the tool and says so; the program runs on */
	}
	return setup_contexts(tool);
}

static void finalize(void *data)
{
	struct tool *tool = (struct tool *)data;

	fprintf(tool->output, "%llu dispatches replayed\n", (unsigned long long)tool->dispatches);
	if (tool->output != stderr)
		fclose(tool->output);
}

/* The one function that a tool exports. */
KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static struct tool tool;
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, finalize, &tool };

	(void)priority;
	client_id->name = "template_tool";
	/* Structs only grow, so a newer library is fine; an older one may not fill all that is read here. */
	if (version < KREPLAY_VERSION) {
		fprintf(stderr, "template_tool: kreplay %s is older than %s\n", runtime_version, KREPLAY_VERSION_STRING);
		return NULL;
	}
	return &result;
}
