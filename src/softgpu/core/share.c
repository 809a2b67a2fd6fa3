/* SPDX-License-Identifier: MIT */
/*
 * Memory files between processes. Who shares a piece of one locks a byte far behind its end, the one that the
 * handle's serial number names; who holds the piece has a read lock on it, through a descriptor of its own. So the
 * owner can tell whether anybody holds what it frees, an importer whether what the handle means is still there, and
 * a process that dies lets go.
 */
#include "internal.h"

#include <fcntl.h>
#include <unistd.h>

#define TOKENS ((off_t)1 << 62) /* no file is as long */

static bool lock_range(int fd, short type, off_t start, uint64_t size)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = (off_t)size};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Locked through another descriptor than this one. */
static bool locked_elsewhere(int fd, off_t start, uint64_t size)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = (off_t)size};

	return fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

uint32_t sg_share_begin(int fd)
{
	static _Atomic uint32_t last;
	uint32_t serial = atomic_fetch_add(&last, 1) + 1;

	return serial && lock_range(fd, F_WRLCK, TOKENS + serial, 1) ? serial : 0;
}

void sg_share_end(int fd, uint32_t serial)
{
	lock_range(fd, F_UNLCK, TOKENS + serial, 1);
}

bool sg_share_held(int fd, uint64_t offset, uint64_t size)
{
	return locked_elsewhere(fd, (off_t)offset, size);
}

bool sg_share_hold(int fd, uint64_t offset, uint64_t size, uint32_t serial)
{
	/* First the lock: an owner that frees now sees it, or has taken its own back before we look. */
	return serial && lock_range(fd, F_RDLCK, (off_t)offset, size) && locked_elsewhere(fd, TOKENS + serial, 1);
}

void sg_share_release(int fd, uint64_t offset, uint64_t size)
{
	/* A forked child may have the descriptor too. */
	lock_range(fd, F_UNLCK, (off_t)offset, size);
	close(fd);
}
