/* SPDX-License-Identifier: MIT */
#include "hsa_app.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hsa_app_die(int status, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	exit(status);
}

/* The name of the status; the runtime's text is "NAME: a sentence or more". */
static const char *status_name(hsa_status_t status)
{
	static _Thread_local char name[96];
	const char *text = NULL;

	if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
		return "unknown status";
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ":"), text);
	return name;
}

void hsa_app_check(hsa_status_t status, const char *call)
{
	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	hsa_app_die(HSA_APP_FAILED, "%s failed: 0x%x, %s", call, (unsigned)status,
		    status_name(status));
}

void *hsa_app_calloc(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		hsa_app_die(HSA_APP_FAILED, "out of memory (%zu x %zu bytes)", count, bytes);
	return memory;
}

/* Agents: the first GPU, and the first CPU, which owns the host's memory pools. */

struct agents {
	hsa_agent_t cpu, gpu;
	bool has_cpu, has_gpu;
};

static hsa_status_t pick_agent(hsa_agent_t agent, void *data)
{
	struct agents *agents = data;
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !agents->has_cpu) {
		agents->cpu = agent;
		agents->has_cpu = true;
	} else if (type == HSA_DEVICE_TYPE_GPU && !agents->has_gpu) {
		agents->gpu = agent;
		agents->has_gpu = true;
	}
	return HSA_STATUS_SUCCESS;
}

static void find_agents(struct hsa_app *app)
{
	struct agents agents = { 0 };

	HSA_CHECK(hsa_iterate_agents(pick_agent, &agents));
	if (!agents.has_cpu || !agents.has_gpu)
		hsa_app_die(HSA_APP_FAILED, "no %s agent found", agents.has_cpu ? "GPU" : "CPU");
	app->cpu = agents.cpu;
	app->gpu = agents.gpu;
}

/* Pools: an agent has several, told apart by the flags of the global segment. */

struct pool_search {
	uint32_t flag;
	hsa_amd_memory_pool_t pool;
	bool found;
};

static hsa_status_t pick_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct pool_search *search = data;
	hsa_amd_segment_t segment;
	uint32_t flags;
	bool allowed;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	HSA_CHECK(
		hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
					       &allowed));
	if (!allowed || !(flags & search->flag))
		return HSA_STATUS_SUCCESS;
	search->pool = pool;
	search->found = true;
	return HSA_STATUS_INFO_BREAK;
}

static hsa_amd_memory_pool_t find_pool(hsa_agent_t agent, uint32_t flag, const char *what)
{
	struct pool_search search = { .flag = flag };

	HSA_CHECK(hsa_amd_agent_iterate_memory_pools(agent, pick_pool, &search));
	if (!search.found)
		hsa_app_die(HSA_APP_FAILED, "no %s memory pool found", what);
	return search.pool;
}

/* The code object: the loader puts it where the GPU can run it; freezing makes its symbols final.
 */

static void load_image(struct hsa_app *app)
{
	hsa_status_t status;
	char isa[64] = "an unknown ISA";

	HSA_CHECK(hsa_code_object_reader_create_from_memory(hsa_app_image, hsa_app_image_size,
							    &app->reader));
	HSA_CHECK(hsa_executable_create_alt(
		HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &app->executable));
	status = hsa_executable_load_agent_code_object(app->executable, app->gpu, app->reader, NULL,
						       NULL);
	if (status != HSA_STATUS_SUCCESS) {
		hsa_agent_get_info(app->gpu, HSA_AGENT_INFO_NAME, isa);
		hsa_app_die(HSA_APP_FAILED, "the kernels do not load on this GPU (%s): %s", isa,
			    status_name(status));
	}
	HSA_CHECK(hsa_executable_freeze(app->executable, NULL));
}

void hsa_app_init(struct hsa_app *app)
{
	hsa_status_t status;
	uint64_t frequency;

	memset(app, 0, sizeof(*app));
	status = hsa_init();
	if (status != HSA_STATUS_SUCCESS)
		hsa_app_die(
			HSA_APP_FAILED,
			"hsa_init failed: %s (no GPU here? `kreplay run` brings a software one)",
			status_name(status));
	find_agents(app);
	app->device = find_pool(app->gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
				"coarse-grained device");
	app->host = find_pool(app->cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
			      "fine-grained host");
	app->kernarg = find_pool(app->cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, "kernarg");
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	app->wait_slice = frequency / 10;
	load_image(app);
}

void hsa_app_finish(struct hsa_app *app)
{
	HSA_CHECK(hsa_executable_destroy(app->executable));
	HSA_CHECK(hsa_code_object_reader_destroy(app->reader));
	HSA_CHECK(hsa_shut_down());
}

static hsa_executable_symbol_t find_symbol(struct hsa_app *app, const char *name)
{
	hsa_executable_symbol_t symbol;

	if (hsa_executable_get_symbol_by_name(app->executable, name, &app->gpu, &symbol) !=
	    HSA_STATUS_SUCCESS)
		hsa_app_die(HSA_APP_FAILED, "the code object has no symbol '%s'", name);
	return symbol;
}

struct hsa_app_kernel hsa_app_find_kernel(struct hsa_app *app, const char *name)
{
	struct hsa_app_kernel kernel;
	hsa_executable_symbol_t symbol;
	char descriptor[256];

	/* since code object V3 the kernel's symbol is that of its descriptor, "NAME.kd" */
	snprintf(descriptor, sizeof(descriptor), "%s.kd", name);
	symbol = find_symbol(app, descriptor);
	HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
						 &kernel.object));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
		&kernel.kernarg_bytes));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
		&kernel.private_bytes));
	return kernel;
}

void *hsa_app_find_variable(struct hsa_app *app, const char *name)
{
	hsa_executable_symbol_t symbol = find_symbol(app, name);
	uint64_t address;

	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
	return (void *)(uintptr_t)address;
}

/* Queues and packets */

/* Runs on a thread of the runtime, so it only reports; the waiting thread ends the program. */
static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	struct hsa_app *app = data;

	fprintf(stderr, "%s: queue %" PRIu64 " stopped: 0x%x, %s\n", program_invocation_short_name,
		queue ? queue->id : 0, (unsigned)status, status_name(status));
	atomic_store(&app->queue_error, (int)status);
}

static void exit_on_queue_error(struct hsa_app *app)
{
	if (atomic_load(&app->queue_error))
		exit(HSA_APP_QUEUE_ERROR);
}

hsa_queue_t *hsa_app_queue_create(struct hsa_app *app, uint32_t packets)
{
	hsa_queue_t *queue;

	/* UINT32_MAX: no hint about how much scratch or LDS the kernels will want */
	HSA_CHECK(hsa_queue_create(app->gpu, packets, HSA_QUEUE_TYPE_MULTI, on_queue_error, app,
				   UINT32_MAX, UINT32_MAX, &queue));
	return queue;
}

/* Reserves the next packet slot; waits while the queue is full. */
static void *reserve_packet(struct hsa_app *app, hsa_queue_t *queue, uint64_t *index)
{
	*index = hsa_queue_add_write_index_screlease(queue, 1);
	while (*index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
		exit_on_queue_error(app);
		sched_yield();
	}
	return (char *)queue->base_address + (*index & (queue->size - 1)) * 64;
}

/*
 * The header is written last and with release semantics: the packet processor may look at the slot
 * at any time, and a valid header says that the rest is there (HSA Runtime specification, 2.8.3).
 */
static void publish_packet(hsa_queue_t *queue, uint64_t index, void *packet, hsa_packet_type_t type,
			   uint16_t setup)
{
	uint32_t header = (uint32_t)type << HSA_PACKET_HEADER_TYPE |
			  1u << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	__atomic_store_n((uint32_t *)packet, header | (uint32_t)setup << 16, __ATOMIC_RELEASE);
	/* the doorbell takes the index of the packet, not the number of packets */
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void hsa_app_dispatch(struct hsa_app *app, hsa_queue_t *queue, const struct hsa_app_kernel *kernel,
		      const struct hsa_app_range *range, void *kernargs, hsa_signal_t done)
{
	int dimensions = range->grid[2] ? 3 : range->grid[1] ? 2 : 1;
	hsa_kernel_dispatch_packet_t *packet;
	uint64_t index;

	packet = reserve_packet(app, queue, &index);
	packet->workgroup_size_x = range->group[0];
	packet->workgroup_size_y = range->group[1] ? range->group[1] : 1;
	packet->workgroup_size_z = range->group[2] ? range->group[2] : 1;
	packet->reserved0 = 0;
	packet->grid_size_x = range->grid[0];
	packet->grid_size_y = range->grid[1] ? range->grid[1] : 1;
	packet->grid_size_z = range->grid[2] ? range->grid[2] : 1;
	packet->private_segment_size = kernel->private_bytes;
	packet->group_segment_size = kernel->group_bytes;
	packet->kernel_object = kernel->object;
	packet->kernarg_address = kernargs;
	packet->reserved2 = 0;
	packet->completion_signal = done;
	publish_packet(queue, index, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH,
		       (uint16_t)(dimensions << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS));
}

void hsa_app_barrier(struct hsa_app *app, hsa_queue_t *queue, hsa_signal_t done)
{
	hsa_barrier_and_packet_t *packet;
	uint64_t index;

	packet = reserve_packet(app, queue, &index);
	packet->reserved1 = 0;
	memset(packet->dep_signal, 0, sizeof(packet->dep_signal));
	packet->reserved2 = 0;
	packet->completion_signal = done;
	publish_packet(queue, index, packet, HSA_PACKET_TYPE_BARRIER_AND, 0);
}

hsa_signal_t hsa_app_signal_create(hsa_signal_value_t initial)
{
	hsa_signal_t signal;

	HSA_CHECK(hsa_signal_create(initial, 0, NULL, &signal));
	return signal;
}

void hsa_app_wait(struct hsa_app *app, hsa_signal_t done)
{
	hsa_signal_value_t value;

	do {
		/* a stopped queue completes nothing, so look up from time to time */
		value = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, app->wait_slice,
						  HSA_WAIT_STATE_BLOCKED);
		exit_on_queue_error(app);
	} while (value > 0);
	if (value < 0)
		hsa_app_die(HSA_APP_FAILED, "a completion signal holds an error: %" PRId64,
			    (int64_t)value);
	hsa_signal_store_screlease(done, 1);
}

/* Memory */

static void *allocate(struct hsa_app *app, hsa_amd_memory_pool_t pool, hsa_agent_t other,
		      size_t bytes)
{
	hsa_amd_memory_pool_access_t access;
	hsa_status_t status;
	void *memory;

	status = hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory);
	if (status != HSA_STATUS_SUCCESS)
		hsa_app_die(HSA_APP_FAILED, "cannot allocate %zu bytes: %s", bytes,
			    status_name(status));
	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(
		other, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
	if (access == HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT) {
		/* the call replaces the list, so name both agents */
		hsa_agent_t agents[2] = { app->cpu, app->gpu };

		HSA_CHECK(hsa_amd_agents_allow_access(2, agents, NULL, memory));
	}
	return memory;
}

void *hsa_app_alloc_device(struct hsa_app *app, size_t bytes)
{
	return allocate(app, app->device, app->cpu, bytes);
}

void *hsa_app_alloc_host(struct hsa_app *app, size_t bytes)
{
	return allocate(app, app->host, app->gpu, bytes);
}

void hsa_app_free(void *memory)
{
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
}

void *hsa_app_kernargs(struct hsa_app *app, const struct hsa_app_kernel *kernel, const void *args,
		       size_t bytes)
{
	/* a C struct may end in padding that the kernel's parameters do not have */
	size_t size = hsa_app_round_up(kernel->kernarg_bytes ? kernel->kernarg_bytes : 1, 16);
	void *block;

	if (bytes > size)
		hsa_app_die(HSA_APP_FAILED, "the kernel takes %zu bytes of arguments, not %zu",
			    size, bytes);
	block = allocate(app, app->kernarg, app->gpu, size);
	/* behind the arguments lie OpenCL C's hidden ones; 0 suits all that these kernels use */
	memset(block, 0, size);
	if (bytes)
		memcpy(block, args, bytes);
	return block;
}

static void copy(struct hsa_app *app, void *to, hsa_agent_t to_agent, const void *from,
		 hsa_agent_t from_agent, size_t bytes)
{
	hsa_signal_t done = hsa_app_signal_create(1);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, NULL, done));
	hsa_app_wait(app, done);
	HSA_CHECK(hsa_signal_destroy(done));
}

void hsa_app_copy_to_device(struct hsa_app *app, void *device, const void *host, size_t bytes)
{
	copy(app, device, app->gpu, host, app->cpu, bytes);
}

void hsa_app_copy_to_host(struct hsa_app *app, void *host, const void *device, size_t bytes)
{
	copy(app, host, app->cpu, device, app->gpu, bytes);
}

/* Checks. Bit for bit, as every kernel here does the CPU's operations in the CPU's order. */

#define DEFINE_SAME(suffix, type, format)                                                          \
	bool hsa_app_same_##suffix(const char *what, const type *got, const type *want,            \
				   size_t count)                                                   \
	{                                                                                          \
		size_t first = count, wrong = 0;                                                   \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			if (memcmp(&got[i], &want[i], sizeof(type)) == 0)                          \
				continue;                                                          \
			if (wrong++ == 0)                                                          \
				first = i;                                                         \
		}                                                                                  \
		if (wrong)                                                                         \
			fprintf(stderr,                                                            \
				"%s: wrong: %s[%zu] is " format ", expected " format               \
				" (%zu of %zu differ)\n",                                          \
				program_invocation_short_name, what, first, got[first],            \
				want[first], wrong, count);                                        \
		return wrong == 0;                                                                 \
	}

DEFINE_SAME(u32, uint32_t, "%" PRIu32)
DEFINE_SAME(f32, float, "%.9g")
DEFINE_SAME(f64, double, "%.17g")

uint64_t hsa_app_argument(int argc, char **argv, int i, const char *what, uint64_t fallback,
			  uint64_t max)
{
	unsigned long long value;
	char *end;

	if (i >= argc)
		return fallback;
	errno = 0;
	value = strtoull(argv[i], &end, 10);
	if (argv[i][0] < '0' || argv[i][0] > '9' || *end || errno || value < 1 || value > max)
		hsa_app_die(HSA_APP_USAGE, "%s must be a number from 1 to %" PRIu64 ", not '%s'",
			    what, max, argv[i]);
	return value;
}
