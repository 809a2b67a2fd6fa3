/* SPDX-License-Identifier: MIT */
/* From a journal to a report. Whatever the mapping holds, nothing here reads outside of it: a wild store of the program
 * may have hit anything. */
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "report.h"

#define OTHER_NAME "(kernels for which the journal had no room)"

struct build {
	struct kr_journal *journal;
	struct kr_report *report;
	uint32_t *kernel_of_row; /* index into the report's kernels; KR_REPORT_NONE: none */
	uint32_t last_process;   /* most records come from one process */
};

static char *copy_bytes(const char *bytes, size_t count)
{
	char *copy = malloc(count + 1);

	if (copy) {
		memcpy(copy, bytes, count);
		copy[count] = '\0';
	}
	return copy;
}

static bool has_names(const struct kr_journal_row *row)
{
	return row->name_at <= KR_JOURNAL_NAMES &&
	       row->name_bytes <= KR_JOURNAL_NAMES - row->name_at &&
	       row->mangled_at <= KR_JOURNAL_NAMES &&
	       row->mangled_bytes <= KR_JOURNAL_NAMES - row->mangled_at;
}

static bool add_row(struct build *build, uint32_t index)
{
	const struct kr_journal_row *row = &build->journal->rows[index];
	struct kr_report *report = build->report;
	bool named = index != KR_JOURNAL_OTHER && has_names(row);
	struct kr_report_kernel *kernel =
		kr_report_append((void **)&report->kernels, &report->kernel_count, sizeof(*kernel));

	if (!kernel)
		return false;
	kernel->name = named ? copy_bytes(build->journal->names + row->name_at, row->name_bytes)
			     : strdup(OTHER_NAME);
	kernel->mangled = named ? copy_bytes(build->journal->names + row->mangled_at, row->mangled_bytes)
				: strdup("");
	for (unsigned lane = 0; lane < KR_JOURNAL_LANES; lane++)
		kernel->dispatches += atomic_load_explicit(&row->dispatches[lane], memory_order_relaxed);
	build->kernel_of_row[index] = (uint32_t)report->kernel_count - 1;
	return kernel->name && kernel->mangled;
}

static bool row_in_use(const struct kr_journal *journal, uint32_t index)
{
	return index == KR_JOURNAL_OTHER ||
	       KR_JOURNAL_READY(
		       atomic_load_explicit(&journal->rows[index].claim, memory_order_acquire));
}

static bool find_kernels(struct build *build)
{
	build->kernel_of_row = malloc(KR_JOURNAL_KERNELS * sizeof(*build->kernel_of_row));
	if (!build->kernel_of_row)
		return false;
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++)
		build->kernel_of_row[i] = KR_REPORT_NONE;
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++) {
		if (row_in_use(build->journal, i) && !add_row(build, i))
			return false;
	}
	return true;
}

/* The kernel of a commit word, KR_REPORT_NONE when the word names none. */
static uint32_t kernel_of(const struct build *build, uint64_t commit)
{
	uint64_t row = (commit & UINT32_MAX) - 1;

	return row < KR_JOURNAL_KERNELS ? build->kernel_of_row[row] : KR_REPORT_NONE;
}

/* False: no memory. */
static bool find_process(struct build *build, uint32_t pid, uint32_t *index)
{
	struct kr_report *report = build->report;
	struct kr_report_process *process;

	*index = build->last_process;
	if (*index < report->process_count && report->processes[*index].pid == pid)
		return true;
	for (*index = 0; *index < report->process_count; ++*index) {
		if (report->processes[*index].pid == pid) {
			build->last_process = *index;
			return true;
		}
	}
	process = kr_report_append((void **)&report->processes, &report->process_count, sizeof(*process));
	if (!process)
		return false;
	process->pid = pid;
	process->rank = -1;
	build->last_process = *index;
	return true;
}

static bool add_execution(struct build *build, const struct kr_journal_execution_record *record)
{
	struct kr_report *report = build->report;
	uint64_t commit = atomic_load_explicit(&record->commit, memory_order_acquire);
	struct kr_report_execution fresh = {
		.kernel = commit ? kernel_of(build, commit) : KR_REPORT_NONE,
		.dispatch_id = record->dispatch_id,
		.pass = record->pass,
		.start_ns = record->start_ns,
		.ns = record->ns,
		.is_pass = (commit & KR_JOURNAL_IS_PASS) != 0,
		.no_length = (commit & KR_JOURNAL_NO_LENGTH) != 0,
	}, *place;

	if (fresh.kernel == KR_REPORT_NONE) {
		report->torn++;
		return true;
	}
	if (!find_process(build, (uint32_t)(commit >> KR_JOURNAL_PID_SHIFT), &fresh.process))
		return false;
	place = kr_report_append((void **)&report->executions, &report->execution_count, sizeof(*place));
	if (place)
		*place = fresh;
	return place != NULL;
}

static bool add_window(struct build *build, const struct kr_journal_window_record *record)
{
	struct kr_report *report = build->report;
	uint64_t commit = atomic_load_explicit(&record->commit, memory_order_acquire);
	struct kr_report_window fresh = {
		.kernel = commit ? kernel_of(build, commit) : KR_REPORT_NONE,
		.outcome = (uint32_t)(commit >> 32),
		.agent = record->agent,
		.tier = record->tier,
		.flags = record->flags,
		.dispatch_id = record->dispatch_id,
		.passes = record->passes,
		.regions = record->regions,
		.snapshot_bytes = record->snapshot_bytes,
		.restored_bytes = record->restored_bytes,
		.host_link_bytes = record->host_link_bytes,
		.dirty_bytes = record->dirty_bytes,
		.peak_host_bytes = record->peak_host_bytes,
		.peak_device_bytes = record->peak_device_bytes,
		.opened_ns = record->opened_ns,
		.window_ns = record->window_ns,
		.snapshot_ns = record->snapshot_ns,
		.restore_ns = record->restore_ns,
		.queue = record->queue,
	}, *place;

	memcpy(fresh.agent_name, record->agent_name, sizeof(record->agent_name));
	memcpy(fresh.reason, record->reason, sizeof(record->reason));
	if (fresh.kernel == KR_REPORT_NONE || fresh.outcome < KR_REPORT_ONCE || fresh.outcome > KR_REPORT_DECLINED) {
		report->torn++;
		return true;
	}
	if (!find_process(build, record->pid, &fresh.process))
		return false;
	place = kr_report_append((void **)&report->windows, &report->window_count, sizeof(*place));
	if (place)
		*place = fresh;
	return place != NULL;
}

/* Whether the strings fill the note and no more. */
static bool note_fits(const struct kr_journal_note_record *record, uint64_t bytes)
{
	uint64_t strings = (uint64_t)record->topic_bytes + (record->text_bytes ? record->text_bytes - 1 : 0) +
			   (record->data_bytes ? record->data_bytes - 1 : 0);

	return strings <= bytes - sizeof(*record);
}

static bool add_note(struct build *build, const struct kr_journal_note_record *record, uint64_t commit)
{
	struct kr_report *report = build->report;
	const char *at = (const char *)(record + 1);
	struct kr_report_note fresh = {
		.kernel = (commit & UINT32_MAX) - 1 == KR_JOURNAL_OTHER ? KR_REPORT_NONE : kernel_of(build, commit),
		.severity = record->severity,
		.dispatch_id = record->dispatch_id,
		.pass = record->pass,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
	}, *place;

	if (!find_process(build, (uint32_t)(commit >> 32), &fresh.process))
		return false;
	if (record->severity == KR_JOURNAL_PROCESS) {
		struct kr_report_process *process = &report->processes[fresh.process];

		free(process->program);
		process->program = copy_bytes(at + record->topic_bytes, record->text_bytes ? record->text_bytes - 1 : 0);
		process->rank = record->pass <= INT32_MAX ? (int32_t)record->pass : -1;
		return process->program != NULL;
	}
	place = kr_report_append((void **)&report->notes, &report->note_count, sizeof(*place));
	if (!place)
		return false;
	*place = fresh;
	place->topic = copy_bytes(at, record->topic_bytes);
	at += record->topic_bytes;
	if (record->text_bytes) {
		place->text = copy_bytes(at, record->text_bytes - 1);
		at += record->text_bytes - 1;
	}
	if (record->data_bytes)
		place->data = copy_bytes(at, record->data_bytes - 1);
	return place->topic && (place->text || !record->text_bytes) && (place->data || !record->data_bytes);
}

static bool read_notes(struct build *build)
{
	const struct kr_journal *journal = build->journal;
	uint64_t used = atomic_load(&journal->header->notes_used), at = 0;

	if (used > journal->note_room)
		used = journal->note_room;
	while (used - at >= sizeof(struct kr_journal_note_record)) {
		const struct kr_journal_note_record *record = (const void *)(journal->notes + at);
		uint64_t claim = atomic_load_explicit(&record->claim, memory_order_acquire);
		uint64_t bytes = claim & UINT32_MAX, commit;

		/* the claim is missing, or the rest of one whose claim is missing */
		if (claim >> 32 != KR_JOURNAL_NOTE_MAGIC || bytes < sizeof(*record) || bytes % sizeof(*record) ||
		    bytes > used - at) {
			at += sizeof(*record);
			continue;
		}
		commit = atomic_load_explicit(&record->commit, memory_order_acquire);
		if (!commit || !note_fits(record, bytes))
			build->report->torn++;
		else if (!add_note(build, record, commit))
			return false;
		at += bytes;
	}
	return true;
}

/* How many of the records handed out there are; the rest found no room. */
static uint64_t records_kept(uint64_t used, uint64_t room, uint64_t *dropped)
{
	if (used <= room)
		return used;
	*dropped += used - room;
	return room;
}

static bool read_journal(struct build *build)
{
	struct kr_journal *journal = build->journal;
	uint64_t *dropped = &build->report->dropped;
	uint64_t windows = records_kept(atomic_load(&journal->header->windows_used), journal->window_room, dropped);
	uint64_t executions =
		records_kept(atomic_load(&journal->header->executions_used), journal->execution_room, dropped);

	for (uint64_t i = 0; i < windows; i++)
		if (!add_window(build, &journal->windows[i]))
			return false;
	for (uint64_t i = 0; i < executions; i++)
		if (!add_execution(build, &journal->executions[i]))
			return false;
	build->report->dropped_notes = atomic_load(&journal->header->notes_dropped);
	build->report->interrupted = kr_journal_interrupted(journal);
	return read_notes(build);
}

struct kr_report *kr_report_build(struct kr_journal *journal)
{
	struct build build = { .journal = journal, .report = calloc(1, sizeof(*build.report)) };
	bool done = build.report && find_kernels(&build) && read_journal(&build) && kr_report_summarize(build.report);

	free(build.kernel_of_row);
	if (done)
		return build.report;
	kr_report_free(build.report);
	return NULL;
}
