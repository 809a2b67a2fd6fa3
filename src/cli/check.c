/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "options/options.h"
#include "report/names.h"
#include "report/report.h"
#include "reports.h"

/* A constructor that takes longer than this has hung. */
#define LOAD_SECONDS 30

/* The check's way to say what is wrong; see cmd_check_tool.c. */
#define REASON_FD 3

/* In the throw-away child: becomes `kreplay check-tool PATH`, in which the tool is loaded as the
 * program would load it. */
static void become_check(const char *path, const char *library, int reason_fd)
{
	char *const argv[] = { (char *)"kreplay", (char *)"check-tool", (char *)path, NULL };
	int null = open("/dev/null", O_RDWR);

	/* the tool's constructors may print what they like */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(KR_EXIT_BAD_USE);
	/* reason_fd may be REASON_FD itself, and then dup2 would leave it to be closed */
	if (reason_fd == REASON_FD ? fcntl(reason_fd, F_SETFD, 0) < 0
				   : dup2(reason_fd, REASON_FD) < 0)
		_exit(KR_EXIT_BAD_USE);
	/* libkreplay is there for the tool's symbols, and is to do nothing */
	for (size_t i = 0; i < KR_OPTION_COUNT; i++)
		unsetenv(kr_option_table[i].env);
	if (!kr_cli_add_preload(library))
		_exit(KR_EXIT_BAD_USE);
	alarm(LOAD_SECONDS);
	execv("/proc/self/exe", argv);
	_exit(KR_EXIT_BAD_USE);
}

/* What the child wrote, ended by NUL. */
static void read_reason(int fd, char *reason, size_t size)
{
	size_t used = 0;

	while (used < size - 1) {
		ssize_t got = read(fd, reason + used, size - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	reason[used] = '\0';
}

/* True: the tool loads. False: `reason` says why not. */
static bool try_tool(const char *path, const char *library, char *reason, size_t size)
{
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		snprintf(reason, size, "cannot be checked: %s", strerror(errno));
		return false;
	}
	child = fork();
	if (child == 0)
		become_check(path, library, ends[1]);
	close(ends[1]);
	if (child < 0) {
		snprintf(reason, size, "cannot be checked: %s", strerror(errno));
		close(ends[0]);
		return false;
	}
	read_reason(ends[0], reason, size);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			snprintf(reason, size, "cannot be checked: %s", strerror(errno));
			return false;
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(reason, size, "does not finish loading within %d seconds", LOAD_SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(reason, size, "dies of signal %d (%s) when it is loaded", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (reason[0] == '\0')
		snprintf(reason, size, "exits with status %d when it is loaded",
			 WEXITSTATUS(status));
	return false;
}

/* One that comes with kreplay, by its name; NULL when none has it. */
static char *find_bundled(const char *name, const struct kr_cli_libraries *libraries)
{
	char *path;

	if (!libraries->tools || !name[0] || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] ||
	    asprintf(&path, "%s/libkreplay-%s.so", libraries->tools, name) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/*
 * A path in the present folder becomes absolute, for the program may leave that folder. A bare name
 * that is no file here is left for the dynamic linker's search.
 */
static char *resolve_tool(const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0)
		return realpath(path, NULL);
	return strdup(path);
}

static bool check_tool(const char *path, const struct kr_cli_libraries *libraries, char **resolved)
{
	char reason[2048];
	struct stat status;

	if (strchr(path, '/') && stat(path, &status) != 0) {
		kr_cli_say("tool '%s': %s", path, strerror(errno));
		return false;
	}
	*resolved = find_bundled(path, libraries);
	if (!*resolved)
		*resolved = resolve_tool(path);
	if (!*resolved) {
		kr_cli_say("tool '%s': %s", path, strerror(errno));
		return false;
	}
	if (strchr(*resolved, ':')) {
		kr_cli_say("tool '%s': lies in a folder with a colon in its name", path);
		return false;
	}
	if (!try_tool(*resolved, libraries->library, reason, sizeof(reason))) {
		kr_cli_say("tool '%s': %s", path, reason);
		return false;
	}
	return true;
}

bool kr_cli_check_tools(const char *paths, const struct kr_cli_libraries *libraries,
			char **resolved)
{
	char *copy = strdup(paths), *state = NULL, *joined = NULL;
	bool done = copy != NULL;

	for (char *path = copy ? strtok_r(copy, ":", &state) : NULL; path && done;
	     path = strtok_r(NULL, ":", &state)) {
		char *one = NULL, *longer = NULL;

		done = check_tool(path, libraries, &one);
		if (done &&
		    asprintf(&longer, "%s%s%s", joined ? joined : "", joined ? ":" : "", one) < 0) {
			kr_cli_say("no memory for the list of tools");
			longer = NULL;
			done = false;
		}
		free(one);
		if (done) {
			free(joined);
			joined = longer;
		}
	}
	free(copy);
	if (done && !joined) {
		kr_cli_say("'%s' names no tool", paths);
		done = false;
	}
	if (!done) {
		free(joined);
		return false;
	}
	*resolved = joined;
	return true;
}

static bool check_output(const char *path)
{
	char error[256];
	struct stat out, target;

	if (!kr_cli_known_kind(path))
		return false;
	if (!kr_report_make_folders(path)) {
		kr_cli_say("cannot write '%s': %s", path, strerror(errno));
		return false;
	}
	if (!kr_report_check_output(path, error, sizeof(error))) {
		kr_cli_say("cannot write '%s': %s", path, error);
		return false;
	}
	if (stat(path, &target) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
	    S_ISREG(target.st_mode) && out.st_dev == target.st_dev && out.st_ino == target.st_ino) {
		kr_cli_say("cannot write '%s': the program's standard output goes there", path);
		return false;
	}
	return true;
}

bool kr_cli_check_outputs(const char *paths, const char *program)
{
	char *copy = strdup(paths), *state = NULL;
	bool done = copy != NULL;

	for (char *one = copy ? strtok_r(copy, "\n", &state) : NULL; one && done; one = strtok_r(NULL, "\n", &state)) {
		char *path = kr_report_expand(one, program);

		done = path && check_output(path);
		free(path);
	}
	free(copy);
	return done;
}
