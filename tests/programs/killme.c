/* SPDX-License-Identifier: MIT */
/* killme [LAUNCHES] [SIGNAL]: launches kernels, checks them, dies by SIGKILL or that signal. */
#include "adder.h"

#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 1, "LAUNCHES", 3, 1u << 20);
	int signal_number = (int)hsa_app_argument(argc, argv, 2, "SIGNAL", SIGKILL, 64);
	struct hsa_app app;
	struct adder adder;

	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	for (uint32_t i = 0; i < launches; i++)
		adder_launch(&adder);
	if (!adder_check(&adder))
		return HSA_APP_FAILED;
	printf("killme: ok (%u elements, %u launches)\n", adder.n, adder.launched);
	fflush(stdout);
	raise(signal_number);
	fprintf(stderr, "killme: signal %d did not end the program\n", signal_number);
	return HSA_APP_FAILED;
}
