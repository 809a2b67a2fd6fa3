/* SPDX-License-Identifier: MIT */
/*
 * forks [LAUNCHES]: forks in the middle of its work. One child exits at once through exit(), one
 * through another program (/bin/true), and neither touches HSA; the parent goes on and its results
 * are right.
 */
#include "adder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(bool other_program)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		hsa_app_die(HSA_APP_FAILED, "fork failed");
	if (child == 0) {
		if (other_program) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		hsa_app_die(HSA_APP_FAILED, "a child did not exit cleanly (wait status 0x%x)",
			    (unsigned)status);
}

int main(int argc, char **argv)
{
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 1, "LAUNCHES", 3, 1u << 20);
	struct hsa_app app;
	struct adder adder;

	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 5);
	for (uint32_t i = 0; i < launches; i++) {
		adder_launch(&adder);
		run_child(i % 2 == 1);
	}
	adder_launch(&adder);
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	printf("forks: ok (%u elements, %u launches)\n", adder.n, adder.launched);
	adder_finish(&adder);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
