/* SPDX-License-Identifier: MIT */
#include "core/driver.h"

#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/contexts.h"
#include "core/engine.h"
#include "core/log.h"

/* What the patterns say of a kernel: id << 1 | match, 0 for a free slot. A kernel that finds no slot is matched anew. */
#define CACHE_SLOTS 4096
#define CACHE_PROBES 32

static uint64_t passes;
static regex_t *patterns;
static size_t pattern_count;
static const struct kr_ranges *dispatches;
static _Atomic uint64_t cache[CACHE_SLOTS];

static bool matches(const char *name)
{
	if (!name)
		return false;
	for (size_t i = 0; i < pattern_count; i++)
		if (regexec(&patterns[i], name, 0, NULL, 0) == 0)
			return true;
	return false;
}

static bool kernel_matches(uint64_t id)
{
	return matches(kr_kernel_name(id, false)) || matches(kr_kernel_name(id, true));
}

static bool kernel_selected(uint64_t id)
{
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);
	bool cacheable = id && id >> 63 == 0;

	if (!pattern_count)
		return true;
	for (unsigned probe = 0; cacheable && probe < CACHE_PROBES; probe++) {
		_Atomic uint64_t *slot = &cache[((hash >> 32) + probe) % CACHE_SLOTS];
		uint64_t value = atomic_load_explicit(slot, memory_order_relaxed);

		if (value >> 1 == id)
			return value & 1;
		if (value)
			continue;
		/* A kernel without a name (yet) is not remembered as one that does not match. */
		if (!kr_kernel_name(id, false) && !kr_kernel_name(id, true))
			return false;
		bool match = kernel_matches(id);
		/* Lost to another kernel: matched again next time. */
		atomic_compare_exchange_strong(slot, &value, id << 1 | match);
		return match;
	}
	return kernel_matches(id);
}

bool kr_driver_selects(const kreplay_kernel_dispatch_info_t *info)
{
	return kr_ranges_contain(dispatches, info->dispatch_id) && kernel_selected(info->kernel_id);
}

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	(void)info;
	(void)user_data;
	return passes;
}

static void config(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	kreplay_callback_tracing_kernel_replay_data_t *payload = record.payload;

	(void)user_data;
	(void)data;
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER && kr_driver_selects(&payload->dispatch_info))
		payload->replay_pass_count = pass_count;
}

static bool compile(const struct kr_options *options)
{
	patterns = calloc(options->kernel_count ? options->kernel_count : 1, sizeof *patterns);
	if (!patterns)
		return false;
	for (size_t i = 0; i < options->kernel_count; i++) {
		if (regcomp(&patterns[i], options->kernels[i], REG_EXTENDED | REG_NOSUB) != 0) {
			kr_log(KR_LOG_ERROR, "driver", "'%s' is not an extended regular expression",
			       options->kernels[i]);
			return false;
		}
		pattern_count++;
	}
	return true;
}

bool kr_driver_configure(const struct kr_options *options)
{
	static const kreplay_tracing_operation_t operation = KREPLAY_KERNEL_REPLAY_CONFIG;
	kreplay_context_id_t context;

	if (kr_contexts_driven())
		return false;
	kr_driver_reset();
	passes = options->passes;
	dispatches = &options->dispatches;
	if (!compile(options)) {
		kr_driver_reset();
		return false;
	}
	if (kreplay_create_context(&context) != KREPLAY_STATUS_SUCCESS ||
	    kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, &operation, 1,
						       config, NULL) != KREPLAY_STATUS_SUCCESS ||
	    kreplay_start_context(context) != KREPLAY_STATUS_SUCCESS) {
		kr_log(KR_LOG_ERROR, "driver", "the built-in driver finds no context: nothing is replayed");
		return false;
	}
	return true;
}

void kr_driver_reset(void)
{
	for (size_t i = 0; i < pattern_count; i++)
		regfree(&patterns[i]);
	free(patterns);
	patterns = NULL;
	pattern_count = 0;
	dispatches = NULL;
	for (unsigned i = 0; i < CACHE_SLOTS; i++)
		atomic_store_explicit(&cache[i], 0, memory_order_relaxed);
}
