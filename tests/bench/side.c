/* SPDX-License-Identifier: MIT */
#include "side.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *build;

void side_setup(const char *directory)
{
	build = directory;
	signal(SIGPIPE, SIG_IGN);
}

const char *side_build(void)
{
	return build;
}

static void set_path(const char *name, const char *below)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", build, below);
	setenv(name, path, 1);
}

/* In the child. */
static void become_client(enum side_kind kind, const char *const *settings)
{
	char path[4096];

	/* What is measured does not depend on what the caller has set. */
	for (char **e = environ; *e;) {
		char name[64];

		if (strncmp(*e, "KREPLAY_", 8) != 0 && strncmp(*e, "BENCH_", 6) != 0) {
			e++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (unsetenv(name) != 0 || getenv(name))
			_exit(126);
		e = environ;
	}
	unsetenv("HSA_TOOLS_LIB");
	set_path("LD_LIBRARY_PATH", "src/softgpu");
	if (kind == SIDE_PRELOAD)
		set_path("LD_PRELOAD", "preload/libkreplay.so");
	else if (kind == SIDE_TOOLS)
		set_path("HSA_TOOLS_LIB", "preload/libkreplay.so");
	else if (kind == SIDE_INTERCEPT)
		set_path("HSA_TOOLS_LIB", "tests/bench/intercept.so");
	if (kind == SIDE_PRELOAD || kind == SIDE_TOOLS)
		set_path("KREPLAY_TOOL", "tests/bench/tool.so");
	for (; settings && *settings; settings++)
		putenv((char *)*settings);
	/* The report at the end is not the figure. */
	if (!freopen("/dev/null", "w", stderr) && errno)
		_exit(126);
	snprintf(path, sizeof(path), "%s/tests/bench/client", build);
	execl(path, path, (char *)NULL);
	_exit(127);
}

static bool read_answer(struct side *side)
{
	char line[512], *at = line + 2;

	if (!fgets(line, sizeof(line), side->from)) {
		fprintf(stderr, "bench: a client has ended before its answer\n");
		return false;
	}
	if (strncmp(line, "ok", 2) != 0) {
		fprintf(stderr, "bench: client: %s", line);
		return false;
	}
	memset(side->value, 0, sizeof(side->value));
	for (int i = 0; i < SIDE_VALUES; i++) {
		char *end;
		double value = strtod(at, &end);

		if (end == at)
			break;
		side->value[i] = value;
		at = end;
	}
	return true;
}

bool side_start(struct side *side, enum side_kind kind, const char *const *settings)
{
	int to[2], from[2];

	memset(side, 0, sizeof(*side));
	if (pipe(to) != 0 || pipe(from) != 0)
		return false;
	side->pid = fork();
	if (side->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		/* Only these: another side's pipe, held open, would keep that side alive. */
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		become_client(kind, settings);
	}
	close(to[0]);
	close(from[1]);
	side->to = fdopen(to[1], "w");
	side->from = fdopen(from[0], "r");
	return side->pid > 0 && side->to && side->from && read_answer(side);
}

bool side_ask(struct side *side, const char *format, ...)
{
	va_list args;

	if (!side->to)
		return false;
	va_start(args, format);
	vfprintf(side->to, format, args);
	va_end(args);
	fputc('\n', side->to);
	fflush(side->to);
	return read_answer(side);
}

void side_stop(struct side *side)
{
	if (side->to)
		fclose(side->to);
	if (side->from)
		fclose(side->from);
	if (side->pid > 0)
		waitpid(side->pid, NULL, 0);
	memset(side, 0, sizeof(*side));
}
