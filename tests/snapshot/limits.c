/* SPDX-License-Identifier: MIT */
/*
 * limits: no more address space for this process. A snapshot that then finds no host memory is declined, nothing of the
 * application's is touched, and when there is memory again the next window is right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime.h"

#define BYTES ((size_t)96 << 20)

static uint64_t
address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * 4096ull;
}

static void
check(struct kr_agent *agent, unsigned char *memory, unsigned char *buffer, unsigned char value)
{
	runtime_read(agent, buffer, memory, BYTES);
	for (size_t i = 0; i < BYTES; i++)
		CHECK(buffer[i] == value);
}

int
main(void)
{
	struct kr_agent *agent;
	struct kr_snapshot *s;
	struct rlimit limit, before;
	kreplay_phase_stats_t stats;
	kreplay_decline_t why;
	unsigned char *memory, *buffer = malloc(BYTES);

	setenv("KREPLAY_SNAPSHOT", "host", 0);
	CHECK(buffer != NULL);
	agent = runtime_start();
	memory = runtime_alloc(agent, BYTES);
	memset(buffer, 7, BYTES);
	runtime_write(agent, memory, buffer, BYTES);
	s = kr_snapshot_of(agent);
	CHECK(s != NULL && getrlimit(RLIMIT_AS, &before) == 0);

	limit = before;
	limit.rlim_cur = address_space() + (48u << 20);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	why = kr_snapshot_take(s, &stats);
	printf("with no room: %s\n", kreplay_decline_name(why));
	CHECK(why == KREPLAY_DECLINE_OVER_BUDGET || why == KREPLAY_DECLINE_OUT_OF_MEMORY);
	CHECK(stats.host_link_bytes == 0);
	CHECK(setrlimit(RLIMIT_AS, &before) == 0);
	check(agent, memory, buffer, 7);

	CHECK(kr_snapshot_take(s, &stats) == KREPLAY_DECLINE_NONE);
	CHECK(stats.bytes == BYTES);
	memset(buffer, 9, BYTES);
	runtime_write(agent, memory, buffer, BYTES);
	kr_snapshot_restore(s, "test", &stats);
	CHECK(stats.dirty_bytes == BYTES);
	check(agent, memory, buffer, 7);
	kr_snapshot_close(s);
	runtime_free(memory);
	runtime_stop();
	free(buffer);
	return 0;
}
