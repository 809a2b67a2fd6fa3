/* SPDX-License-Identifier: MIT */
#include "adder.h"

#include <stdlib.h>
#include <string.h>

/* laid out as the parameters of the kernel in add.cl */
struct add_args {
	uint32_t *values;
	uint32_t amount;
	uint32_t n;
};

void adder_init(struct adder *adder, struct hsa_app *app, uint32_t n, uint32_t amount)
{
	size_t bytes = n * sizeof(uint32_t);

	memset(adder, 0, sizeof(*adder));
	adder->app = app;
	adder->n = n;
	adder->amount = amount;
	adder->kernel = hsa_app_find_kernel(app, "add");
	adder->queue = hsa_app_queue_create(app, 64);
	adder->done = hsa_app_signal_create(1);
	adder->values = hsa_app_alloc_device(app, bytes);
	adder->host = hsa_app_alloc_host(app, bytes);
	memset(adder->host, 0, bytes);
	hsa_app_copy_to_device(app, adder->values, adder->host, bytes);

	struct add_args args = { .values = adder->values, .amount = amount, .n = n };

	adder->kernargs = hsa_app_kernargs(app, &adder->kernel, &args, sizeof(args));
}

void adder_finish(struct adder *adder)
{
	hsa_app_free(adder->kernargs);
	hsa_app_free(adder->host);
	hsa_app_free(adder->values);
	HSA_CHECK(hsa_signal_destroy(adder->done));
	HSA_CHECK(hsa_queue_destroy(adder->queue));
}

void adder_launch(struct adder *adder)
{
	struct hsa_app_range range = { .grid = { hsa_app_round_up(adder->n, 64) },
				       .group = { 64 } };

	hsa_app_dispatch(adder->app, adder->queue, &adder->kernel, &range, adder->kernargs,
			 adder->done);
	hsa_app_wait(adder->app, adder->done);
	adder->launched++;
}

bool adder_check(struct adder *adder)
{
	uint32_t *want = hsa_app_calloc(adder->n, sizeof(uint32_t));
	bool same;

	hsa_app_copy_to_host(adder->app, adder->host, adder->values, adder->n * sizeof(uint32_t));
	for (uint32_t i = 0; i < adder->n; i++)
		want[i] = adder->launched * adder->amount;
	same = hsa_app_same_u32("values", adder->host, want, adder->n);
	free(want);
	return same;
}
