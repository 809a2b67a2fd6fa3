/* SPDX-License-Identifier: MIT */
/* Signals: a change wakes everybody who waits for one. */
#include "stand_in_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

hsa_signal_t
stand_in_signal(hsa_signal_value_t initial)
{
	amd_signal_t *s = aligned_alloc(64, sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->kind = AMD_SIGNAL_KIND_USER;
	s->value = initial;
	__atomic_add_fetch(&stand_in.live_signals, 1, __ATOMIC_SEQ_CST);
	return (hsa_signal_t){(uint64_t)(uintptr_t)s};
}

static hsa_status_t
signal_create(hsa_signal_value_t initial, uint32_t n, const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	if (stand_in_fails(&stand_in.signal_create))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	*signal = stand_in_signal(initial);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t
amd_signal_create(hsa_signal_value_t initial, uint32_t n, const hsa_agent_t *consumers, uint64_t attributes,
                  hsa_signal_t *signal)
{
	return signal_create(initial, n, consumers, signal);
}

static hsa_status_t
signal_destroy(hsa_signal_t signal)
{
	free(kr_signal_amd(signal));
	__atomic_sub_fetch(&stand_in.live_signals, 1, __ATOMIC_SEQ_CST);
	return HSA_STATUS_SUCCESS;
}

static hsa_signal_value_t
signal_load(hsa_signal_t signal)
{
	return __atomic_load_n(&kr_signal_amd(signal)->value, __ATOMIC_SEQ_CST);
}

/* Whatever changed may resolve a barrier or be a doorbell. */
void
stand_in_signal_changed(void)
{
	pthread_mutex_lock(&stand_in_mutex);
	pthread_cond_broadcast(&stand_in_changed);
	if (!stand_in.threaded)
		stand_in_run_queues();
	pthread_mutex_unlock(&stand_in_mutex);
}

static void
signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
	__atomic_store_n(&kr_signal_amd(signal)->value, value, __ATOMIC_SEQ_CST);
	stand_in_signal_changed();
}

#define VALUE(name, expression) \
	static hsa_signal_value_t name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		hsa_signal_value_t old = expression(&kr_signal_amd(signal)->value, value, __ATOMIC_SEQ_CST); \
\
		stand_in_signal_changed(); \
		return old; \
	}
VALUE(signal_exchange, __atomic_exchange_n)
VALUE(fetch_add, __atomic_fetch_add)
VALUE(fetch_sub, __atomic_fetch_sub)
VALUE(fetch_and, __atomic_fetch_and)
VALUE(fetch_or, __atomic_fetch_or)
VALUE(fetch_xor, __atomic_fetch_xor)
#define VOID(name, value_op) \
	static void name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		value_op(signal, value); \
	}
VOID(signal_add, fetch_add)
VOID(signal_subtract, fetch_sub)
VOID(signal_and, fetch_and)
VOID(signal_or, fetch_or)
VOID(signal_xor, fetch_xor)

static hsa_signal_value_t
signal_cas(hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t value)
{
	__atomic_compare_exchange_n(&kr_signal_amd(signal)->value, &expected, value, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	stand_in_signal_changed();
	return expected;
}

static bool
holds(hsa_signal_value_t value, hsa_signal_condition_t condition, hsa_signal_value_t compare)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == compare;
	case HSA_SIGNAL_CONDITION_NE:
		return value != compare;
	case HSA_SIGNAL_CONDITION_LT:
		return value < compare;
	default:
		return value >= compare;
	}
}

static uint32_t
wait_any(uint32_t count, hsa_signal_t *signals, hsa_signal_condition_t *conditions, hsa_signal_value_t *values,
         uint64_t timeout, hsa_wait_state_t hint, hsa_signal_value_t *satisfying)
{
	struct timespec until;
	uint32_t i;
	bool late = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	if (timeout > 1000000000000u)
		timeout = 1000000000000u;
	until.tv_sec += (time_t)(timeout / 1000000000u);
	until.tv_nsec += (long)(timeout % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&stand_in_mutex);
	for (;;) {
		for (i = 0; i < count && !holds(signal_load(signals[i]), conditions[i], values[i]); i++)
			;
		if (i < count || late)
			break;
		late = pthread_cond_timedwait(&stand_in_changed, &stand_in_mutex, &until) == ETIMEDOUT;
	}
	pthread_mutex_unlock(&stand_in_mutex);
	return i < count ? i : UINT32_MAX;
}

static hsa_signal_value_t
signal_wait(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare, uint64_t timeout,
            hsa_wait_state_t hint)
{
	wait_any(1, &signal, &condition, &compare, timeout, hint, NULL);
	return signal_load(signal);
}

#define ORDERS(name, fn) \
	next->name##_relaxed = next->name##_scacquire = next->name##_screlease = next->name##_scacq_screl = fn

void
stand_in_put_signals(struct kr_next *next)
{
	next->hsa_signal_store_relaxed = signal_store;
	next->hsa_signal_store_screlease = signal_store;
	next->hsa_signal_silent_store_relaxed = signal_store;
	next->hsa_signal_silent_store_screlease = signal_store;
	next->hsa_signal_create = signal_create;
	next->hsa_signal_destroy = signal_destroy;
	next->hsa_signal_load_relaxed = signal_load;
	next->hsa_signal_load_scacquire = signal_load;
	next->hsa_signal_wait_scacquire = signal_wait;
	next->hsa_amd_signal_create = amd_signal_create;
	next->hsa_amd_signal_wait_any = wait_any;
	ORDERS(hsa_signal_exchange, signal_exchange);
	ORDERS(hsa_signal_cas, signal_cas);
	ORDERS(hsa_signal_add, signal_add);
	ORDERS(hsa_signal_subtract, signal_subtract);
	ORDERS(hsa_signal_and, signal_and);
	ORDERS(hsa_signal_or, signal_or);
	ORDERS(hsa_signal_xor, signal_xor);
}
