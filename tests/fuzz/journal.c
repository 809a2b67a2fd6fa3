/* SPDX-License-Identifier: MIT */
/* A journal that a wild store hit: records of ours, then any bytes anywhere, and it is read as it is. */
#include "fuzz.h"

#include <stdbool.h>

#include "report/layout.h"
#include "report/report.h"

#define ROOM 64
#define MOST_STORES 256

static struct kr_journal *journal;

/* What was there before a store, to have the same journal for the next input. */
static struct {
	uint8_t *at;
	uint8_t was[64];
	size_t count;
} stores[MOST_STORES];
static size_t stored;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct kr_journal_window window = { .outcome = 2, .dispatch_id = 1, .passes = 3, .agent_name = "gfx90a" };
	struct kr_journal_note note = { .dispatch_id = 1, .topic = "topic", .text = "text", .data = "{}" };
	struct kr_journal_note process = { .severity = KR_JOURNAL_PROCESS, .topic = "", .text = "program", .pass = 3 };

	journal = kr_journal_create_shared(ROOM, ROOM);
	FUZZ_CHECK(journal != NULL);
	window.kernel = note.kernel = kr_journal_kernel(journal, "saxpy(float*)", "_Z5saxpyPf");
	kr_journal_dispatch(journal, window.kernel, 0);
	for (uint64_t pass = 0; pass < 3; pass++)
		kr_journal_execution(journal, window.kernel, 1, pass, 3, 100 * pass, 100 * pass + 50);
	kr_journal_execution(journal, kr_journal_kernel(journal, "other", NULL), 2, 0, 1, 7, 9);
	kr_journal_window(journal, &window);
	FUZZ_CHECK(kr_journal_note(journal, &note) && kr_journal_note(journal, &process));
	return 0;
}

/* Offsets are small, so that stores hit what is read. */
static uint8_t *place(struct bytes *b)
{
	uint8_t part = fuzz_byte(b) % 8;
	uint64_t at = fuzz_number(b, 2);

	switch (part) {
	case 0:
		return (uint8_t *)journal->header + at % sizeof(*journal->header);
	case 1: /* the rows in use are anywhere */
		for (uint32_t i = 0; i < KR_JOURNAL_KERNELS; i++)
			if (journal->rows[i].claim != 0 && at % 2 == 0)
				return (uint8_t *)&journal->rows[i] + (at >> 1) % sizeof(*journal->rows);
		return (uint8_t *)&journal->rows[KR_JOURNAL_KERNELS - 1] + (at >> 1) % sizeof(*journal->rows);
	case 2:
		return (uint8_t *)&journal->rows[at % 4];
	case 3:
		return (uint8_t *)journal->names + at;
	case 4:
		return (uint8_t *)journal->windows + at % (ROOM * sizeof(*journal->windows));
	case 5:
	case 6:
		return (uint8_t *)journal->notes + at % journal->note_room;
	default:
		return (uint8_t *)journal->executions + at % (ROOM * sizeof(*journal->executions));
	}
}

static void store(struct bytes *b)
{
	uint8_t *at = place(b), *end = (uint8_t *)journal->header + journal->bytes;
	size_t count = fuzz_byte(b) % 33;

	if (count > (size_t)(end - at))
		count = (size_t)(end - at);
	stores[stored].at = at;
	stores[stored].count = count;
	memcpy(stores[stored++].was, at, count);
	for (size_t i = 0; i < count; i++)
		at[i] = fuzz_byte(b);
}

static void read_all(void)
{
	struct kr_journal_progress progress = { 0 };
	struct kr_journal_note note = { .topic = "again", .text = "more" };
	struct kr_journal *opened;
	struct kr_report *report = kr_report_build(journal);
	char path[64];

	FUZZ_CHECK(report != NULL);
	free(kr_report_format(report, 100));
	free(kr_report_json(report, NULL));
	kr_report_free(report);
	kr_journal_read_progress(journal, &progress);
	FUZZ_CHECK(memchr(progress.kernel, '\0', sizeof(progress.kernel)));
	/* a process of the program comes to it, and writes on */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", kr_journal_fd(journal));
	opened = kr_journal_open(path);
	if (!opened)
		return;
	kr_journal_note(opened, &note);
	kr_journal_close(opened);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t notes[ROOM * KR_JOURNAL_NOTE_BYTES];
	struct kr_journal_header header = *journal->header;
	struct bytes b = { data, data + size };

	memcpy(notes, journal->notes, journal->note_room);
	for (stored = 0; b.at < b.end && stored < MOST_STORES;)
		store(&b);
	read_all();
	while (stored-- > 0)
		memcpy(stores[stored].at, stores[stored].was, stores[stored].count);
	memcpy(journal->notes, notes, journal->note_room);
	*journal->header = header;
	return 0;
}
