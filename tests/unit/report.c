/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/report.h"
#include "report/text.h"

/* Three kernels, one of each fate. */
static struct kr_journal *make_journal(void)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint32_t saxpy = kr_journal_kernel(journal, "saxpy(float*, float)", "_Z5saxpyPff.kd");
	uint32_t scan = kr_journal_kernel(journal, "scan", "scan.kd");
	uint32_t idle = kr_journal_kernel(journal, "idle \"q\\\t\xff\xc3\xa9", "idle");
	struct kr_journal_window window = {
		.kernel = saxpy,
		.outcome = 2,
		.passes = 4,
		.regions = 2,
		.snapshot_bytes = 3 << 20,
		.restored_bytes = 5000,
		.host_link_bytes = 3 << 20,
		.dirty_bytes = 2 << 20,
		.peak_host_bytes = 5 << 20,
		.peak_device_bytes = 7 << 20,
		.window_ns = 2500000,
	};

	kr_journal_dispatch(journal, saxpy, 0);
	for (uint64_t pass = 0; pass < 4; pass++)
		kr_journal_execution(journal, saxpy, 1, pass, 4, 1000, 2000 + 100 * pass);
	kr_journal_window(journal, &window);
	for (uint64_t i = 0; i < 3; i++) {
		window = (struct kr_journal_window){ .kernel = scan, .outcome = 3 };
		strcpy(window.reason, i < 2 ? "out of memory" : "drain timeout");
		kr_journal_dispatch(journal, scan, 0);
		kr_journal_execution(journal, scan, 2 + i, 0, 1, 5, 5 + 12345678);
		kr_journal_window(journal, &window);
	}
	/* ran, but its times are not known */
	kr_journal_dispatch(journal, idle, 0);
	kr_journal_execution(journal, idle, 5, 0, 1, 0, 0);
	kr_journal_execution(journal, idle, 5, 0, 1, 9, 8);
	/* asked for its row and never dispatched: not in the report */
	kr_journal_kernel(journal, "unused", NULL);
	return journal;
}

static void table(void **state)
{
	static const char expected[] = "kernel                dispatches  replayed  declined  "
				       "passes      min   median      max     cv\n"
				       "scan                           3         0         3       "
				       "0  12.3 ms  12.3 ms  12.3 ms   0.0%\n"
				       "saxpy(float*, float)           1         1         0       "
				       "4  1.00 us  1.15 us  1.30 us  11.2%\n"
				       "idle \"q\\??\xc3\xa9                    1         0        "
				       " 0       0        -        -        -      -\n"
				       "total: 5 dispatches, 1 replayed, 3 declined, 4 passes\n"
				       "memory: 3.00 MiB snapshotted, 4.88 KiB restored, 3.00 MiB "
				       "over the host link; 2.50 ms in windows\n"
				       "declined: drain timeout 1, out of memory 2\n";
	struct kr_journal *journal = make_journal();
	struct kr_report *report = kr_report_build(journal);
	char *text = kr_report_format(report, 0);

	assert_string_equal(text, expected);
	free(text);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void json(void **state)
{
	static const char expected[] =
		"{\n"
		"  \"format\": 1,\n"
		"  \"kernels\": [\n"
		"    {\n"
		"      \"name\": \"scan\",\n"
		"      \"mangled\": \"scan.kd\",\n"
		"      \"dispatches\": 3,\n"
		"      \"replayed\": 0,\n"
		"      \"declined\": {\"drain timeout\": 1, \"out of memory\": 2},\n"
		"      \"passes\": 0,\n"
		"      \"duration_ns\": {\"min\": 12345678, \"median\": 12345678, \"max\": "
		"12345678, "
		"\"mean\": 12345678.000, \"stddev\": 0.000},\n"
		"      \"timing\": {\"executions\": 3, \"q1_ns\": 12345678.000, \"q3_ns\": "
		"12345678.000, \"cv\": 0.000000, \"first_pass_ns\": null, \"later_passes_ns\": null, "
		"\"low_fence_ns\": null, \"high_fence_ns\": null, \"outliers\": null}\n"
		"    },\n"
		"    {\n"
		"      \"name\": \"saxpy(float*, float)\",\n"
		"      \"mangled\": \"_Z5saxpyPff.kd\",\n"
		"      \"dispatches\": 1,\n"
		"      \"replayed\": 1,\n"
		"      \"declined\": {},\n"
		"      \"passes\": 4,\n"
		"      \"duration_ns\": {\"min\": 1000, \"median\": 1150, \"max\": 1300, "
		"\"mean\": 1150.000, \"stddev\": 129.099},\n"
		"      \"timing\": {\"executions\": 4, \"q1_ns\": 1075.000, \"q3_ns\": 1225.000, "
		"\"cv\": 0.112260, \"first_pass_ns\": 1000.000, \"later_passes_ns\": 1200.000, "
		"\"low_fence_ns\": null, \"high_fence_ns\": null, \"outliers\": null}\n"
		"    },\n"
		"    {\n"
		"      \"name\": \"idle \\\"q\\\\\\u0009\\ufffd\xc3\xa9\",\n"
		"      \"mangled\": \"idle\",\n"
		"      \"dispatches\": 1,\n"
		"      \"replayed\": 0,\n"
		"      \"declined\": {},\n"
		"      \"passes\": 0,\n"
		"      \"duration_ns\": {\"min\": null, \"median\": null, \"max\": null, \"mean\": "
		"null, "
		"\"stddev\": null},\n"
		"      \"timing\": {\"executions\": 0, \"q1_ns\": null, \"q3_ns\": null, \"cv\": "
		"null, \"first_pass_ns\": null, \"later_passes_ns\": null, \"low_fence_ns\": null, "
		"\"high_fence_ns\": null, \"outliers\": null}\n"
		"    }\n"
		"  ],\n"
		"  \"totals\": {\n"
		"    \"dispatches\": 5,\n"
		"    \"replayed\": 1,\n"
		"    \"declined\": 3,\n"
		"    \"passes\": 4,\n"
		"    \"snapshot_bytes\": 3145728,\n"
		"    \"restored_bytes\": 5000,\n"
		"    \"host_link_bytes\": 3145728,\n"
		"    \"dirty_bytes\": 2097152,\n"
		"    \"peak_host_bytes\": 5242880,\n"
		"    \"peak_device_bytes\": 7340032,\n"
		"    \"window_seconds\": 0.002500000\n"
		"  },\n"
		"  \"processes\": [\n"
		"    {\"pid\": ";
	/* what follows is of every execution, window and note */
	static const char end[] = "  \"torn\": 0,\n"
				  "  \"dropped_notes\": 0,\n"
				  "  \"interrupted\": false,\n"
				  "  \"dropped\": 0\n"
				  "}\n";
	struct kr_journal *journal = make_journal();
	struct kr_report *report = kr_report_build(journal);
	size_t bytes;
	char *text = kr_report_json(report, &bytes);

	assert_int_equal(bytes, strlen(text));
	assert_string_equal(text + bytes - strlen(end), end);
	assert_non_null(strstr(text, "      [0, 1, 1, 3, true, 1000, 1300],\n"));
	assert_non_null(strstr(text, "      [0, 2, 5, 0, false, null, null]\n"));
	assert_non_null(strstr(text, "{\"outcome\": \"declined\", \"process\": 0, \"kernel\": 0, "));
	text[strlen(expected)] = '\0';
	assert_string_equal(text, expected);
	free(text);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void no_dispatch(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	struct kr_report *report = kr_report_build(journal);
	char *text = kr_report_format(report, 0);

	assert_string_equal(text, "kreplay: no kernel dispatch was seen\n");
	free(text);
	text = kr_report_json(report, NULL);
	assert_non_null(strstr(text, "\"kernels\": [],\n"));
	free(text);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void long_names(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	struct kr_report *report;
	char *text;

	kr_journal_dispatch(
		journal,
		kr_journal_kernel(
			journal,
			"void tensor::gemm<float, 128, 64, (tensor::layout)1>(float const*, "
			"float const*, float*, unsigned int)",
			NULL), 0);
	report = kr_report_build(journal);
	text = kr_report_format(report, 0);
	/* a file has room for all of it */
	assert_non_null(strstr(text, "\nvoid tensor::gemm<float, 128, 64, (tensor::layout)1>(float const*, "
				     "float const*, float*, unsigned int)           1 "));
	free(text);
	/* a wide terminal shows all of it, and no line is longer than the terminal */
	text = kr_report_format(report, 200);
	assert_non_null(strstr(
		text, "(tensor::layout)1>(float const*, float const*, float*, unsigned int)  "));
	free(text);
	text = kr_report_format(report, 90);
	assert_int_equal(strcspn(text, "\n"), 90);
	assert_int_equal(strcspn(strchr(text, '\n') + 1, "\n"), 90);
	free(text);
	/* too narrow for anything: still a name */
	text = kr_report_format(report, 10);
	assert_non_null(strstr(text, "\ntensor:...out)1>  "));
	free(text);
	kr_report_free(report);
	kr_journal_close(journal);
}

static uint64_t twice_median_of(const uint64_t *lengths, size_t count)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint32_t row = kr_journal_kernel(journal, "k", NULL);
	struct kr_report *report;
	uint64_t found;

	for (size_t i = 0; i < count; i++)
		kr_journal_execution(journal, row, i, 0, 1, 1, 1 + lengths[i]);
	report = kr_report_build(journal);
	found = report->kernels[0].median2_ns;
	kr_report_free(report);
	kr_journal_close(journal);
	return found;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void medians(void **state)
{
	static uint64_t values[400];
	unsigned seed = 3;

	assert_int_equal(twice_median_of((const uint64_t[]){ 7 }, 1), 14);
	assert_int_equal(twice_median_of((const uint64_t[]){ 8, 7 }, 2), 15);
	assert_int_equal(twice_median_of((const uint64_t[]){ 3, 1, 2 }, 3), 4);
	assert_int_equal(twice_median_of((const uint64_t[]){ 4, 4, 4, 4 }, 4), 8);
	for (int round = 0; round < 60; round++) {
		size_t count = 1 + (size_t)rand_r(&seed) % 400;
		unsigned distinct = round % 3 == 0 ? 3 : 1000;
		uint64_t got;

		for (size_t i = 0; i < count; i++)
			values[i] = (unsigned)rand_r(&seed) % distinct;
		got = twice_median_of(values, count);
		qsort(values, count, sizeof(values[0]), compare);
		assert_int_equal(got, values[(count - 1) / 2] + values[count / 2]);
	}
}

/* A million executions, already in order: the usual worst case of selection. */
static void many_executions(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint32_t row = kr_journal_kernel(journal, "k", NULL);
	struct kr_report *report;

	for (uint64_t i = 0; i < 1500001; i++)
		kr_journal_execution(journal, row, i, 0, 1, 1, 1 + i);
	report = kr_report_build(journal);
	assert_int_equal(report->kernels[0].median2_ns, 1500000);
	assert_int_equal(report->kernels[0].executions, 1500001);
	assert_int_equal(report->dropped, 0);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void numbers(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} durations[] = {
		{ 0, "0 ns" },         { 1, "1 ns" },       { 999, "999 ns" },
		{ 999.5, "1.00 us" },  { 1000, "1.00 us" }, { 9990, "9.99 us" },
		{ 9999, "10.0 us" },   { 99960, "100 us" }, { 999400, "999 us" },
		{ 999600, "1.00 ms" }, { 1.5e9, "1.50 s" }, { 12345e9, "12345 s" },
	};
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 1048575, "1.00 MiB" },
		{ UINT64_C(5) << 30, "5.00 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char out[KR_TEXT_NUMBER];

	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		assert_string_equal(kr_format_duration(out, durations[i].ns), durations[i].text);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_string_equal(kr_format_bytes(out, sizes[i].bytes), sizes[i].text);
	assert_string_equal(kr_format_fixed(out, 0.0005, 3), "0.001");
	assert_string_equal(kr_format_fixed(out, 1.9999, 3), "2.000");
	assert_string_equal(kr_format_fixed(out, 1e300, 3), "18446744073709551615");
	assert_string_equal(kr_format_fixed(out, 9007199254740993.0, 3), "9007199254740992");
}

static void utf8(void **state)
{
	assert_int_equal(kr_utf8_length("a", 1), 1);
	assert_int_equal(kr_utf8_length("\xc3\xa9", 2), 2);
	assert_int_equal(kr_utf8_length("\xe2\x82\xac", 3), 3);
	assert_int_equal(kr_utf8_length("\xf0\x9f\x98\x80", 4), 4);
	/* cut, alone, overlong, surrogate, past the end */
	assert_int_equal(kr_utf8_length("\xc3", 1), 0);
	assert_int_equal(kr_utf8_length("\xa9", 1), 0);
	assert_int_equal(kr_utf8_length("\xc0\x80", 2), 0);
	assert_int_equal(kr_utf8_length("\xe0\x9f\xbf", 3), 0);
	assert_int_equal(kr_utf8_length("\xed\xa0\x80", 3), 0);
	assert_int_equal(kr_utf8_length("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(kr_utf8_length("\xf0\x8f\xbf\xbf", 4), 0);
	assert_int_equal(kr_utf8_length("\xf5\x80\x80\x80", 4), 0);
}

static char folder[] = "/tmp/kreplay-report-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void check_content(const char *path, const char *start)
{
	char got[16] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, strlen(start)) >= 0);
	assert_string_equal(got, start);
	close(fd);
}

static void output_files(void **state)
{
	struct kr_journal *journal = make_journal();
	struct kr_report *report = kr_report_build(journal);
	char error[128], link[128];
	struct stat status;

	/* checking leaves an old report alone, and no new file behind */
	put(in_folder("old.json"), "old");
	assert_true(kr_report_check_output(in_folder("old.json"), error, sizeof(error)));
	check_content(in_folder("old.json"), "old");
	assert_true(kr_report_check_output(in_folder("new.json"), error, sizeof(error)));
	assert_int_not_equal(access(in_folder("new.json"), F_OK), 0);

	assert_true(kr_report_write_json(report, in_folder("old.json")));
	check_content(in_folder("old.json"), "{\n  \"format\"");
	assert_int_equal(stat(in_folder("old.json"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_true(kr_report_write_json(report, in_folder("new.json")));
	check_content(in_folder("new.json"), "{\n  \"format\"");

	/* a link goes on being one */
	put(in_folder("target"), "old");
	snprintf(link, sizeof(link), "%s", in_folder("link"));
	assert_int_equal(symlink("target", link), 0);
	assert_true(kr_report_write_json(report, link));
	assert_int_equal(lstat(link, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	check_content(in_folder("target"), "{\n  \"format\"");

	/* what is no regular file is written to */
	assert_true(kr_report_check_output("/dev/null", error, sizeof(error)));
	assert_true(kr_report_write_json(report, "/dev/null"));
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));

	assert_false(kr_report_check_output(folder, error, sizeof(error)));
	assert_string_equal(error, "Is a directory");
	assert_false(kr_report_check_output(in_folder("none/r.json"), error, sizeof(error)));
	assert_string_equal(error, "No such file or directory");
	assert_false(kr_report_check_output(in_folder("target/r.json"), error, sizeof(error)));
	assert_string_equal(error, "Not a directory");
	assert_false(kr_report_check_output(in_folder("new-folder/"), error, sizeof(error)));
	assert_false(kr_report_write_json(report, in_folder("none/r.json")));
	assert_int_equal(errno, ENOENT);

	unlink(in_folder("old.json"));
	unlink(in_folder("new.json"));
	unlink(in_folder("target"));
	unlink(link);
	/* so no temporary file is left */
	assert_int_equal(rmdir(folder), 0);
	kr_report_free(report);
	kr_journal_close(journal);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(json),
		cmocka_unit_test(no_dispatch),
		cmocka_unit_test(long_names),
		cmocka_unit_test(medians),
		cmocka_unit_test(many_executions),
		cmocka_unit_test(numbers),
		cmocka_unit_test(utf8),
		cmocka_unit_test_setup(output_files, make_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
