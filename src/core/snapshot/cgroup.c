/* SPDX-License-Identifier: MIT */
/* How much host memory the control groups of this process leave: version 2, and the memory controller of version 1. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/internal.h"

struct hierarchy {
	bool found;
	char mount[PATH_MAX]; /* where it is mounted */
	char root[PATH_MAX];  /* which of its groups is seen there */
	char path[PATH_MAX];  /* this process's group */
	const char *most, *used, *cache; /* two files, and a line of memory.stat */
};

/* Not on the stack: the thread is the application's. */
struct room {
	const char *at;
	struct hierarchy v1, v2;
	char root[PATH_MAX], mount[PATH_MAX], super[1024]; /* of the line at hand */
	char path[4 * PATH_MAX];
	size_t length; /* of the directory in `path` */
};

uint64_t
kr_number_in(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	uint64_t value = UINT64_MAX;
	char line[256];
	size_t length = strlen(key);

	while (f != NULL && value == UINT64_MAX && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, length) == 0 && sscanf(line + length, "%lu", &value) != 1)
			value = UINT64_MAX;
	if (f != NULL)
		fclose(f);
	return value;
}

static bool
has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *at = options; (at = strstr(at, wanted)) != NULL; at += length)
		if ((at == options || at[-1] == ',') && (at[length] == '\0' || at[length] == ',' || at[length] == '\n'))
			return true;
	return false;
}

/* proc(5): "36 35 98:0 ROOT MOUNT OPTIONS [MORE...] - TYPE SOURCE SUPER". */
static void
read_mount(struct room *room, char *line)
{
	char *rest = strstr(line, " - "), type[32];
	struct hierarchy *h;

	room->super[0] = '\0';
	if (rest == NULL || sscanf(line, "%*u %*u %*s %4095s %4095s", room->root, room->mount) != 2 ||
	    sscanf(rest, " - %31s %*s %1023s", type, room->super) < 1)
		return;
	if (strcmp(type, "cgroup2") == 0)
		h = &room->v2;
	else if (strcmp(type, "cgroup") == 0 && has_option(room->super, "memory"))
		h = &room->v1;
	else
		return;
	h->found = true;
	strcpy(h->mount, room->mount);
	strcpy(h->root, strcmp(room->root, "/") == 0 ? "" : room->root);
}

/* cgroups(7): "HIERARCHY:CONTROLLERS:PATH", the first 0 and the second empty for version 2. */
static void
read_group(struct room *room, char *line)
{
	char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	struct hierarchy *h;

	if (path == NULL)
		return;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (strcmp(line, "0:") == 0)
		h = &room->v2;
	else if (has_option(controllers + 1, "memory"))
		h = &room->v1;
	else
		return;
	snprintf(h->path, sizeof(h->path), "%s", strcmp(path, "/") == 0 ? "" : path);
}

static void
each_line(struct room *room, const char *name, void (*use)(struct room *, char *))
{
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(room->path, sizeof(room->path), "%s/proc/self/%s", room->at, name);
	f = fopen(room->path, "re");
	while (f != NULL && getline(&line, &size, f) > 0)
		use(room, line);
	if (f != NULL)
		fclose(f);
	free(line);
}

/* In a file of the directory at hand. */
static uint64_t
number_of(struct room *room, const char *file, const char *key)
{
	uint64_t value;

	snprintf(room->path + room->length, sizeof(room->path) - room->length, "/%s", file);
	value = kr_number_in(room->path, key);
	room->path[room->length] = '\0';
	return value;
}

/* Of one group. The file cache counts as used, and is given back before anything is refused. */
static uint64_t
room_here(struct room *room, const struct hierarchy *h)
{
	uint64_t most = number_of(room, h->most, ""), used = number_of(room, h->used, ""), cache;

	if (most == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX; /* "max", or the top */
	cache = number_of(room, "memory.stat", h->cache);
	if (cache != UINT64_MAX)
		used = used > cache ? used - cache : 0;
	return most > used ? most - used : 0;
}

/* The least that the group and those above it leave. */
static uint64_t
room_in(struct room *room, const struct hierarchy *h)
{
	const char *below = h->path;
	size_t root = strlen(h->root), top = strlen(room->at) + strlen(h->mount);
	uint64_t least = UINT64_MAX;

	if (!h->found)
		return least;
	/* A container sees its own group as the top, while the path may be that of the host. */
	if (root != 0 && strncmp(below, h->root, root) == 0 && (below[root] == '/' || below[root] == '\0'))
		below += root;
	room->length = (size_t)snprintf(room->path, sizeof(room->path), "%s%s%s", room->at, h->mount, below);
	for (;;) {
		uint64_t here = room_here(room, h);

		if (here < least)
			least = here;
		if (room->length <= top)
			return least;
		while (room->length > top && room->path[--room->length] != '/')
			;
		room->path[room->length] = '\0';
	}
}

uint64_t
kr_cgroup_room(const char *at)
{
	struct room *room = calloc(1, sizeof(*room));
	uint64_t v1, v2;

	if (room == NULL)
		return 0;
	room->at = at;
	room->v1.most = "memory.limit_in_bytes";
	room->v1.used = "memory.usage_in_bytes";
	room->v1.cache = "total_inactive_file ";
	room->v2.most = "memory.max";
	room->v2.used = "memory.current";
	room->v2.cache = "inactive_file ";
	each_line(room, "mountinfo", read_mount);
	each_line(room, "cgroup", read_group);
	v1 = room_in(room, &room->v1);
	v2 = room_in(room, &room->v2);
	free(room);
	return v1 < v2 ? v1 : v2;
}
