/* SPDX-License-Identifier: MIT */
/* Notes in the journal, JSON that tools hand in, names of files, reports put together. */
#include <errno.h>
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

#include "report/journal.h"
#include "report/json_check.h"
#include "report/layout.h"
#include "report/names.h"
#include "report/report.h"

static void json_objects(void **state)
{
	static const char *const good[] = {
		"{}", " { } \n", "{\"a\": 1}", "{\"a\":[1,-2.5e+10,0.5E-3,true,false,null,{\"b\":\"\\u00e9\\n\\\"\"}]}",
		"{\"\xc3\xa9\": \"\xf0\x9f\x98\x80\"}", "{\"a\": [], \"b\": {}}", "{\"a\": -0}",
	};
	static const char *const bad[] = {
		"", "[]", "1", "{", "}", "{]", "{\"a\"}", "{\"a\":}", "{\"a\": 1,}", "{a: 1}", "{\"a\": 01}", "{\"a\": 1.}",
		"{\"a\": .5}", "{\"a\": +1}", "{\"a\": 1e}", "{\"a\": nul}", "{\"a\": \"\n\"}", "{\"a\": \"\\x\"}",
		"{\"a\": \"\\u12\"}", "{\"a\": \"\xff\"}", "{\"a\": \"\xc3\"}", "{\"a\": 1} x", "{\"a\": 1}{}", "{\"a\": \"",
		"{\"a\": \"\\", "{\"a\": [1 2]}", "{\"a\" 1}", "{\"a\": NaN}", "{\"a\": [}", "{\"a\": -}",
	};
	char deep[512] = "{\"a\": ";

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(kr_json_is_object(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(kr_json_is_object(bad[i]));
	memset(deep + strlen(deep), '[', 200);
	memset(deep + strlen(deep), ']', 200);
	strcat(deep, "}");
	assert_false(kr_json_is_object(deep));
}

static struct kr_journal_note note_of(uint32_t kernel, const char *text, const char *data)
{
	return (struct kr_journal_note){ .kernel = kernel, .dispatch_id = 7, .pass = 2, .topic = "topic",
					 .text = text, .data = data };
}

static void notes(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(4096, 4096);
	uint32_t kernel = kr_journal_kernel(journal, "k", NULL);
	struct kr_journal_note note = note_of(kernel, "text", "{\"a\": 1}");
	struct kr_report *report;

	kr_journal_dispatch(journal, kernel, 0);
	assert_true(kr_journal_note(journal, &note));
	note = note_of(kernel, NULL, NULL);
	note.start_ns = 5;
	note.end_ns = 9;
	assert_true(kr_journal_note(journal, &note));
	/* a note of a kernel that never ran, and one of none */
	note = note_of(kr_journal_kernel(journal, "idle", NULL), "", "{}");
	note.severity = 1;
	assert_true(kr_journal_note(journal, &note));
	note = note_of(KR_JOURNAL_OTHER, "of none", NULL);
	assert_true(kr_journal_note(journal, &note));
	/* who is speaking */
	note = (struct kr_journal_note){ .severity = KR_JOURNAL_PROCESS, .pass = 3, .topic = "process", .text = "prog" };
	assert_true(kr_journal_note(journal, &note));

	report = kr_report_build(journal);
	assert_int_equal(report->note_count, 4);
	assert_string_equal(report->notes[0].topic, "topic");
	assert_string_equal(report->notes[0].text, "text");
	assert_string_equal(report->notes[0].data, "{\"a\": 1}");
	assert_int_equal(report->notes[0].kernel, 0);
	assert_int_equal(report->notes[0].dispatch_id, 7);
	assert_int_equal(report->notes[0].pass, 2);
	assert_null(report->notes[1].text);
	assert_null(report->notes[1].data);
	assert_int_equal(report->notes[1].end_ns, 9);
	assert_string_equal(report->notes[2].text, "");
	assert_int_equal(report->notes[2].kernel, KR_REPORT_NONE);
	assert_int_equal(report->notes[3].kernel, KR_REPORT_NONE);
	assert_int_equal(report->findings, 1);
	assert_int_equal(report->process_count, 1);
	assert_string_equal(report->processes[0].program, "prog");
	assert_int_equal(report->processes[0].rank, 3);
	kr_report_free(report);
	kr_journal_close(journal);
}

/* A record that a killed process left at any of its three stages is passed over, and what follows it is read. */
static void torn_notes(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(4096, 4096);
	struct kr_journal_note note = note_of(KR_JOURNAL_OTHER, "text that takes more than one unit of the area's, surely", NULL);
	struct kr_journal_note_record *second;
	struct kr_report *report;

	for (int i = 0; i < 3; i++)
		assert_true(kr_journal_note(journal, &note));
	second = (void *)(journal->notes + (journal->header->notes_used / 3));
	assert_int_equal(second->claim >> 32, KR_JOURNAL_NOTE_MAGIC);
	second->commit = 0;
	report = kr_report_build(journal);
	assert_int_equal(report->note_count, 2);
	assert_int_equal(report->torn, 1);
	kr_report_free(report);
	second->claim = 0;
	memset(second, 0, journal->header->notes_used / 3);
	report = kr_report_build(journal);
	assert_int_equal(report->note_count, 2);
	kr_report_free(report);
	/* sizes that lead out of the record */
	second->claim = KR_JOURNAL_NOTE_MAGIC << 32 | 64;
	second->commit = 1;
	second->text_bytes = UINT32_MAX;
	report = kr_report_build(journal);
	assert_int_equal(report->note_count, 2);
	assert_int_equal(report->torn, 1);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void full_of_notes(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(1024, 1024);
	struct kr_journal_note note = note_of(KR_JOURNAL_OTHER, "text", NULL);
	char *long_text = malloc(KR_JOURNAL_LONGEST_NOTE + 2);
	struct kr_report *report;
	uint64_t written = 0;

	while (kr_journal_note(journal, &note))
		written++;
	assert_int_equal(written, 1024 * KR_JOURNAL_NOTE_BYTES / 128);
	memset(long_text, 'x', KR_JOURNAL_LONGEST_NOTE + 1);
	long_text[KR_JOURNAL_LONGEST_NOTE + 1] = '\0';
	note.text = long_text;
	assert_false(kr_journal_note(journal, &note));
	report = kr_report_build(journal);
	assert_int_equal(report->note_count, written);
	assert_int_equal(report->dropped_notes, 2);
	kr_report_free(report);
	free(long_text);
	kr_journal_close(journal);
}

static void interrupts(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(1024, 1024);

	assert_false(kr_journal_interrupted(journal));
	/* the launcher does not take the word from the program */
	assert_int_equal(kr_journal_interrupt(journal, true), 0);
	assert_true(kr_journal_interrupted(journal));
	assert_int_equal(kr_journal_interrupt(journal, false), 0);
	assert_int_equal(kr_journal_interrupt(journal, false), 1);
	kr_journal_close(journal);
}

static void kinds_and_names(void **state)
{
	char host[256] = "", expected[600], *name;

	assert_int_equal(kr_report_kind_of("a.json"), KR_REPORT_JSON);
	assert_int_equal(kr_report_kind_of("a"), KR_REPORT_JSON);
	assert_int_equal(kr_report_kind_of("b.c/a"), KR_REPORT_JSON);
	assert_int_equal(kr_report_kind_of("b.c/.a"), KR_REPORT_JSON);
	assert_int_equal(kr_report_kind_of("a.txt"), KR_REPORT_UNKNOWN);
	assert_int_equal(kr_report_kind_of("a.json.gz"), KR_REPORT_UNKNOWN);
	assert_int_equal(kr_report_kind_of("a.csv"), KR_REPORT_CSV);
	assert_int_equal(kr_report_kind_of("a.csv.html"), KR_REPORT_HTML);
	assert_int_equal(kr_report_kind_of("a.perfetto.json"), KR_REPORT_PERFETTO);
	gethostname(host, sizeof(host) - 1);
	for (const char *const *variable = (const char *const[]){ "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
								  "SLURM_PROCID", "RANK", NULL }; *variable; variable++)
		unsetenv(*variable);
	assert_int_equal(kr_report_rank(), -1);
	setenv("RANK", "12", 1);
	assert_int_equal(kr_report_rank(), 12);
	setenv("SLURM_PROCID", "3", 1);
	assert_int_equal(kr_report_rank(), 3);
	setenv("OMPI_COMM_WORLD_RANK", "x1", 1);
	assert_int_equal(kr_report_rank(), 3);
	snprintf(expected, sizeof(expected), "/d/prog-%d-%s-3-%%.json", (int)getpid(), host);
	name = kr_report_expand("/d/%n-%p-%h-%r-%%.json", "/usr/bin/prog");
	assert_string_equal(name, expected);
	free(name);
}

static void folders(void **state)
{
	char base[] = "/tmp/kreplay-folders-XXXXXX", path[256];
	struct stat status;

	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/a/b/c.json", base);
	assert_true(kr_report_make_folders(path));
	assert_true(kr_report_make_folders(path));
	assert_int_not_equal(stat(path, &status), 0);
	snprintf(path, sizeof(path), "%s/a/b", base);
	assert_int_equal(stat(path, &status), 0);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/a", base);
	rmdir(path);
	rmdir(base);
	assert_false(kr_report_make_folders("/proc/none/a.json"));
}

/* Two reports of which each has a kernel that the other has not. */
static void merged(void **state)
{
	struct kr_report *reports[2];

	for (unsigned i = 0; i < 2; i++) {
		struct kr_journal *journal = kr_journal_create_shared(1024, 1024);
		uint32_t both = kr_journal_kernel(journal, "both", NULL);
		uint32_t own = kr_journal_kernel(journal, i ? "second" : "first", NULL);
		struct kr_journal_note note = note_of(own, "text", "{}");

		kr_journal_dispatch(journal, both, 0);
		kr_journal_dispatch(journal, own, 0);
		for (unsigned j = 0; j < 5; j++)
			kr_journal_execution(journal, both, 1, j, 5, 1000, 2000 + 100 * j + 1000 * i);
		kr_journal_execution(journal, own, 2, 0, 1, 1, 2);
		kr_journal_note(journal, &note);
		reports[i] = kr_report_build(journal);
		assert_true(kr_report_name_processes(reports[i], "host", "prog", (int32_t)i));
		kr_journal_close(journal);
	}
	assert_true(kr_report_merge(reports[0], reports[1]));
	kr_report_free(reports[1]);
	assert_int_equal(reports[0]->kernel_count, 3);
	assert_string_equal(reports[0]->kernels[0].name, "both");
	assert_int_equal(reports[0]->kernels[0].dispatches, 2);
	assert_int_equal(reports[0]->kernels[0].executions, 10);
	assert_int_equal(reports[0]->kernels[0].min_ns, 1000);
	assert_int_equal(reports[0]->kernels[0].max_ns, 2400);
	assert_int_equal(reports[0]->kernels[0].median2_ns, 1400 + 2000);
	assert_int_equal(reports[0]->kernels[0].passes, 10);
	assert_int_equal(reports[0]->process_count, 2);
	assert_int_equal(reports[0]->processes[1].rank, 1);
	assert_int_equal(reports[0]->note_count, 2);
	assert_string_equal(reports[0]->kernels[reports[0]->notes[1].kernel].name, "second");
	assert_int_equal(reports[0]->notes[1].process, 1);
	kr_report_free(reports[0]);
}

static void outliers(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(1024, 1024);
	uint32_t kernel = kr_journal_kernel(journal, "k", NULL);
	struct kr_report *report;

	for (uint64_t i = 0; i < 7; i++)
		kr_journal_execution(journal, kernel, 1, i, 0, 1000, 1100 + i);
	report = kr_report_build(journal);
	assert_true(report->kernels[0].high_fence_ns == 0);
	kr_report_free(report);
	kr_journal_execution(journal, kernel, 1, 7, 0, 1000, 9000);
	report = kr_report_build(journal);
	assert_int_equal(report->kernels[0].outliers, 1);
	assert_true(report->kernels[0].q1_ns == 101.75);
	assert_true(report->kernels[0].q3_ns == 105.25);
	assert_true(report->kernels[0].high_fence_ns == 105.25 + 1.5 * 3.5);
	assert_true(report->kernels[0].first_ns == 100);
	assert_true(report->kernels[0].later_ns == 104);
	kr_report_free(report);
	kr_journal_close(journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_objects),	 cmocka_unit_test(notes),	cmocka_unit_test(torn_notes),
		cmocka_unit_test(full_of_notes), cmocka_unit_test(interrupts),	cmocka_unit_test(kinds_and_names),
		cmocka_unit_test(folders),	 cmocka_unit_test(merged),	cmocka_unit_test(outliers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
