/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <signal.h>

static __thread struct sg_guard *innermost;

void sg_guard_begin(struct sg_guard *guard)
{
	guard->outer = innermost;
	guard->address = 0;
	guard->refused = false;
	innermost = guard;
}

void sg_guard_end(struct sg_guard *guard)
{
	innermost = guard->outer;
}

static _Noreturn void leave(struct sg_guard *guard, uint64_t address, bool refused)
{
	innermost = guard->outer;
	guard->address = address;
	guard->refused = refused;
	siglongjmp(guard->jump, 1);
}

static void on_fault(const siginfo_t *info)
{
	if (innermost)
		leave(innermost, (uint64_t)(uintptr_t)info->si_addr,
		      info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR);
}

void *sg_guard_wild(uint64_t address)
{
	if (innermost)
		leave(innermost, address & ((1ull << 48) - 1), false);
	return (void *)(uintptr_t)address;
}

bool sg_guard_install(void)
{
	gcn_set_fault_hook(on_fault);
	return gcn_catch_faults();
}
