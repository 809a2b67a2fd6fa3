/* SPDX-License-Identifier: MIT */
/* The tool host. A process loads its tools once, so every test runs in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/contexts.h"
#include "core/tools.h"
#include "options/options.h"
#include "replay_stubs.h"

struct plugin_report {
	unsigned configured, initialized, finalized;
	unsigned priority, version;
	kreplay_status_t create, driver, late;
	kreplay_context_id_t context;
	kreplay_client_id_t *id;
	kreplay_client_finalize_t end;
};

static struct kr_options options = { .passes = 3 };

const struct kr_options *kr_options_get(void)
{
	return &options;
}

/* The tool that the program itself exports; silent unless it is told to take part. */
static bool own_takes_part;
static unsigned own_initialized, own_finalized;

static int own_initialize(kreplay_client_finalize_t end, void *data)
{
	(void)end;
	(void)data;
	own_initialized++;
	return 0;
}

static void own_finalize(void *data)
{
	(void)data;
	own_finalized++;
}

kreplay_tool_configure_result_t *kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority,
						   kreplay_client_id_t *id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, own_initialize, own_finalize, NULL };

	(void)version;
	(void)runtime_version;
	(void)priority;
	(void)id;
	return own_takes_part ? &result : NULL;
}

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "line %d: %s (last warning: %s)\n", __LINE__, #condition, stub_last_warning);  \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static const char *path_a, *path_b;

static struct plugin_report *report_of(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);

	CHECK(handle);
	return dlsym(handle, "plugin_report");
}

/* Loads these; the program's own silent tool costs one warning, which is taken off. */
static bool load(const char *first, const char *second, bool driver)
{
	char paths[4096];
	struct kr_tools_options o = { paths, driver };

	snprintf(paths, sizeof paths, "%s:%s", first ? first : "", second ? second : "");
	bool any = kr_tools_load(&o);
	if (!own_takes_part)
		stub_warnings--;
	return any;
}

/* Runs a test in a child with the roles of the two plugins. */
static void in_child(void (*body)(void), const char *role_a, const char *role_b)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		alarm(60);
		setenv("PLUGIN_a", role_a, 1);
		setenv("PLUGIN_b", role_b, 1);
		stub_reset();
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void good(void)
{
	CHECK(load(path_a, NULL, true));
	struct plugin_report *a = report_of(path_a);
	CHECK(stub_warnings == 0);
	CHECK(a->configured == 1 && a->initialized == 1 && a->finalized == 0 && a->version && a->priority == 0);
	CHECK(a->create == KREPLAY_STATUS_SUCCESS && a->driver == KREPLAY_STATUS_SUCCESS);
	CHECK(a->id->handle != 0 && !strcmp(a->id->name, "plugin a"));
	CHECK(kr_replay_wanted());
	/* The second load finds the same and does nothing. */
	CHECK(kr_tools_load(&(struct kr_tools_options){ path_b, true }));
	CHECK(!dlopen(path_b, RTLD_NOW | RTLD_NOLOAD));
	CHECK(a->configured == 1);
	kr_tools_finalize();
	kr_tools_finalize();
	CHECK(a->finalized == 1);
	CHECK(a->late == KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED);
	CHECK(!kr_replay_wanted());
	CHECK(kreplay_start_context(a->context) == KREPLAY_STATUS_ERROR_FINALIZED);
	a->end(*a->id);
	CHECK(a->finalized == 1);
}

static void test_good(void **state)
{
	(void)state;
	in_child(good, "good", "good");
}

static void two(void)
{
	CHECK(load(path_a, path_b, true));
	struct plugin_report *a = report_of(path_a), *b = report_of(path_b);
	CHECK(a->priority == 0 && b->priority == 1);
	CHECK(a->driver == KREPLAY_STATUS_SUCCESS);
	CHECK(b->driver == KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED);
	CHECK(a->id->handle != b->id->handle);
	kr_tools_finalize();
	CHECK(a->finalized == 1 && b->finalized == 1);
}

static void twice_the_same(void)
{
	CHECK(load(path_a, path_a, false));
	CHECK(report_of(path_a)->configured == 1);
	kr_tools_finalize();
	CHECK(report_of(path_a)->finalized == 1);
}

static void test_two(void **state)
{
	(void)state;
	in_child(two, "good", "good");
	in_child(twice_the_same, "good", "good");
}

/* a does something wrong and is left out; b takes part and drives. */
static void left_out(void)
{
	CHECK(load(path_a, path_b, true));
	struct plugin_report *a = report_of(path_a), *b = report_of(path_b);
	CHECK(stub_warnings == 1);
	CHECK(b->driver == KREPLAY_STATUS_SUCCESS);
	if (a->initialized) {
		int valid;

		CHECK(kreplay_context_is_valid(a->context, &valid) == KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND);
	}
	kr_tools_finalize();
	CHECK(a->finalized == 0 && b->finalized == 1);
}

/* contract 2: nonsense: null and wrong results of kreplay_configure */
static void test_left_out(void **state)
{
	(void)state;
	in_child(left_out, "null", "good");
	in_child(left_out, "no size", "good");
	in_child(left_out, "huge size", "good");
	in_child(left_out, "later and used", "good");
	in_child(left_out, "no initialize", "good");
	in_child(left_out, "fails", "good");
}

/* Odd, but legal. */
static void odd(void)
{
	CHECK(load(path_a, NULL, true));
	struct plugin_report *a = report_of(path_a);
	CHECK(stub_warnings == 0);
	CHECK(a->initialized == 1);
	CHECK(a->id->size == sizeof *a->id && a->id->handle == 1 && a->id->name);
	kr_tools_finalize();
	CHECK(a->finalized == (strcmp(getenv("PLUGIN_a"), "no finalize") ? 1 : 0));
}

static void test_odd(void **state)
{
	(void)state;
	in_child(odd, "later", "");
	in_child(odd, "no finalize", "");
	in_child(odd, "spoils its id", "");
	in_child(odd, "ends twice", "");
}

static void ends_at_once(void)
{
	CHECK(load(path_a, NULL, false));
	struct plugin_report *a = report_of(path_a);
	CHECK(a->finalized == 1);
	CHECK(!kr_replay_wanted());
	kr_tools_finalize();
	CHECK(a->finalized == 1);
}

static void own_request(void)
{
	CHECK(load(path_a, path_b, false));
	struct plugin_report *a = report_of(path_a), *b = report_of(path_b);
	kreplay_client_id_t unknown = { sizeof unknown, NULL, 77 };
	a->end(unknown);
	CHECK(stub_warnings == 1);
	a->end(*a->id);
	CHECK(a->finalized == 1 && b->finalized == 0);
	CHECK(!kr_replay_wanted());
	kr_tools_finalize();
	CHECK(a->finalized == 1 && b->finalized == 1);
}

static void test_own_request(void **state)
{
	(void)state;
	in_child(ends_at_once, "ends at once", "");
	in_child(own_request, "good", "good");
}

static void *finalize_thread(void *argument)
{
	kr_tools_finalize();
	return argument;
}

static void finalize_from_many_threads(void)
{
	pthread_t threads[8];

	CHECK(load(path_a, NULL, true));
	for (unsigned i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, finalize_thread, NULL));
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK(report_of(path_a)->finalized == 1);
}

static void finalize_without_tools(void)
{
	kr_tools_finalize();
	CHECK(load(path_a, NULL, true));
	kr_tools_finalize();
	CHECK(report_of(path_a)->finalized == 1);
}

static void test_finalize(void **state)
{
	(void)state;
	in_child(finalize_from_many_threads, "good", "");
	in_child(finalize_without_tools, "good", "");
}

static void no_such_file(void)
{
	CHECK(!load("/nonexistent/tool.so", NULL, false));
	CHECK(stub_warnings == 1);
	CHECK(!kr_replay_wanted());
}

static void no_tool(void)
{
	/* A library that is no tool, among empty names. */
	CHECK(load("::libm.so.6:", path_b, false));
	CHECK(stub_warnings == 1);
	CHECK(report_of(path_b)->initialized == 1);
}

static void test_does_not_load(void **state)
{
	(void)state;
	in_child(no_such_file, "", "");
	in_child(no_tool, "", "good");
}

static void own_tool(void)
{
	own_takes_part = true;
	CHECK(kr_tools_exported());
	CHECK(load(path_a, NULL, false));
	CHECK(own_initialized == 1);
	CHECK(report_of(path_a)->priority == 0);
	kr_tools_finalize();
	kr_tools_finalize();
	CHECK(own_finalized == 1);
}

static void test_own_tool(void **state)
{
	(void)state;
	in_child(own_tool, "good", "");
}

static void driver_alone(void)
{
	CHECK(load(NULL, NULL, true));
	CHECK(kr_replay_wanted());
	/* the runtime may come up once more, so the driver has an end of its own */
	kr_tools_finalize();
	CHECK(kr_replay_wanted());
	kr_tools_end_driver();
	CHECK(!kr_replay_wanted());
}

static void driver_after_a_failed_tool(void)
{
	CHECK(load(path_a, NULL, true));
	CHECK(kr_replay_wanted());
}

static void nothing(void)
{
	CHECK(!load(NULL, NULL, false));
	CHECK(!kr_replay_wanted());
}

static void test_driver(void **state)
{
	(void)state;
	in_child(driver_alone, "", "");
	in_child(driver_after_a_failed_tool, "fails", "");
	in_child(nothing, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_own_request),
		cmocka_unit_test(test_finalize),
		cmocka_unit_test(test_does_not_load),
		cmocka_unit_test(test_own_tool),
		cmocka_unit_test(test_driver),
	};

	path_a = getenv("KR_TEST_PLUGIN_A");
	path_b = getenv("KR_TEST_PLUGIN_B");
	if (!path_a || !path_b) {
		fprintf(stderr, "KR_TEST_PLUGIN_A and KR_TEST_PLUGIN_B name the two plugins\n");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
