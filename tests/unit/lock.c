/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "core/lock.h"

#define THREADS 8
#define ROUNDS 100000

static struct kr_lock lock;
static uint64_t counter; /* no atomic one: the lock has to do it */

static void *
count(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		kr_lock(&lock);
		counter++;
		/* Now and then the holder loses its core, so that others go to sleep. */
		if (i % 1000 == 0)
			sched_yield();
		kr_unlock(&lock);
	}
	return NULL;
}

static void
one_thread_at_a_time(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(counter, (uint64_t)THREADS * ROUNDS);
	assert_int_equal(lock.waiting, 0);
}

static void *
take_once(void *arg)
{
	(void)arg;
	kr_lock(&lock);
	kr_unlock(&lock);
	return NULL;
}

/* Without a wake-up it would not end. */
static void
who_sleeps_is_woken(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		pthread_t thread[2];

		kr_lock(&lock);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, take_once, NULL), 0);
		while (atomic_load(&lock.waiting) < 2)
			sched_yield();
		kr_unlock(&lock);
		for (int i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_at_a_time),
		cmocka_unit_test(who_sleeps_is_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
