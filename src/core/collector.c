/* SPDX-License-Identifier: MIT */
#include "core/collector.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine.h"
#include "core/snapshot.h"
#include "core/log.h"
#include "report/journal.h"
#include "report/json_check.h"
#include "report/names.h"
#include "report/report.h"

static struct kr_journal *_Atomic journal;
static const char *outputs; /* one a line */
static bool launched;       /* a launcher makes the report */
static struct sigaction on_interrupt; /* the program's own */
static atomic_flag flushed = ATOMIC_FLAG_INIT;

static struct kr_journal *current(void)
{
	return atomic_load_explicit(&journal, memory_order_acquire);
}

/*
 * The first Ctrl-C ends the replaying and not the program; from the second on it is the program's own affair. Also for one
 * that the launcher got and this process did not.
 */
static void interrupted(int signal)
{
	static const char said[] = "\nkreplay: interrupted: nothing more is replayed and the program goes on; once more ends it\n";
	struct kr_journal *j = current();
	int saved = errno;

	sigaction(signal, &on_interrupt, NULL);
	/* whoever of the run is first says so */
	if (j && kr_journal_interrupt(j, false) == 0 && write(STDERR_FILENO, said, sizeof said - 1) < 0)
		errno = saved;
	errno = saved;
}

static void take_interrupt(void)
{
	struct sigaction ours = { .sa_handler = interrupted, .sa_flags = SA_RESTART };

	sigemptyset(&ours.sa_mask);
	/* ignored (nohup, a shell's background): stays so */
	if (sigaction(SIGINT, NULL, &on_interrupt) == 0 && on_interrupt.sa_handler != SIG_IGN)
		sigaction(SIGINT, &ours, NULL);
}

bool kr_collect_interrupted(void)
{
	struct kr_journal *j = current();

	return j && kr_journal_interrupted(j);
}

bool kr_collector_start(const struct kr_options *options)
{
	struct kr_journal *opened = NULL;

	if (current())
		return true;
	outputs = options->output;
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
	kr_journal_note(opened, &(struct kr_journal_note){
					.severity = KR_JOURNAL_PROCESS,
					.pass = kr_report_rank() < 0 ? UINT64_MAX : (uint64_t)kr_report_rank(),
					.topic = "process",
					.text = program_invocation_short_name,
				});
	if (launched)
		take_interrupt();
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

void kr_collect_dispatch(uint32_t journal_kernel, unsigned lane)
{
	struct kr_journal *j = current();

	if (j)
		kr_journal_dispatch(j, journal_kernel, lane);
}

void kr_collect_execution(uint32_t journal_kernel, uint64_t dispatch_id, uint64_t pass, uint64_t total,
			  uint64_t start_ns, uint64_t end_ns)
{
	struct kr_journal *j = current();

	if (j)
		kr_journal_execution(j, journal_kernel, dispatch_id, pass, total, start_ns, end_ns);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void kr_collect_window(const struct kr_replay *r)
{
	struct kr_journal *j = current();

	/* A dispatch that the driver has left alone is one of the dispatches seen, and no more. */
	if (!j || (r->outcome == KREPLAY_OUTCOME_ONCE && !r->replay_pass_count))
		return;
	struct kr_journal_window row = {
		.outcome = r->outcome,
		.dispatch_id = r->dispatch.info.dispatch_id,
		.passes = r->passes_run,
		.regions = r->snapshot.regions,
		.snapshot_bytes = r->snapshot.bytes,
		.restored_bytes = r->restore.dirty_bytes,
		.host_link_bytes = r->snapshot.host_link_bytes + r->restore.host_link_bytes,
		.dirty_bytes = r->snapshot.dirty_bytes,
		.window_ns = r->window_ns,
		.snapshot_ns = r->snapshot.ns,
		.restore_ns = r->restore.ns,
		.queue = r->dispatch.info.queue_id.handle,
		.tier = r->snapshot.tier,
		.flags = r->flags,
	};
	kreplay_agent_info_t agent = { .size = sizeof agent };

	kr_snapshot_peaks(&row.peak_host_bytes, &row.peak_device_bytes);
	row.kernel = r->dispatch.journal_kernel ? r->dispatch.journal_kernel
						: kr_collect_kernel(r->dispatch.name, r->dispatch.mangled);
	if (r->opened_ns)
		row.opened_ns = kr_timestamp_ns() - (monotonic_ns() - r->opened_ns);
	if (kr_agent_info(r->dispatch.info.agent_id.handle, &agent)) {
		row.agent = agent.node;
		memcpy(row.agent_name, agent.name, strnlen(agent.name, sizeof row.agent_name));
	}
	if (r->outcome == KREPLAY_OUTCOME_DECLINED)
		strncpy(row.reason, kreplay_decline_name(r->decline), sizeof row.reason - 1);
	kr_journal_window(j, &row);
}

/* --- notes --- */

static bool topic_is_good(const char *topic)
{
	size_t length = topic ? strspn(topic, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;

	return length >= 1 && length <= 31 && topic[length] == '\0';
}

kreplay_status_t kreplay_report_note(const kreplay_report_note_t *note)
{
	struct kr_journal *j = current();
	struct kr_journal_note row = { .kernel = KR_JOURNAL_OTHER };
	kreplay_report_note_t mine = { .size = sizeof mine };

	if (!note)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	if (note->size < offsetof(kreplay_report_note_t, start_timestamp) || note->size > 4096)
		return KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI;
	memcpy(&mine, note, note->size < sizeof mine ? note->size : sizeof mine);
	if (!topic_is_good(mine.topic) || (unsigned)mine.severity > KREPLAY_REPORT_FINDING ||
	    (mine.end_timestamp && mine.end_timestamp < mine.start_timestamp) ||
	    (mine.data && !kr_json_is_object(mine.data)))
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	if (!j)
		return KREPLAY_STATUS_ERROR_NOT_AVAILABLE;
	if (mine.kernel_id) {
		const char *name = kr_kernel_name(mine.kernel_id, false), *mangled = kr_kernel_name(mine.kernel_id, true);

		if (!name && !mangled)
			return KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND;
		row.kernel = kr_collect_kernel(name, mangled);
	}
	row.severity = (uint32_t)mine.severity;
	row.dispatch_id = mine.dispatch_id;
	row.pass = mine.pass;
	row.start_ns = mine.start_timestamp;
	row.end_ns = mine.end_timestamp;
	row.topic = mine.topic;
	row.text = mine.text;
	row.data = mine.data;
	return kr_journal_note(j, &row) ? KREPLAY_STATUS_SUCCESS : KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* --- the end --- */

/* Only the launcher makes what is no JSON: this library stays small. */
static void write_output(const struct kr_report *report, const char *pattern)
{
	enum kr_report_kind kind = kr_report_kind_of(pattern);
	char *path = kr_report_expand(pattern, program_invocation_short_name), *longer = NULL;

	if (path && kind != KR_REPORT_JSON && asprintf(&longer, "%s.json", path) >= 0) {
		kr_log(KR_LOG_WARN, "report", "%s: only the launcher makes such a file: writing %s, from which "
					      "\"kreplay report -o\" makes it", path, longer);
		free(path);
		path = longer;
	}
	if (!path || !kr_report_make_folders(path) || !kr_report_write_json(report, path))
		kr_log(KR_LOG_ERROR, "report", "%s: %s", path ? path : pattern, strerror(errno));
	free(path);
}

void kr_collector_flush(void)
{
	struct kr_journal *j = current();
	struct kr_report *report;
	char *copy, *state = NULL, host[256] = "";

	if (!j || launched || !kr_journal_is_owner(j) || atomic_flag_test_and_set(&flushed))
		return;
	report = kr_report_build(j);
	gethostname(host, sizeof host - 1);
	if (!report || !kr_report_name_processes(report, host, program_invocation_short_name, kr_report_rank())) {
		kr_log(KR_LOG_ERROR, "report", "no memory for the report");
		kr_report_free(report);
		return;
	}
	kr_report_print(report, STDERR_FILENO);
	copy = outputs ? strdup(outputs) : NULL;
	for (char *one = copy ? strtok_r(copy, "\n", &state) : NULL; one; one = strtok_r(NULL, "\n", &state))
		write_output(report, one);
	free(copy);
	kr_report_free(report);
}
