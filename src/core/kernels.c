/* SPDX-License-Identifier: MIT */
#include "core/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agents.h"
#include "core/arguments.h"
#include "core/demangle.h"
#include "core/engine.h"
#include "core/ptrmap.h"

static struct {
	pthread_mutex_t mutex;
	struct kr_ptrmap by_object;
	struct kr_kernel **by_id; /* by_id[i] has id i + 1; entries live for ever */
	size_t count, room;
	uint64_t *frozen; /* executables whose symbols were not listed yet */
	size_t frozen_count, frozen_room;
	unsigned listing; /* threads that are listing the symbols of one */
	pthread_cond_t listed;
} kernels = {.mutex = PTHREAD_MUTEX_INITIALIZER, .listed = PTHREAD_COND_INITIALIZER};

/* Called with the mutex held. */
static struct kr_kernel *
add(uint64_t object, uint64_t executable, const char *symbol, uint32_t kernarg_bytes)
{
	struct kr_kernel *k = calloc(1, sizeof(*k));
	size_t length = strlen(symbol);

	if (k == NULL)
		return NULL;
	if (kernels.count == kernels.room) {
		size_t room = kernels.room ? kernels.room * 2 : 64;
		struct kr_kernel **grown = realloc(kernels.by_id, room * sizeof(*grown));

		if (grown == NULL)
			goto fail;
		kernels.by_id = grown;
		kernels.room = room;
	}
	/* Code object v3 and later: the symbol of the descriptor is NAME.kd. */
	if (length > 3 && strcmp(symbol + length - 3, ".kd") == 0)
		length -= 3;
	k->mangled = strndup(symbol, length);
	k->name = k->mangled != NULL ? kr_demangle(k->mangled) : NULL;
	k->object = object;
	k->executable = executable;
	if (k->mangled != NULL && executable != 0)
		k->arguments = kr_arguments_find(executable, k->mangled);
	k->kernarg_bytes = kernarg_bytes;
	/* Found without the lock from the moment it is in the map. */
	k->id = kernels.count + 1;
	if (k->name == NULL || !kr_ptrmap_put(&kernels.by_object, object, k))
		goto fail;
	kernels.by_id[kernels.count++] = k;
	return k;
fail:
	free(k->name);
	free(k->mangled);
	free(k);
	return NULL;
}

static hsa_status_t
visit_symbol(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol, void *data)
{
	hsa_symbol_kind_t kind;
	uint64_t object = 0;
	uint32_t length = 0, kernarg = 0;
	char *name;

	if (kr_next.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) !=
	        HSA_STATUS_SUCCESS ||
	    kind != HSA_SYMBOL_KIND_KERNEL)
		return HSA_STATUS_SUCCESS;
	kr_next.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
	kr_next.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
	kr_next.hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg);
	if (object == 0 || (name = calloc(1, (size_t)length + 1)) == NULL)
		return HSA_STATUS_SUCCESS;
	kr_next.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name);
	pthread_mutex_lock(&kernels.mutex);
	if (kr_ptrmap_get(&kernels.by_object, object) == NULL)
		add(object, executable.handle, name, kernarg);
	pthread_mutex_unlock(&kernels.mutex);
	free(name);
	return HSA_STATUS_SUCCESS;
}

/* Lists the symbols of every executable that was frozen since the last time, and waits for those that other threads are
 * listing: what is not known afterwards has no symbol. No lock of ours is held while the runtime is called. */
static void
list_frozen(void)
{
	pthread_mutex_lock(&kernels.mutex);
	while (kernels.frozen_count > 0 || kernels.listing > 0) {
		hsa_executable_t executable;
		struct kr_agent *agent;

		if (kernels.frozen_count == 0) {
			pthread_cond_wait(&kernels.listed, &kernels.mutex);
			continue;
		}
		executable.handle = kernels.frozen[--kernels.frozen_count];
		kernels.listing++;
		pthread_mutex_unlock(&kernels.mutex);
		for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++)
			kr_next.hsa_executable_iterate_agent_symbols(executable, agent->handle, visit_symbol, NULL);
		pthread_mutex_lock(&kernels.mutex);
		kernels.listing--;
		pthread_cond_broadcast(&kernels.listed);
	}
	pthread_mutex_unlock(&kernels.mutex);
}

struct kr_kernel *
kr_kernel_of_object(uint64_t object)
{
	struct kr_kernel *k = kr_ptrmap_get(&kernels.by_object, object);
	char unknown[32];

	if (k != NULL)
		return k;
	list_frozen();
	pthread_mutex_lock(&kernels.mutex);
	k = kr_ptrmap_get(&kernels.by_object, object);
	if (k == NULL && object != 0) {
		snprintf(unknown, sizeof(unknown), "kernel@0x%llx", (unsigned long long)object);
		k = add(object, 0, unknown, 0);
	}
	pthread_mutex_unlock(&kernels.mutex);
	return k;
}

void
kr_kernels_frozen(hsa_executable_t executable)
{
	pthread_mutex_lock(&kernels.mutex);
	if (kernels.frozen_count == kernels.frozen_room) {
		size_t room = kernels.frozen_room ? kernels.frozen_room * 2 : 16;
		uint64_t *grown = realloc(kernels.frozen, room * sizeof(*grown));

		if (grown == NULL) {
			/* Its kernels will go by their addresses. */
			pthread_mutex_unlock(&kernels.mutex);
			return;
		}
		kernels.frozen = grown;
		kernels.frozen_room = room;
	}
	kernels.frozen[kernels.frozen_count++] = executable.handle;
	pthread_mutex_unlock(&kernels.mutex);
}

_Atomic uint64_t kr_kernels_generation;

void
kr_kernels_destroyed(hsa_executable_t executable)
{
	atomic_fetch_add(&kr_kernels_generation, 1);
	pthread_mutex_lock(&kernels.mutex);
	for (size_t i = 0; i < kernels.frozen_count; i++)
		if (kernels.frozen[i] == executable.handle)
			kernels.frozen[i--] = kernels.frozen[--kernels.frozen_count];
	for (size_t i = 0; i < kernels.count; i++)
		if (kernels.by_id[i]->executable == executable.handle) {
			kr_ptrmap_remove(&kernels.by_object, kernels.by_id[i]->object);
			kernels.by_id[i]->executable = 0;
		}
	pthread_mutex_unlock(&kernels.mutex);
}

const struct kr_arguments *
kr_kernel_arguments(uint64_t kernel_id)
{
	const struct kr_arguments *arguments = NULL;

	pthread_mutex_lock(&kernels.mutex);
	if (kernel_id != 0 && kernel_id <= kernels.count)
		arguments = kernels.by_id[kernel_id - 1]->arguments;
	pthread_mutex_unlock(&kernels.mutex);
	return arguments;
}

const char *
kr_kernel_name(uint64_t kernel_id, bool mangled)
{
	const char *name = NULL;

	pthread_mutex_lock(&kernels.mutex);
	if (kernel_id != 0 && kernel_id <= kernels.count) {
		struct kr_kernel *k = kernels.by_id[kernel_id - 1];

		name = mangled ? k->mangled : k->name;
	}
	pthread_mutex_unlock(&kernels.mutex);
	return name;
}
