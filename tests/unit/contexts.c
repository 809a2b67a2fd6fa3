/* SPDX-License-Identifier: MIT */
/* Contexts: who may configure what and when, starting and stopping, threads, the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/contexts.h"
#include "replay_stubs.h"

#define REPLAY KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY
#define DISPATCH KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH

static atomic_uint called;

static void callback(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	(void)record;
	(void)data;
	(void)args;
	atomic_fetch_add(&called, 1);
}

static int setup(void **state)
{
	(void)state;
	kr_contexts_reset();
	stub_reset();
	atomic_store(&called, 0);
	return 0;
}

static kreplay_context_id_t make(void)
{
	kreplay_context_id_t context = { 0 };

	assert_int_equal(kreplay_create_context(&context), KREPLAY_STATUS_SUCCESS);
	assert_int_not_equal(context.handle, 0);
	return context;
}

static kreplay_status_t configure(kreplay_context_id_t context, kreplay_callback_tracing_kind_t kind, int operation)
{
	kreplay_tracing_operation_t operations[] = { operation };

	return kreplay_configure_callback_tracing_service(context, kind, operations, operation >= 0, callback, NULL);
}

static void test_lock(void **state)
{
	kreplay_context_id_t context = { 0 }, other;

	(void)state;
	assert_int_equal(kreplay_create_context(&context), KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	kr_contexts_open(1);
	assert_int_equal(kreplay_create_context(NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	context = make();
	kr_contexts_close();
	assert_int_equal(kreplay_create_context(&other), KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	assert_int_equal(configure(context, REPLAY, -1), KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	kr_contexts_lock();
	kr_contexts_open(1);
	assert_int_equal(kreplay_create_context(&other), KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	assert_int_equal(configure(context, REPLAY, -1), KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	/* Starting is no configuration. */
	assert_int_equal(kreplay_start_context(context), KREPLAY_STATUS_SUCCESS);
}

static void test_one_driver(void **state)
{
	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make(), b = make(), c = make(), d = make();
	assert_false(kr_contexts_driven());
	assert_int_equal(configure(a, REPLAY, KREPLAY_KERNEL_REPLAY_PASS), KREPLAY_STATUS_SUCCESS);
	assert_false(kr_contexts_driven());
	assert_int_equal(configure(b, REPLAY, -1), KREPLAY_STATUS_SUCCESS);
	assert_true(kr_contexts_driven());
	assert_int_equal(configure(c, REPLAY, -1), KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED);
	assert_int_equal(configure(c, REPLAY, KREPLAY_KERNEL_REPLAY_CONFIG),
			 KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED);
	/* Refused means untouched: it can still observe. */
	assert_int_equal(configure(c, REPLAY, KREPLAY_KERNEL_REPLAY_RESTORE), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(configure(d, REPLAY, KREPLAY_KERNEL_REPLAY_SNAPSHOT), KREPLAY_STATUS_SUCCESS);
	/* Once for each kind. */
	assert_int_equal(configure(d, REPLAY, KREPLAY_KERNEL_REPLAY_PASS),
			 KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED);
	assert_int_equal(configure(d, DISPATCH, -1), KREPLAY_STATUS_SUCCESS);
}

static void test_drop_frees_the_driver(void **state)
{
	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make();
	assert_int_equal(configure(a, REPLAY, -1), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_SUCCESS);
	kr_contexts_close();
	kr_contexts_drop(1);
	assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	kr_contexts_open(2);
	kreplay_context_id_t b = make();
	assert_int_not_equal(a.handle, b.handle);
	assert_int_equal(configure(b, REPLAY, -1), KREPLAY_STATUS_SUCCESS);
	/* Another tool's context is none of its business. */
	kr_contexts_open(3);
	assert_int_equal(configure(b, DISPATCH, -1), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	kr_contexts_lock();
	assert_false(kr_replay_wanted());
}

/* contract 2: nonsense: wrong kinds, operations, contexts */
static void test_nonsense(void **state)
{
	kreplay_context_id_t unknown = { 7 }, null = { 0 }, huge = { UINT64_MAX };
	kreplay_tracing_operation_t bad[] = { KREPLAY_KERNEL_REPLAY_PASS, 5 };
	int status = 9;

	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make();
	assert_int_equal(configure(unknown, REPLAY, -1), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(configure(null, REPLAY, -1), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(configure(huge, REPLAY, -1), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(configure(a, KREPLAY_CALLBACK_TRACING_NONE, -1), KREPLAY_STATUS_ERROR_KIND_NOT_FOUND);
	assert_int_equal(configure(a, (kreplay_callback_tracing_kind_t)99, -1), KREPLAY_STATUS_ERROR_KIND_NOT_FOUND);
	assert_int_equal(configure(a, REPLAY, 0), KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	assert_int_equal(configure(a, DISPATCH, 3), KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	assert_int_equal(kreplay_configure_callback_tracing_service(a, REPLAY, bad, 2, callback, NULL),
			 KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	bad[0] = -1;
	assert_int_equal(kreplay_configure_callback_tracing_service(a, REPLAY, bad, 1, callback, NULL),
			 KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	assert_int_equal(kreplay_configure_callback_tracing_service(a, REPLAY, NULL, 0, NULL, NULL),
			 KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kreplay_configure_callback_tracing_service(a, REPLAY, NULL, 2, callback, NULL),
			 KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kreplay_configure_callback_tracing_service(a, REPLAY, bad, SIZE_MAX, callback, NULL),
			 KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kreplay_start_context(unknown), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(kreplay_stop_context(huge), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(kreplay_context_is_active(unknown, &status), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(status, 0);
	assert_int_equal(kreplay_context_is_active(a, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	status = 9;
	assert_int_equal(kreplay_context_is_valid(null, &status), KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	assert_int_equal(status, 0);
	assert_int_equal(kreplay_context_is_valid(a, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
}

static void test_limit(void **state)
{
	kreplay_context_id_t context;

	(void)state;
	kr_contexts_open(1);
	for (unsigned i = 0; i < KR_MAX_CONTEXTS; i++)
		context = make();
	assert_int_equal(kreplay_create_context(&context), KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES);
	/* The last one works like the first. */
	assert_int_equal(configure(context, REPLAY, -1), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_start_context(context), KREPLAY_STATUS_SUCCESS);
	kr_contexts_lock();
	assert_true(kr_replay_wanted());
	assert_int_equal(kr_contexts_limit(), 64);
}

static void test_start_stop(void **state)
{
	int status;

	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make(), b = make();
	configure(a, REPLAY, -1);
	configure(b, DISPATCH, KREPLAY_KERNEL_DISPATCH_COMPLETE);
	assert_int_equal(kreplay_stop_context(a), KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED);
	assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_SUCCESS);
	/* Nothing is delivered before the lock: the tables are still being written. */
	assert_false(kr_replay_wanted());
	kr_contexts_lock();
	assert_true(kr_replay_wanted());
	assert_false(kr_dispatch_wanted());
	kreplay_context_is_active(a, &status);
	assert_int_equal(status, 1);
	kreplay_context_is_active(b, &status);
	assert_int_equal(status, 0);
	kreplay_context_is_valid(b, &status);
	assert_int_equal(status, 1);
	assert_int_equal(kreplay_start_context(b), KREPLAY_STATUS_SUCCESS);
	assert_true(kr_dispatch_wanted());
	assert_int_equal(kreplay_stop_context(a), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(kreplay_stop_context(a), KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED);
	assert_false(kr_replay_wanted());
}

/* --- threads --- */

static const struct kr_dispatch dispatch = { .info = { .size = 72, .dispatch_id = 1 } };

static void *another_thread(void *argument)
{
	kreplay_context_id_t *context = argument;
	kreplay_user_data_t data;

	/* Neither armed here, nor masked here. */
	if (kr_context_stop_locally(*context) != KREPLAY_STATUS_ERROR_CONTEXT_ERROR)
		return (void *)"armed on another thread";
	kr_dispatch_enter(&dispatch, 0, 1, &data);
	kr_dispatch_complete(&dispatch, 0, 1, 1, 2, &data);
	return NULL;
}

/* contract 2: other threads' dispatches do not see toggles */
static void test_toggles_stay_on_their_thread(void **state)
{
	struct kr_toggles toggles = { 0 };
	struct kr_call call;
	pthread_t thread;
	void *complaint;

	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make();
	configure(a, DISPATCH, -1);
	kreplay_start_context(a);
	kr_contexts_lock();
	assert_true(kr_context_enter(&call, 0, &toggles));
	assert_int_equal(kr_context_stop_locally(a), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(toggles.stopped, 1);
	assert_int_equal(pthread_create(&thread, NULL, another_thread, &a), 0);
	pthread_join(thread, &complaint);
	assert_null(complaint);
	assert_int_equal(atomic_load(&called), 3);
	assert_int_equal(kr_context_start_locally(a), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(toggles.stopped, 0);
	kr_context_leave(&call);
	assert_int_equal(kr_context_stop_locally(a), KREPLAY_STATUS_ERROR_CONTEXT_ERROR);
}

static atomic_bool stop_now;

static void *dispatching(void *argument)
{
	while (!atomic_load(&stop_now)) {
		kreplay_user_data_t data;

		kr_dispatch_enter(&dispatch, 0, 1, &data);
		kr_dispatch_complete(&dispatch, 0, 1, 1, 2, &data);
	}
	return argument;
}

static void test_starting_while_dispatching(void **state)
{
	pthread_t threads[3];

	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make();
	configure(a, DISPATCH, -1);
	kr_contexts_lock();
	atomic_store(&stop_now, false);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, dispatching, NULL), 0);
	for (unsigned i = 0; i < 2000; i++) {
		assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_SUCCESS);
		assert_int_equal(kreplay_stop_context(a), KREPLAY_STATUS_SUCCESS);
	}
	kreplay_start_context(a);
	assert_true(kr_contexts_retire(kr_contexts_of(1), 1000));
	unsigned count = atomic_load(&called);
	struct timespec nap = { 0, 5000000 };
	nanosleep(&nap, NULL);
	assert_int_equal(atomic_load(&called), count);
	assert_int_equal(kreplay_start_context(a), KREPLAY_STATUS_ERROR_FINALIZED);
	atomic_store(&stop_now, true);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *in_a_call(void *argument)
{
	struct kr_call call;
	struct timespec nap = { 0, 50000000 };

	if (!kr_context_enter(&call, 0, NULL))
		return argument;
	atomic_store(&stop_now, true);
	nanosleep(&nap, NULL);
	atomic_fetch_add(&called, 1);
	kr_context_leave(&call);
	return NULL;
}

static void test_retire_waits(void **state)
{
	struct kr_call call;
	pthread_t thread;

	(void)state;
	kr_contexts_open(1);
	kreplay_context_id_t a = make();
	configure(a, REPLAY, -1);
	kreplay_start_context(a);
	kr_contexts_lock();
	atomic_store(&stop_now, false);
	assert_int_equal(pthread_create(&thread, NULL, in_a_call, NULL), 0);
	while (!atomic_load(&stop_now))
		;
	assert_true(kr_contexts_retire(1, 5000));
	assert_int_equal(atomic_load(&called), 1);
	assert_false(kr_context_enter(&call, 0, NULL));
	pthread_join(thread, NULL);

	/* An open window elsewhere is waited for, but not for ever; one on this stack is not waited for at all. */
	setup(NULL);
	kr_contexts_open(1);
	a = make();
	configure(a, REPLAY, -1);
	kreplay_start_context(a);
	kr_contexts_lock();
	kr_window_opened();
	assert_false(kr_contexts_retire(1, 20));
	kr_window_here();
	assert_true(kr_contexts_retire(1, 20));
	kr_window_away();
	kr_window_closed();
}

/* --- look-ups --- */

static void test_names(void **state)
{
	const char *name;
	uint64_t length;
	uint32_t major, minor, patch;

	(void)state;
	assert_int_equal(kreplay_query_callback_tracing_kind_name(REPLAY, &name, &length), KREPLAY_STATUS_SUCCESS);
	assert_string_equal(name, "KERNEL_REPLAY");
	assert_int_equal(length, 13);
	assert_int_equal(kreplay_query_callback_tracing_kind_name((kreplay_callback_tracing_kind_t)3, &name, NULL),
			 KREPLAY_STATUS_ERROR_KIND_NOT_FOUND);
	assert_int_equal(kreplay_query_callback_tracing_kind_name(REPLAY, NULL, NULL),
			 KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kreplay_query_callback_tracing_kind_operation_name(REPLAY, 4, &name, NULL),
			 KREPLAY_STATUS_SUCCESS);
	assert_string_equal(name, "KERNEL_REPLAY_RESTORE");
	assert_int_equal(kreplay_query_callback_tracing_kind_operation_name(DISPATCH, 2, &name, NULL),
			 KREPLAY_STATUS_SUCCESS);
	assert_string_equal(name, "KERNEL_DISPATCH_COMPLETE");
	assert_int_equal(kreplay_query_callback_tracing_kind_operation_name(DISPATCH, 3, &name, NULL),
			 KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	assert_int_equal(kreplay_query_callback_tracing_kind_operation_name(DISPATCH, -1, &name, NULL),
			 KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND);
	assert_string_equal(kreplay_get_status_name(KREPLAY_STATUS_ERROR_CONTEXT_ERROR),
			    "KREPLAY_STATUS_ERROR_CONTEXT_ERROR");
	assert_non_null(kreplay_get_status_string(KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND));
	assert_null(kreplay_get_status_name((kreplay_status_t)3));
	assert_null(kreplay_get_status_string((kreplay_status_t)-1));
	assert_string_equal(kreplay_decline_name(KREPLAY_DECLINE_OUT_OF_MEMORY), "out of memory");
	assert_string_equal(kreplay_decline_name((kreplay_decline_t)-1), "unknown");
	for (int i = 0; i < KREPLAY_DECLINE_LAST; i++)
		assert_true(strlen(kreplay_decline_name((kreplay_decline_t)i)) < 48);
	assert_int_equal(kreplay_get_version(&major, &minor, &patch), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(major * 10000 + minor * 100 + patch, KREPLAY_VERSION);
	assert_int_equal(kreplay_get_version(NULL, NULL, NULL), KREPLAY_STATUS_SUCCESS);
}

static void test_kernels_and_agents(void **state)
{
	kreplay_agent_id_t agent = { 77 }, unknown = { 1 };
	struct {
		kreplay_agent_info_t info;
		char later[16];
	} long_one;
	kreplay_agent_info_t info = { .size = sizeof info };
	const char *name;
	uint64_t length;

	(void)state;
	assert_int_equal(kreplay_query_kernel_name(1, 0, &name, &length), KREPLAY_STATUS_SUCCESS);
	assert_string_equal(name, "gemm(float*)");
	assert_int_equal(kreplay_query_kernel_name(1, 1, &name, NULL), KREPLAY_STATUS_SUCCESS);
	assert_string_equal(name, "_Z4gemmPf");
	assert_int_equal(kreplay_query_kernel_name(9, 0, &name, NULL), KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND);
	assert_int_equal(kreplay_query_kernel_name(1, 0, NULL, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);

	assert_int_equal(kreplay_query_agent_info(agent, &info), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(info.size, sizeof info);
	assert_int_equal(info.id.handle, 77);
	assert_string_equal(info.name, "gfx90a");
	assert_int_equal(kreplay_query_agent_info(unknown, &info), KREPLAY_STATUS_ERROR_AGENT_NOT_FOUND);
	assert_int_equal(kreplay_query_agent_info(agent, NULL), KREPLAY_STATUS_ERROR_INVALID_ARGUMENT);
	/* A caller that is older, one that is newer, one that has forgotten. */
	memset(&info, 0xee, sizeof info);
	info.size = 24;
	assert_int_equal(kreplay_query_agent_info(agent, &info), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(info.size, 24);
	assert_int_equal(info.memory_bytes, 1 << 20);
	assert_int_equal(info.node, 0xeeeeeeee);
	memset(&long_one, 0xee, sizeof long_one);
	long_one.info.size = sizeof long_one;
	assert_int_equal(kreplay_query_agent_info(agent, &long_one.info), KREPLAY_STATUS_SUCCESS);
	assert_int_equal(long_one.info.size, sizeof info);
	assert_int_equal(long_one.later[0], 0);
	assert_int_equal(long_one.later[15], 0);
	info.size = 0;
	assert_int_equal(kreplay_query_agent_info(agent, &info), KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI);
	info.size = UINT64_MAX;
	assert_int_equal(kreplay_query_agent_info(agent, &info), KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lock, setup),
		cmocka_unit_test_setup(test_one_driver, setup),
		cmocka_unit_test_setup(test_drop_frees_the_driver, setup),
		cmocka_unit_test_setup(test_nonsense, setup),
		cmocka_unit_test_setup(test_limit, setup),
		cmocka_unit_test_setup(test_start_stop, setup),
		cmocka_unit_test_setup(test_toggles_stay_on_their_thread, setup),
		cmocka_unit_test_setup(test_starting_while_dispatching, setup),
		cmocka_unit_test_setup(test_retire_waits, setup),
		cmocka_unit_test_setup(test_names, setup),
		cmocka_unit_test_setup(test_kernels_and_agents, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
