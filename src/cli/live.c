/* SPDX-License-Identifier: MIT */
/* "replaying gemm, pass 3; 120 windows, 4.1 a second; 12.0 GiB copied": from the journal, which the program fills. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "report/grid.h"
#include "report/report.h"

/* Nobody needs to be told about what is over by then; where the program writes on the same terminal and would be in the
 * line's way, nobody for longer. */
#define SILENT_NS 1000000000u
#define SILENT_BESIDE_NS 10000000000u
#define RATE_NS 1000000000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the program's output appears where the line would. */
static bool is_programs_terminal(void)
{
	struct stat out, error;

	return isatty(STDOUT_FILENO) && fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
	       out.st_rdev == error.st_rdev;
}

void kr_cli_live_init(struct kr_cli_live *live, const struct kr_journal *journal)
{
	struct kr_report_look look = kr_report_look_of(STDERR_FILENO);
	const char *term = getenv("TERM");

	*live = (struct kr_cli_live){ .journal = journal, .started_ns = now_ns() };
	live->seen_ns = live->started_ns;
	live->silent_ns = is_programs_terminal() ? SILENT_BESIDE_NS : SILENT_NS;
	/* one that cannot clear a line gets none */
	if (term && strcmp(term, "dumb") != 0)
		live->width = look.width;
}

static void update_rate(struct kr_cli_live *live, uint64_t windows)
{
	uint64_t now = now_ns();

	if (now - live->seen_ns < RATE_NS)
		return;
	live->rate = (double)(windows - live->windows) * 1e9 / (double)(now - live->seen_ns);
	live->windows = windows;
	live->seen_ns = now;
}

void kr_cli_live_tick(struct kr_cli_live *live)
{
	struct kr_journal_progress progress = { 0 };
	char bytes[KR_TEXT_NUMBER], rate[KR_TEXT_NUMBER];
	struct kr_text tail = { 0 }, line = { 0 };

	if (live->width < 40 || now_ns() - live->started_ns < live->silent_ns)
		return;
	progress.next = live->next;
	progress.bytes = live->bytes;
	kr_journal_read_progress(live->journal, &progress);
	live->next = progress.next;
	live->bytes = progress.bytes;
	if (progress.executions == 0)
		return;
	update_rate(live, progress.windows);
	kr_text_addf(&tail, ", pass %llu; %llu window%s, %s a second; %s copied",
		     (unsigned long long)progress.pass, (unsigned long long)progress.windows,
		     progress.windows == 1 ? "" : "s",
		     kr_format_fixed(rate, live->rate, 1), kr_format_bytes(bytes, progress.bytes));
	kr_text_add(&line, "\r\033[K");
	if (tail.length + 10 < live->width)
		kr_text_add_shortened(&line, progress.kernel, live->width - 1 - tail.length);
	kr_text_add(&line, tail.data ? tail.data : "");
	if (!line.failed && !tail.failed)
		live->shown = kr_write_all(STDERR_FILENO, line.data, line.length);
	kr_text_finish(&tail);
	kr_text_finish(&line);
}

void kr_cli_live_clear(struct kr_cli_live *live)
{
	static const char clear[] = "\r\033[K";

	if (live->shown)
		(void)kr_write_all(STDERR_FILENO, clear, sizeof(clear) - 1);
	live->shown = false;
}
