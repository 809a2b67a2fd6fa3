/* SPDX-License-Identifier: MIT */
/* See client.h. */
#include "client.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_window bench_window;

double bench_now(void)
{
	return bench_cpu(CLOCK_MONOTONIC);
}

double bench_cpu(clockid_t of)
{
	struct timespec time;

	clock_gettime(of, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void bench_answer(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static const struct {
	const char *name;
	void (*run)(struct client *c, const char *arguments);
} commands[] = {
	{ "pipeline", bench_pipeline }, { "submit", bench_submit },     { "latency", bench_latency },
	{ "live", bench_live },         { "pair", bench_pair },         { "turnover", bench_turnover },
	{ "regions", bench_regions },   { "window", bench_touch },      { "upstream", bench_upstream },
	{ "memcpy", bench_memcpy },
};

static void run(struct client *c, const char *line)
{
	size_t name = strcspn(line, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strlen(commands[i].name) == name && memcmp(commands[i].name, line, name) == 0) {
			commands[i].run(c, line + name);
			return;
		}
	bench_answer("error no such command: %s", line);
}

/* Before there are threads. */
static bool keep_to_one_core(void)
{
	cpu_set_t cores;
	int first = 0;

	if (!getenv("BENCH_ONE_CORE"))
		return false;
	if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot tell the cores");
	while (!CPU_ISSET(first, &cores))
		first++;
	CPU_ZERO(&cores);
	CPU_SET(first, &cores);
	if (sched_setaffinity(0, sizeof(cores), &cores) != 0)
		hsa_app_die(HSA_APP_FAILED, "cannot keep to one core");
	return true;
}

int main(void)
{
	static struct client c;
	char line[256];

	snprintf(line, sizeof(line), "%" PRIxPTR, (uintptr_t)&bench_window);
	setenv(BENCH_WINDOW_VARIABLE, line, 1); /* before the tool is loaded */
	c.one_core = keep_to_one_core();
	hsa_app_init(&c.app);
	c.null = hsa_app_find_kernel(&c.app, "null_kernel");
	c.touch = hsa_app_find_kernel(&c.app, "touch");
	c.null_kernargs = hsa_app_kernargs(&c.app, &c.null, NULL, 0);
	c.queue = hsa_app_queue_create(&c.app, 1024);
	c.done = hsa_app_signal_create(1);
	bench_answer("ok");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		run(&c, line);
	}
	hsa_app_free(c.null_kernargs);
	HSA_CHECK(hsa_signal_destroy(c.done));
	HSA_CHECK(hsa_queue_destroy(c.queue));
	hsa_app_finish(&c.app);
	return HSA_APP_OK;
}
