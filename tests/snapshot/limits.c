/* SPDX-License-Identifier: MIT */
/*
 * limits [cgroup]: no more address space for this process, or no more memory in a control group of its own. A snapshot that
 * then finds no host memory is declined, nothing of the application's is touched, and when there is memory again the next
 * window is right. Status 77 where control groups cannot be made.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

#define BYTES ((size_t)96 << 20)
#define ROOM (48u << 20) /* what is left of whatever is limited */

static uint64_t
address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * 4096ull;
}

/* ---- a limit of address space ---- */

static struct rlimit before;

static void
limit_address_space(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_AS, &before) == 0);
	limit = before;
	limit.rlim_cur = address_space() + ROOM;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void
free_address_space(void)
{
	CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

/* ---- a limit of a control group, below the one that we are in ---- */

static char parent[PATH_MAX], group[PATH_MAX + 32];
static const char *limit_file, *usage_file, *no_limit;

static bool
write_to(const char *directory, const char *file, const char *text)
{
	char path[2 * PATH_MAX];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	f = fopen(path, "we");
	if (f == NULL)
		return false;
	ok = fputs(text, f) >= 0;
	return fclose(f) == 0 && ok;
}

_Noreturn static void
skip(const char *why)
{
	fprintf(stderr, "skipped: %s: %s\n", why, strerror(errno));
	exit(77);
}

static void
leave_group(void)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (!write_to(parent, "cgroup.procs", pid) || rmdir(group) != 0)
		fprintf(stderr, "%s: %s: it stays behind\n", group, strerror(errno));
}

/* Our group in the memory controller of version 1, else in version 2, by where they usually are. */
static bool
find_parent(const char *key, const char *mount)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
		char *at = strstr(line, key);

		line[strcspn(line, "\n")] = '\0';
		if (at == NULL)
			continue;
		at += strlen(key);
		snprintf(parent, sizeof(parent), "%s%s", mount, strcmp(at, "/") == 0 ? "" : at);
		found = access(parent, W_OK) == 0;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

static void
limit_group(void)
{
	char text[64], path[2 * PATH_MAX];
	unsigned long long used = 0;
	FILE *f;

	if (find_parent(":memory:", "/sys/fs/cgroup/memory")) {
		limit_file = "memory.limit_in_bytes";
		usage_file = "memory.usage_in_bytes";
		no_limit = "-1";
	} else if (find_parent("0::", "/sys/fs/cgroup")) {
		limit_file = "memory.max";
		usage_file = "memory.current";
		no_limit = "max";
	} else {
		skip("no memory controller that may be written to");
	}
	snprintf(group, sizeof(group), "%s/kreplay-test-%d", parent, (int)getpid());
	if (mkdir(group, 0700) != 0)
		skip("no control group can be made");
	snprintf(path, sizeof(path), "%s/%s", group, limit_file);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	if (access(path, W_OK) != 0 || !write_to(group, "cgroup.procs", text)) {
		rmdir(group);
		skip("the control group has no memory controller, or cannot be entered");
	}
	atexit(leave_group);
	snprintf(path, sizeof(path), "%s/%s", group, usage_file);
	f = fopen(path, "re");
	CHECK(f != NULL && fscanf(f, "%llu", &used) == 1);
	fclose(f);
	snprintf(text, sizeof(text), "%llu", used + ROOM);
	CHECK(write_to(group, limit_file, text));
}

static void
free_group(void)
{
	CHECK(write_to(group, limit_file, no_limit));
}

/* ---- the test ---- */

static void
check(struct kr_agent *agent, unsigned char *memory, unsigned char *buffer, unsigned char value)
{
	runtime_read(agent, buffer, memory, BYTES);
	for (size_t i = 0; i < BYTES; i++)
		CHECK(buffer[i] == value);
}

int
main(int argc, char **argv)
{
	bool by_group = argc > 1 && strcmp(argv[1], "cgroup") == 0;
	struct kr_agent *agent;
	struct kr_snapshot *s;
	kreplay_phase_stats_t stats;
	kreplay_decline_t why;
	unsigned char *memory, *buffer = malloc(BYTES);

	setenv("KREPLAY_SNAPSHOT", "host", 0);
	CHECK(buffer != NULL);
	agent = runtime_start();
	memory = runtime_alloc(agent, BYTES);
	memset(buffer, 7, BYTES);
	runtime_write(agent, memory, buffer, BYTES);
	s = kr_snapshot_of(agent);
	CHECK(s != NULL);

	if (by_group)
		limit_group();
	else
		limit_address_space();
	why = kr_snapshot_take(s, &stats);
	printf("with no room: %s\n", kreplay_decline_name(why));
	CHECK(why == KREPLAY_DECLINE_OVER_BUDGET || why == KREPLAY_DECLINE_OUT_OF_MEMORY);
	CHECK(stats.host_link_bytes == 0);
	if (by_group)
		free_group();
	else
		free_address_space();
	check(agent, memory, buffer, 7);

	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE);
	CHECK(stats.bytes == BYTES);
	memset(buffer, 9, BYTES);
	runtime_write(agent, memory, buffer, BYTES);
	kr_snapshot_restore(s, "test", &stats);
	CHECK(stats.dirty_bytes == BYTES);
	check(agent, memory, buffer, 7);
	kr_snapshot_close(s);
	runtime_free(memory);
	runtime_stop();
	free(buffer);
	return 0;
}
