/* SPDX-License-Identifier: MIT */
#include "replay_stubs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/collector.h"
#include "core/engine.h"
#include "core/log.h"

unsigned stub_warnings;
char stub_last_warning[512];
unsigned stub_name_calls;
unsigned stub_executions;
unsigned stub_windows;
unsigned stub_notes;
char stub_last_note[512];
bool stub_interrupted;
kreplay_outcome_t stub_last_outcome;

void stub_reset(void)
{
	stub_warnings = stub_name_calls = stub_executions = stub_windows = 0;
	stub_notes = 0;
	stub_interrupted = false;
	stub_last_note[0] = 0;
	stub_last_warning[0] = 0;
	stub_last_outcome = KREPLAY_OUTCOME_NONE;
}

static void note(enum kr_level level, const char *format, va_list arguments)
{
	if (level > KR_LOG_WARN)
		return;
	stub_warnings++;
	vsnprintf(stub_last_warning, sizeof stub_last_warning, format, arguments);
}

void kr_log(enum kr_level level, const char *topic, const char *format, ...)
{
	va_list arguments;

	(void)topic;
	va_start(arguments, format);
	note(level, format, arguments);
	va_end(arguments);
}

/* Every time, unlike the real one: the tests count. */
bool kr_log_once(const char *key, enum kr_level level, const char *topic, const char *format, ...)
{
	va_list arguments;

	(void)key;
	(void)topic;
	va_start(arguments, format);
	note(level, format, arguments);
	va_end(arguments);
	return true;
}

uint64_t kr_timestamp_ns(void)
{
	static uint64_t now = 1000;

	return __atomic_add_fetch(&now, 10, __ATOMIC_RELAXED);
}

/* Kernel 1 is "gemm(float*)", 2 "copy<int>", 3 has a mangled name only, the others are unknown. */
const char *kr_kernel_name(uint64_t kernel_id, bool mangled)
{
	stub_name_calls++;
	switch (kernel_id) {
	case 1:
		return mangled ? "_Z4gemmPf" : "gemm(float*)";
	case 2:
		return mangled ? "_Z4copyIiEvv" : "copy<int>";
	case 3:
		return mangled ? "plain_kernel" : NULL;
	default:
		return NULL;
	}
}

bool kr_agent_info(uint64_t agent_handle, kreplay_agent_info_t *out)
{
	if (agent_handle != 77)
		return false;
	out->memory_bytes = 1 << 20;
	out->node = 3;
	out->compute_units = 4;
	strcpy(out->name, "gfx90a");
	strcpy(out->isa, "amdgcn-amd-amdhsa--gfx90a");
	return true;
}

uint32_t kr_collect_kernel(const char *name, const char *mangled)
{
	(void)name;
	(void)mangled;
	return 5;
}

void kr_collect_execution(uint32_t journal_kernel, uint64_t dispatch_id, uint64_t pass, uint64_t total,
			  uint64_t start_ns, uint64_t end_ns)
{
	(void)journal_kernel;
	(void)dispatch_id;
	(void)pass;
	(void)total;
	(void)start_ns;
	(void)end_ns;
	stub_executions++;
}

bool kr_collect_interrupted(void)
{
	return stub_interrupted;
}

kreplay_status_t kreplay_report_note(const kreplay_report_note_t *note)
{
	stub_notes++;
	snprintf(stub_last_note, sizeof stub_last_note, "%s: %s", note->topic, note->text ? note->text : "");
	return KREPLAY_STATUS_SUCCESS;
}

void kr_collect_window(const struct kr_replay *r)
{
	stub_windows++;
	stub_last_outcome = r->outcome;
}
