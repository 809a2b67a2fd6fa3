/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "report/text.h"

void kr_cli_say(const char *format, ...)
{
	char line[4096];
	size_t used;
	va_list arguments;
	int length;

	used = (size_t)snprintf(line, sizeof(line), "kreplay: ");
	va_start(arguments, format);
	length = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
	va_end(arguments);
	if (length > 0)
		used += (size_t)length < sizeof(line) - used - 1 ? (size_t)length
								 : sizeof(line) - used - 2;
	/* one line, whatever the arguments hold */
	for (size_t i = 0; i < used; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[used++] = '\n';
	/* nowhere left to say it when this fails */
	(void)kr_write_all(STDERR_FILENO, line, used);
}

/* What was asked for has to have come out. A reader that has seen enough is no error. */
static int written(int status)
{
	int error = kr_write_error();

	if (fflush(stdout) != 0 && error == 0)
		error = errno;
	if (status != 0 || error == 0 || error == EPIPE)
		return status;
	kr_cli_say("standard output: %s", strerror(error));
	return KR_EXIT_BAD_USE;
}

static int run(int argc, char **argv)
{
	const struct kr_cli_command *command;

	if (argc < 2) {
		kr_cli_print_usage(stderr);
		return KR_EXIT_BAD_USE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		kr_cli_print_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("kreplay " KREPLAY_VERSION);
		return 0;
	}
	command = kr_cli_find_command(argv[1]);
	if (!command) {
		kr_cli_say("'%s' is not a kreplay command (see kreplay --help)", argv[1]);
		return KR_EXIT_BAD_USE;
	}
	return command->run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	return written(run(argc, argv));
}
