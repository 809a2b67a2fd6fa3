/* SPDX-License-Identifier: MIT */
/* A JSON report of any bytes: what can be read is written in every form, and what was written can be read again. */
#include "fuzz.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/reports.h"
#include "report/json_check.h"

void kr_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The launcher's line on standard error: formatted, and thrown away. */
void kr_cli_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
}

static struct kr_report *read_bytes(const void *data, size_t size)
{
	int fd = memfd_create("report", MFD_CLOEXEC);
	struct kr_report *report;
	char path[64];

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	report = kr_cli_read_report(path);
	close(fd);
	return report;
}

static void render(const struct kr_report *report)
{
	static const struct kr_report_look looks[] = {
		{ 0 }, { .width = 40, .colour = true, .timing = true, .dispatches = true }, { .width = 200, .timing = true }
	};
	struct kr_text csv = { 0 }, html = { 0 }, trace = { 0 };

	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		free(kr_report_format_look(report, &looks[i]));
	kr_cli_csv(&csv, report);
	kr_cli_html(&html, report);
	kr_cli_perfetto(&trace, report);
	FUZZ_CHECK(!csv.failed && !html.failed && !trace.failed);
	kr_text_finish(&csv);
	kr_text_finish(&html);
	kr_text_finish(&trace);
}

/* Whatever jansson takes for an object the library's own check does too. */
static void check_json(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	json_t *object = json_loads(text, 0, NULL);

	FUZZ_CHECK(!json_is_object(object) || kr_json_is_object(text) || size > 128);
	json_decref(object);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kr_report *report, *again;
	size_t bytes = 0;
	char *json;

	check_json(data, size);
	report = read_bytes(data, size);
	if (!report)
		return 0;
	render(report);
	json = kr_report_json(report, &bytes);
	FUZZ_CHECK(json != NULL);
	again = read_bytes(json, bytes);
	if (!again)
		fprintf(stderr, "%s\n", json);
	FUZZ_CHECK(again != NULL);
	FUZZ_CHECK(again->kernel_count == report->kernel_count && again->window_count == report->window_count &&
		   again->execution_count == report->execution_count && again->note_count == report->note_count);
	FUZZ_CHECK(kr_report_merge(again, report));
	render(again);
	kr_report_free(again);
	kr_report_free(report);
	free(json);
	return 0;
}
