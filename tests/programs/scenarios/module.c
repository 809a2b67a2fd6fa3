/* SPDX-License-Identifier: MIT */
/* 22: what `loader` brings in by dlopen: HSA comes with it and goes with it. */
#include "../adder.h"

__attribute__((visibility("default"))) int module_work(void);

int module_work(void)
{
	struct hsa_app app;
	struct adder adder;
	bool right;

	hsa_app_init(&app);
	adder_init(&adder, &app, 1024, 3);
	adder_launch(&adder);
	adder_launch(&adder);
	right = adder_check(&adder);
	adder_finish(&adder);
	hsa_app_finish(&app);
	return right ? HSA_APP_OK : HSA_APP_FAILED;
}
