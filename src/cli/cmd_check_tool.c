/* SPDX-License-Identifier: MIT */
/*
 * `kreplay check-tool PATH`, hidden: whether PATH can be loaded and is a tool. `kreplay run` starts
 * it as a process of its own, so that whatever a tool's constructors do is done to nobody. The
 * reason goes to descriptor 3.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

#define REASON_FD 3

int kr_cli_cmd_check_tool(const struct kr_cli_command *command, int argc, char **argv)
{
	void *tool;

	(void)command;
	if (argc != 2)
		_exit(KR_EXIT_BAD_USE);
	tool = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
	if (!tool)
		dprintf(REASON_FD, "does not load: %s", dlerror());
	else if (!dlsym(tool, "kreplay_configure"))
		dprintf(REASON_FD, "is not a tool: it does not export kreplay_configure");
	else
		_exit(0);
	/* not exit(): no destructor of the tool is to run */
	_exit(1);
}
