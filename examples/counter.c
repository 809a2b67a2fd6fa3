/* SPDX-License-Identifier: MIT */
/*
 * counter [WORK_ITEMS] [LAUNCHES]: a kernel that counts its own launches and work-items in
 * variables of the module. One is `static` in counter.cl, so the host cannot name it and asks a
 * second kernel for its value; the other is exported and is also read here by its address.
 */
#include "hsa_app.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint32_t n = (uint32_t)hsa_app_argument(argc, argv, 1, "WORK_ITEMS", 1024, 1u << 28);
	uint32_t launches = (uint32_t)hsa_app_argument(argc, argv, 2, "LAUNCHES", 3, 1u << 20);
	uint32_t total = hsa_app_round_up(n, 256);
	struct hsa_app_range many = { .grid = { total }, .group = { 256 } };
	struct hsa_app_range one = { .grid = { 1 }, .group = { 1 } };
	uint32_t want[3] = { launches, total * launches, total * launches };
	struct hsa_app app;

	hsa_app_init(&app);

	struct hsa_app_kernel bump = hsa_app_find_kernel(&app, "bump");
	struct hsa_app_kernel report = hsa_app_find_kernel(&app, "report");
	hsa_queue_t *queue = hsa_app_queue_create(&app, 64);
	hsa_signal_t done = hsa_app_signal_create(1);
	uint32_t *got = hsa_app_alloc_host(&app, sizeof(want));
	uint32_t *device_got = hsa_app_alloc_device(&app, 2 * sizeof(uint32_t));
	void *bump_kernargs = hsa_app_kernargs(&app, &bump, NULL, 0);
	void *report_kernargs = hsa_app_kernargs(&app, &report, &device_got, sizeof(device_got));

	for (uint32_t i = 0; i < launches; i++) {
		hsa_app_dispatch(&app, queue, &bump, &many, bump_kernargs, done);
		hsa_app_wait(&app, done);
	}
	hsa_app_dispatch(&app, queue, &report, &one, report_kernargs, done);
	hsa_app_wait(&app, done);

	hsa_app_copy_to_host(&app, got, device_got, 2 * sizeof(uint32_t));
	/* hsa_memory_copy finds out by itself whose memory the variable lies in */
	HSA_CHECK(hsa_memory_copy(&got[2], hsa_app_find_variable(&app, "work_items"),
				  sizeof(uint32_t)));
	if (!hsa_app_same_u32("counts", got, want, 3))
		exit(HSA_APP_FAILED);
	printf("counter: ok (%u work-items, %u launches)\n", total, launches + 1);

	hsa_app_free(report_kernargs);
	hsa_app_free(bump_kernargs);
	hsa_app_free(device_got);
	hsa_app_free(got);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_app_finish(&app);
	return HSA_APP_OK;
}
