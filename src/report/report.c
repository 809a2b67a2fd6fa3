/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

#define OUTCOME_ONCE 1
#define OUTCOME_REPLAYED 2
#define OUTCOME_DECLINED 3
#define OTHER_NAME "(kernels for which the journal had no room)"

/* What the building needs beside the report itself. */
struct build {
	struct kr_journal *journal;
	struct kr_report *report;
	uint32_t *kernel_of_row; /* index into the report's kernels; UINT32_MAX: none */
	uint64_t executions;     /* records to read */
	uint64_t windows;
	uint64_t *lengths; /* of all kernels, one kernel's after another's */
	uint64_t *length_at;
	uint64_t *passes_seen; /* a kernel's executions that were passes of a replay */
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
	/* a wild store of the program must not lead us out of the mapping */
	return row->name_at <= KR_JOURNAL_NAMES &&
	       row->name_bytes <= KR_JOURNAL_NAMES - row->name_at &&
	       row->mangled_at <= KR_JOURNAL_NAMES &&
	       row->mangled_bytes <= KR_JOURNAL_NAMES - row->mangled_at;
}

/* Gives the row's kernel a place in the report, the one of the same names when another process had
 * it too. */
static bool add_row(struct build *build, uint32_t index)
{
	const struct kr_journal_row *row = &build->journal->rows[index];
	struct kr_report *report = build->report;
	struct kr_report_kernel *kernel = &report->kernels[report->kernel_count];
	bool named = index != KR_JOURNAL_OTHER && has_names(row);
	char *name, *mangled;

	name = named ? copy_bytes(build->journal->names + row->name_at, row->name_bytes)
		     : strdup(OTHER_NAME);
	mangled = named ? copy_bytes(build->journal->names + row->mangled_at, row->mangled_bytes)
			: strdup("");
	if (!name || !mangled) {
		free(name);
		free(mangled);
		return false;
	}
	*kernel = (struct kr_report_kernel){ .name = name, .mangled = mangled };
	build->kernel_of_row[index] = (uint32_t)report->kernel_count++;
	return true;
}

static int compare_names(const struct kr_report_kernel *a, const struct kr_report_kernel *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->mangled, b->mangled);
}

static int compare_kernel_names(const void *left, const void *right, void *context)
{
	const struct kr_report_kernel *kernels = context;

	return compare_names(&kernels[*(const uint32_t *)left], &kernels[*(const uint32_t *)right]);
}

/* Several processes of a run may have a row each for the same kernel: makes them one. */
static bool merge_kernels(struct build *build)
{
	struct kr_report *report = build->report;
	size_t count = report->kernel_count, kept = 0;
	uint32_t *order = calloc(count + 1, sizeof(*order));
	uint32_t *moved = calloc(count + 1, sizeof(*moved));
	struct kr_report_kernel *merged = calloc(count + 1, sizeof(*merged));

	if (!order || !moved || !merged) {
		free(order);
		free(moved);
		free(merged);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_kernel_names, report->kernels);
	for (size_t i = 0; i < count; i++) {
		struct kr_report_kernel *kernel = &report->kernels[order[i]];

		if (kept > 0 && compare_names(&merged[kept - 1], kernel) == 0) {
			free(kernel->name);
			free(kernel->mangled);
		} else {
			merged[kept++] = *kernel;
		}
		moved[order[i]] = (uint32_t)(kept - 1);
	}
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++) {
		if (build->kernel_of_row[i] != UINT32_MAX)
			build->kernel_of_row[i] = moved[build->kernel_of_row[i]];
	}
	free(report->kernels);
	report->kernels = merged;
	report->kernel_count = kept;
	free(order);
	free(moved);
	return true;
}

static bool row_in_use(const struct kr_journal *journal, uint32_t index)
{
	return index == KR_JOURNAL_OTHER ||
	       KR_JOURNAL_READY(
		       atomic_load_explicit(&journal->rows[index].claim, memory_order_acquire));
}

static bool find_kernels(struct build *build)
{
	uint32_t used = 0;

	build->kernel_of_row = malloc(KR_JOURNAL_KERNELS * sizeof(*build->kernel_of_row));
	if (!build->kernel_of_row)
		return false;
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++) {
		build->kernel_of_row[i] = UINT32_MAX;
		used += row_in_use(build->journal, i);
	}
	build->report->kernels = calloc(used, sizeof(*build->report->kernels));
	if (!build->report->kernels)
		return false;
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++) {
		/* those that came to stand since the count are the next report's */
		if (build->report->kernel_count < used && row_in_use(build->journal, i) &&
		    !add_row(build, i))
			return false;
	}
	return merge_kernels(build);
}

/* The kernel of a commit word, NULL when the word names none. */
static struct kr_report_kernel *kernel_of(const struct build *build, uint64_t commit)
{
	uint64_t row = (commit & UINT32_MAX) - 1;

	if (row >= KR_JOURNAL_KERNELS || build->kernel_of_row[row] == UINT32_MAX)
		return NULL;
	return &build->report->kernels[build->kernel_of_row[row]];
}

static bool count_decline(struct kr_report_declines *declines, const char *reason, uint64_t count)
{
	struct kr_report_decline *grown;
	size_t at = 0;

	declines->total += count;
	while (at < declines->count && strcmp(declines->items[at].reason, reason) < 0)
		at++;
	if (at < declines->count && strcmp(declines->items[at].reason, reason) == 0) {
		declines->items[at].count += count;
		return true;
	}
	grown = realloc(declines->items, (declines->count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	memmove(&grown[at + 1], &grown[at], (declines->count - at) * sizeof(*grown));
	memset(&grown[at], 0, sizeof(grown[at]));
	strncpy(grown[at].reason, reason, sizeof(grown[at].reason) - 1);
	grown[at].count = count;
	declines->items = grown;
	declines->count++;
	return true;
}

static bool sum_window(struct build *build, const struct kr_journal_window_record *record,
		       uint64_t commit)
{
	struct kr_report *report = build->report;
	struct kr_report_kernel *kernel = kernel_of(build, commit);
	char reason[sizeof(record->reason) + 1] = "";

	if (!kernel) {
		report->torn++;
		return true;
	}
	report->regions += record->regions;
	report->snapshot_bytes += record->snapshot_bytes;
	report->restored_bytes += record->restored_bytes;
	report->host_link_bytes += record->host_link_bytes;
	report->window_ns += record->window_ns;
	switch (commit >> 32) {
	case OUTCOME_ONCE:
		kernel->once++;
		return true;
	case OUTCOME_REPLAYED:
		kernel->replayed++;
		kernel->passes += record->passes;
		return true;
	case OUTCOME_DECLINED:
		memcpy(reason, record->reason, sizeof(record->reason));
		kernel->passes += record->passes;
		return count_decline(&kernel->declined, reason[0] ? reason : "unknown", 1);
	default:
		report->torn++;
		return true;
	}
}

static bool sum_windows(struct build *build)
{
	for (uint64_t i = 0; i < build->windows; i++) {
		const struct kr_journal_window_record *record = &build->journal->windows[i];
		uint64_t commit = atomic_load_explicit(&record->commit, memory_order_acquire);

		if (commit == 0)
			build->report->torn++;
		else if (!sum_window(build, record, commit))
			return false;
	}
	return true;
}

static bool has_length(uint64_t commit)
{
	return (commit & KR_JOURNAL_NO_LENGTH) == 0;
}

static void count_executions(struct build *build)
{
	for (uint64_t i = 0; i < build->executions; i++) {
		uint64_t commit = atomic_load_explicit(&build->journal->executions[i].commit,
						       memory_order_acquire);
		struct kr_report_kernel *kernel = commit ? kernel_of(build, commit) : NULL;

		if (!kernel) {
			build->report->torn++;
			continue;
		}
		if (commit & KR_JOURNAL_IS_PASS)
			build->passes_seen[kernel - build->report->kernels]++;
		if (has_length(commit))
			kernel->executions++;
	}
}

/* Sorts the lengths by kernel. Records that were finished since the count have no place and are the
 * next report's. */
static bool gather_lengths(struct build *build)
{
	struct kr_report *report = build->report;
	uint64_t total = 0, *next = calloc(report->kernel_count + 1, sizeof(*next));

	build->length_at = calloc(report->kernel_count + 1, sizeof(*build->length_at));
	if (!next || !build->length_at) {
		free(next);
		return false;
	}
	for (size_t i = 0; i < report->kernel_count; i++) {
		next[i] = build->length_at[i] = total;
		total += report->kernels[i].executions;
	}
	build->length_at[report->kernel_count] = total;
	build->lengths = malloc((total + 1) * sizeof(*build->lengths));
	if (!build->lengths) {
		free(next);
		return false;
	}
	for (uint64_t i = 0; i < build->executions; i++) {
		const struct kr_journal_execution_record *record = &build->journal->executions[i];
		uint64_t commit = atomic_load_explicit(&record->commit, memory_order_acquire);
		struct kr_report_kernel *kernel = commit ? kernel_of(build, commit) : NULL;
		size_t index = kernel ? (size_t)(kernel - report->kernels) : 0;

		if (kernel && has_length(commit) && next[index] < build->length_at[index + 1])
			build->lengths[next[index]++] = record->ns;
	}
	free(next);
	return true;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* The value that would stand at `rank` were the values sorted; reorders them so that no smaller one
 * stands behind it. */
static uint64_t select_rank(uint64_t *values, size_t count, size_t rank)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		uint64_t pivot = values[low + (high - low) / 2];
		size_t below = low, at = low, above = high;

		/* the smaller ones first, then those equal to the pivot, then the larger ones */
		while (at <= above) {
			if (values[at] < pivot)
				swap(&values[below++], &values[at++]);
			else if (values[at] > pivot)
				swap(&values[at], &values[above--]);
			else
				at++;
		}
		if (rank < below)
			high = below - 1;
		else if (rank > above)
			low = above + 1;
		else
			break;
	}
	return values[rank];
}

static uint64_t twice_median(uint64_t *values, size_t count)
{
	uint64_t lower = select_rank(values, count, (count - 1) / 2), upper;

	if (count % 2 == 1)
		return 2 * lower;
	upper = values[count / 2];
	for (size_t i = count / 2; i < count; i++)
		upper = values[i] < upper ? values[i] : upper;
	return lower + upper;
}

/* Without libm, which the library does not link. */
static double square_root(double value)
{
	__m128d packed = _mm_set_sd(value);

	return _mm_cvtsd_f64(_mm_sqrt_sd(packed, packed));
}

static void sum_lengths(struct kr_report_kernel *kernel, uint64_t *values)
{
	size_t count = kernel->executions;
	double squares = 0;

	if (count == 0)
		return;
	kernel->min_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		kernel->min_ns = values[i] < kernel->min_ns ? values[i] : kernel->min_ns;
		kernel->max_ns = values[i] > kernel->max_ns ? values[i] : kernel->max_ns;
		kernel->sum_ns += (double)values[i];
	}
	kernel->mean_ns = kernel->sum_ns / (double)count;
	for (size_t i = 0; i < count; i++) {
		double distance = (double)values[i] - kernel->mean_ns;

		squares += distance * distance;
	}
	if (count > 1)
		kernel->stddev_ns = square_root(squares / (double)(count - 1));
	kernel->median2_ns = twice_median(values, count);
}

static bool is_idle(const struct kr_report_kernel *kernel)
{
	return kernel->dispatches == 0 && kernel->replayed == 0 && kernel->once == 0 &&
	       kernel->declined.total == 0 && kernel->passes == 0 && kernel->executions == 0;
}

static void free_kernel(struct kr_report_kernel *kernel)
{
	free(kernel->name);
	free(kernel->mangled);
	free(kernel->declined.items);
}

static int compare_times(const void *left, const void *right)
{
	const struct kr_report_kernel *a = left, *b = right;

	if (a->sum_ns != b->sum_ns)
		return a->sum_ns > b->sum_ns ? -1 : 1;
	return compare_names(a, b);
}

static bool sum_totals(struct build *build)
{
	struct kr_report *report = build->report;
	size_t kept = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		struct kr_report_kernel *kernel = &report->kernels[i];

		/* a window cut short by the program's end left passes, but no record of its own */
		if (build->passes_seen[i] > kernel->passes)
			kernel->passes = build->passes_seen[i];
		if (is_idle(kernel)) {
			free_kernel(kernel);
			*kernel = (struct kr_report_kernel){ 0 };
			continue;
		}
		report->dispatches += kernel->dispatches;
		report->replayed += kernel->replayed;
		report->passes += kernel->passes;
		for (size_t j = 0; j < kernel->declined.count; j++) {
			if (!count_decline(&report->declined, kernel->declined.items[j].reason,
					   kernel->declined.items[j].count))
				return false;
		}
		if (kept != i) {
			report->kernels[kept] = *kernel;
			*kernel = (struct kr_report_kernel){ 0 };
		}
		kept++;
	}
	report->kernel_count = kept;
	qsort(report->kernels, kept, sizeof(*report->kernels), compare_times);
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

struct kr_report *kr_report_build(struct kr_journal *journal)
{
	struct build build = { .journal = journal, .report = calloc(1, sizeof(*build.report)) };
	bool done = false;

	if (!build.report)
		return NULL;
	build.executions = records_kept(atomic_load(&journal->header->executions_used),
					journal->execution_room, &build.report->dropped);
	build.windows = records_kept(atomic_load(&journal->header->windows_used),
				     journal->window_room, &build.report->dropped);
	if (!find_kernels(&build))
		goto out;
	build.passes_seen = calloc(build.report->kernel_count + 1, sizeof(*build.passes_seen));
	if (!build.passes_seen)
		goto out;
	for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++) {
		if (build.kernel_of_row[i] != UINT32_MAX)
			build.report->kernels[build.kernel_of_row[i]].dispatches +=
				atomic_load_explicit(&journal->rows[i].dispatches,
						     memory_order_relaxed);
	}
	if (!sum_windows(&build))
		goto out;
	count_executions(&build);
	if (!gather_lengths(&build))
		goto out;
	for (size_t i = 0; i < build.report->kernel_count; i++)
		sum_lengths(&build.report->kernels[i], build.lengths + build.length_at[i]);
	done = sum_totals(&build);
out:
	free(build.kernel_of_row);
	free(build.lengths);
	free(build.length_at);
	free(build.passes_seen);
	if (!done) {
		kr_report_free(build.report);
		return NULL;
	}
	return build.report;
}

void kr_report_free(struct kr_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->kernel_count; i++)
		free_kernel(&report->kernels[i]);
	free(report->kernels);
	free(report->declined.items);
	free(report);
}
