/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include <string.h>

struct hsa_app app;
struct mixer mixer, aside;

void begin(uint64_t passes, uint32_t dispatches)
{
	hsa_app_init(&app);
	mixer_init(&mixer, &app, 64, dispatches);
	mixer_init(&aside, &app, 64, dispatches);
	scenario.queue = mixer.queue;
	scenario.passes = passes;
}

int end(void)
{
	if (!mixer_check(&mixer) || !mixer_check(&aside))
		return HSA_APP_FAILED;
	mixer_finish(&aside);
	mixer_finish(&mixer);
	hsa_app_finish(&app);
	return HSA_APP_OK;
}

void expect(bool right, const char *what)
{
	if (!right)
		hsa_app_die(HSA_APP_FAILED, "%s", what);
}

void submit(struct mixer *to, uint32_t amount, hsa_signal_t done)
{
	uint64_t index = mixer_reserve(to, 1);

	mixer_fill(to, index, amount, done);
	mixer_publish(to, index);
	mixer_ring(to, index);
}

void publish(struct mixer *to, uint64_t index, hsa_packet_type_t type, bool barrier)
{
	uint32_t header = (uint32_t)type << HSA_PACKET_HEADER_TYPE | (uint32_t)barrier << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH)
		header |= 1u << 16;
	__atomic_store_n((uint32_t *)mixer_slot(to, index), header, __ATOMIC_RELEASE);
}

void fill_kernel(struct mixer *to, uint64_t index, const struct hsa_app_kernel *kernel, void *kernargs,
		 hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t *packet = mixer_slot(to, index);

	memset((char *)packet + 4, 0, 60);
	packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
	packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
	packet->kernel_object = kernel->object;
	packet->kernarg_address = kernargs;
	packet->completion_signal = done;
}

void fill_or(struct mixer *to, uint64_t index, hsa_signal_t first, hsa_signal_t second)
{
	hsa_barrier_or_packet_t *packet = mixer_slot(to, index);

	memset((char *)packet + 4, 0, 60);
	packet->dep_signal[0] = first;
	packet->dep_signal[3] = second;
}
