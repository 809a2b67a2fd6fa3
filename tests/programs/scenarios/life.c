/* SPDX-License-Identifier: MIT */
/* Beginnings and ends, long runs, and what the application reads from its own signals. */
#include "scenarios.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hsa_app app;
static struct adder adder;
static struct helper other;

static unsigned threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned n = 0;

	while (readdir(tasks) != NULL)
		n++;
	closedir(tasks);
	return n - 2; /* without . and .. */
}

/* 22: up and down three times, with work in each. Says what is left over, which is to be what the runtime leaves. */
int story_cycles(int argc, char **argv)
{
	for (uint32_t i = 0; i < 3; i++) {
		hsa_app_init(&app);
		adder_init(&adder, &app, 1024, i + 1);
		adder_launch(&adder);
		adder_launch(&adder);
		if (!adder_check(&adder))
			return HSA_APP_FAILED;
		adder_finish(&adder);
		hsa_app_finish(&app);
		printf("threads left: %u\n", threads());
	}
	return HSA_APP_OK;
}

/* 23: the end comes while all is alive: memory, a queue, a thread that dispatches without a pause. */

static void *launch_always(void *data)
{
	struct adder *busy = data;

	for (;;)
		adder_launch(busy);
	return NULL;
}

static void live(void)
{
	static struct adder busy;
	pthread_t thread;

	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	adder_init(&busy, &app, 1024, 4);
	if (pthread_create(&thread, NULL, launch_always, &busy) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot start a thread");
	adder_launch(&adder);
	adder_launch(&adder);
	if (!adder_check(&adder))
		_exit(99);
	puts("live");
	fflush(stdout);
}

int story_live_return(int argc, char **argv)
{
	live();
	return 41;
}

int story_live_exit(int argc, char **argv)
{
	live();
	exit(42);
}

int story_live__exit(int argc, char **argv)
{
	live();
	_exit(43);
}

static void terminate(void)
{
	if (scenario.replayed == 1)
		kill(getpid(), SIGTERM);
}

int story_term_in_window(int argc, char **argv)
{
	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	scenario.passes = 3;
	scenario.after_first = terminate;
	adder_launch(&adder);
	adder_launch(&adder);
	return HSA_APP_FAILED;
}

static void leave(void *data)
{
	exit(44);
}

static void let_other_leave(void)
{
	if (scenario.replayed == 1)
		helper_poke(&other, 500);
}

/* Another thread ends the program while a window is open. */
int story_exit_in_window(int argc, char **argv)
{
	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	helper_start(&other, leave, NULL);
	scenario.passes = 3;
	scenario.after_first = let_other_leave;
	adder_launch(&adder);
	adder_launch(&adder);
	/* the other thread ends the process */
	for (;;)
		pause();
}

/* 24: very many dispatches without a wait, every tenth replayed. */

static uint64_t resident_kib(void)
{
	char line[256];
	unsigned long long value = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %llu", &value) == 1)
			break;
	if (file)
		fclose(file);
	return value;
}

/* How many HSA signals there are, when the library that counts them is loaded; otherwise 0. */
static int64_t signals_alive(void)
{
	int64_t (*count)(void);
	void *symbol = dlsym(RTLD_DEFAULT, "beneath_signals_alive");

	memcpy(&count, &symbol, sizeof(count));
	return symbol ? count() : 0;
}

int story_many(int argc, char **argv)
{
	uint32_t total = (uint32_t)hsa_app_argument(argc, argv, 1, "DISPATCHES", 20000, 1u << 24);
	struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };
	uint64_t early_kib = 0, late_kib;
	int64_t early_signals = 0, late_signals;
	uint32_t packets = 64;

	hsa_app_init(&app);
	/* so that some have run after a quarter of them, however far the program is ahead */
	while (packets < 1024 && 2 * packets <= total / 8)
		packets *= 2;

	struct hsa_app_kernel bump = hsa_app_find_kernel(&app, "bump");
	hsa_queue_t *queue = hsa_app_queue_create(&app, packets);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *cell = hsa_app_alloc_device(&app, 64), *got = hsa_app_alloc_host(&app, 64);
	void *kernargs = hsa_app_kernargs(&app, &bump, &cell, sizeof(cell));

	HSA_CHECK(hsa_amd_memory_fill(cell, 0, 16));
	scenario.passes = 2;
	scenario.every = 10;
	for (uint32_t i = 0; i < total; i++) {
		hsa_app_dispatch(&app, queue, &bump, &one, kernargs, (hsa_signal_t){ 0 });
		if (i == total / 4) {
			early_kib = resident_kib();
			early_signals = signals_alive();
		}
	}
	hsa_app_barrier(&app, queue, done);
	hsa_app_wait(&app, done);
	late_kib = resident_kib();
	late_signals = signals_alive();
	hsa_app_copy_to_host(&app, got, cell, 4);
	if (*got != total)
		hsa_app_die(HSA_APP_FAILED, "%u of %u dispatches ran", *got, total);
	if (scenario.windows && scenario.replayed != total / 10)
		hsa_app_die(HSA_APP_FAILED, "%" PRIu64 " of %u were replayed", scenario.replayed, total / 10);
	/* three quarters of the run: a kilobyte a dispatch would be far more */
	if (late_kib > early_kib + 8192)
		hsa_app_die(HSA_APP_FAILED, "resident memory went from %" PRIu64 " to %" PRIu64 " KiB", early_kib, late_kib);
	if (late_signals != early_signals)
		hsa_app_die(HSA_APP_FAILED, "there were %" PRId64 " signals and are %" PRId64, early_signals, late_signals);
	hsa_app_free(kernargs);
	hsa_app_free(got);
	hsa_app_free(cell);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 25, contract 2, contract 3: times of dispatches and copies, from the application's own signals. */

static uint64_t last_end;

/* In PASS EXIT of the first pass: anything that begins from now on is later. */
static void note_time(void)
{
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &last_end));
}

int story_times(int argc, char **argv)
{
	struct hsa_app_range range = { .grid = { 1024 }, .group = { 64 } };
	uint64_t before, after;

	hsa_app_init(&app);
	HSA_CHECK(hsa_amd_profiling_async_copy_enable(true));
	adder_init(&adder, &app, 1024, 3);
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(adder.queue, 1));
	scenario.passes = 3;
	scenario.after_first = note_time;
	for (uint32_t i = 0; i < 5; i++) {
		hsa_amd_profiling_dispatch_time_t time = { 0 };
		hsa_amd_profiling_async_copy_time_t copy_time = { 0 };
		hsa_signal_t complete = hsa_app_signal_create(1), copied = hsa_app_signal_create(1);

		HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
		hsa_app_dispatch(&app, adder.queue, &adder.kernel, &range, adder.kernargs, complete);
		wait_zero(&app, complete);
		adder.launched++;
		HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
		HSA_CHECK(hsa_amd_profiling_get_dispatch_time(app.gpu, complete, &time));
		if (time.start == 0 || time.start > time.end || time.start < before || time.end > after)
			hsa_app_die(HSA_APP_FAILED, "dispatch %u: from %" PRIu64 " to %" PRIu64 ", not in %" PRIu64 "..%" PRIu64,
				    i, time.start, time.end, before, after);
		/* the two clocks differ by less than a pass takes */
		if (scenario.windows && time.end < last_end)
			hsa_app_die(HSA_APP_FAILED, "the times are not the last pass's: end %" PRIu64 ", first pass's %" PRIu64,
				    time.end, last_end);

		HSA_CHECK(hsa_amd_memory_async_copy(adder.host, app.cpu, adder.values, app.gpu, 4096, 0, NULL, copied));
		wait_zero(&app, copied);
		HSA_CHECK(hsa_amd_profiling_get_async_copy_time(copied, &copy_time));
		if (copy_time.start == 0 || copy_time.start > copy_time.end)
			hsa_app_die(HSA_APP_FAILED, "copy %u: from %" PRIu64 " to %" PRIu64, i, copy_time.start, copy_time.end);
		HSA_CHECK(hsa_signal_destroy(complete));
		HSA_CHECK(hsa_signal_destroy(copied));
	}
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	adder_finish(&adder);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 30, contract 5: a kernel that is seen outside: every pass adds to host memory, which nothing undoes, and the outcome
 * shows it. */
static int add_to_host_memory(uint32_t times)
{
	struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };

	hsa_app_init(&app);

	struct hsa_app_kernel bump = hsa_app_find_kernel(&app, "bump");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *lines = hsa_app_alloc_host(&app, 1u << 20);
	void *kernargs = hsa_app_kernargs(&app, &bump, &lines, sizeof(lines));

	*lines = 0;
	scenario.passes = 4;
	hsa_app_dispatch(&app, queue, &bump, &one, kernargs, done);
	hsa_app_wait(&app, done);
	if (*lines != times)
		hsa_app_die(HSA_APP_FAILED, "%u lines instead of %u", *lines, times);
	if (scenario.windows && scenario.left_out_host < 1u << 20)
		hsa_app_die(HSA_APP_FAILED, "the outcome counts %" PRIu64 " bytes of host memory left out",
			    scenario.left_out_host);
	hsa_app_free(kernargs);
	hsa_app_free(lines);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* once for each of the four passes */
int story_prints(int argc, char **argv)
{
	return add_to_host_memory(4);
}

/* and once when it is asked for that a dispatch which is seen outside be left alone */
int story_prints_once(int argc, char **argv)
{
	return add_to_host_memory(1);
}

/* 21: what the program's children will see. */
int story_variables(int argc, char **argv)
{
	const char *preload, *tools_lib;

	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	adder_launch(&adder);
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	adder_finish(&adder);
	preload = getenv("LD_PRELOAD");
	tools_lib = getenv("HSA_TOOLS_LIB");
	printf("%s|%s\n", preload ? preload : "", tools_lib ? tools_lib : "");
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

/* 19: vfork and exec in the middle of the work. */
int story_vfork_exec(int argc, char **argv)
{
	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	for (uint32_t i = 0; i < 3; i++) {
		int status;
		pid_t child;

		adder_launch(&adder);
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			hsa_app_die(HSA_APP_FAILED, "the child did not exit cleanly");
	}
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	adder_finish(&adder);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
