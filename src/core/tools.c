/* SPDX-License-Identifier: MIT */
#include "core/tools.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kreplay/kreplay.h>

#include "core/contexts.h"
#include "core/driver.h"
#include "core/log.h"
#include "options/options.h"

#define MAX_TOOLS 32
#define FINALIZE_WAIT_MS 2000

/* One tool. Its client handle is its place in the table, from 1; the built-in driver's comes after the last. */
struct tool {
	kreplay_client_id_t id;
	char label[128]; /* for messages */
	kreplay_configure_func_t configure;
	kreplay_tool_finalize_t finalize;
	void *data;
	atomic_bool taking_part; /* initialize has succeeded */
	atomic_bool asked;       /* asked for its end inside its own initialize */
	atomic_flag ended;
};

static struct tool tools[MAX_TOOLS];
static atomic_uint tool_count;
static const uint32_t driver_client = MAX_TOOLS + 1;

enum { IDLE, LOADING, LOADED };
static atomic_int state = IDLE;
static atomic_flag finalized = ATOMIC_FLAG_INIT;
static _Thread_local bool loading_here;

/* --- the end --- */

static void call_finalize(struct tool *tool)
{
	if (atomic_flag_test_and_set(&tool->ended))
		return;
	if (tool->finalize)
		tool->finalize(tool->data);
}

static void retire(uint64_t contexts, const char *who)
{
	if (contexts && !kr_contexts_retire(contexts, FINALIZE_WAIT_MS))
		kr_log(KR_LOG_WARN, "tools", "%s ends while a dispatch is still being shown to it", who);
}

/* Handed to every tool: its own request. */
static void client_finalize(kreplay_client_id_t client)
{
	uint32_t index = client.handle - 1;

	if (index >= atomic_load(&tool_count)) {
		kr_log(KR_LOG_WARN, "tools", "a tool asks for the end of client %u, which does not exist",
		       client.handle);
		return;
	}
	struct tool *tool = &tools[index];
	if (!atomic_load(&tool->taking_part)) {
		atomic_store(&tool->asked, true);
		return;
	}
	retire(kr_contexts_of(client.handle), tool->label);
	call_finalize(tool);
}

void kr_tools_end_driver(void)
{
	retire(kr_contexts_of(driver_client), "the driver");
}

void kr_tools_finalize(void)
{
	unsigned count = atomic_load(&tool_count);
	uint64_t contexts = 0;

	if (atomic_load(&state) == IDLE || atomic_flag_test_and_set(&finalized))
		return;
	for (unsigned i = 0; i < count; i++)
		contexts |= kr_contexts_of(i + 1);
	retire(contexts, "a tool");
	for (unsigned i = count; i-- > 0;)
		if (atomic_load(&tools[i].taking_part))
			call_finalize(&tools[i]);
}

/* --- configuration --- */

/* Whether the bytes of a newer, longer result say nothing that we would miss. */
static bool tail_is_zero(const kreplay_tool_configure_result_t *result)
{
	const unsigned char *bytes = (const unsigned char *)result;

	for (size_t i = sizeof *result; i < result->size; i++)
		if (bytes[i])
			return false;
	return true;
}

static bool check_result(const struct tool *tool, const kreplay_tool_configure_result_t *result)
{
	if (!result) {
		kr_log(KR_LOG_WARN, "tools", "%s does not take part: kreplay_configure returned nothing", tool->label);
		return false;
	}
	/* The upper bound is a sanity check: no version of the struct fills a page. */
	if (result->size < sizeof *result || result->size > 4096) {
		kr_log(KR_LOG_WARN, "tools", "%s is left out: its kreplay_configure returned a result of size %zu, not %zu",
		       tool->label, result->size, sizeof *result);
		return false;
	}
	if (!tail_is_zero(result)) {
		kr_log(KR_LOG_WARN, "tools", "%s is left out: it uses members of a later version than " KREPLAY_VERSION_STRING,
		       tool->label);
		return false;
	}
	if (!result->initialize) {
		kr_log(KR_LOG_WARN, "tools", "%s is left out: it has no initialize", tool->label);
		return false;
	}
	return true;
}

/* Runs the two configuring functions of a tool; false when it does not take part. */
static bool configure(struct tool *tool, uint32_t priority)
{
	const kreplay_tool_configure_result_t *result;
	int failed;

	kr_contexts_open(tool->id.handle);
	result = tool->configure(KREPLAY_VERSION, KREPLAY_VERSION_STRING, priority, &tool->id);
	tool->id.size = sizeof tool->id; /* whatever the tool has done to them */
	tool->id.handle = (uint32_t)(tool - tools) + 1;
	if (tool->id.name && *tool->id.name)
		snprintf(tool->label, sizeof tool->label, "%s", tool->id.name);
	tool->id.name = tool->label;
	if (!check_result(tool, result)) {
		kr_contexts_close();
		return false;
	}
	tool->finalize = result->finalize;
	tool->data = result->tool_data;
	failed = result->initialize(client_finalize, tool->data);
	kr_contexts_close();
	if (failed)
		kr_log(KR_LOG_WARN, "tools", "%s is left out: its initialize failed (%d)", tool->label, failed);
	return !failed;
}

/* A tool's kreplay_configure was found. */
static void add(kreplay_configure_func_t function, const char *label)
{
	unsigned index = atomic_load(&tool_count);
	struct tool *tool = &tools[index];

	for (unsigned i = 0; i < index; i++) {
		if (tools[i].configure == function) {
			kr_log(KR_LOG_INFO, "tools", "%s is loaded already", label);
			return;
		}
	}
	if (index == MAX_TOOLS) {
		kr_log(KR_LOG_WARN, "tools", "%s is left out: %d tools are loaded already", label, MAX_TOOLS);
		return;
	}
	tool->configure = function;
	tool->id = (kreplay_client_id_t){ sizeof tool->id, NULL, index + 1 };
	snprintf(tool->label, sizeof tool->label, "%s", label);
	atomic_store(&tool_count, index + 1);

	if (!configure(tool, index)) {
		kr_contexts_drop(tool->id.handle);
		return;
	}
	atomic_store(&tool->taking_part, true);
	if (atomic_load(&tool->asked))
		client_finalize(tool->id);
}

/* --- finding them --- */

static kreplay_configure_func_t lookup(void *handle)
{
	kreplay_configure_func_t function;
	void *symbol = dlsym(handle, "kreplay_configure");

	_Static_assert(sizeof function == sizeof symbol, "POSIX: dlsym returns functions too");
	memcpy(&function, &symbol, sizeof function);
	return function;
}

bool kr_tools_exported(void)
{
	return lookup(RTLD_DEFAULT) != NULL;
}

static void load_path(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	kreplay_configure_func_t function;

	if (!handle) {
		const char *why = dlerror();

		kr_log(KR_LOG_ERROR, "tools", "%s does not load: %s", path, why ? why : "no reason given");
		return;
	}
	/* Never closed: its callbacks may run to the end of the process. */
	function = lookup(handle);
	if (!function) {
		kr_log(KR_LOG_ERROR, "tools", "%s is no tool: it exports no kreplay_configure", path);
		return;
	}
	add(function, path);
}

/* Whether a name could be that of a tool that comes with kreplay. */
static bool is_short_name(const char *name)
{
	return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

/* Where our own library lies: installed with its tools below it, or in a build tree beside them. */
static bool find_bundled(const char *name, char *path, size_t size)
{
	static const char *const places[] = { "kreplay/tools", "../src/tools" };
	Dl_info info;
	char *slash;

	if (!is_short_name(name) || !dladdr(&tools, &info) || !info.dli_fname)
		return false;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		slash = strrchr(info.dli_fname, '/');
		if (snprintf(path, size, "%.*s/%s/libkreplay-%s.so", slash ? (int)(slash - info.dli_fname) : 1,
			     slash ? info.dli_fname : ".", places[i], name) < (int)size &&
		    access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void load_named(const char *name)
{
	char path[PATH_MAX];

	/* a name that none of ours has is left for the dynamic linker's search */
	load_path(find_bundled(name, path, sizeof path) ? path : name);
}

/* Those that the options ask for. `timing` is there whenever a report is made, and is not missed where it is not installed. */
static void load_bundled(const struct kr_options *options)
{
	char path[PATH_MAX];

	if (find_bundled("timing", path, sizeof path))
		load_path(path);
	if (options->check)
		load_named("determinism");
	if (options->writes)
		load_named("writes");
}

static void load_paths(const char *paths)
{
	while (paths && *paths) {
		size_t length = strcspn(paths, ":");
		char *path = strndup(paths, length);

		if (path && *path)
			load_named(path);
		else if (!path)
			kr_log(KR_LOG_ERROR, "tools", "no memory to load a tool");
		free(path);
		paths += length + (paths[length] == ':');
	}
}

/*
 * A tool finds our functions in the global scope. When HSA_TOOLS_LIB brought us in, the runtime has loaded us into a scope
 * of our own; loading what is loaded once more, globally, moves us.
 */
static void make_global(void)
{
	Dl_info info;

	if (dladdr(&tools, &info) && info.dli_fname && *info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* The tool that drives: no other can have subscribed to CONFIG. */
static const char *driving_label(void)
{
	unsigned count = atomic_load(&tool_count);

	for (unsigned i = 0; i < count; i++)
		if (kr_contexts_drives(i + 1))
			return tools[i].label;
	return "another";
}

/* What was asked of the built-in driver, which another takes the place of. */
static void say_unused(const struct kr_options *options)
{
	const char *names[] = { options->passes_set ? "-n" : NULL, options->kernel_count ? "-k" : NULL,
				options->dispatches.count ? "--dispatch" : NULL,
				options->until_cv_millionths ? "--until" : NULL,
				options->decline_visible ? "--decline-visible" : NULL };
	char list[96] = "";
	size_t named = 0;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size_t length = strlen(list);

		if (names[i])
			snprintf(list + length, sizeof list - length, "%s%s", named++ ? ", " : "", names[i]);
	}
	if (named)
		kr_log(KR_LOG_WARN, NULL, "tool '%s' decides the passes: %s %s not used", driving_label(), list,
		       named == 1 ? "is" : "are");
}

static void load_driver(void)
{
	kr_contexts_open(driver_client);
	if (kr_contexts_driven())
		say_unused(kr_options_get());
	if (!kr_driver_configure(kr_options_get()))
		kr_contexts_drop(driver_client);
	kr_contexts_close();
}

static bool any_tool(void)
{
	unsigned count = atomic_load(&tool_count);

	for (unsigned i = 0; i < count; i++)
		if (atomic_load(&tools[i].taking_part))
			return true;
	return kr_contexts_count(driver_client) > 0;
}

bool kr_tools_load(const struct kr_tools_options *o)
{
	int expected = IDLE;

	if (!atomic_compare_exchange_strong(&state, &expected, LOADING)) {
		struct timespec nap = { 0, 1000000 };

		/* A tool that brings up HSA inside its initialize must not wait for itself. */
		while (!loading_here && atomic_load(&state) == LOADING)
			nanosleep(&nap, NULL);
		return any_tool();
	}
	loading_here = true;
	if (o->builtin_driver || (o->tool_paths && *o->tool_paths) || kr_tools_exported())
		make_global();
	load_paths(o->tool_paths);
	if (o->builtin_driver)
		load_bundled(kr_options_get());
	kreplay_configure_func_t first = lookup(RTLD_DEFAULT), next = lookup(RTLD_NEXT);
	if (first)
		add(first, "the tool in the program");
	if (next && next != first)
		add(next, "the second tool in the program");
	if (o->builtin_driver)
		load_driver();
	kr_contexts_lock();
	loading_here = false;
	atomic_store(&state, LOADED);
	return any_tool();
}
