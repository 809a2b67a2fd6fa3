/* SPDX-License-Identifier: MIT */
#include "core/lock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Longer than what is done under such a lock takes, but for a window's plan. */
#define SPINS 200

/* Only where the kernel has no membarrier: how long a letting go that saw nobody waiting may be missed. */
#define MISSED_NS 1000000

static bool
take(struct kr_lock *lock)
{
	uint32_t free_now = 0;

	return atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong_explicit(&lock->held, &free_now, 1, memory_order_acquire,
						       memory_order_relaxed);
}

static bool
barrier_everywhere(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ||
	       (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}

void
kr_lock_wait(struct kr_lock *lock)
{
	const struct timespec missed = {.tv_nsec = MISSED_NS};
	bool seen;

	for (int i = 0; i < SPINS; i++) {
		if (take(lock))
			return;
		__builtin_ia32_pause();
	}
	atomic_fetch_add(&lock->waiting, 1);
	seen = barrier_everywhere();
	while (!take(lock))
		syscall(SYS_futex, &lock->held, FUTEX_WAIT_PRIVATE, 1, seen ? NULL : &missed, NULL, 0);
	atomic_fetch_sub(&lock->waiting, 1);
}

void
kr_lock_wake(struct kr_lock *lock)
{
	syscall(SYS_futex, &lock->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
