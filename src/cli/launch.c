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
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* 0, or the errno with which executing the file would fail. */
static int try_program(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static char *program_is(const char *path, int *status)
{
	char *copy = strdup(path);

	if (!copy) {
		kr_cli_say("no memory for the program's path");
		*status = KR_EXIT_BAD_USE;
	}
	return copy;
}

static int status_of(int error)
{
	return error == ENOENT || error == ENOTDIR ? KR_EXIT_NOT_FOUND : KR_EXIT_CANNOT_EXECUTE;
}

char *kr_cli_find_program(const char *name, int *status)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];
	int error, worst = ENOENT;

	if (strchr(name, '/') || name[0] == '\0') {
		error = name[0] ? try_program(name) : ENOENT;
		if (error == 0)
			return program_is(name, status);
		kr_cli_say("'%s': %s", name, strerror(error));
		*status = status_of(error);
		return NULL;
	}
	for (const char *at = folders ? folders : "/bin:/usr/bin";;) {
		size_t length = strcspn(at, ":");

		/* an empty element is the present folder */
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)length, at, length ? "/" : "./",
			     name) < (int)sizeof(path)) {
			error = try_program(path);
			if (error == 0)
				return program_is(path, status);
			if (error == EACCES)
				worst = EACCES;
		}
		if (at[length] == '\0')
			break;
		at += length + 1;
	}
	kr_cli_say("'%s': %s", name, worst == ENOENT ? "not found in PATH" : strerror(worst));
	*status = status_of(worst);
	return NULL;
}

/* Returns errno. */
static int execute(const char *path, char **argv)
{
	size_t count = 0;
	char **script;

	execve(path, argv, environ);
	if (errno != ENOEXEC)
		return errno;
	/* a script without an interpreter line: the shell's, as for execvp */
	while (argv[count])
		count++;
	script = calloc(count + 2, sizeof(*script));
	if (!script)
		return ENOMEM;
	script[0] = (char *)"sh";
	script[1] = (char *)path;
	for (size_t i = 1; i < count; i++)
		script[i + 1] = argv[i];
	execve("/bin/sh", script, environ);
	free(script);
	return ENOEXEC;
}

static int say_not_executed(const char *path, int error)
{
	if (error == ENOENT && access(path, F_OK) == 0)
		kr_cli_say("'%s': the interpreter that it names is not there", path);
	else
		kr_cli_say("'%s': %s", path, strerror(error));
	return status_of(error);
}

int kr_cli_exec(const char *path, char **argv)
{
	return say_not_executed(path, execute(path, argv));
}

/* What is passed on when it was sent to the launcher alone. */
static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

/*
 * The signals to wait for: none is handled, all are taken from the queue, so that none is lost
 * between two steps. One that the launcher was started with ignored (nohup) stays ignored, here and
 * in the program.
 */
static void choose_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		struct sigaction action;

		if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, passed_on[i]);
	}
}

/* Returns the child's wait status. */
static int wait_for(pid_t child, const sigset_t *signals, const struct kr_cli_watch *watch)
{
	const struct timespec interval = { .tv_nsec = 200000000 };
	int status;

	for (;;) {
		siginfo_t info;
		int signal = watch->tick ? sigtimedwait(signals, &info, &interval) : sigwaitinfo(signals, &info);

		if (signal < 0 && errno == EAGAIN)
			watch->tick(watch->data);
		if (signal == SIGINT && watch->interrupt)
			watch->interrupt(watch->data);
		if (signal == SIGCHLD) {
			if (waitpid(child, &status, WNOHANG) == child)
				return status;
		} else if (signal > 0 && info.si_code <= 0) {
			/* sent by a process; what the terminal sends, the program has got itself
			 * (si_code SI_KERNEL) */
			kill(child, signal);
		}
	}
}

static pid_t start(const char *path, char **argv, const sigset_t *mask,
		   const struct sigaction *on_child, int *error)
{
	int ends[2], got = 0;
	ssize_t length;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		*error = errno;
		return -1;
	}
	child = fork();
	if (child == 0) {
		sigaction(SIGCHLD, on_child, NULL);
		sigprocmask(SIG_SETMASK, mask, NULL);
		got = execute(path, argv);
		if (write(ends[1], &got, sizeof(got)) != (ssize_t)sizeof(got))
			_exit(KR_EXIT_CANNOT_EXECUTE);
		_exit(KR_EXIT_CANNOT_EXECUTE);
	}
	*error = child < 0 ? errno : 0;
	close(ends[1]);
	/* closed without a word by a successful execve */
	do
		length = child < 0 ? 0 : read(ends[0], &got, sizeof(got));
	while (length < 0 && errno == EINTR);
	close(ends[0]);
	if (length == (ssize_t)sizeof(got)) {
		waitpid(child, NULL, 0);
		*error = got;
		return -1;
	}
	return child;
}

bool kr_cli_launch(const char *path, char **argv, const struct kr_cli_watch *watch, struct kr_cli_outcome *outcome)
{
	/* were it ignored, as some parents leave it, there would be nothing to wait for */
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct sigaction on_child;
	sigset_t signals, mask;
	int error, status;
	pid_t child;

	*outcome = (struct kr_cli_outcome){ 0 };
	choose_signals(&signals);
	sigaction(SIGCHLD, &by_default, &on_child);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	child = start(path, argv, &mask, &on_child, &error);
	if (child < 0) {
		outcome->status = say_not_executed(path, error);
		return false;
	}
	outcome->started = true;
	status = wait_for(child, &signals, watch);
	if (WIFSIGNALED(status)) {
		outcome->signal = WTERMSIG(status);
		outcome->status = 128 + outcome->signal;
	} else {
		outcome->status = WEXITSTATUS(status);
	}
	/* still blocked: the report is to be written whole; a second Ctrl-C would otherwise cut it
	 */
	return true;
}
