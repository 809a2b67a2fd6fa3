/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

static const char *const help_description[] = {
	"Prints what a command does and which flags it takes.",
	NULL,
};

const struct kr_cli_command kr_cli_commands[] = {
	{
		.name = "run",
		.synopsis = "[FLAGS] [--] COMMAND [ARGUMENT...]",
		.summary = "replay the kernel dispatches of a program, and report on them",
		.description = kr_cli_run_description,
		.flags = kr_cli_run_flags,
		.run = kr_cli_cmd_run,
	},
	{
		.name = "softgpu",
		.synopsis = "[FLAGS] [--] COMMAND [ARGUMENT...]",
		.summary = "run a program on the software GPU, without replaying anything",
		.description = kr_cli_softgpu_description,
		.flags = kr_cli_softgpu_flags,
		.run = kr_cli_cmd_softgpu,
	},
	{
		.name = "report",
		.synopsis = "[FLAGS] FILE...",
		.summary = "print, merge, compare and convert reports",
		.description = kr_cli_report_description,
		.flags = kr_cli_report_flags,
		.run = kr_cli_cmd_report,
		.flags_anywhere = true,
		.own_status = true,
	},
	{
		.name = "info",
		.synopsis = "[FLAGS OF RUN]",
		.summary = "tell whether replay can work here, and why not",
		.description = kr_cli_info_description,
		.flags = kr_cli_run_flags,
		.run = kr_cli_cmd_info,
		.own_status = true,
	},
	{
		.name = "help",
		.synopsis = "[COMMAND]",
		.summary = "describe a command",
		.description = help_description,
		.run = kr_cli_cmd_help,
	},
	/* for the build and for the launcher itself */
	{ .name = "man", .run = kr_cli_cmd_man, .hidden = true },
	{ .name = "completion", .run = kr_cli_cmd_completion, .hidden = true },
	{ .name = "probe", .run = kr_cli_cmd_probe, .hidden = true },
	{ .name = "check-tool", .run = kr_cli_cmd_check_tool, .hidden = true },
	{ 0 },
};

const struct kr_cli_command *kr_cli_find_command(const char *name)
{
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}
