/* SPDX-License-Identifier: MIT */
/*
 * `kreplay probe LIBRARY`, hidden: what a program would find. `kreplay info` starts it as a process of its own, once for each
 * way into a program, since a runtime that cannot start may end the process, and since the dynamic linker reads
 * LD_LIBRARY_PATH when a process begins. Prints one "KEY VALUE" a line; an agent's lines follow its "agent" line.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "cli.h"

/* The launcher is not linked with the runtime: it has to work where there is none. */
static struct {
	__typeof__(hsa_init) *init;
	__typeof__(hsa_status_string) *status_string;
	__typeof__(hsa_system_get_info) *system_get_info;
	__typeof__(hsa_iterate_agents) *iterate_agents;
	__typeof__(hsa_agent_get_info) *agent_get_info;
	__typeof__(hsa_isa_get_info_alt) *isa_get_info;
	__typeof__(hsa_amd_agent_iterate_memory_pools) *iterate_pools;
	__typeof__(hsa_amd_memory_pool_get_info) *pool_get_info;
	__typeof__(hsa_shut_down) *shut_down;
} hsa;

#define LOOKUP(name, symbol) lookup(runtime, symbol, &hsa.name, sizeof(hsa.name))

static bool lookup(void *runtime, const char *symbol, void *to, size_t size)
{
	void *found = dlsym(runtime, symbol);

	memcpy(to, &found, size);
	if (!found)
		printf("error the runtime has no %s\n", symbol);
	return found != NULL;
}

static bool load(void)
{
	/* as a program that is linked with it would find it, a preloaded library first */
	void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);
	Dl_info info;
	void *symbol;

	if (!runtime) {
		printf("error %s\n", dlerror());
		return false;
	}
	symbol = dlsym(runtime, "hsa_init");
	if (symbol && dladdr(symbol, &info) && info.dli_fname)
		printf("runtime %s\n", info.dli_fname);
	runtime = RTLD_DEFAULT;
	return LOOKUP(init, "hsa_init") && LOOKUP(status_string, "hsa_status_string") &&
	       LOOKUP(system_get_info, "hsa_system_get_info") && LOOKUP(iterate_agents, "hsa_iterate_agents") &&
	       LOOKUP(agent_get_info, "hsa_agent_get_info") && LOOKUP(isa_get_info, "hsa_isa_get_info_alt") &&
	       LOOKUP(iterate_pools, "hsa_amd_agent_iterate_memory_pools") &&
	       LOOKUP(pool_get_info, "hsa_amd_memory_pool_get_info") && LOOKUP(shut_down, "hsa_shut_down");
}

static hsa_status_t add_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GROUP;
	uint32_t flags = 0;
	size_t bytes = 0;

	hsa.pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	hsa.pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
	hsa.pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes);
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
		*(size_t *)data += bytes;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t print_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
	char name[64] = "", product[64] = "", isa_name[256] = "";
	uint32_t node = 0, units = 0;
	size_t bytes = 0;
	hsa_isa_t isa;

	(void)data;
	hsa.agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
	if (type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	hsa.agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
	hsa.agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
	hsa.agent_get_info(agent, HSA_AGENT_INFO_NODE, &node);
	hsa.agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units);
	if (hsa.agent_get_info(agent, HSA_AGENT_INFO_ISA, &isa) == HSA_STATUS_SUCCESS)
		hsa.isa_get_info(isa, HSA_ISA_INFO_NAME, isa_name);
	hsa.iterate_pools(agent, add_pool, &bytes);
	printf("agent %lu %.63s\nproduct %.63s\nisa %.255s\nunits %lu\nmemory %zu\n", (unsigned long)node, name, product,
	       isa_name, (unsigned long)units, bytes);
	return HSA_STATUS_SUCCESS;
}

int kr_cli_cmd_probe(const struct kr_cli_command *command, int argc, char **argv)
{
	uint16_t major = 0, minor = 0;
	const char *why = NULL;
	hsa_status_t status;

	(void)command;
	if (argc != 2)
		return KR_EXIT_BAD_USE;
	if (!load())
		return 1;
	status = hsa.init();
	if (status != HSA_STATUS_SUCCESS) {
		hsa.status_string(status, &why);
		printf("error the runtime does not start: %s\n", why ? why : "unknown status");
		return 1;
	}
	/* nobody but a door loads it into this process */
	if (dlopen(argv[1], RTLD_NOLOAD | RTLD_LAZY))
		printf("door open\n");
	hsa.system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
	hsa.system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
	printf("version %u.%u\n", major, minor);
	hsa.iterate_agents(print_agent, NULL);
	hsa.shut_down();
	return 0;
}
