/* SPDX-License-Identifier: MIT */
/*
 * A tool that misbehaves as it is told. Built twice, as a and b; PLUGIN is its letter, and the environment variable
 * PLUGIN_<letter> says what it is to do.
 */
#include <kreplay/kreplay.h>

#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

struct plugin_report {
	unsigned configured, initialized, finalized;
	unsigned priority, version;
	kreplay_status_t create, driver, late;
	kreplay_context_id_t context;
	kreplay_client_id_t *id;
	kreplay_client_finalize_t end;
};

KREPLAY_API extern struct plugin_report plugin_report;
struct plugin_report plugin_report;

static const char *role(void)
{
	const char *value = getenv("PLUGIN_" TEXT(PLUGIN));

	return value ? value : "good";
}

static void callback(kreplay_callback_tracing_record_t record, kreplay_user_data_t *data, void *args)
{
	(void)record;
	(void)data;
	(void)args;
}

static int initialize(kreplay_client_finalize_t end, void *data)
{
	struct plugin_report *report = data;

	report->initialized++;
	report->end = end;
	report->create = kreplay_create_context(&report->context);
	report->driver = kreplay_configure_callback_tracing_service(
		report->context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, callback, NULL);
	kreplay_start_context(report->context);
	if (!strcmp(role(), "ends at once"))
		end(*report->id);
	return strcmp(role(), "fails") ? 0 : 3;
}

static void finalize(void *data)
{
	struct plugin_report *report = data;
	kreplay_context_id_t context;

	report->finalized++;
	report->late = kreplay_create_context(&context);
	if (!strcmp(role(), "ends twice"))
		report->end(*report->id);
}

kreplay_tool_configure_result_t *kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority,
						   kreplay_client_id_t *id)
{
	static struct {
		kreplay_tool_configure_result_t result;
		uint64_t later;
	} answer;

	plugin_report.configured++;
	plugin_report.priority = priority;
	plugin_report.version = version == KREPLAY_VERSION && !strcmp(runtime_version, KREPLAY_VERSION_STRING);
	plugin_report.id = id;
	answer.result = (kreplay_tool_configure_result_t){ sizeof answer.result, initialize, finalize, &plugin_report };
	if (!strcmp(role(), "null"))
		return NULL;
	if (!strcmp(role(), "no size"))
		answer.result.size = 0;
	if (!strcmp(role(), "huge size"))
		answer.result.size = (size_t)-1;
	if (!strcmp(role(), "later") || !strcmp(role(), "later and used"))
		answer.result.size = sizeof answer;
	if (!strcmp(role(), "later and used"))
		answer.later = 1;
	if (!strcmp(role(), "no initialize"))
		answer.result.initialize = NULL;
	if (!strcmp(role(), "no finalize"))
		answer.result.finalize = NULL;
	if (!strcmp(role(), "spoils its id"))
		*id = (kreplay_client_id_t){ 0, NULL, 4000000000u };
	else
		id->name = "plugin " TEXT(PLUGIN);
	return &answer.result;
}
