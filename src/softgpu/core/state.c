/* SPDX-License-Identifier: MIT */
/* Life cycle, topology, clock, and the few system calls others build on. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sg_options sg_opt;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t open_count;
static _Atomic bool is_open;
static struct sg_gpu_info gpus[SG_MAX_GPUS];
static _Atomic uint64_t random_state;
static _Atomic uint64_t last_stamp;
static _Atomic uint32_t injected[SG_INJECTIONS];

/* Compute units when the SPEC says nothing. The runtime sizes its copy kernels
 * by them, so a whole card's worth only makes small copies slow. */
#define DEFAULT_COMPUTE_UNITS 8

void sg_log(const char *format, ...)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "softgpu: ");
	va_list args;

	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	/* It may quote what a client made up, and stays one line. */
	for (int i = 0; i < n; i++) {
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	}
	line[n++] = '\n';
	/* One write, so that lines of several threads do not mix. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t sg_clock_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t sg_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void sg_sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};

	nanosleep(&t, NULL);
}

int sg_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	struct timespec t = {(time_t)(deadline_ns / 1000000000ull),
	                     (long)(deadline_ns % 1000000000ull)};

	/* WAIT_BITSET takes an absolute CLOCK_MONOTONIC time. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline_ns ? &t : NULL,
	            NULL, FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return errno;
}

void sg_futex_wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

uint64_t sg_random(void)
{
	/* splitmix64 over a shared counter. */
	uint64_t z = atomic_fetch_add(&random_state, 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t sg_random_delay(void)
{
	return sg_monotonic_ns() + sg_random() % (sg_opt.delay_us * 1000ull + 1);
}

bool sg_inject(enum sg_injection kind)
{
	return sg_opt.inject[kind] && atomic_fetch_add(&injected[kind], 1) + 1 == sg_opt.inject[kind];
}

uint64_t sg_stamp(void)
{
	uint64_t now = sg_clock_ns(), last = atomic_load_explicit(&last_stamp, memory_order_relaxed);

	do {
		if (now <= last)
			now = last + 1;
	} while (!atomic_compare_exchange_weak(&last_stamp, &last, now));
	return now;
}

static uint64_t host_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void describe_gpu(uint32_t index)
{
	const struct sg_gpu_data *data = sg_opt.gpus[index];
	struct sg_gpu_info *gpu = &gpus[index];
	uint64_t half = host_memory() / 2 & ~(SG_HUGE - 1);

	*gpu = (struct sg_gpu_info){
		.data = data,
		.node = index + 1,
		.compute_units = sg_opt.compute_units,
		.vram_bytes = sg_opt.vram_bytes,
		.private_vram = sg_opt.private_vram,
		.doorbell_type = sg_opt.doorbell_type,
		.lds_aperture = SG_LDS_APERTURE,
		.private_aperture = SG_PRIVATE_APERTURE,
	};
	if (!gpu->compute_units)
		gpu->compute_units = DEFAULT_COMPUTE_UNITS;
	if (!gpu->vram_bytes)
		gpu->vram_bytes = data->vram_bytes < half ? data->vram_bytes : half;
	/* The runtime wants scratch slots divisible by the engines. */
	gpu->shader_engines = data->shader_engines;
	while (gpu->compute_units % gpu->shader_engines)
		gpu->shader_engines--;
}

static void after_fork_child(void)
{
	/* Only this thread came along, and allocations are not inherited. The child
	 * starts closed; what the parent held stays the parent's. */
	pthread_mutex_init(&open_lock, NULL);
	open_count = 0;
	atomic_store(&is_open, false);
	sg_sched_reset();
	sg_queues_reset();
	sg_events_reset();
	sg_memory_close();
	sg_vram_close();
	sg_svm_reset();
}

static enum sg_status open_locked(void)
{
	static bool once;
	char reason[160];
	const char *spec = getenv(SG_SPEC_VARIABLE);
	enum sg_status status;

	if (!sg_options_parse(spec, &sg_opt, reason, sizeof(reason))) {
		sg_log("%s=%.200s%s: %s", SG_SPEC_VARIABLE, spec, strlen(spec) > 200 ? "..." : "", reason);
		return SG_INVALID;
	}
	if (!once) {
		if (!sg_guard_install() || pthread_atfork(NULL, NULL, after_fork_child))
			return SG_RESOURCES;
		once = true;
	}
	atomic_store(&random_state, sg_opt.seed);
	for (int i = 0; i < SG_INJECTIONS; i++)
		atomic_store(&injected[i], 0);
	for (uint32_t i = 0; i < sg_opt.gpu_count; i++)
		describe_gpu(i);
	sg_events_reset();
	sg_queues_reset();
	status = sg_vram_open();
	if (status != SG_OK)
		return status;
	status = sg_memory_open();
	if (status != SG_OK)
		sg_vram_close();
	return status;
}

enum sg_status sg_open(void)
{
	enum sg_status status = SG_ALREADY_OPEN;

	pthread_mutex_lock(&open_lock);
	if (open_count == 0) {
		status = open_locked();
		atomic_store(&is_open, status == SG_OK);
	}
	if (status == SG_OK || status == SG_ALREADY_OPEN)
		open_count++;
	pthread_mutex_unlock(&open_lock);
	return status;
}

enum sg_status sg_close(void)
{
	enum sg_status status = SG_OK;

	pthread_mutex_lock(&open_lock);
	if (open_count == 0) {
		status = SG_CLOSED;
	} else if (--open_count == 0) {
		atomic_store(&is_open, false);
		sg_queues_close();
		sg_sched_stop();
		sg_memory_close();
		sg_vram_close();
		sg_svm_reset();
		sg_events_reset();
	}
	pthread_mutex_unlock(&open_lock);
	return status;
}

bool sg_is_open(void)
{
	return atomic_load_explicit(&is_open, memory_order_acquire);
}

uint32_t sg_node_count(void)
{
	return sg_opt.gpu_count + 1;
}

const struct sg_gpu_info *sg_gpu_info(uint32_t node)
{
	return node >= 1 && node <= sg_opt.gpu_count ? &gpus[node - 1] : NULL;
}
