/* SPDX-License-Identifier: MIT */
/* The kernels on an agent: loaded, and run on a queue of our own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/aql.h"
#include "core/device/images.h"
#include "core/log.h"
#include "core/snapshot/internal.h"

#define QUEUE_PACKETS 64u
#define MOST_JOBS 8u       /* before one wait */
#define KERNARG_BYTES 512u /* of a job: the arguments, and what the compiler may add (it reads none of that) */

struct kernel {
	uint64_t object;
	uint32_t private_bytes, group_bytes;
};

struct kr_device {
	struct kr_agent *agent;
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	struct kernel kernel[KR_DEVICE_KERNELS];
	hsa_queue_t *queue;
	hsa_signal_t done; /* jobs under way */
	char *kernargs;
	uint64_t written; /* packets; nobody else writes any */
	unsigned jobs;
	_Atomic bool failed;
};

/* "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-": the processor is what counts.
 * Our images leave the features open, so they load with any of them. */
static const struct kr_device_image *
image_for(const char *isa)
{
	const char *name = strstr(isa, "--");
	char processor[40];

	if (name == NULL || snprintf(processor, sizeof(processor), " %.*s ", (int)strcspn(name + 2, ":"), name + 2) >=
				    (int)sizeof(processor))
		return NULL;
	for (const struct kr_device_image *i = kr_device_images; i->isa != NULL; i++)
		if (strstr(i->runs, processor) != NULL)
			return i;
	return NULL;
}

static bool
find_kernel(struct kr_device *d, const char *name, struct kernel *k)
{
	hsa_executable_symbol_t symbol;
	uint32_t bytes = 0;

#define GET(what, to) \
	(kr_next.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_##what, to) == \
	 HSA_STATUS_SUCCESS)
	return kr_next.hsa_executable_get_symbol_by_name(d->executable, name, &d->agent->handle, &symbol) ==
		       HSA_STATUS_SUCCESS &&
	       GET(OBJECT, &k->object) && GET(PRIVATE_SEGMENT_SIZE, &k->private_bytes) &&
	       GET(GROUP_SEGMENT_SIZE, &k->group_bytes) && GET(KERNARG_SEGMENT_SIZE, &bytes) && bytes <= KERNARG_BYTES;
#undef GET
}

static bool
load(struct kr_device *d, const struct kr_device_image *image)
{
	static const char *const names[KR_DEVICE_KERNELS] = {"kreplay_copy.kd", "kreplay_sync.kd", "kreplay_hash.kd",
							     "kreplay_diff.kd"};

	if (kr_next.hsa_code_object_reader_create_from_memory(image->data, image->size, &d->reader) !=
		    HSA_STATUS_SUCCESS ||
	    kr_next.hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
					      &d->executable) != HSA_STATUS_SUCCESS ||
	    kr_next.hsa_executable_load_agent_code_object(d->executable, d->agent->handle, d->reader, NULL, NULL) !=
		    HSA_STATUS_SUCCESS ||
	    kr_next.hsa_executable_freeze(d->executable, NULL) != HSA_STATUS_SUCCESS)
		return false;
	for (unsigned i = 0; i < KR_DEVICE_KERNELS; i++)
		if (!find_kernel(d, names[i], &d->kernel[i]))
			return false;
	return true;
}

static void
on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	struct kr_device *d = data;

	kr_log(KR_LOG_ERROR, "snapshot", "the queue of the snapshot's kernels failed: %s", kr_status_text(status));
	atomic_store(&d->failed, true);
	if (d->done.handle != 0)
		kr_next.hsa_signal_store_screlease(d->done, -1);
}

struct kr_device *
kr_device_open(struct kr_agent *agent)
{
	const struct kr_device_image *image = image_for(agent->isa);
	struct kr_device *d = image != NULL ? calloc(1, sizeof(*d)) : NULL;

	if (image == NULL)
		kr_log_once("no-kernels", KR_LOG_INFO, "snapshot", "no kernels of ours for %s: plain copies", agent->isa);
	if (d == NULL)
		return NULL;
	d->agent = agent;
	if (kr_next.hsa_signal_create(0, 0, NULL, &d->done) == HSA_STATUS_SUCCESS && load(d, image) &&
	    kr_pinned_alloc(agent, MOST_JOBS * KERNARG_BYTES, (void **)&d->kernargs) &&
	    kr_next.hsa_queue_create(agent->handle, QUEUE_PACKETS, HSA_QUEUE_TYPE_SINGLE, on_error, d, UINT32_MAX,
				     UINT32_MAX, &d->queue) == HSA_STATUS_SUCCESS)
		return d;
	kr_log_once("kernels-refused", KR_LOG_WARN, "snapshot",
		    "the snapshot's kernels cannot be set up on %s: plain copies", agent->name);
	d->queue = NULL;
	kr_device_close(d);
	return NULL;
}

void
kr_device_close(struct kr_device *d)
{
	if (d == NULL)
		return;
	if (d->queue != NULL)
		kr_next.hsa_queue_destroy(d->queue);
	if (d->executable.handle != 0)
		kr_next.hsa_executable_destroy(d->executable);
	if (d->reader.handle != 0)
		kr_next.hsa_code_object_reader_destroy(d->reader);
	if (d->kernargs != NULL)
		kr_next.hsa_amd_memory_pool_free(d->kernargs);
	if (d->done.handle != 0)
		kr_next.hsa_signal_destroy(d->done);
	free(d);
}

bool
kr_device_start(struct kr_device *d, enum kr_device_kernel kernel, struct kr_job job)
{
	union kr_packet *ring = d->queue->base_address, packet = {0};
	char *kernargs = d->kernargs + d->jobs * KERNARG_BYTES;
	uint32_t most = d->agent->compute_units != 0 ? 32 * d->agent->compute_units : 1024;
	uint64_t index;

	if (job.count == 0)
		return true;
	if (atomic_load(&d->failed) || d->jobs == MOST_JOBS)
		return false;
	job.groups = job.count < most ? job.count : most;
	memcpy(kernargs, &job, sizeof(job));
	packet.dispatch.workgroup_size_x = KR_GROUP_LANES;
	packet.dispatch.workgroup_size_y = packet.dispatch.workgroup_size_z = 1;
	packet.dispatch.grid_size_x = job.groups * KR_GROUP_LANES;
	packet.dispatch.grid_size_y = packet.dispatch.grid_size_z = 1;
	packet.dispatch.private_segment_size = d->kernel[kernel].private_bytes;
	packet.dispatch.group_segment_size = d->kernel[kernel].group_bytes;
	packet.dispatch.kernel_object = d->kernel[kernel].object;
	packet.dispatch.kernarg_address = kernargs;
	packet.dispatch.completion_signal = d->done;
	d->jobs++;
	kr_next.hsa_signal_add_relaxed(d->done, 1);
	/* Never more than MOST_JOBS in it, so there is room. */
	index = d->written++;
	kr_packet_publish(&ring[index % d->queue->size], &packet,
			  kr_packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, false) | 1u << 16);
	kr_next.hsa_queue_store_write_index_screlease(d->queue, index + 1);
	kr_next.hsa_signal_store_screlease(d->queue->doorbell_signal, (hsa_signal_value_t)index);
	return true;
}

bool
kr_device_failed(const struct kr_device *d)
{
	return atomic_load(&d->failed);
}

bool
kr_device_wait(struct kr_device *d)
{
	uint64_t until = kr_now_ns() + kr_options_get()->drain_timeout_s * 1000000000ull;
	hsa_signal_value_t left = 0;

	while (d->jobs != 0 && !atomic_load(&d->failed)) {
		left = kr_next.hsa_signal_wait_scacquire(d->done, HSA_SIGNAL_CONDITION_LT, 1, 100000000,
							 HSA_WAIT_STATE_BLOCKED);
		if (left < 1 || kr_now_ns() >= until)
			break;
	}
	/* One that does not end may write at any time: the queue is not used again. */
	if (left != 0)
		atomic_store(&d->failed, true);
	d->jobs = 0;
	return !atomic_load(&d->failed);
}
