/* SPDX-License-Identifier: MIT */
/* Writes to the launcher's journal what the library would, and ends as its argument says; stands in
 * for a program on HSA. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/journal.h"

/* Names that tables and files have to cope with. */
static void odd_names(struct kr_journal *journal)
{
	static const char *const names[] = {
		"void tensor::gemm<float, 128, 64, (tensor::layout)1>(float const*, float const*, float*, unsigned int)",
		"a, \"quoted\" name; <b>bold</b></script><!--",
		"line\nbreak\ttab \x01 \xff \xc3\xa9",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t kernel = kr_journal_kernel(journal, names[i], NULL);

		kr_journal_dispatch(journal, kernel, 0);
		kr_journal_execution(journal, kernel, 2 + i, 0, 1, 1000, 2000 + i);
	}
}

int main(int argc, char **argv)
{
	const char *path = getenv("KREPLAY_JOURNAL");
	struct kr_journal *journal = path ? kr_journal_open(path) : NULL;
	struct kr_journal_window window = {
		.outcome = 2,
		.passes = 2,
		.regions = 1,
		.snapshot_bytes = 4096,
		.restored_bytes = 100,
		.host_link_bytes = 4096,
		.window_ns = 1000000,
	};

	if (!journal) {
		perror("journal");
		return 9;
	}
	window.kernel = kr_journal_kernel(journal, "vector_add", "vector_add.kd");
	kr_journal_dispatch(journal, window.kernel, 0);
	kr_journal_execution(journal, window.kernel, 1, 0, 2, 1000, 3000);
	kr_journal_execution(journal, window.kernel, 1, 1, 2, 4000, 7000);
	kr_journal_window(journal, &window);
	if (argc > 1 && strcmp(argv[1], "names") == 0)
		odd_names(journal);
	puts("the program's own output");
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "killed") == 0)
		raise(SIGKILL);
	return argc > 1 && argv[1][0] != 'n' ? atoi(argv[1]) : 0;
}
