/* SPDX-License-Identifier: MIT */
/*
 * A lock for a few instructions that nearly nobody waits for. What it is for is its price: one locked operation where a
 * mutex takes two, since to let it go is a plain store. Whoever has to wait pays instead: it makes every other thread
 * of the process pass a barrier (membarrier(2)), after which a holder either has let go visibly or will see that it is
 * waited for. Zero-initialised. Any thread; not recursive; held over no call into the runtime.
 */
#ifndef KR_LOCK_H
#define KR_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct kr_lock {
	_Atomic uint32_t held;
	_Atomic uint32_t waiting;
};

void kr_lock_wait(struct kr_lock *lock); /* takes it, after a wait */
void kr_lock_wake(struct kr_lock *lock);

static inline void
kr_lock(struct kr_lock *lock)
{
	uint32_t free_now = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock->held, &free_now, 1, memory_order_acquire,
						     memory_order_relaxed))
		kr_lock_wait(lock);
}

static inline void
kr_unlock(struct kr_lock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
	/* In this order for the compiler; for the processor the barrier is the waiting thread's affair. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&lock->waiting, memory_order_relaxed) != 0, 0))
		kr_lock_wake(lock);
}

#endif
