/* SPDX-License-Identifier: MIT */
/*
 * Every call of the runtime that a snapshot makes fails, one at a time: taking is declined or goes another way,
 * restoring is exact or ends the process with a diagnosis, memory is never mixed without a word, and nothing is left behind.
 *
 * snapshot_failures MODE: auto, host or full.
 */
#include "engine_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/snapshot.h"
#include "core/tracker.h"
#include "stand_in_kernels.h"

#define BLOCKS 6
#define BYTES 300000

static struct kr_agent *gpu;
static struct kr_snapshot *s;
static unsigned char *block[BLOCKS], copy[BLOCKS][BYTES];

static struct {
	const char *name;
	struct stand_in_point *point;
} points[] = {
	{"copy", &stand_in.copy},
	{"copy_end", &stand_in.copy_end},
	{"run", &stand_in.run},
	{"pool_allocate", &stand_in.pool_allocate},
	{"allow_access", &stand_in.allow_access},
	{"signal_create", &stand_in.signal_create},
	{"queue_create", &stand_in.queue_create},
	{"reader_create", &stand_in.reader_create},
	{"executable_create", &stand_in.executable_create},
	{"load_code", &stand_in.load_code},
	{"freeze", &stand_in.freeze},
	{"symbol", &stand_in.symbol},
};
#define POINTS (sizeof(points) / sizeof(points[0]))

static void
set_up(void)
{
	kr_tracker_clear();
	kr_agents_finish();
	stand_in_reset();
	stand_in.isa = STAND_IN_ISA;
	stand_in.kernel_named = stand_in_snapshot_kernel;
	assert_true(kr_agents_init());
	gpu = kr_agent_find(STAND_IN_GPU);
	for (int i = 0; i < BLOCKS; i++) {
		block[i] = device_alloc(BYTES);
		for (int k = 0; k < BYTES; k++)
			block[i][k] = copy[i][k] = (unsigned char)rand();
	}
}

static void
tear_down(void)
{
	for (int i = 0; i < BLOCKS; i++)
		kr_hook_hsa_amd_memory_pool_free(block[i]);
	kr_snapshot_destroy(gpu);
	assert_int_equal(stand_in.live_allocations, 0);
	assert_int_equal(stand_in.live_signals, 0);
	assert_int_equal(stand_in.live_queues, 0);
	assert_int_equal(stand_in.live_executables, 0);
	assert_int_equal(stand_in.live_readers, 0);
}

static bool
unchanged(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (memcmp(block[i], copy[i], BYTES) != 0)
			return false;
	return true;
}

static void
write_everywhere(unsigned step)
{
	for (int i = 0; i < BLOCKS; i++)
		for (unsigned k = step; k < BYTES; k += 1 + (unsigned)rand() % 70000)
			block[i][k]++;
}

/* A whole window after which memory is as it was. */
static bool
window_is_right(kreplay_decline_t *why)
{
	kreplay_phase_stats_t stats;
	bool right = true;

	for (int i = 0; i < BLOCKS; i++)
		memcpy(copy[i], block[i], BYTES);
	*why = kr_snapshot_take(s, &stats);
	if (*why != KREPLAY_DECLINE_NONE)
		return unchanged();
	for (unsigned pass = 0; pass < 2 && right; pass++) {
		write_everywhere(pass);
		kr_snapshot_restore(s, "my_kernel", &stats);
		right = unchanged();
	}
	kr_snapshot_close(s);
	return right;
}

static void
taking_declines_or_goes_another_way(void **state)
{
	unsigned declined = 0, tried = 0;

	for (unsigned p = 0; p < POINTS; p++) {
		for (unsigned k = 1; k < 200; k++) {
			kreplay_phase_stats_t stats;
			kreplay_decline_t why;
			bool reached;

			set_up();
			*points[p].point = (struct stand_in_point){.fail_at = k};
			s = kr_snapshot_of(gpu);
			why = s != NULL ? kr_snapshot_take(s, &stats) : KREPLAY_DECLINE_OUT_OF_MEMORY;
			reached = points[p].point->calls >= k;
			tried += reached;
			declined += why != KREPLAY_DECLINE_NONE;
			assert_true(unchanged());
			assert_true(why == KREPLAY_DECLINE_NONE || why == KREPLAY_DECLINE_OUT_OF_MEMORY ||
				    why == KREPLAY_DECLINE_COPY_FAILED);
			if (why == KREPLAY_DECLINE_NONE) {
				*points[p].point = (struct stand_in_point){0};
				write_everywhere(1);
				kr_snapshot_restore(s, "my_kernel", &stats);
				assert_true(unchanged());
				kr_snapshot_close(s);
			}
			/* And the next window is right whatever this one left. */
			*points[p].point = (struct stand_in_point){0};
			write_everywhere(7);
			s = kr_snapshot_of(gpu);
			assert_non_null(s);
			assert_true(window_is_right(&why));
			assert_int_equal(why, KREPLAY_DECLINE_NONE);
			tear_down();
			if (!reached)
				break;
		}
	}
	print_message("%u calls failed, %u of them declined\n", tried, declined);
	assert_true(tried > 5);
}

/* In a child: the restores of a second window, with the k-th call of the first restore on failing. */
static int
restore_with(struct stand_in_point *point, unsigned k, char *text, size_t size, bool *reached)
{
	int out[2], status = 0;
	ssize_t n, got = 0;
	pid_t child;

	assert_int_equal(pipe(out), 0);
	child = fork();
	if (child == 0) {
		kreplay_phase_stats_t stats;
		kreplay_decline_t why;
		bool right;

		dup2(out[1], 2);
		signal(SIGABRT, SIG_DFL);
		right = window_is_right(&why) && why == KREPLAY_DECLINE_NONE &&
			kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE;
		for (int i = 0; i < BLOCKS; i++)
			memcpy(copy[i], block[i], BYTES);
		*point = (struct stand_in_point){.fail_at = k};
		write_everywhere(3);
		kr_snapshot_restore(s, "my_kernel", &stats);
		_exit(!right ? 3 : !unchanged() ? 4 : point->calls >= k ? 1 : 0);
	}
	close(out[1]);
	while ((n = read(out[0], text + got, size - 1 - (size_t)got)) > 0)
		got += n;
	text[got] = '\0';
	close(out[0]);
	waitpid(child, &status, 0);
	*reached = WIFSIGNALED(status) || WEXITSTATUS(status) == 1;
	return status;
}

/* contract 6: a restore that fails part-way aborts, and says of what */
static void
restoring_is_exact_or_aborts(void **state)
{
	unsigned aborted = 0, exact = 0;

	for (unsigned p = 0; p < POINTS; p++)
		for (unsigned k = 1; k < 60; k++) {
			char text[1024];
			bool reached;
			int status;

			set_up();
			s = kr_snapshot_of(gpu);
			status = restore_with(points[p].point, k, text, sizeof(text), &reached);
			if (WIFSIGNALED(status)) {
				assert_int_equal(WTERMSIG(status), SIGABRT);
				assert_non_null(strstr(text, "my_kernel"));
				assert_non_null(strstr(text, "half restored"));
				aborted++;
			} else {
				assert_true(WEXITSTATUS(status) <= 1);
				exact += reached;
			}
			tear_down();
			if (!reached)
				break;
		}
	print_message("%u calls of a restore failed: %u aborted, %u restored all the same\n", aborted + exact, aborted,
		      exact);
	assert_true(aborted > 0);
}

static int
add_bytes(const kreplay_memory_range_t *range, void *data)
{
	*(uint64_t *)data += range->bytes;
	return 0;
}

static uint64_t
differing(void)
{
	uint64_t n = 0;

	for (int i = 0; i < BLOCKS; i++)
		for (int k = 0; k < BYTES; k++)
			n += block[i][k] != copy[i][k];
	return n;
}

/* Looking is not restoring: it says that it failed, and the window goes on. */
static void
looking_fails_alone(void **state)
{
	struct stand_in_point *const looked[] = {&stand_in.copy, &stand_in.copy_end, &stand_in.pool_allocate,
						 &stand_in.allow_access};
	unsigned failed = 0;

	for (unsigned p = 0; p < sizeof(looked) / sizeof(looked[0]); p++)
		for (unsigned k = 1; k < 60; k++) {
			const kreplay_memory_view_t *view;
			kreplay_phase_stats_t stats;
			kreplay_status_t status;
			uint64_t sum = 0, hash[2];
			bool reached;

			set_up();
			s = kr_snapshot_of(gpu);
			assert_int_equal(kr_snapshot_take(s, &stats), KREPLAY_DECLINE_NONE);
			write_everywhere(5);
			view = kr_snapshot_view(s);
			*looked[p] = (struct stand_in_point){.fail_at = k};
			status = view->iterate_changes(view, add_bytes, &sum);
			if (status == KREPLAY_STATUS_SUCCESS) {
				assert_int_equal(sum, differing());
				status = view->read_current(view, (uint64_t)(uintptr_t)block[0], hash, sizeof(hash));
			}
			if (status == KREPLAY_STATUS_SUCCESS)
				status = view->hash_region(view, (uint64_t)(uintptr_t)block[0], hash);
			reached = looked[p]->calls >= k;
			assert_true(reached || status == KREPLAY_STATUS_SUCCESS);
			failed += status != KREPLAY_STATUS_SUCCESS;
			*looked[p] = (struct stand_in_point){0};
			sum = 0;
			assert_int_equal(view->iterate_changes(view, add_bytes, &sum), KREPLAY_STATUS_SUCCESS);
			assert_int_equal(sum, differing());
			kr_snapshot_restore(s, "my_kernel", &stats);
			assert_true(unchanged());
			kr_snapshot_close(s);
			tear_down();
			if (!reached)
				break;
		}
	assert_true(failed > 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taking_declines_or_goes_another_way),
		cmocka_unit_test(restoring_is_exact_or_aborts),
		cmocka_unit_test(looking_fails_alone),
	};

	setenv("KREPLAY_SNAPSHOT", argc > 1 ? argv[1] : "auto", 1);
	kr_log_set_level(KR_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
