/* SPDX-License-Identifier: MIT */
#include "replay_tool.h"

#include "core/agents.h"
#include "core/code.h"
#include "core/deferred.h"
#include "core/engine.h"
#include "core/proxy.h"
#include "core/tracker.h"
#include "core/watcher.h"

/* ---- the tool: passes as told, notes what it sees ---- */

uint64_t want_passes;
hsa_queue_t *nested_queue;
void *free_in_pass;
void (*in_pass_exit)(uint64_t pass);
void (*in_record)(void);
struct replay_saw saw;

static void
nested(void *arg)
{
}

static uint64_t
pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return want_passes;
}

static int
sum(const kreplay_memory_range_t *range, void *data)
{
	*(uint64_t *)data += range->bytes;
	return 0;
}

/* Windows of several agents may come at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void
note_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *args)
{
	kreplay_callback_tracing_kernel_replay_data_t *d = record.payload;
	bool enter = record.phase == KREPLAY_CALLBACK_PHASE_ENTER;

	switch (record.operation) {
	case KREPLAY_KERNEL_REPLAY_CONFIG:
		if (enter) {
			saw.config_enter++;
			saw.thread = pthread_self();
			d->replay_pass_count = pass_count;
			return;
		}
		saw.config_exit++;
		saw.outcome = d->outcome;
		saw.decline = d->decline;
		saw.flags = d->flags;
		saw.passes = d->passes_run;
		saw.snapshot_bytes = d->snapshot.bytes;
		saw.restored_bytes = d->restore.bytes;
		memcpy(saw.left_out, d->left_out_bytes, sizeof(saw.left_out));
		return;
	case KREPLAY_KERNEL_REPLAY_PASS:
		saw.thread_mismatches += !pthread_equal(saw.thread, pthread_self());
		saw.pass_enter += enter;
		saw.pass_exit += !enter;
		if (enter && nested_queue != NULL)
			stand_in_dispatch(nested_queue, nested, NULL, (hsa_signal_t){0});
		if (!enter && free_in_pass != NULL) {
			kr_hook_hsa_amd_memory_pool_free(free_in_pass);
			free_in_pass = NULL;
		}
		if (!enter && in_pass_exit != NULL)
			in_pass_exit(d->current_pass);
		if (!enter && d->memory != NULL) {
			saw.changed_bytes = 0;
			d->memory->iterate_changes(d->memory, sum, &saw.changed_bytes);
		}
		return;
	case KREPLAY_KERNEL_REPLAY_SNAPSHOT:
		saw.snapshot += !enter;
		return;
	case KREPLAY_KERNEL_REPLAY_RESTORE:
		saw.restore += !enter;
		return;
	}
}

static void
on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *args)
{
	pthread_mutex_lock(&mutex);
	note_replay(record, user_data, args);
	pthread_mutex_unlock(&mutex);
}

static void
on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *args)
{
	kreplay_callback_tracing_kernel_dispatch_data_t *d = record.payload;

	pthread_mutex_lock(&mutex);
	if (record.operation == KREPLAY_KERNEL_DISPATCH_COMPLETE && saw.records < 16)
		saw.record_pass[saw.records++] = d->replay_pass;
	pthread_mutex_unlock(&mutex);
	if (record.operation == KREPLAY_KERNEL_DISPATCH_COMPLETE && d->total_passes == 1 && in_record != NULL)
		in_record();
}

static int
initialize(kreplay_client_finalize_t finalize, void *data)
{
	kreplay_context_id_t context, records;

	return kreplay_create_context(&context) || kreplay_create_context(&records) ||
	       kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0,
							  on_replay, NULL) ||
	       kreplay_configure_callback_tracing_service(records, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL, 0,
							  on_dispatch, NULL) ||
	       kreplay_start_context(context) || kreplay_start_context(records);
}

kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *id)
{
	static kreplay_tool_configure_result_t result = {sizeof(result), initialize, NULL, NULL};

	return &result;
}

/* ---- the application ---- */

uint32_t *cell;
hsa_queue_t *queue;
hsa_signal_t done;

void
bump(void *arg)
{
	++*(uint32_t *)arg;
}

int
replay_setup(void **state)
{
	kr_tracker_clear();
	kr_code_clear();
	kr_agents_finish();
	stand_in_reset();
	memset(&saw, 0, sizeof(saw));
	want_passes = 5;
	nested_queue = NULL;
	free_in_pass = NULL;
	in_pass_exit = NULL;
	in_record = NULL;
	assert_true(kr_engine_start());
	cell = device_alloc(1024);
	assert_int_equal(kr_hook_hsa_queue_create(STAND_IN_GPU, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue), 0);
	done = stand_in_signal(1);
	*cell = 100;
	return 0;
}

int
replay_teardown(void **state)
{
	kr_watcher_stop();
	kr_deferred_stop();
	kr_hook_hsa_queue_destroy(queue);
	kr_next.hsa_signal_destroy(done);
	kr_hook_hsa_amd_memory_pool_free(cell);
	return 0;
}

/* Waits as an application does; the completion may come from our thread. */
void
wait_done(void)
{
	assert_int_equal(kr_next.hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
							   HSA_WAIT_STATE_BLOCKED), 0);
}

