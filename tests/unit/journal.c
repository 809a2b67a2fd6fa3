/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/journal.h"
#include "report/layout.h"
#include "report/report.h"

#define THREADS 8
#define EACH 20000

static const char *path_of(const struct kr_journal *journal)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), kr_journal_fd(journal));
	return path;
}

static struct kr_report_kernel *find(struct kr_report *report, const char *name)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		if (strcmp(report->kernels[i].name, name) == 0)
			return &report->kernels[i];
	}
	return NULL;
}

static void kernels_are_idempotent(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint32_t a = kr_journal_kernel(journal, "a", "a.kd");

	assert_non_null(journal);
	assert_int_not_equal(a, KR_JOURNAL_OTHER);
	assert_int_equal(kr_journal_kernel(journal, "a", "a.kd"), a);
	assert_int_not_equal(kr_journal_kernel(journal, "a", "b.kd"), a);
	assert_int_not_equal(kr_journal_kernel(journal, "a", NULL), a);
	assert_int_equal(kr_journal_kernel(journal, "a", NULL),
			 kr_journal_kernel(journal, "a", "a"));
	/* where one name ends and the next begins matters */
	assert_int_not_equal(kr_journal_kernel(journal, "ab", "c"),
			     kr_journal_kernel(journal, "a", "bc"));
	kr_journal_close(journal);
}

struct work {
	struct kr_journal *journal;
	pthread_barrier_t *start;
	unsigned number;
};

static void *append(void *argument)
{
	struct work *work = argument;

	pthread_barrier_wait(work->start);
	for (uint64_t i = 0; i < EACH; i++) {
		/* every thread asks for every row, so that most are claimed in a race */
		char name[32];
		uint32_t row;

		snprintf(name, sizeof(name), "kernel %u", (unsigned)(i % 16));
		row = kr_journal_kernel(work->journal, name, NULL);
		/* half of them with a lane of their own */
		kr_journal_dispatch(work->journal, row, work->number % 2 ? work->number / 2 + 1 : 0);
		kr_journal_execution(work->journal, row, i, 0, 2, 1000, 1000 + i);
		if (i % 10 == 0) {
			struct kr_journal_window window = {
				.kernel = row,
				.outcome = 2,
				.passes = 2,
				.snapshot_bytes = 3,
				.window_ns = 5,
			};

			kr_journal_window(work->journal, &window);
		}
	}
	return NULL;
}

static void append_from_threads(struct kr_journal *journal)
{
	struct work work[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		work[i] = (struct work){ .journal = journal, .start = &start, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, append, &work[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
}

static void check_sums(struct kr_journal *journal, uint64_t writers)
{
	struct kr_report *report = kr_report_build(journal);
	uint64_t executions = 0;

	assert_non_null(report);
	assert_int_equal(report->kernel_count, 16);
	assert_int_equal(report->dispatches, writers * EACH);
	assert_int_equal(report->replayed, writers * EACH / 10);
	assert_int_equal(report->snapshot_bytes, 3 * writers * EACH / 10);
	assert_int_equal(report->window_ns, 5 * writers * EACH / 10);
	assert_int_equal(report->dropped, 0);
	assert_int_equal(report->torn, 0);
	for (size_t i = 0; i < report->kernel_count; i++) {
		executions += report->kernels[i].executions;
		assert_int_equal(report->kernels[i].dispatches, writers * EACH / 16);
	}
	assert_int_equal(executions, writers * EACH);
	assert_int_equal(find(report, "kernel 3")->min_ns, 3);
	assert_int_equal(find(report, "kernel 3")->max_ns, EACH - 13);
	kr_report_free(report);
}

static void threads_append(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);

	append_from_threads(journal);
	check_sums(journal, THREADS);
	kr_journal_close(journal);
}

/* Processes that opened the launcher's journal by its path have rows of their own, which the report
 * makes one. */
static void processes_append(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(0, 0);
	const char *path = path_of(journal);
	pid_t children[3];

	assert_true(kr_journal_fd(journal) > STDERR_FILENO);
	for (size_t i = 0; i < 3; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct kr_journal *mine = kr_journal_open(path);

			if (!mine)
				_exit(1);
			append_from_threads(mine);
			kr_journal_close(mine);
			kr_journal_close(journal);
			_exit(0);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	check_sums(journal, UINT64_C(3) * THREADS);
	kr_journal_close(journal);
}

/* Killed at any moment, a writer leaves a journal that adds up. */
static void killed_writer(void **state)
{
	for (int round = 0; round < 10; round++) {
		struct kr_journal *journal = kr_journal_create_shared(1 << 22, 1 << 20);
		struct kr_report *report;
		pid_t child = fork();

		if (child == 0) {
			struct work work = { .journal = journal };

			for (;;) {
				uint32_t row = kr_journal_kernel(work.journal, "k", NULL);

				kr_journal_execution(work.journal, row, 0, 0, 1, 7, 17);
			}
		}
		usleep(1000 * (useconds_t)(round + 1));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		report = kr_report_build(journal);
		assert_non_null(report);
		assert_true(report->torn <= 1);
		if (report->kernel_count) {
			assert_int_equal(report->kernels[0].min_ns, 10);
			assert_int_equal(report->kernels[0].max_ns, 10);
		}
		kr_report_free(report);
		kr_journal_close(journal);
	}
}

static void torn_records(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint32_t row = kr_journal_kernel(journal, "k", NULL);
	struct kr_journal_window window = {
		.kernel = row, .outcome = 2, .passes = 1, .snapshot_bytes = 9
	};
	struct kr_report *report;

	kr_journal_execution(journal, row, 1, 0, 2, 1, 11);
	/* a process reserved a place, perhaps wrote to it, and died before the commit */
	journal->executions[atomic_fetch_add(&journal->header->executions_used, 1)].ns = 999;
	kr_journal_execution(journal, row, 1, 1, 2, 1, 21);
	journal->windows[atomic_fetch_add(&journal->header->windows_used, 1)].snapshot_bytes = 999;
	kr_journal_window(journal, &window);
	/* a row that was claimed and never filled, by a process that is gone */
	journal->rows[77].claim = KR_JOURNAL_CLAIM(1, false);
	report = kr_report_build(journal);
	assert_int_equal(report->torn, 2);
	assert_int_equal(report->kernel_count, 1);
	assert_int_equal(report->kernels[0].executions, 2);
	assert_int_equal(report->kernels[0].max_ns, 20);
	assert_int_equal(report->snapshot_bytes, 9);
	/* a window that never ended still shows the passes that ran */
	assert_int_equal(report->kernels[0].passes, 2);
	kr_report_free(report);
	kr_journal_close(journal);
}

/* Whatever a wild store leaves in the mapping, the reader stays within it. */
static void garbage(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(1 << 12, 1 << 10);
	unsigned seed = 1;

	for (int round = 0; round < 4; round++) {
		struct kr_report *report;
		unsigned char *bytes = (unsigned char *)journal->rows;
		size_t count = journal->bytes - sizeof(*journal->header);

		for (int i = 0; i < 20000; i++)
			bytes[(size_t)rand_r(&seed) % count] = (unsigned char)rand_r(&seed);
		journal->header->executions_used = (uint64_t)rand_r(&seed);
		journal->header->windows_used = (uint64_t)rand_r(&seed);
		for (size_t i = 0; i < journal->window_room; i += 3)
			journal->windows[i].commit = (uint64_t)(rand_r(&seed) % 5) << 32 |
						     (uint64_t)(rand_r(&seed) % 70000);
		report = kr_report_build(journal);
		assert_non_null(report);
		free(kr_report_format(report, 0));
		free(kr_report_json(report, NULL));
		kr_report_free(report);
	}
	kr_journal_close(journal);
}

static void full_journal_counts_what_it_drops(void **state)
{
	struct kr_journal *journal = kr_journal_create_shared(4, 2);
	uint32_t row = kr_journal_kernel(journal, "k", NULL);
	struct kr_journal_window window = { .kernel = row, .outcome = 2 };
	struct kr_report *report;

	for (uint64_t i = 0; i < 10; i++) {
		kr_journal_dispatch(journal, row, 0);
		kr_journal_execution(journal, row, i, 0, 1, 1, 2);
		kr_journal_window(journal, &window);
	}
	report = kr_report_build(journal);
	assert_int_equal(report->dropped, 6 + 8);
	assert_int_equal(report->dispatches, 10);
	assert_int_equal(report->kernels[0].executions, 4);
	assert_int_equal(report->replayed, 2);
	kr_report_free(report);
	kr_journal_close(journal);
}

/* More kernels than rows: everything is still counted. */
static void too_many_kernels(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	uint64_t others = 0, made = 70000;
	struct kr_report *report;

	for (uint64_t i = 0; i < made; i++) {
		char name[32];
		uint32_t row;

		snprintf(name, sizeof(name), "k%llu", (unsigned long long)i);
		row = kr_journal_kernel(journal, name, NULL);
		kr_journal_dispatch(journal, row, 0);
		others += row == KR_JOURNAL_OTHER;
	}
	assert_true(others >= made - KR_JOURNAL_KERNELS);
	kr_journal_dispatch(journal, UINT32_MAX, 0);
	kr_journal_dispatch(journal, KR_JOURNAL_OTHER, 1);
	report = kr_report_build(journal);
	assert_int_equal(report->dispatches, made + 2);
	assert_int_equal(find(report, "(kernels for which the journal had no room)")->dispatches,
			 others + 2);
	kr_report_free(report);
	kr_journal_close(journal);
}

static void long_and_many_names(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	size_t length = 100000;
	char *name = malloc(length + 1);
	struct kr_report *report;
	bool full = false;

	memset(name, 'n', length);
	name[length] = '\0';
	kr_journal_dispatch(journal, kr_journal_kernel(journal, name, NULL), 0);
	report = kr_report_build(journal);
	assert_int_equal(strlen(report->kernels[0].name), KR_JOURNAL_LONGEST_NAME);
	kr_report_free(report);
	/* until there is no room for names */
	for (unsigned i = 0; i < 1000 && !full; i++) {
		snprintf(name, 16, "%u", i);
		name[strlen(name)] = 'n';
		full = kr_journal_kernel(journal, name, NULL) == KR_JOURNAL_OTHER;
	}
	assert_true(full);
	report = kr_report_build(journal);
	assert_non_null(report);
	kr_report_free(report);
	free(name);
	kr_journal_close(journal);
}

static void what_is_no_journal(void **state)
{
	char folder[] = "/tmp/kreplay-journal-XXXXXX", path[64];

	assert_null(kr_journal_open("/nowhere/at/all"));
	assert_int_equal(errno, ENOENT);
	assert_null(kr_journal_open("/dev/null"));
	assert_int_equal(errno, EINVAL);
	assert_null(kr_journal_open("/proc/self/exe"));
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(kr_journal_open(path)); /* and at once */
	unlink(path);
	rmdir(folder);
}

static void fork_is_no_owner(void **state)
{
	struct kr_journal *journal = kr_journal_open(NULL);
	int status;
	pid_t child;

	assert_true(kr_journal_is_owner(journal));
	child = fork();
	if (child == 0) {
		status = kr_journal_is_owner(journal);
		kr_journal_close(journal);
		_exit(status);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	kr_journal_close(journal);
}

/* Under a limit on file sizes or on address space there is a smaller journal, and no SIGXFSZ. */
static void limits(void **state)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct rlimit file = { UINT64_C(100) << 20, UINT64_C(100) << 20 };
		struct rlimit memory = { UINT64_C(400) << 20, UINT64_C(400) << 20 };
		struct kr_journal *journal;

		setrlimit(RLIMIT_FSIZE, &file);
		journal = kr_journal_create_shared(0, 0);
		if (!journal || journal->bytes > file.rlim_cur)
			_exit(1);
		kr_journal_close(journal);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
		_exit(0); /* its shadow memory is terabytes of address space */
#endif
		setrlimit(RLIMIT_AS, &memory);
		journal = kr_journal_open(NULL);
		if (!journal || journal->bytes >= memory.rlim_cur)
			_exit(2);
		kr_journal_close(journal);
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			limits), /* first: the threads of others leave much address space in use */
		cmocka_unit_test(kernels_are_idempotent),
		cmocka_unit_test(threads_append),
		cmocka_unit_test(processes_append),
		cmocka_unit_test(killed_writer),
		cmocka_unit_test(torn_records),
		cmocka_unit_test(garbage),
		cmocka_unit_test(full_journal_counts_what_it_drops),
		cmocka_unit_test(too_many_kernels),
		cmocka_unit_test(long_and_many_names),
		cmocka_unit_test(what_is_no_journal),
		cmocka_unit_test(fork_is_no_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
