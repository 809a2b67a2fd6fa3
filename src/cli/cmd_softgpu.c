/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cli.h"
#include "options/options.h"

const char *const kr_cli_softgpu_description[] = {
	"Runs COMMAND on the software GPU: an HSA runtime in it finds, in place of the kernel "
	"driver, a processor that "
	"interprets the GPU's instructions. No kernel is replayed and nothing is reported. "
	"LD_LIBRARY_PATH is kept, and "
	"extended at the front.",
	NULL,
};

size_t kr_cli_softgpu_flags(struct kr_cli_flag out[KR_CLI_MOST_FLAGS])
{
	const struct kr_option *row = &kr_option_table[KR_OPTION_SOFTGPU];

	out[0] = (struct kr_cli_flag){
		.id = (int)row->id,
		.flag = "spec",
		.letter = 's',
		.argument = KR_ARGUMENT_REQUIRED,
		.metavar = row->metavar,
		.env = row->env,
		.help = "Which GPUs there are, and how they behave.",
	};
	return 1;
}

int kr_cli_cmd_softgpu(const struct kr_cli_command *command, int argc, char **argv)
{
	struct kr_cli_arguments arguments;
	struct kr_cli_libraries libraries = { 0 };
	int status = KR_EXIT_BAD_USE;
	char *path = NULL;

	if (!kr_cli_parse(&arguments, command, argc, argv))
		goto out;
	if (arguments.help) {
		kr_cli_print_help(command);
		status = 0;
		goto out;
	}
	if (!arguments.program[0]) {
		kr_cli_say("softgpu: no command is given (see kreplay softgpu --help)");
		goto out;
	}
	if (!kr_cli_find_libraries(&libraries) ||
	    !kr_cli_use_softgpu(&libraries, arguments.values[0]))
		goto out;
	path = kr_cli_find_program(arguments.program[0], &status);
	if (path)
		status = kr_cli_exec(path, arguments.program);
out:
	free(path);
	kr_cli_free_libraries(&libraries);
	kr_cli_free_arguments(&arguments);
	return status;
}
