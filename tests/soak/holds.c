/* SPDX-License-Identifier: MIT */
#include "holds.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines of text, sorted: the same one several times when there are several of a kind. */
struct holds {
	char **lines;
	size_t count, room;
};

static void add(struct holds *h, const char *kind, const char *name)
{
	char *line;

	if (h->count == h->room) {
		h->room = h->room ? h->room * 2 : 64;
		h->lines = realloc(h->lines, h->room * sizeof(*h->lines));
	}
	if (h->lines == NULL || asprintf(&line, "%s %s", kind, name) < 0)
		abort();
	h->lines[h->count++] = line;
}

static void add_descriptors(struct holds *h)
{
	DIR *folder = opendir("/proc/self/fd");
	char path[64], target[PATH_MAX];

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		ssize_t length;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		add(h, "descriptor", target);
	}
	if (folder)
		closedir(folder);
}

static void add_threads(struct holds *h)
{
	DIR *folder = opendir("/proc/self/task");
	char path[64], name[64];

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		FILE *comm;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", entry->d_name);
		comm = fopen(path, "r");
		if (comm && fgets(name, sizeof(name), comm)) {
			name[strcspn(name, "\n")] = '\0';
			add(h, "thread", name);
		}
		if (comm)
			fclose(comm);
	}
	if (folder)
		closedir(folder);
}

/* A handler is named by the library that it is in: one that handles a signal in several places changes between them. */
static void add_signals(struct holds *h)
{
	char text[PATH_MAX + 64];
	sigset_t blocked;
	Dl_info where;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		if (sigismember(&blocked, number) == 1) {
			snprintf(text, sizeof(text), "%d", number);
			add(h, "blocked signal", text);
		}
		if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL)
			continue;
		snprintf(text, sizeof(text), "%d: %s", number,
			 action.sa_handler == SIG_IGN                       ? "ignored"
			 : dladdr((void *)action.sa_handler, &where) != 0 ? where.dli_fname
									    : "?");
		add(h, "handler of signal", text);
	}
}

/* A sanitizer makes and keeps mappings of its own. */
static void add_mappings(struct holds *h)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	FILE *maps = fopen("/proc/self/maps", "r");
	char *line = NULL, text[PATH_MAX + 64], rights[8], name[PATH_MAX];
	size_t room = 0;

	while (maps && getline(&line, &room, maps) > 0) {
		unsigned long from, to;

		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &from, &to, rights, name) < 3)
			continue;
		if (name[0] == '\0')
			snprintf(text, sizeof(text), "%s of %lu KiB", rights, (to - from) >> 10);
		else
			snprintf(text, sizeof(text), "%s of %s", rights, name);
		add(h, "mapping", text);
	}
	free(line);
	if (maps)
		fclose(maps);
#else
	(void)h;
#endif
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct holds *holds_now(void)
{
	struct holds *h = calloc(1, sizeof(*h));

	if (h == NULL)
		abort();
	add_descriptors(h);
	add_threads(h);
	add_signals(h);
	add_mappings(h);
	qsort(h->lines, h->count, sizeof(*h->lines), compare);
	return h;
}

void holds_free(struct holds *h)
{
	for (size_t i = 0; h && i < h->count; i++)
		free(h->lines[i]);
	if (h)
		free(h->lines);
	free(h);
}

bool holds_no_more(const struct holds *before, const struct holds *after, bool (*may_stay)(const char *line))
{
	size_t at = 0;
	bool same = true;

	for (size_t i = 0; i < after->count; i++) {
		while (at < before->count && strcmp(before->lines[at], after->lines[i]) < 0)
			at++;
		if (at < before->count && strcmp(before->lines[at], after->lines[i]) == 0) {
			at++;
			continue;
		}
		if (may_stay && may_stay(after->lines[i]))
			continue;
		printf("soak: left behind: %s\n", after->lines[i]);
		same = false;
	}
	return same;
}
