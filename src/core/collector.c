/* SPDX-License-Identifier: MIT */
#include "core/collector.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "report/journal.h"
#include "report/report.h"

static struct kr_journal *_Atomic journal;
static const char *output;
static bool launched; /* a launcher makes the report */
static atomic_flag flushed = ATOMIC_FLAG_INIT;

static struct kr_journal *current(void)
{
	return atomic_load_explicit(&journal, memory_order_acquire);
}

bool kr_collector_start(const struct kr_options *options)
{
	struct kr_journal *opened = NULL;

	if (current())
		return true;
	output = options->output;
	if (options->journal) {
		opened = kr_journal_open(options->journal);
		launched = opened != NULL;
		if (!opened)
			kr_log(KR_LOG_WARN, "report", "the launcher's journal cannot be opened (%s): reporting here",
			       strerror(errno));
	}
	if (!opened)
		opened = kr_journal_open(NULL);
	if (!opened) {
		kr_log(KR_LOG_WARN, "report", "no memory for the report (%s): there will be none", strerror(errno));
		return false;
	}
	atomic_store_explicit(&journal, opened, memory_order_release);
	return true;
}

bool kr_collector_active(void)
{
	return current() != NULL;
}

uint32_t kr_collect_kernel(const char *name, const char *mangled)
{
	struct kr_journal *j = current();

	if (!j)
		return 0;
	if (!name)
		name = mangled ? mangled : "(unnamed kernel)";
	return kr_journal_kernel(j, name, mangled);
}

void kr_collect_dispatch(uint32_t journal_kernel)
{
	struct kr_journal *j = current();

	if (j)
		kr_journal_dispatch(j, journal_kernel);
}

void kr_collect_execution(uint32_t journal_kernel, uint64_t dispatch_id, uint64_t pass, uint64_t total,
			  uint64_t start_ns, uint64_t end_ns)
{
	struct kr_journal *j = current();

	if (j)
		kr_journal_execution(j, journal_kernel, dispatch_id, pass, total, start_ns, end_ns);
}

void kr_collect_window(const struct kr_replay *r)
{
	struct kr_journal *j = current();
	struct kr_journal_window row = {
		.outcome = r->outcome,
		.dispatch_id = r->dispatch.info.dispatch_id,
		.passes = r->passes_run,
		.regions = r->snapshot.regions,
		.snapshot_bytes = r->snapshot.bytes,
		.restored_bytes = r->restore.dirty_bytes,
		.host_link_bytes = r->snapshot.host_link_bytes + r->restore.host_link_bytes,
		.window_ns = r->window_ns,
	};

	/* A dispatch that the driver has left alone is one of the dispatches seen, and no more. */
	if (!j || (r->outcome == KREPLAY_OUTCOME_ONCE && !r->replay_pass_count))
		return;
	row.kernel = r->dispatch.journal_kernel ? r->dispatch.journal_kernel
						: kr_collect_kernel(r->dispatch.name, r->dispatch.mangled);
	if (r->outcome == KREPLAY_OUTCOME_DECLINED)
		strncpy(row.reason, kreplay_decline_name(r->decline), sizeof row.reason - 1);
	kr_journal_window(j, &row);
}

void kr_collector_flush(void)
{
	struct kr_journal *j = current();
	struct kr_report *report;

	if (!j || launched || !kr_journal_is_owner(j) || atomic_flag_test_and_set(&flushed))
		return;
	report = kr_report_build(j);
	if (!report) {
		kr_log(KR_LOG_ERROR, "report", "no memory for the report");
		return;
	}
	kr_report_print(report, STDERR_FILENO);
	if (output && !kr_report_write_json(report, output))
		kr_log(KR_LOG_ERROR, "report", "%s: %s", output, strerror(errno));
	kr_report_free(report);
}
