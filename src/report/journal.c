/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

/* Below this there is no point in trying on. */
#define SMALLEST_ROOM 1024
#define LONGEST_PROBE 1024
#define LONGEST_WAIT 100000

static uint64_t journal_bytes(uint64_t executions, uint64_t windows)
{
	return sizeof(struct kr_journal_header) +
	       KR_JOURNAL_KERNELS * sizeof(struct kr_journal_row) + KR_JOURNAL_NAMES +
	       windows * (sizeof(struct kr_journal_window_record) + KR_JOURNAL_NOTE_BYTES) +
	       executions * sizeof(struct kr_journal_execution_record);
}

/* The view of a mapping. Everything up to the executions is a multiple of 64 bytes, so every part is aligned as its type
 * asks. */
static struct kr_journal *make_view(void *base, uint64_t executions, uint64_t windows, int fd)
{
	struct kr_journal *journal = calloc(1, sizeof(*journal));
	char *at = base;

	if (!journal)
		return NULL;
	journal->header = base;
	at += sizeof(*journal->header);
	journal->rows = (void *)at;
	at += KR_JOURNAL_KERNELS * sizeof(*journal->rows);
	journal->names = at;
	at += KR_JOURNAL_NAMES;
	journal->windows = (void *)at;
	at += windows * sizeof(*journal->windows);
	journal->notes = at;
	journal->note_room = windows * KR_JOURNAL_NOTE_BYTES;
	at += journal->note_room;
	journal->executions = (void *)at;
	journal->execution_room = executions;
	journal->window_room = windows;
	journal->bytes = journal_bytes(executions, windows);
	journal->fd = fd;
	journal->owner = getpid();
	/* a core file should show the program, not our gigabyte; and whether that worked does not
	 * matter */
	(void)madvise(base, journal->bytes, MADV_DONTDUMP);
	return journal;
}

static void fill_header(struct kr_journal *journal)
{
	journal->header->version = KR_JOURNAL_VERSION;
	journal->header->execution_room = journal->execution_room;
	journal->header->window_room = journal->window_room;
	journal->header->bytes = journal->bytes;
	journal->header->magic = KR_JOURNAL_MAGIC;
}

static void *map_fd(int fd, uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* Nobody may cut the file afterwards: a store past its end would be a SIGBUS in the program. */
static void *map_shared(int fd, uint64_t bytes)
{
	struct rlimit limit;

	/* growing a file past the limit raises SIGXFSZ, so ask first */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    bytes > limit.rlim_cur) {
		errno = EFBIG;
		return MAP_FAILED;
	}
	if (ftruncate(fd, (off_t)bytes) != 0)
		return MAP_FAILED;
	return map_fd(fd, bytes);
}

static void *map_private(uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Takes the largest journal that this process may map. fd -1: private memory. */
static struct kr_journal *create(int fd, uint64_t executions, uint64_t windows)
{
	struct kr_journal *journal;
	void *base;

	for (;;) {
		uint64_t bytes = journal_bytes(executions, windows);

		base = fd >= 0 ? map_shared(fd, bytes) : map_private(bytes);
		if (base != MAP_FAILED)
			break;
		if (executions <= SMALLEST_ROOM || windows <= SMALLEST_ROOM)
			return NULL;
		executions /= 2;
		windows /= 2;
	}
	journal = make_view(base, executions, windows, fd);
	if (!journal) {
		munmap(base, journal_bytes(executions, windows));
		return NULL;
	}
	fill_header(journal);
	return journal;
}

struct kr_journal *kr_journal_create_shared(uint64_t executions, uint64_t windows)
{
	struct kr_journal *journal;
	int low, fd;

	low = memfd_create("kreplay-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (low < 0)
		return NULL;
	/* not among the three standard ones, should the caller have closed some of those */
	fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	close(low);
	if (fd < 0)
		return NULL;
	journal = create(fd, executions ? executions : KR_JOURNAL_EXECUTIONS,
			 windows ? windows : KR_JOURNAL_WINDOWS);
	if (!journal || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		int saved = errno;

		if (journal)
			kr_journal_close(journal);
		else
			close(fd);
		errno = saved;
		return NULL;
	}
	return journal;
}

/*
 * The launcher's pid may be another process's by now and the path lead anywhere: nothing is
 * believed before it is checked. O_NONBLOCK, since opening a FIFO would wait.
 */
static struct kr_journal *open_shared(const char *path)
{
	struct kr_journal_header header;
	struct kr_journal *journal = NULL;
	struct stat status;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = EINVAL;
	void *base;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    header.magic != KR_JOURNAL_MAGIC || header.version != KR_JOURNAL_VERSION ||
	    header.bytes != (uint64_t)status.st_size || header.execution_room > UINT32_MAX ||
	    header.window_room > UINT32_MAX ||
	    header.bytes != journal_bytes(header.execution_room, header.window_room))
		goto out;
	base = map_fd(fd, header.bytes);
	if (base == MAP_FAILED) {
		error = errno;
		goto out;
	}
	journal = make_view(base, header.execution_room, header.window_room, -1);
	if (!journal) {
		error = ENOMEM;
		munmap(base, header.bytes);
	}
out:
	close(fd);
	if (!journal)
		errno = error;
	return journal;
}

struct kr_journal *kr_journal_open(const char *path)
{
	return path ? open_shared(path) : create(-1, KR_JOURNAL_EXECUTIONS, KR_JOURNAL_WINDOWS);
}

int kr_journal_fd(const struct kr_journal *journal)
{
	return journal->fd;
}

void kr_journal_close(struct kr_journal *journal)
{
	if (!journal)
		return;
	munmap(journal->header, journal->bytes);
	if (journal->fd >= 0)
		close(journal->fd);
	free(journal);
}

bool kr_journal_is_owner(const struct kr_journal *journal)
{
	return journal->owner == getpid();
}

struct key {
	const char *name, *mangled;
	size_t name_bytes, mangled_bytes;
	uint64_t hash;
};

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	/* a zero byte between the two names */
	return hash * UINT64_C(0x100000001b3);
}

static struct key make_key(const char *name, const char *mangled, pid_t pid)
{
	struct key key = { .name = name, .mangled = mangled ? mangled : name };

	key.name_bytes = strnlen(key.name, KR_JOURNAL_LONGEST_NAME);
	key.mangled_bytes = strnlen(key.mangled, KR_JOURNAL_LONGEST_NAME);
	key.hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)pid;
	key.hash = hash_bytes(key.hash, key.name, key.name_bytes);
	key.hash = hash_bytes(key.hash, key.mangled, key.mangled_bytes);
	return key;
}

static bool row_is(const struct kr_journal *journal, const struct kr_journal_row *row,
		   const struct key *key)
{
	return row->hash == key->hash && row->name_bytes == key->name_bytes &&
	       row->mangled_bytes == key->mangled_bytes &&
	       memcmp(journal->names + row->name_at, key->name, key->name_bytes) == 0 &&
	       memcmp(journal->names + row->mangled_at, key->mangled, key->mangled_bytes) == 0;
}

/* Room among the names, UINT64_MAX when there is none. */
static uint64_t reserve_names(struct kr_journal *journal, uint64_t bytes)
{
	uint64_t at = atomic_load(&journal->header->names_used);

	do {
		if (at > KR_JOURNAL_NAMES || bytes > KR_JOURNAL_NAMES - at)
			return UINT64_MAX;
	} while (!atomic_compare_exchange_weak(&journal->header->names_used, &at, at + bytes));
	return at;
}

/* False: there was no room for the names; the row stays claimed and is never read. */
static bool fill_row(struct kr_journal *journal, struct kr_journal_row *row, const struct key *key)
{
	bool same = key->name_bytes == key->mangled_bytes &&
		    memcmp(key->name, key->mangled, key->name_bytes) == 0;
	uint64_t at = reserve_names(journal, key->name_bytes + (same ? 0 : key->mangled_bytes));

	if (at == UINT64_MAX)
		return false;
	memcpy(journal->names + at, key->name, key->name_bytes);
	row->name_at = at;
	row->name_bytes = (uint32_t)key->name_bytes;
	if (!same) {
		at += key->name_bytes;
		memcpy(journal->names + at, key->mangled, key->mangled_bytes);
	}
	row->mangled_at = at;
	row->mangled_bytes = (uint32_t)key->mangled_bytes;
	row->hash = key->hash;
	return true;
}

/*
 * Another thread of ours is filling the row, and it may be for the same names. The wait is bounded,
 * for the row may have been left so by an earlier process of the same pid that was killed.
 */
static bool wait_ready(struct kr_journal_row *row, pid_t pid)
{
	for (int i = 0; i < LONGEST_WAIT; i++) {
		if (atomic_load_explicit(&row->claim, memory_order_acquire) ==
		    KR_JOURNAL_CLAIM(pid, true))
			return true;
		sched_yield();
	}
	return false;
}

uint32_t kr_journal_kernel(struct kr_journal *journal, const char *name, const char *mangled)
{
	pid_t pid = getpid();
	struct key key = make_key(name, mangled, pid);

	/* one name is room enough for the check; a full store of names would only use up rows */
	if (atomic_load(&journal->header->names_used) + key.name_bytes > KR_JOURNAL_NAMES)
		return KR_JOURNAL_OTHER;
	for (uint32_t probe = 0; probe < LONGEST_PROBE; probe++) {
		uint32_t index = (uint32_t)((key.hash + probe) % KR_JOURNAL_KERNELS);
		struct kr_journal_row *row = &journal->rows[index];
		uint64_t claim = 0;

		if (index == KR_JOURNAL_OTHER)
			continue;
		if (atomic_compare_exchange_strong_explicit(
			    &row->claim, &claim, KR_JOURNAL_CLAIM(pid, false), memory_order_acq_rel,
			    memory_order_acquire)) {
			if (!fill_row(journal, row, &key))
				return KR_JOURNAL_OTHER;
			atomic_store_explicit(&row->claim, KR_JOURNAL_CLAIM(pid, true),
					      memory_order_release);
			return index;
		}
		if (claim == KR_JOURNAL_CLAIM(pid, false) && wait_ready(row, pid))
			claim = KR_JOURNAL_CLAIM(pid, true);
		if (claim == KR_JOURNAL_CLAIM(pid, true) && row_is(journal, row, &key))
			return index;
	}
	return KR_JOURNAL_OTHER;
}

static uint32_t known_row(uint32_t kernel)
{
	return kernel < KR_JOURNAL_KERNELS ? kernel : KR_JOURNAL_OTHER;
}

void kr_journal_dispatch(struct kr_journal *journal, uint32_t kernel, unsigned lane)
{
	uint32_t row = known_row(kernel);
	_Atomic uint64_t *count = &journal->rows[row].dispatches[lane];

	/* the row for what found no other is every process's */
	if (lane == 0 || row == KR_JOURNAL_OTHER)
		atomic_fetch_add_explicit(&journal->rows[row].dispatches[0], 1, memory_order_relaxed);
	else
		atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
				      memory_order_relaxed);
}

void kr_journal_execution(struct kr_journal *journal, uint32_t kernel, uint64_t dispatch_id,
			  uint64_t pass, uint64_t total, uint64_t start_ns, uint64_t end_ns)
{
	struct kr_journal_execution_record *record;
	uint64_t commit = (uint64_t)getpid() << KR_JOURNAL_PID_SHIFT | ((uint64_t)known_row(kernel) + 1);
	uint64_t index = atomic_fetch_add_explicit(&journal->header->executions_used, 1,
						   memory_order_relaxed);

	if (index >= journal->execution_room)
		return;
	record = &journal->executions[index];
	if (total != 1)
		commit |= KR_JOURNAL_IS_PASS;
	if (end_ns < start_ns || end_ns == 0)
		commit |= KR_JOURNAL_NO_LENGTH;
	else
		record->ns = end_ns - start_ns;
	record->start_ns = start_ns;
	record->dispatch_id = dispatch_id;
	record->pass = pass;
	atomic_store_explicit(&record->commit, commit, memory_order_release);
}

void kr_journal_window(struct kr_journal *journal, const struct kr_journal_window *window)
{
	struct kr_journal_window_record *record;
	uint64_t index =
		atomic_fetch_add_explicit(&journal->header->windows_used, 1, memory_order_relaxed);

	if (index >= journal->window_room)
		return;
	record = &journal->windows[index];
	record->dispatch_id = window->dispatch_id;
	record->passes = window->passes;
	record->regions = window->regions;
	record->snapshot_bytes = window->snapshot_bytes;
	record->restored_bytes = window->restored_bytes;
	record->host_link_bytes = window->host_link_bytes;
	record->dirty_bytes = window->dirty_bytes;
	record->peak_host_bytes = window->peak_host_bytes;
	record->peak_device_bytes = window->peak_device_bytes;
	record->window_ns = window->window_ns;
	record->opened_ns = window->opened_ns;
	record->snapshot_ns = window->snapshot_ns;
	record->restore_ns = window->restore_ns;
	record->queue = window->queue;
	record->pid = (uint32_t)getpid();
	record->agent = window->agent;
	record->tier = window->tier;
	record->flags = window->flags;
	memcpy(record->agent_name, window->agent_name, sizeof(record->agent_name));
	memcpy(record->reason, window->reason, sizeof(record->reason));
	atomic_store_explicit(&record->commit,
			      (uint64_t)window->outcome << 32 | (known_row(window->kernel) + 1),
			      memory_order_release);
}

static size_t length_of(const char *text)
{
	return text ? strnlen(text, KR_JOURNAL_LONGEST_NOTE) : 0;
}

/* Room for a note, NULL when there is none. */
static struct kr_journal_note_record *claim_note(struct kr_journal *journal, uint64_t bytes)
{
	struct kr_journal_note_record *record;
	uint64_t at = atomic_load(&journal->header->notes_used);

	do {
		/* no multiple: the program wrote over it */
		if (at % sizeof(*record) || at > journal->note_room || bytes > journal->note_room - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&journal->header->notes_used, &at, at + bytes));
	record = (void *)(journal->notes + at);
	atomic_store_explicit(&record->claim, KR_JOURNAL_NOTE_MAGIC << 32 | bytes, memory_order_release);
	return record;
}

bool kr_journal_note(struct kr_journal *journal, const struct kr_journal_note *note)
{
	size_t topic = length_of(note->topic), text = length_of(note->text), data = length_of(note->data);
	uint64_t bytes = (sizeof(struct kr_journal_note_record) + topic + text + data + 63) & ~UINT64_C(63);
	struct kr_journal_note_record *record = NULL;
	char *at;

	if (topic <= UINT16_MAX && bytes <= KR_JOURNAL_LONGEST_NOTE)
		record = claim_note(journal, bytes);
	if (!record) {
		atomic_fetch_add_explicit(&journal->header->notes_dropped, 1, memory_order_relaxed);
		return false;
	}
	record->dispatch_id = note->dispatch_id;
	record->pass = note->pass;
	record->start_ns = note->start_ns;
	record->end_ns = note->end_ns;
	record->severity = (uint16_t)note->severity;
	record->topic_bytes = (uint16_t)topic;
	record->text_bytes = note->text ? (uint32_t)text + 1 : 0;
	record->data_bytes = note->data ? (uint32_t)data + 1 : 0;
	at = (char *)(record + 1);
	if (topic)
		at = mempcpy(at, note->topic, topic);
	if (text)
		at = mempcpy(at, note->text, text);
	if (data)
		memcpy(at, note->data, data);
	atomic_store_explicit(&record->commit, (uint64_t)getpid() << 32 | (known_row(note->kernel) + 1),
			      memory_order_release);
	return true;
}

unsigned kr_journal_interrupt(struct kr_journal *journal, bool launcher)
{
	return (uint32_t)atomic_fetch_add_explicit(&journal->header->interrupts, launcher ? UINT64_C(1) << 32 : 1,
						   memory_order_relaxed);
}

bool kr_journal_interrupted(const struct kr_journal *journal)
{
	return atomic_load_explicit(&journal->header->interrupts, memory_order_relaxed) != 0;
}

static void read_latest(const struct kr_journal *journal, struct kr_journal_progress *progress)
{
	const struct kr_journal_execution_record *record;
	const struct kr_journal_row *row;
	uint64_t used = progress->executions, commit;
	size_t bytes;

	if (used == 0)
		return;
	record = &journal->executions[(used < journal->execution_room ? used : journal->execution_room) - 1];
	commit = atomic_load_explicit(&record->commit, memory_order_acquire);
	if (!commit || (commit & UINT32_MAX) - 1 >= KR_JOURNAL_KERNELS)
		return;
	row = &journal->rows[(commit & UINT32_MAX) - 1];
	if (row->name_at > KR_JOURNAL_NAMES || row->name_bytes > KR_JOURNAL_NAMES - row->name_at)
		return;
	bytes = row->name_bytes < sizeof(progress->kernel) ? row->name_bytes : sizeof(progress->kernel) - 1;
	memcpy(progress->kernel, journal->names + row->name_at, bytes);
	progress->kernel[bytes] = '\0';
	progress->pass = record->pass;
}

void kr_journal_read_progress(const struct kr_journal *journal, struct kr_journal_progress *progress)
{
	progress->windows = atomic_load_explicit(&journal->header->windows_used, memory_order_relaxed);
	progress->executions = atomic_load_explicit(&journal->header->executions_used, memory_order_relaxed);
	for (; progress->next < progress->windows && progress->next < journal->window_room; progress->next++) {
		const struct kr_journal_window_record *record = &journal->windows[progress->next];

		/* comes to stand any moment now, and is read then */
		if (!atomic_load_explicit(&record->commit, memory_order_acquire))
			break;
		progress->bytes += record->snapshot_bytes + record->restored_bytes;
	}
	read_latest(journal, progress);
}
