/* SPDX-License-Identifier: MIT */
/* SIGSEGV and SIGBUS: those of a thread inside gcn_wg_run are GPU memory faults, those that the hook
 * knows are its own, and all others go to whoever handled them before. */
#include <pthread.h>
#include <string.h>

#include "inst.h"

static const int numbers[2] = { SIGSEGV, SIGBUS };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction first[2]; /* what the process had before us */
static struct sigaction last[2];  /* what the newest installation of ours replaced */
static bool installed[2];
static void (*hook)(const siginfo_t *info);

/* The signal that this thread is handing on, and the frame that does it. A handler may leave by a jump. */
static _Thread_local struct {
	const void *context;
	uintptr_t frame;
} handed;

static void on_fault(int number, siginfo_t *info, void *context);

/* Not ours: what the process would have got without us. */
static void chain(int number, siginfo_t *info, void *context)
{
	int k = number == SIGBUS;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	/* A handler before us may itself chain to us, deeper on the stack and about the same signal: then to the oldest. */
	bool again = handed.context == context && frame < handed.frame;
	const struct sigaction *next = again ? &first[k] : &last[k];

	if (!again) {
		handed.context = context;
		handed.frame = frame;
	}
	if ((next->sa_flags & SA_SIGINFO) && next->sa_sigaction != on_fault) {
		next->sa_sigaction(number, info, context);
	} else if (!(next->sa_flags & SA_SIGINFO) && next->sa_handler != SIG_DFL && next->sa_handler != SIG_IGN) {
		next->sa_handler(number);
	} else {
		signal(number, SIG_DFL); /* the access is made again and ends the process */
		if (info->si_code <= 0)
			raise(number); /* sent, not caused by an access */
	}
	if (!again)
		handed.context = NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	if (info->si_code > 0) {
		gcn_wave_fault(info); /* both come back when it is not theirs */
		if (hook)
			hook(info);
	}
	chain(number, info, context);
}

static bool on_top(int k, struct sigaction *now)
{
	memset(now, 0, sizeof(*now));
	return !sigaction(numbers[k], NULL, now) && (now->sa_flags & SA_SIGINFO) && now->sa_sigaction == on_fault;
}

static bool install(int k)
{
	/* NODEFER: the handler is left by a jump that does not restore the mask. */
	struct sigaction now, ours = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	if (on_top(k, &now))
		return true;
	if (!installed[k])
		first[k] = now;
	installed[k] = true;
	last[k] = now;
	ours.sa_sigaction = on_fault;
	sigemptyset(&ours.sa_mask);
	return sigaction(numbers[k], &ours, NULL) == 0;
}

void gcn_set_fault_hook(void (*function)(const siginfo_t *info))
{
	hook = function;
}

/* Asking costs a system call, as much as a small kernel, and nearly all faults are SIGSEGV. */
static bool bus_was_on_top(void)
{
	static _Thread_local uint64_t asked;
	uint64_t now = __builtin_ia32_rdtsc();
	struct sigaction action;

	if (asked && now - asked < 1 << 20)
		return true;
	asked = on_top(1, &action) ? now : 0;
	return asked != 0;
}

bool gcn_catch_faults(void)
{
	struct sigaction now;
	bool good;

	if (on_top(0, &now) && bus_was_on_top())
		return true;
	pthread_mutex_lock(&lock);
	good = install(0) && install(1);
	pthread_mutex_unlock(&lock);
	return good;
}
