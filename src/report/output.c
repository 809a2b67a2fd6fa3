/* SPDX-License-Identifier: MIT */
/* Files: replaced whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "text.h"

#define TEMPORARY_ATTEMPTS 100

/* Keeps clear of the three standard descriptors, which the program may have closed. */
static int above_standard(int fd)
{
	int moved, saved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

/* Whether something other than a regular file is there (a terminal, a pipe, /dev/null): it is
 * written to, not replaced. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/*
 * Where the new file is to appear: what a symbolic link leads to, not the link, should it exist.
 * False: errno is set, or the name is too long.
 */
static bool find_target(const char *path, char target[PATH_MAX])
{
	if (realpath(path, target))
		return true;
	if (errno != ENOENT)
		return false;
	if (path[0] == '\0' || path[strlen(path) - 1] == '/') {
		errno = EISDIR;
		return false;
	}
	if ((size_t)snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	return true;
}

/*
 * A temporary file in the target's directory. The name is left in `name`. Not mkostemp, whose files
 * are for their owner only: a report is as readable as any new file, and asking for the mask means
 * setting it, which other threads would see.
 */
static int open_temporary(const char *target, char name[PATH_MAX])
{
	const char *slash = strrchr(target, '/');
	int directory = slash ? (int)(slash - target) + 1 : 0;

	for (unsigned attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
		int fd;

		if (snprintf(name, PATH_MAX, "%.*s.kreplay-%d-%u.tmp", directory, target,
			     (int)getpid(), attempt) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return above_standard(fd);
	}
	return -1;
}

/* The new file is as readable as the one that it replaces. */
static void copy_mode(int fd, const char *target)
{
	struct stat status;

	/* a file system without modes is no reason to lose the report */
	if (stat(target, &status) == 0 && fchmod(fd, status.st_mode & 0777) != 0)
		return;
}

static bool write_special(const char *path, const char *bytes, size_t count)
{
	int fd = above_standard(open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
	bool done;
	int saved;

	if (fd < 0)
		return false;
	done = kr_write_all(fd, bytes, count);
	saved = errno;
	close(fd);
	errno = saved;
	return done;
}

static bool write_replacing(const char *path, const char *bytes, size_t count)
{
	char target[PATH_MAX], name[PATH_MAX];
	int fd, saved;
	bool done;

	if (!find_target(path, target))
		return false;
	fd = open_temporary(target, name);
	if (fd < 0)
		return false;
	copy_mode(fd, target);
	done = kr_write_all(fd, bytes, count);
	saved = errno;
	if (close(fd) != 0 && done) {
		done = false;
		saved = errno;
	}
	if (done && rename(name, target) != 0) {
		done = false;
		saved = errno;
	}
	if (!done) {
		unlink(name);
		errno = saved;
	}
	return done;
}

bool kr_report_write_file(const char *path, const char *bytes, size_t count)
{
	return is_special(path) ? write_special(path, bytes, count) : write_replacing(path, bytes, count);
}

bool kr_report_write_json(const struct kr_report *report, const char *path)
{
	size_t count;
	char *json = kr_report_json(report, &count);
	bool done;
	int saved;

	if (!json) {
		errno = ENOMEM;
		return false;
	}
	done = kr_report_write_file(path, json, count);
	saved = errno;
	free(json);
	errno = saved;
	return done;
}

/* Tries what writing would do, and takes it back. errno tells what would fail; 0: nothing. */
static int try_output(const char *path)
{
	char target[PATH_MAX], name[PATH_MAX];
	struct stat status;
	int fd;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return EISDIR;
	if (is_special(path))
		return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
	if (!find_target(path, target))
		return errno;
	/* renaming onto it would work, but a file that is not to be written to is not to be
	 * replaced either */
	if (stat(target, &status) == 0 && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
		return errno;
	fd = open_temporary(target, name);
	if (fd < 0)
		return errno;
	close(fd);
	unlink(name);
	return 0;
}

bool kr_report_check_output(const char *path, char *error, size_t error_size)
{
	int reason = try_output(path);

	if (reason == 0)
		return true;
	snprintf(error, error_size, "%s", strerror(reason));
	return false;
}
