/* SPDX-License-Identifier: MIT */
/* The built-in driver: which dispatches it chooses, and that it does not push in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/contexts.h"
#include "core/driver.h"
#include "replay_stubs.h"

static struct kr_options options;
static char *patterns[4];

static int setup(void **state)
{
	(void)state;
	kr_contexts_reset();
	kr_driver_reset();
	stub_reset();
	memset(&options, 0, sizeof options);
	options.passes = 4;
	options.kernels = patterns;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kr_driver_reset();
	kr_ranges_finish(&options.dispatches);
	return 0;
}

static void configure(const char *first, const char *second, const char *ranges)
{
	char error[128];

	patterns[0] = (char *)(uintptr_t)first;
	patterns[1] = (char *)(uintptr_t)second;
	options.kernel_count = (first != NULL) + (second != NULL);
	if (ranges)
		assert_true(kr_ranges_parse(&options.dispatches, ranges, error, sizeof error));
	kr_contexts_open(9);
	assert_true(kr_driver_configure(&options));
	kr_contexts_close();
	kr_contexts_lock();
}

static bool selects(uint64_t kernel, uint64_t dispatch)
{
	kreplay_kernel_dispatch_info_t info = { .size = 72, .kernel_id = kernel, .dispatch_id = dispatch };

	return kr_driver_selects(&info);
}

static void test_everything(void **state)
{
	(void)state;
	configure(NULL, NULL, NULL);
	assert_true(selects(1, 1));
	assert_true(selects(99, UINT64_MAX));
	assert_int_equal(stub_name_calls, 0);
}

static void test_demangled_and_mangled(void **state)
{
	(void)state;
	configure("^gemm\\(", "4copyIi", NULL);
	assert_true(selects(1, 1));
	assert_true(selects(2, 1));
	assert_false(selects(3, 1));
	assert_false(selects(99, 1));
}

static void test_only_mangled_is_known(void **state)
{
	(void)state;
	configure("plain|nothing", NULL, NULL);
	assert_true(selects(3, 1));
	assert_false(selects(1, 1));
}

static void test_answers_are_kept(void **state)
{
	(void)state;
	configure("gemm", NULL, NULL);
	assert_true(selects(1, 1));
	assert_false(selects(2, 1));
	unsigned calls = stub_name_calls;
	for (unsigned i = 0; i < 100; i++) {
		assert_true(selects(1, 1));
		assert_false(selects(2, 1));
	}
	assert_int_equal(stub_name_calls, calls);
	/* An unknown one is asked about again: its name may come. */
	assert_false(selects(50, 1));
	calls = stub_name_calls;
	assert_false(selects(50, 1));
	assert_true(stub_name_calls > calls);
	/* Ids that do not fit the table still work. */
	assert_false(selects(UINT64_MAX, 1));
	assert_false(selects(0, 1));
}

static void test_dispatches(void **state)
{
	(void)state;
	configure("gemm", NULL, "2-3,7-");
	assert_false(selects(1, 1));
	assert_true(selects(1, 2));
	assert_true(selects(1, 3));
	assert_false(selects(1, 4));
	assert_true(selects(1, 7));
	assert_true(selects(1, 1000000));
	assert_false(selects(2, 7));
}

static void test_drives(void **state)
{
	struct kr_dispatch dispatch = { .info = { .size = 72, .kernel_id = 1, .dispatch_id = 5 } };
	struct kr_replay r;

	(void)state;
	configure("gemm", NULL, NULL);
	assert_true(kr_replay_wanted());
	assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_WINDOW);
	assert_int_equal(r.total, 4);
	kr_replay_decline(&r, KREPLAY_DECLINE_OVER_BUDGET);
	kr_replay_end(&r);
	assert_int_equal(stub_last_outcome, KREPLAY_OUTCOME_DECLINED);
	dispatch.info.kernel_id = 2;
	assert_int_equal(kr_replay_begin(&r, &dispatch), KR_RUN_ONCE);
	kr_replay_end(&r);
	assert_int_equal(r.outcome, KREPLAY_OUTCOME_ONCE);
}

static void nobody(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	(void)record;
	(void)data;
	(void)args;
}

static void test_gives_way(void **state)
{
	kreplay_context_id_t context;

	(void)state;
	kr_contexts_open(1);
	kreplay_create_context(&context);
	kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, nobody, NULL);
	kr_contexts_open(9);
	assert_false(kr_driver_configure(&options));
	assert_int_equal(kr_contexts_count(9), 0);
}

static void test_bad_pattern(void **state)
{
	(void)state;
	patterns[0] = (char *)(uintptr_t)"ok";
	patterns[1] = (char *)(uintptr_t)"(";
	options.kernel_count = 2;
	kr_contexts_open(9);
	assert_false(kr_driver_configure(&options));
	assert_int_equal(stub_warnings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(test_demangled_and_mangled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_mangled_is_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answers_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dispatches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gives_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_pattern, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
