/* SPDX-License-Identifier: MIT */
/* A JSON report back into memory. A file that is none, or that was cut or changed by hand, is one line and no report. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "reports.h"

struct reading {
	const char *path;
	struct kr_report *report;
	const char *missing; /* what is wrong first */
};

static bool wrong(struct reading *r, const char *what)
{
	if (!r->missing)
		r->missing = what;
	return false;
}

/* A number that is not negative; a missing member is wrong, null is `absent`. */
static uint64_t number(struct reading *r, const json_t *object, const char *name, uint64_t absent)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_null(value))
		return absent;
	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		wrong(r, name);
		return 0;
	}
	return (uint64_t)json_integer_value(value);
}

/* NULL for null. */
static char *text(struct reading *r, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	char *copy;

	if (json_is_null(value))
		return NULL;
	if (!json_is_string(value)) {
		wrong(r, name);
		return NULL;
	}
	copy = strdup(json_string_value(value));
	if (!copy)
		wrong(r, "memory");
	return copy;
}

static void *element(struct reading *r, void **array, size_t *count, size_t size)
{
	void *place = kr_report_append(array, count, size);

	if (!place)
		wrong(r, "memory");
	return place;
}

static uint32_t index_of(struct reading *r, uint64_t value, size_t count, const char *what)
{
	if (value >= count) {
		wrong(r, what);
		return 0;
	}
	return (uint32_t)value;
}

static bool read_kernels(struct reading *r, const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one) {
		struct kr_report *report = r->report;
		struct kr_report_kernel *kernel =
			element(r, (void **)&report->kernels, &report->kernel_count, sizeof(*kernel));

		if (!kernel)
			return false;
		kernel->name = text(r, one, "name");
		kernel->mangled = text(r, one, "mangled");
		kernel->dispatches = number(r, one, "dispatches", 0);
		if (!kernel->name || !kernel->mangled)
			return wrong(r, "name");
	}
	return !r->missing;
}

static bool read_processes(struct reading *r, const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one) {
		struct kr_report *report = r->report;
		struct kr_report_process *process =
			element(r, (void **)&report->processes, &report->process_count, sizeof(*process));
		uint64_t rank;

		if (!process)
			return false;
		process->pid = (uint32_t)number(r, one, "pid", 0);
		rank = number(r, one, "rank", UINT64_MAX);
		process->rank = rank <= INT32_MAX ? (int32_t)rank : -1;
		process->host = text(r, one, "host");
		process->program = text(r, one, "program");
	}
	return !r->missing;
}

/* The executions' columns, in the order in which they are written. */
static const char *const columns[] = { "process", "kernel", "dispatch", "pass", "replayed", "start_ns", "duration_ns" };
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool read_execution(struct reading *r, const json_t *row)
{
	struct kr_report *report = r->report;
	struct kr_report_execution *one;
	uint64_t values[COLUMNS];

	if (!json_is_array(row) || json_array_size(row) != COLUMNS)
		return wrong(r, "executions");
	for (size_t i = 0; i < COLUMNS; i++) {
		const json_t *value = json_array_get(row, i);

		if (json_is_integer(value) && json_integer_value(value) >= 0)
			values[i] = (uint64_t)json_integer_value(value);
		else if (i == 4 && json_is_boolean(value))
			values[i] = json_is_true(value);
		else if (i >= 5 && json_is_null(value))
			values[i] = UINT64_MAX;
		else
			return wrong(r, columns[i]);
	}
	one = element(r, (void **)&report->executions, &report->execution_count, sizeof(*one));
	if (!one)
		return false;
	*one = (struct kr_report_execution){
		.process = index_of(r, values[0], report->process_count, "process"),
		.kernel = index_of(r, values[1], report->kernel_count, "kernel"),
		.dispatch_id = values[2],
		.pass = values[3],
		.is_pass = values[4] != 0,
		.no_length = values[5] == UINT64_MAX || values[6] == UINT64_MAX,
	};
	if (!one->no_length) {
		one->start_ns = values[5];
		one->ns = values[6];
	}
	return !r->missing;
}

static bool read_executions(struct reading *r, const json_t *table)
{
	const json_t *names = json_object_get(table, "columns"), *rows = json_object_get(table, "rows");
	size_t i;
	json_t *row;

	for (i = 0; i < COLUMNS; i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (!name || strcmp(name, columns[i]) != 0)
			return wrong(r, "columns");
	}
	if (!json_is_array(rows))
		return wrong(r, "rows");
	json_array_foreach(rows, i, row) {
		if (!read_execution(r, row))
			return false;
	}
	return true;
}

static uint32_t outcome_of(struct reading *r, const json_t *object)
{
	static const char *const names[] = { "", "once", "replayed", "declined" };
	const char *name = json_string_value(json_object_get(object, "outcome"));

	for (uint32_t i = KR_REPORT_ONCE; name && i <= KR_REPORT_DECLINED; i++) {
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	wrong(r, "outcome");
	return 0;
}

static void copy_short(struct reading *r, char *to, size_t size, const json_t *object, const char *name)
{
	char *copy = text(r, object, name);

	strncpy(to, copy ? copy : "", size - 1);
	free(copy);
}

static bool read_windows(struct reading *r, const json_t *list)
{
	struct kr_report *report = r->report;
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one) {
		struct kr_report_window *window =
			element(r, (void **)&report->windows, &report->window_count, sizeof(*window));

		if (!window)
			return false;
		window->outcome = outcome_of(r, one);
		window->process = index_of(r, number(r, one, "process", 0), report->process_count, "process");
		window->kernel = index_of(r, number(r, one, "kernel", 0), report->kernel_count, "kernel");
		window->dispatch_id = number(r, one, "dispatch", 0);
		window->agent = (uint32_t)number(r, one, "agent", 0);
		window->queue = number(r, one, "queue", 0);
		window->passes = number(r, one, "passes", 0);
		window->regions = number(r, one, "regions", 0);
		window->snapshot_bytes = number(r, one, "snapshot_bytes", 0);
		window->restored_bytes = number(r, one, "restored_bytes", 0);
		window->host_link_bytes = number(r, one, "host_link_bytes", 0);
		window->dirty_bytes = number(r, one, "dirty_bytes", 0);
		window->peak_host_bytes = number(r, one, "peak_host_bytes", 0);
		window->peak_device_bytes = number(r, one, "peak_device_bytes", 0);
		window->tier = (uint32_t)number(r, one, "tier", 0);
		window->flags = (uint32_t)number(r, one, "flags", 0);
		window->opened_ns = number(r, one, "opened_ns", 0);
		window->window_ns = number(r, one, "window_ns", 0);
		window->snapshot_ns = number(r, one, "snapshot_ns", 0);
		window->restore_ns = number(r, one, "restore_ns", 0);
		copy_short(r, window->agent_name, sizeof(window->agent_name), one, "agent_name");
		copy_short(r, window->reason, sizeof(window->reason), one, "reason");
	}
	return !r->missing;
}

static bool read_notes(struct reading *r, const json_t *list)
{
	struct kr_report *report = r->report;
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one) {
		struct kr_report_note *note =
			element(r, (void **)&report->notes, &report->note_count, sizeof(*note));
		const char *severity = json_string_value(json_object_get(one, "severity"));
		const json_t *data = json_object_get(one, "data");
		uint64_t kernel = number(r, one, "kernel", KR_REPORT_NONE);

		if (!note)
			return false;
		note->topic = text(r, one, "topic");
		if (!note->topic || !severity)
			return wrong(r, "topic");
		note->severity = strcmp(severity, "finding") == 0 ? KR_REPORT_FINDING : 0;
		note->process = index_of(r, number(r, one, "process", 0), report->process_count, "process");
		note->kernel = kernel == KR_REPORT_NONE ? KR_REPORT_NONE
							: index_of(r, kernel, report->kernel_count, "kernel");
		note->dispatch_id = number(r, one, "dispatch", 0);
		note->pass = number(r, one, "pass", UINT64_MAX);
		if (json_object_get(one, "end_ns")) {
			note->start_ns = number(r, one, "start_ns", 0);
			note->end_ns = number(r, one, "end_ns", 0);
		}
		note->text = text(r, one, "text");
		note->data = json_is_object(data) ? json_dumps(data, JSON_PRESERVE_ORDER) : NULL;
	}
	return !r->missing;
}

static bool read_all(struct reading *r, const json_t *root)
{
	static const char *const lists[] = { "kernels", "processes", "windows", "notes" };

	if (json_integer_value(json_object_get(root, "format")) != 1)
		return wrong(r, "format");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!json_is_array(json_object_get(root, lists[i])))
			return wrong(r, lists[i]);
	}
	r->report->dropped = number(r, root, "dropped", 0);
	r->report->dropped_notes = number(r, root, "dropped_notes", 0);
	r->report->torn = number(r, root, "torn", 0);
	r->report->interrupted = json_is_true(json_object_get(root, "interrupted"));
	return read_kernels(r, json_object_get(root, "kernels")) &&
	       read_processes(r, json_object_get(root, "processes")) &&
	       read_executions(r, json_object_get(root, "executions")) &&
	       read_windows(r, json_object_get(root, "windows")) && read_notes(r, json_object_get(root, "notes"));
}

/* Says in the file system's words or in ours why there is nothing to read; what the parser met comes behind. */
static void say_unreadable(const char *path, const json_error_t *error)
{
	struct stat status;

	if (stat(path, &status) != 0 || access(path, R_OK) != 0)
		kr_cli_say("cannot read '%s': %s", path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		kr_cli_say("cannot read '%s': %s", path, strerror(EISDIR));
	else
		kr_cli_say("'%s' is not a report of kreplay's: it is not JSON (line %d: %s)", path,
			   error->line > 0 ? error->line : 1, error->text);
}

struct kr_report *kr_cli_read_report(const char *path)
{
	struct reading r = { .path = path, .report = calloc(1, sizeof(*r.report)) };
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	bool done = false;

	if (!root)
		say_unreadable(path, &error);
	else if (!r.report || (read_all(&r, root) && !kr_report_summarize(r.report)))
		kr_cli_say("no memory for '%s'", path);
	else if (r.missing)
		kr_cli_say("'%s' is not a report of kreplay's: \"%s\" is missing or wrong in it", path, r.missing);
	else
		done = true;
	json_decref(root);
	if (done)
		return r.report;
	kr_report_free(r.report);
	return NULL;
}

void kr_cli_add_json_string(struct kr_text *out, const char *string)
{
	json_t *value = json_string(string);
	char *quoted;

	/* names are any bytes; what is no UTF-8 is shown byte by byte */
	if (!value) {
		struct kr_text clean = { 0 };

		for (; *string; string++)
			kr_text_add_bytes(&clean, (unsigned char)*string < 0x80 ? string : "?", 1);
		value = json_string(clean.data ? clean.data : "");
		kr_text_finish(&clean);
	}
	quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	if (quoted)
		kr_text_add(out, quoted);
	else
		out->failed = true;
	free(quoted);
	json_decref(value);
}
