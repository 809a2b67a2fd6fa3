/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/log.h"

static char captured[8192];

/* Runs `body` with standard error in a pipe. */
static void capture(void (*body)(void))
{
	int ends[2], kept = dup(STDERR_FILENO);
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	body();
	dup2(kept, STDERR_FILENO);
	close(kept);
	got = read(ends[0], captured, sizeof(captured) - 1);
	captured[got > 0 ? got : 0] = '\0';
	close(ends[0]);
}

static void say_two(void)
{
	kr_log(KR_LOG_ERROR, "window", "kernel %s, pass %d", "a\nb", 3);
	kr_log(KR_LOG_WARN, NULL, "plain");
}

static void lines(void **state)
{
	kr_log_set_level(KR_LOG_WARN);
	capture(say_two);
	assert_string_equal(captured, "kreplay: window: kernel a?b, pass 3\nkreplay: plain\n");
}

static void say_each(void)
{
	kr_log(KR_LOG_ERROR, NULL, "e");
	kr_log(KR_LOG_WARN, NULL, "w");
	kr_log(KR_LOG_INFO, NULL, "i");
	kr_log(KR_LOG_DEBUG, NULL, "d");
}

static void levels(void **state)
{
	static const char *const expected[] = {
		"kreplay: e\n",
		"kreplay: e\nkreplay: w\n",
		"kreplay: e\nkreplay: w\nkreplay: i\n",
		"kreplay: e\nkreplay: w\nkreplay: i\nkreplay: d\n",
	};

	for (int level = KR_LOG_ERROR; level <= KR_LOG_DEBUG; level++) {
		kr_log_set_level((enum kr_level)level);
		capture(say_each);
		assert_string_equal(captured, expected[level]);
		assert_true(kr_log_enabled((enum kr_level)level, NULL));
		assert_false(kr_log_enabled((enum kr_level)(level + 1), NULL));
	}
	kr_log_set_level(KR_LOG_WARN);
}

static void say_long(void)
{
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	kr_log(KR_LOG_WARN, "topic", "%s", text);
	kr_log(KR_LOG_WARN, text, "%s", "message");
}

static void long_lines_are_cut(void **state)
{
	const char *end;

	capture(say_long);
	end = strchr(captured, '\n');
	assert_non_null(end);
	assert_memory_equal(end - 3, "...", 3);
	assert_true(end - captured < 1024);
	/* the second one too is one line */
	assert_int_equal(end[strcspn(end + 1, "\n") + 2], '\0');
}

static void say_once(void)
{
	assert_true(kr_log_once("a", KR_LOG_WARN, NULL, "a %d", 1));
	assert_false(kr_log_once("a", KR_LOG_WARN, NULL, "a %d", 2));
	assert_true(kr_log_once("b", KR_LOG_WARN, "t", "b"));
	assert_true(kr_log_once("c", KR_LOG_DEBUG, "t", "not at this level"));
	assert_false(kr_log_once("b", KR_LOG_WARN, "t", "b"));
}

static void once(void **state)
{
	capture(say_once);
	assert_string_equal(captured, "kreplay: a 1\nkreplay: t: b\n");
}

static void say_errno(void)
{
	errno = ENOENT;
	kr_log(KR_LOG_WARN, NULL, "%m");
	assert_int_equal(errno, ENOENT);
}

static void errno_is_kept(void **state)
{
	capture(say_errno);
	assert_string_equal(captured, "kreplay: No such file or directory\n");
}

/* Standard error closed, or a pipe that nobody reads: nothing happens, least of all a SIGPIPE. */
static void nowhere_to_write(void **state)
{
	int ends[2], kept = dup(STDERR_FILENO);

	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	errno = EBUSY;
	kr_log(KR_LOG_ERROR, NULL, "unheard");
	assert_int_equal(errno, EBUSY);
	close(STDERR_FILENO);
	kr_log(KR_LOG_ERROR, NULL, "unheard");
	assert_int_equal(errno, EBUSY);
	dup2(kept, STDERR_FILENO);
	close(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(levels),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(once),
		cmocka_unit_test(errno_is_kept),
		cmocka_unit_test(nowhere_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
