/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: memory that clients store to, a cache line for each queue.
 *
 * A busy device compares them with what it saw last. An idle one would have to
 * wake for that again and again; instead it write-protects them with a
 * userfaultfd and sleeps. The store of the next ring then waits until the device
 * has woken and lifted the protection, a matter of microseconds, and nobody
 * sees a signal. Where the kernel does not allow it the caller polls.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint64_t sg_doorbells[SG_MAX_QUEUES * SG_DOORBELL_STRIDE] __attribute__((aligned(4096)));

static int fault_fd = -1, wake_fd = -1;

static struct uffdio_range range(void)
{
	return (struct uffdio_range){(uintptr_t)sg_doorbells, sizeof(sg_doorbells)};
}

static bool protect(bool on)
{
	struct uffdio_writeprotect wp = {.range = range(),
	                                 .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

	return ioctl(fault_fd, UFFDIO_WRITEPROTECT, &wp) == 0;
}

void sg_doorbell_open(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
	struct uffdio_register reg = {.range = range(), .mode = UFFDIO_REGISTER_MODE_WP};

	/* A page that was never written has nothing to protect. */
	for (size_t i = 0; i < sizeof(sg_doorbells) / sizeof(sg_doorbells[0]); i += 512)
		atomic_fetch_or(&sg_doorbells[i], 0);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (wake_fd < 0 || fault_fd < 0 || ioctl(fault_fd, UFFDIO_API, &api) ||
	    ioctl(fault_fd, UFFDIO_REGISTER, &reg) || !protect(true) || !protect(false))
		sg_doorbell_close();
}

void sg_doorbell_close(void)
{
	if (fault_fd >= 0)
		close(fault_fd); /* lifts what is protected */
	if (wake_fd >= 0)
		close(wake_fd);
	fault_fd = wake_fd = -1;
}

bool sg_doorbell_arm(void)
{
	return fault_fd >= 0 && protect(true);
}

void sg_doorbell_sleep(void)
{
	struct pollfd fds[2] = {{fault_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
}

void sg_doorbell_disarm(void)
{
	struct uffd_msg message;
	uint64_t count;

	protect(false); /* wakes who waits */
	while (read(fault_fd, &message, sizeof(message)) > 0)
		;
	while (read(wake_fd, &count, sizeof(count)) > 0)
		;
}

void sg_doorbell_wake(void)
{
	uint64_t one = 1;

	if (write(wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it is awake as it is */
}
