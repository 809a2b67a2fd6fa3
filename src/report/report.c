/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

void *kr_report_append(void **array, size_t *count, size_t size)
{
	/* room is the next power of two, and so follows from the count */
	if ((*count & (*count - 1)) == 0) {
		void *grown = realloc(*array, (*count ? 2 * *count : 1) * size);

		if (!grown)
			return NULL;
		*array = grown;
	}
	return memset((char *)*array + (*count)++ * size, 0, size);
}

/* --- kernels of the same names become one --- */

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

static void free_kernel(struct kr_report_kernel *kernel)
{
	free(kernel->name);
	free(kernel->mangled);
	free(kernel->declined.items);
}

/* Gives every record its kernel's new index. */
static void move_records(struct kr_report *report, const uint32_t *moved)
{
	for (size_t i = 0; i < report->execution_count; i++)
		report->executions[i].kernel = moved[report->executions[i].kernel];
	for (size_t i = 0; i < report->window_count; i++)
		report->windows[i].kernel = moved[report->windows[i].kernel];
	for (size_t i = 0; i < report->note_count; i++) {
		if (report->notes[i].kernel != KR_REPORT_NONE)
			report->notes[i].kernel = moved[report->notes[i].kernel];
	}
}

/* Several processes of a run may have a row each for the same kernel: makes them one. */
static bool unite_kernels(struct kr_report *report)
{
	size_t count = report->kernel_count, kept = 0;
	uint32_t *order = calloc(count + 1, sizeof(*order));
	uint32_t *moved = calloc(count + 1, sizeof(*moved));
	struct kr_report_kernel *united = NULL, *place;
	bool done = order && moved;

	for (size_t i = 0; done && i < count; i++)
		order[i] = (uint32_t)i;
	if (done)
		qsort_r(order, count, sizeof(*order), compare_kernel_names, report->kernels);
	for (size_t i = 0; done && i < count; i++) {
		struct kr_report_kernel *kernel = &report->kernels[order[i]];

		if (kept > 0 && compare_names(&united[kept - 1], kernel) == 0) {
			united[kept - 1].dispatches += kernel->dispatches;
		} else {
			place = kr_report_append((void **)&united, &kept, sizeof(*united));
			done = place != NULL;
			if (done) {
				place->name = kernel->name;
				place->mangled = kernel->mangled;
				place->dispatches = kernel->dispatches;
				kernel->name = kernel->mangled = NULL;
			}
		}
		moved[order[i]] = (uint32_t)(kept - 1);
	}
	if (done) {
		for (size_t i = 0; i < count; i++)
			free_kernel(&report->kernels[i]);
		free(report->kernels);
		report->kernels = united;
		report->kernel_count = kept;
		move_records(report, moved);
	} else {
		for (size_t i = 0; i < kept; i++)
			free_kernel(&united[i]);
		free(united);
	}
	free(order);
	free(moved);
	return done;
}

/* --- windows --- */

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

static bool sum_window(struct kr_report *report, const struct kr_report_window *window)
{
	struct kr_report_kernel *kernel = &report->kernels[window->kernel];

	report->regions += window->regions;
	report->snapshot_bytes += window->snapshot_bytes;
	report->restored_bytes += window->restored_bytes;
	report->host_link_bytes += window->host_link_bytes;
	report->dirty_bytes += window->dirty_bytes;
	if (window->peak_host_bytes > report->peak_host_bytes)
		report->peak_host_bytes = window->peak_host_bytes;
	if (window->peak_device_bytes > report->peak_device_bytes)
		report->peak_device_bytes = window->peak_device_bytes;
	report->window_ns += window->window_ns;
	switch (window->outcome) {
	case KR_REPORT_ONCE:
		kernel->once++;
		return true;
	case KR_REPORT_REPLAYED:
		kernel->replayed++;
		kernel->passes += window->passes;
		return true;
	default:
		kernel->passes += window->passes;
		return count_decline(&kernel->declined, window->reason[0] ? window->reason : "unknown", 1);
	}
}

/* --- times --- */

/* Without libm, which the library does not link. */
static double square_root(double value)
{
	__m128d packed = _mm_set_sd(value);

	return _mm_cvtsd_f64(_mm_sqrt_sd(packed, packed));
}

static int compare_lengths(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* The value at `quarter` quarters of the sorted ones, between two of them where it falls there. */
static double quartile(const uint64_t *values, size_t count, unsigned quarter)
{
	size_t at = (count - 1) * quarter / 4, rest = (count - 1) * quarter % 4;
	double low = (double)values[at];

	return rest ? low + ((double)values[at + 1] - low) * (double)rest / 4 : low;
}

static void find_outliers(struct kr_report_kernel *kernel, const uint64_t *values, size_t count)
{
	double reach = 1.5 * (kernel->q3_ns - kernel->q1_ns);

	if (count < KR_REPORT_FENCED)
		return;
	kernel->low_fence_ns = kernel->q1_ns > reach ? kernel->q1_ns - reach : 0;
	kernel->high_fence_ns = kernel->q3_ns + reach;
	for (size_t i = 0; i < count; i++)
		kernel->outliers += (double)values[i] < kernel->low_fence_ns ||
				    (double)values[i] > kernel->high_fence_ns;
}

/* `values` are the kernel's, and are sorted here. */
static void sum_lengths(struct kr_report_kernel *kernel, uint64_t *values)
{
	size_t count = kernel->executions;
	double squares = 0;

	if (count == 0)
		return;
	qsort(values, count, sizeof(*values), compare_lengths);
	kernel->min_ns = values[0];
	kernel->max_ns = values[count - 1];
	for (size_t i = 0; i < count; i++)
		kernel->sum_ns += (double)values[i];
	kernel->mean_ns = kernel->sum_ns / (double)count;
	for (size_t i = 0; i < count; i++) {
		double distance = (double)values[i] - kernel->mean_ns;

		squares += distance * distance;
	}
	if (count > 1)
		kernel->stddev_ns = square_root(squares / (double)(count - 1));
	kernel->median2_ns = values[(count - 1) / 2] + values[count / 2];
	kernel->q1_ns = quartile(values, count, 1);
	kernel->q3_ns = quartile(values, count, 3);
	find_outliers(kernel, values, count);
}

/* The lengths of some executions, one kernel's after another's. */
struct lengths {
	uint64_t *values;
	uint64_t *at; /* where each kernel's begin; one more at the end */
};

static void free_lengths(struct lengths *lengths)
{
	free(lengths->values);
	free(lengths->at);
}

static bool is_later(const struct kr_report_execution *execution)
{
	return execution->is_pass && execution->pass > 0;
}

static bool gather(const struct kr_report *report, bool later_only, struct lengths *out)
{
	uint64_t total = 0, *next = calloc(report->kernel_count + 1, sizeof(*next));

	*out = (struct lengths){ .at = calloc(report->kernel_count + 1, sizeof(*out->at)) };
	if (!next || !out->at)
		goto fail;
	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *execution = &report->executions[i];

		if (!execution->no_length && (!later_only || is_later(execution)))
			next[execution->kernel]++;
	}
	for (size_t i = 0; i < report->kernel_count; i++) {
		uint64_t count = next[i];

		next[i] = out->at[i] = total;
		total += count;
	}
	out->at[report->kernel_count] = total;
	out->values = malloc((total + 1) * sizeof(*out->values));
	if (!out->values)
		goto fail;
	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *execution = &report->executions[i];

		if (!execution->no_length && (!later_only || is_later(execution)))
			out->values[next[execution->kernel]++] = execution->ns;
	}
	free(next);
	return true;
fail:
	free(next);
	free_lengths(out);
	return false;
}

static bool sum_times(struct kr_report *report)
{
	struct lengths all, later;

	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *execution = &report->executions[i];
		struct kr_report_kernel *kernel = &report->kernels[execution->kernel];

		if (!execution->no_length && execution->is_pass && execution->pass == 0) {
			kernel->first_count++;
			kernel->first_ns += (double)execution->ns;
		}
	}
	if (!gather(report, false, &all))
		return false;
	if (!gather(report, true, &later)) {
		free_lengths(&all);
		return false;
	}
	for (size_t i = 0; i < report->kernel_count; i++) {
		struct kr_report_kernel *kernel = &report->kernels[i];
		uint64_t count = later.at[i + 1] - later.at[i], *values = later.values + later.at[i];

		kernel->executions = all.at[i + 1] - all.at[i];
		sum_lengths(kernel, all.values + all.at[i]);
		if (kernel->first_count > 0)
			kernel->first_ns /= (double)kernel->first_count;
		if (count > 0) {
			qsort(values, count, sizeof(*values), compare_lengths);
			kernel->later_ns = (double)(values[(count - 1) / 2] + values[count / 2]) / 2;
		}
	}
	free_lengths(&all);
	free_lengths(&later);
	return true;
}

/* A window cut short by the program's end left passes, but no record of its own. */
static bool count_lone_passes(struct kr_report *report)
{
	uint64_t *seen = calloc(report->kernel_count + 1, sizeof(*seen));

	if (!seen)
		return false;
	for (size_t i = 0; i < report->execution_count; i++)
		seen[report->executions[i].kernel] += report->executions[i].is_pass;
	for (size_t i = 0; i < report->kernel_count; i++) {
		if (seen[i] > report->kernels[i].passes)
			report->kernels[i].passes = seen[i];
	}
	free(seen);
	return true;
}

/* --- totals --- */

static bool is_idle(const struct kr_report_kernel *kernel)
{
	return kernel->dispatches == 0 && kernel->replayed == 0 && kernel->once == 0 &&
	       kernel->declined.total == 0 && kernel->passes == 0 && kernel->executions == 0;
}

static int compare_times(const void *left, const void *right, void *context)
{
	const struct kr_report_kernel *kernels = context;
	const struct kr_report_kernel *a = &kernels[*(const uint32_t *)left], *b = &kernels[*(const uint32_t *)right];

	if (is_idle(a) != is_idle(b))
		return is_idle(a) ? 1 : -1;
	if (a->sum_ns != b->sum_ns)
		return a->sum_ns > b->sum_ns ? -1 : 1;
	return compare_names(a, b);
}

/* The idle ones go to the end, and away. */
static bool sort_kernels(struct kr_report *report)
{
	size_t count = report->kernel_count;
	uint32_t *order = calloc(count + 1, sizeof(*order)), *moved = calloc(count + 1, sizeof(*moved));
	struct kr_report_kernel *sorted = calloc(count + 1, sizeof(*sorted));

	if (!order || !moved || !sorted) {
		free(order);
		free(moved);
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_times, report->kernels);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = report->kernels[order[i]];
		moved[order[i]] = (uint32_t)i;
	}
	free(report->kernels);
	report->kernels = sorted;
	move_records(report, moved);
	while (report->kernel_count > 0 && is_idle(&sorted[report->kernel_count - 1]))
		free_kernel(&sorted[--report->kernel_count]);
	/* a tool may have written of a kernel that never ran */
	for (size_t i = 0; i < report->note_count; i++) {
		if (report->notes[i].kernel >= report->kernel_count)
			report->notes[i].kernel = KR_REPORT_NONE;
	}
	free(order);
	free(moved);
	return true;
}

static bool sum_totals(struct kr_report *report)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kr_report_kernel *kernel = &report->kernels[i];

		report->dispatches += kernel->dispatches;
		report->replayed += kernel->replayed;
		report->passes += kernel->passes;
		for (size_t j = 0; j < kernel->declined.count; j++) {
			if (!count_decline(&report->declined, kernel->declined.items[j].reason,
					   kernel->declined.items[j].count))
				return false;
		}
	}
	for (size_t i = 0; i < report->note_count; i++)
		report->findings += report->notes[i].severity == KR_REPORT_FINDING;
	return true;
}

static void clear_sums(struct kr_report *report)
{
	free(report->declined.items);
	report->declined = (struct kr_report_declines){ 0 };
	report->dispatches = report->replayed = report->passes = report->regions = report->snapshot_bytes = 0;
	report->dirty_bytes = report->peak_host_bytes = report->peak_device_bytes = 0;
	report->restored_bytes = report->host_link_bytes = report->window_ns = report->findings = 0;
}

bool kr_report_summarize(struct kr_report *report)
{
	clear_sums(report);
	/* this also gives every kernel fresh sums */
	if (!unite_kernels(report))
		return false;
	for (size_t i = 0; i < report->window_count; i++) {
		if (!sum_window(report, &report->windows[i]))
			return false;
	}
	return sum_times(report) && count_lone_passes(report) && sort_kernels(report) && sum_totals(report);
}

/* --- putting reports together --- */

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static bool add_kernels_and_processes(struct kr_report *report, const struct kr_report *other)
{
	for (size_t i = 0; i < other->kernel_count; i++) {
		const struct kr_report_kernel *from = &other->kernels[i];
		struct kr_report_kernel *to =
			kr_report_append((void **)&report->kernels, &report->kernel_count, sizeof(*to));

		if (!to || !copy_text(&to->name, from->name) || !copy_text(&to->mangled, from->mangled))
			return false;
		to->dispatches = from->dispatches;
	}
	for (size_t i = 0; i < other->process_count; i++) {
		const struct kr_report_process *from = &other->processes[i];
		struct kr_report_process *to =
			kr_report_append((void **)&report->processes, &report->process_count, sizeof(*to));

		if (!to || !copy_text(&to->host, from->host) || !copy_text(&to->program, from->program))
			return false;
		to->pid = from->pid;
		to->rank = from->rank;
	}
	return true;
}

bool kr_report_merge(struct kr_report *report, const struct kr_report *other)
{
	uint32_t kernels = (uint32_t)report->kernel_count, processes = (uint32_t)report->process_count;
	/* the array may be in exactly as much room as it has elements, so append as if it were not */
	struct kr_report_kernel *room;

	room = realloc(report->kernels, 2 * (report->kernel_count + other->kernel_count + 1) * sizeof(*room));
	if (!room)
		return false;
	report->kernels = room;
	if (!add_kernels_and_processes(report, other))
		return false;
	for (size_t i = 0; i < other->execution_count; i++) {
		struct kr_report_execution *to = kr_report_append((void **)&report->executions,
								  &report->execution_count, sizeof(*to));

		if (!to)
			return false;
		*to = other->executions[i];
		to->kernel += kernels;
		to->process += processes;
	}
	for (size_t i = 0; i < other->window_count; i++) {
		struct kr_report_window *to =
			kr_report_append((void **)&report->windows, &report->window_count, sizeof(*to));

		if (!to)
			return false;
		*to = other->windows[i];
		to->kernel += kernels;
		to->process += processes;
	}
	for (size_t i = 0; i < other->note_count; i++) {
		const struct kr_report_note *from = &other->notes[i];
		struct kr_report_note *to =
			kr_report_append((void **)&report->notes, &report->note_count, sizeof(*to));

		if (!to)
			return false;
		*to = *from;
		to->topic = to->text = to->data = NULL;
		to->kernel += from->kernel == KR_REPORT_NONE ? 0 : kernels;
		to->process += processes;
		if (!copy_text(&to->topic, from->topic) || !copy_text(&to->text, from->text) ||
		    !copy_text(&to->data, from->data))
			return false;
	}
	report->dropped += other->dropped;
	report->dropped_notes += other->dropped_notes;
	report->torn += other->torn;
	report->interrupted = report->interrupted || other->interrupted;
	return kr_report_summarize(report);
}

bool kr_report_name_processes(struct kr_report *report, const char *host, const char *program, int32_t rank)
{
	for (size_t i = 0; i < report->process_count; i++) {
		struct kr_report_process *process = &report->processes[i];

		if (process->rank < 0)
			process->rank = rank;
		if ((!process->host && !copy_text(&process->host, host)) ||
		    (!process->program && !copy_text(&process->program, program)))
			return false;
	}
	return true;
}

void kr_report_free(struct kr_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->kernel_count; i++)
		free_kernel(&report->kernels[i]);
	for (size_t i = 0; i < report->process_count; i++) {
		free(report->processes[i].host);
		free(report->processes[i].program);
	}
	for (size_t i = 0; i < report->note_count; i++) {
		free(report->notes[i].topic);
		free(report->notes[i].text);
		free(report->notes[i].data);
	}
	free(report->kernels);
	free(report->processes);
	free(report->executions);
	free(report->windows);
	free(report->notes);
	free(report->declined.items);
	free(report);
}
