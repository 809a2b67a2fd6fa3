/* SPDX-License-Identifier: MIT */
#include "core/driver.h"

#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
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
static uint32_t requests; /* KREPLAY_REQUEST_* */
static unsigned until_cv_millionths; /* 0: a fixed number of passes */
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

bool kr_driver_ignores(uint64_t kernel_id)
{
	return dispatches && pattern_count && kernel_id && !kernel_selected(kernel_id);
}

bool kr_driver_selects(const kreplay_kernel_dispatch_info_t *info)
{
	return kr_ranges_contain(dispatches, info->dispatch_id) && kernel_selected(info->kernel_id);
}

/* --- until the duration has settled --- */

/* The passes that are looked at; the first pass is not, for it finds caches and clocks cold. */
#define SETTLED_PASSES 8
#define UNTIL_CAP 1000

/* One dispatch, from its CONFIG ENTER to its CONFIG EXIT. */
struct settling {
	uint64_t ns[SETTLED_PASSES]; /* of the latest passes, in a ring */
	uint64_t passes;
	double cv_squared; /* of those in the ring */
	bool settled;
};

/* The dispatch whose pass is running on this thread: its KERNEL_DISPATCH record comes on the same one. */
static _Thread_local struct settling *settling_here;

static double cv_squared(const struct settling *s)
{
	double sum = 0, squares = 0, mean;

	for (unsigned i = 0; i < SETTLED_PASSES; i++)
		sum += (double)s->ns[i];
	mean = sum / SETTLED_PASSES;
	for (unsigned i = 0; i < SETTLED_PASSES; i++)
		squares += ((double)s->ns[i] - mean) * ((double)s->ns[i] - mean);
	return mean > 0 ? squares / (SETTLED_PASSES - 1) / (mean * mean) : 0;
}

static void note_pass(struct settling *s, uint64_t ns)
{
	double limit = until_cv_millionths / 1e6;

	if (s->passes > 0)
		s->ns[s->passes % SETTLED_PASSES] = ns;
	if (++s->passes <= SETTLED_PASSES)
		return;
	s->cv_squared = cv_squared(s);
	s->settled = s->cv_squared <= limit * limit;
}

static int until_settled(kreplay_kernel_dispatch_info_t info, uint64_t current_pass, uint64_t total_passes,
			 kreplay_user_data_t user_data)
{
	const struct settling *s = user_data.ptr;

	(void)info;
	(void)current_pass;
	(void)total_passes;
	return !s->settled && s->passes < passes;
}

static uint64_t no_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	(void)info;
	(void)user_data;
	return 0;
}

/* The nearest millionth, without libm. */
static unsigned root_millionths(double squared)
{
	double root = squared < 1 ? 1 : squared;

	for (int i = 0; i < 60; i++)
		root = (root + squared / root) / 2;
	return (unsigned)(root * 1e6 + 0.5);
}

static void report_settling(const kreplay_kernel_dispatch_info_t *info, const struct settling *s)
{
	unsigned cv = root_millionths(s->cv_squared);
	bool known = s->passes > SETTLED_PASSES;
	char text[160], data[160], number[16];
	kreplay_report_note_t note = {
		.size = sizeof note,
		.topic = "until",
		.kernel_id = info->kernel_id,
		.dispatch_id = info->dispatch_id,
		.pass = KREPLAY_NO_PASS,
		.text = text,
		.data = data,
	};
	int length = snprintf(text, sizeof text, "dispatch %llu %s after %llu passes",
			      (unsigned long long)info->dispatch_id, s->settled ? "settled" : "had not settled",
			      (unsigned long long)s->passes);

	if (known)
		snprintf(text + length, sizeof text - (size_t)length, ": cv of the last %d %u.%02u%%", SETTLED_PASSES,
			 cv / 10000, cv % 10000 / 100);
	if (known)
		snprintf(number, sizeof number, "%u", cv);
	else
		strcpy(number, "null");
	snprintf(data, sizeof data, "{\"settled\": %s, \"passes\": %llu, \"cv_millionths\": %s}",
		 s->settled ? "true" : "false", (unsigned long long)s->passes, number);
	kreplay_report_note(&note);
}

static void time_pass(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	const kreplay_callback_tracing_kernel_dispatch_data_t *payload = record.payload;

	(void)user_data;
	(void)data;
	if (settling_here && payload->end_timestamp >= payload->start_timestamp)
		note_pass(settling_here, payload->end_timestamp - payload->start_timestamp);
}

static void drive_until(const kreplay_callback_tracing_record_t *record, kreplay_user_data_t *user_data)
{
	kreplay_callback_tracing_kernel_replay_data_t *payload = record->payload;
	bool entering = record->phase == KREPLAY_CALLBACK_PHASE_ENTER;
	struct settling *s = user_data->ptr;

	if (record->operation == KREPLAY_KERNEL_REPLAY_PASS) {
		settling_here = entering ? s : NULL;
		return;
	}
	if (entering && kr_driver_selects(&payload->dispatch_info)) {
		user_data->ptr = calloc(1, sizeof *s);
		if (!user_data->ptr)
			return;
		payload->replay_pass_count = no_count;
		payload->replay_continue = until_settled;
		payload->requests = requests;
	} else if (!entering && s) {
		if (s->passes > 0)
			report_settling(&payload->dispatch_info, s);
		free(s);
	}
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

	(void)data;
	if (until_cv_millionths) {
		drive_until(&record, user_data);
		return;
	}
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER && kr_driver_selects(&payload->dispatch_info)) {
		payload->replay_pass_count = pass_count;
		payload->requests = requests;
	}
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
	static const kreplay_tracing_operation_t operations[] = { KREPLAY_KERNEL_REPLAY_CONFIG,
								  KREPLAY_KERNEL_REPLAY_PASS };
	static const kreplay_tracing_operation_t complete = KREPLAY_KERNEL_DISPATCH_COMPLETE;
	kreplay_context_id_t context;

	if (kr_contexts_driven())
		return false;
	kr_driver_reset();
	passes = options->passes;
	requests = options->decline_visible ? KREPLAY_REQUEST_DECLINE_VISIBLE : 0;
	until_cv_millionths = options->until_cv_millionths;
	if (until_cv_millionths && !options->passes_set)
		passes = UNTIL_CAP;
	dispatches = &options->dispatches;
	if (!compile(options)) {
		kr_driver_reset();
		return false;
	}
	if (kreplay_create_context(&context) != KREPLAY_STATUS_SUCCESS ||
	    kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, operations,
						       until_cv_millionths ? 2 : 1, config,
						       NULL) != KREPLAY_STATUS_SUCCESS ||
	    (until_cv_millionths &&
	     kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, &complete, 1,
							time_pass, NULL) != KREPLAY_STATUS_SUCCESS) ||
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
	until_cv_millionths = 0;
	for (unsigned i = 0; i < CACHE_SLOTS; i++)
		atomic_store_explicit(&cache[i], 0, memory_order_relaxed);
}
