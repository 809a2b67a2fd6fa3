/* SPDX-License-Identifier: MIT */
/* The report as programs read it: docs/report.md describes every field. */
#include <string.h>

#include "report.h"
#include "text.h"

#define FORMAT 1

/* A string that holds any bytes: what is not well-formed UTF-8 becomes U+FFFD, one for each byte.
 */
static void add_string(struct kr_text *out, const char *string)
{
	size_t rest = strlen(string);

	kr_text_add(out, "\"");
	while (rest > 0) {
		size_t length = kr_utf8_length(string, rest);

		if (length == 0) {
			kr_text_add(out, "\\ufffd");
			length = 1;
		} else if (*string == '"' || *string == '\\') {
			kr_text_addf(out, "\\%c", *string);
		} else if (length == 1 && ((unsigned char)*string < ' ' || *string == 0x7f)) {
			kr_text_addf(out, "\\u%04x", (unsigned char)*string);
		} else {
			kr_text_add_bytes(out, string, length);
		}
		string += length;
		rest -= length;
	}
	kr_text_add(out, "\"");
}

static void add_count(struct kr_text *out, const char *name, uint64_t count)
{
	kr_text_addf(out, "\"%s\": %llu", name, (unsigned long long)count);
}

static void add_number(struct kr_text *out, const char *name, double value, unsigned decimals)
{
	char number[KR_TEXT_NUMBER];

	kr_text_addf(out, "\"%s\": %s", name, kr_format_fixed(number, value, decimals));
}

static void add_declines(struct kr_text *out, const struct kr_report_declines *declines)
{
	kr_text_add(out, "\"declined\": {");
	for (size_t i = 0; i < declines->count; i++) {
		if (i > 0)
			kr_text_add(out, ", ");
		add_string(out, declines->items[i].reason);
		kr_text_addf(out, ": %llu", (unsigned long long)declines->items[i].count);
	}
	kr_text_add(out, "}");
}

static void add_durations(struct kr_text *out, const struct kr_report_kernel *kernel)
{
	if (kernel->executions == 0) {
		kr_text_add(out, "\"duration_ns\": {\"min\": null, \"median\": null, \"max\": "
				 "null, \"mean\": null, "
				 "\"stddev\": null}");
		return;
	}
	kr_text_add(out, "\"duration_ns\": {");
	add_count(out, "min", kernel->min_ns);
	/* twice the median is a whole number, so this is exact */
	kr_text_addf(out, ", \"median\": %llu%s, ", (unsigned long long)(kernel->median2_ns / 2),
		     kernel->median2_ns % 2 ? ".5" : "");
	add_count(out, "max", kernel->max_ns);
	kr_text_add(out, ", ");
	add_number(out, "mean", kernel->mean_ns, 3);
	kr_text_add(out, ", ");
	add_number(out, "stddev", kernel->stddev_ns, 3);
	kr_text_add(out, "}");
}

static void add_kernel(struct kr_text *out, const struct kr_report_kernel *kernel)
{
	kr_text_add(out, "    {\n      \"name\": ");
	add_string(out, kernel->name);
	kr_text_add(out, ",\n      \"mangled\": ");
	add_string(out, kernel->mangled);
	kr_text_add(out, ",\n      ");
	add_count(out, "dispatches", kernel->dispatches);
	kr_text_add(out, ",\n      ");
	add_count(out, "replayed", kernel->replayed);
	kr_text_add(out, ",\n      ");
	add_declines(out, &kernel->declined);
	kr_text_add(out, ",\n      ");
	add_count(out, "passes", kernel->passes);
	kr_text_add(out, ",\n      ");
	add_durations(out, kernel);
	kr_text_add(out, "\n    }");
}

static void add_totals(struct kr_text *out, const struct kr_report *report)
{
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{ "dispatches", report->dispatches },
		{ "replayed", report->replayed },
		{ "declined", report->declined.total },
		{ "passes", report->passes },
		{ "snapshot_bytes", report->snapshot_bytes },
		{ "restored_bytes", report->restored_bytes },
		{ "host_link_bytes", report->host_link_bytes },
	};

	kr_text_add(out, "  \"totals\": {\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		kr_text_add(out, "    ");
		add_count(out, counts[i].name, counts[i].count);
		kr_text_add(out, ",\n");
	}
	kr_text_add(out, "    ");
	add_number(out, "window_seconds", (double)report->window_ns / 1e9, 9);
	kr_text_add(out, "\n  }");
}

char *kr_report_json(const struct kr_report *report, size_t *bytes)
{
	struct kr_text out = { 0 };

	kr_text_addf(&out, "{\n  \"format\": %d,\n  \"kernels\": [", FORMAT);
	for (size_t i = 0; i < report->kernel_count; i++) {
		kr_text_add(&out, i > 0 ? ",\n" : "\n");
		add_kernel(&out, &report->kernels[i]);
	}
	kr_text_add(&out, report->kernel_count > 0 ? "\n  ],\n" : "],\n");
	add_totals(&out, report);
	kr_text_add(&out, ",\n  ");
	add_count(&out, "dropped", report->dropped);
	kr_text_add(&out, "\n}\n");
	return kr_text_take(&out, bytes);
}
