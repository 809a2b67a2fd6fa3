/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "cli.h"

int kr_cli_cmd_help(const struct kr_cli_command *command, int argc, char **argv)
{
	const struct kr_cli_command *asked;

	(void)command;
	if (argc < 2) {
		kr_cli_print_usage(stdout);
		return 0;
	}
	if (argc > 2) {
		kr_cli_say("help: one command at a time");
		return KR_EXIT_BAD_USE;
	}
	asked = kr_cli_find_command(
		strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? "help" : argv[1]);
	if (!asked || asked->hidden) {
		kr_cli_say("'%s' is not a kreplay command (see kreplay --help)", argv[1]);
		return KR_EXIT_BAD_USE;
	}
	kr_cli_print_help(asked);
	return 0;
}
