/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static __thread struct sg_guard *innermost;
static __thread int chaining;

static const int numbers[2] = {SIGSEGV, SIGBUS};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction first[2]; /* what the process had before us */
static struct sigaction last[2];  /* what the newest installation of ours replaced */
static bool installed[2];

void sg_guard_begin(struct sg_guard *guard)
{
	guard->outer = innermost;
	guard->address = 0;
	innermost = guard;
}

void sg_guard_settle(void)
{
	chaining = 0;
}

void sg_guard_end(struct sg_guard *guard)
{
	innermost = guard->outer;
}

/* Not ours: what the process would have got without us. */
static void chain(int number, siginfo_t *info, void *context)
{
	int k = number == SIGBUS;
	/* A handler before us may itself chain to us: then to the oldest. */
	const struct sigaction *next = chaining ? &first[k] : &last[k];

	if (chaining < 2 && (next->sa_flags & SA_SIGINFO)) {
		chaining++;
		next->sa_sigaction(number, info, context);
		chaining--;
	} else if (chaining < 2 && next->sa_handler != SIG_DFL && next->sa_handler != SIG_IGN) {
		chaining++;
		next->sa_handler(number);
		chaining--;
	} else {
		signal(number, SIG_DFL); /* the access is made again and ends the process */
		if (info->si_code <= 0)
			raise(number); /* sent, not caused by an access */
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct sg_guard *guard = innermost;

	if (!guard || info->si_code <= 0) {
		chain(number, info, context);
		return;
	}
	innermost = guard->outer;
	guard->address = (uint64_t)(uintptr_t)info->si_addr;
	siglongjmp(guard->jump, 1);
}

static bool install(int k)
{
	struct sigaction now, ours;

	if (sigaction(numbers[k], NULL, &now))
		return false;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
		return true;
	if (!installed[k])
		first[k] = now;
	installed[k] = true;
	last[k] = now;
	memset(&ours, 0, sizeof(ours));
	ours.sa_sigaction = on_fault;
	/* NODEFER: the handler is left by a jump that does not restore the mask. */
	ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	sigemptyset(&ours.sa_mask);
	return sigaction(numbers[k], &ours, NULL) == 0;
}

bool sg_guard_install(void)
{
	pthread_mutex_lock(&lock);
	bool good = install(0) && install(1);

	pthread_mutex_unlock(&lock);
	return good;
}
