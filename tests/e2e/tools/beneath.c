/* SPDX-License-Identifier: MIT */
/*
 * Stands between the library and the runtime and lets a call fail. beneath.so is preloaded behind the library;
 * beneath_table.so (built with TABLE) is named before it in HSA_TOOLS_LIB and exports no function of the runtime's. It is a
 * tool as well (an observer), to know when a snapshot or a restore is on.
 *
 *	E2E_FAIL_COPY=K		the K-th copy of each phase fails
 *	E2E_FAIL_PHASE		"snapshot" or "restore"
 *	E2E_FAIL_LATE=1		the copy is accepted, and its signal says that it failed
 *	E2E_FAIL_POOL=K		the allocations of memory from a pool fail from the K-th of a snapshot on
 *	E2E_FAIL_LOADER=1	libkreplay does not get the loader's functions: it learns of no code object
 *	E2E_FAIL_MALLOC=K	the K-th allocation by libkreplay from the C library fails
 *
 * It writes to E2E_BENEATH_LOG how many allocations from the C library there were. beneath_signals_alive() says how many
 * signals there are.
 */
#include "tool.h"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "hsa_table.h"

#define EXPORT __attribute__((visibility("default")))
#ifdef TABLE
#define RUNTIME(name) static hsa_status_t our_##name
#define OUR(name) our_##name
#else
#define RUNTIME(name) EXPORT hsa_status_t name
#define OUR(name) name
#endif

static _Atomic int phase; /* an operation of KERNEL_REPLAY, 0 outside */
static _Atomic uint64_t copies, pools, mallocs;
static _Atomic int64_t signals;

/* --- the next functions: of the API table, or of the dynamic linker --- */

static struct {
	__typeof__(&hsa_amd_memory_async_copy) copy;
	__typeof__(&hsa_amd_memory_pool_allocate) allocate;
	__typeof__(&hsa_signal_create) create;
	__typeof__(&hsa_amd_signal_create) amd_create;
	__typeof__(&hsa_signal_destroy) destroy;
	__typeof__(&hsa_system_get_major_extension_table) extension;
} next;

#define RESOLVE(member, name)                                        \
	do {                                                         \
		if (!next.member) {                                  \
			void *symbol = dlsym(RTLD_NEXT, #name);      \
                                                                     \
			memcpy(&next.member, &symbol, sizeof(symbol)); \
		}                                                    \
	} while (0)

/* --- whose allocation is it --- */

static _Atomic uintptr_t library_from, library_to;

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name || !strstr(info->dlpi_name, "libkreplay.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			atomic_store(&library_from, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
			atomic_store(&library_to, library_from + info->dlpi_phdr[i].p_memsz);
		}
	return 1;
}

__attribute__((constructor)) static void find(void)
{
	if (!library_from)
		dl_iterate_phdr(find_library, NULL);
}

static bool is_library(const void *caller)
{
	uintptr_t address = (uintptr_t)caller;

	return library_from != 0 && address >= library_from && address < library_to;
}

static bool fails(const void *caller)
{
	static _Atomic uint64_t wanted = UINT64_MAX;

	if (!is_library(caller))
		return false;
	if (wanted == UINT64_MAX)
		wanted = number("E2E_FAIL_MALLOC", 0);
	return ++mallocs == wanted;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

EXPORT void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

/* --- the runtime's functions --- */

static bool copy_fails(void)
{
	const char *where = getenv("E2E_FAIL_PHASE");
	int wanted = where && strcmp(where, "restore") == 0 ? KREPLAY_KERNEL_REPLAY_RESTORE : KREPLAY_KERNEL_REPLAY_SNAPSHOT;

	return phase == wanted && ++copies == number("E2E_FAIL_COPY", 0);
}

RUNTIME(hsa_amd_memory_async_copy)(void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent,
					      size_t size, uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
					      hsa_signal_t completion_signal)
{
	RESOLVE(copy, hsa_amd_memory_async_copy);
	if (!copy_fails())
		return next.copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals, completion_signal);
	if (!getenv("E2E_FAIL_LATE"))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	hsa_signal_store_screlease(completion_signal, -1);
	return HSA_STATUS_SUCCESS;
}

RUNTIME(hsa_amd_memory_pool_allocate)(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	find();
	RESOLVE(allocate, hsa_amd_memory_pool_allocate);
	if (phase == KREPLAY_KERNEL_REPLAY_SNAPSHOT && ++pools >= number("E2E_FAIL_POOL", UINT64_MAX))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	return next.allocate(pool, size, flags, ptr);
}

RUNTIME(hsa_system_get_major_extension_table)(uint16_t extension, uint16_t version_major, size_t table_length,
							 void *table)
{
	find();
	RESOLVE(extension, hsa_system_get_major_extension_table);
	if (getenv("E2E_FAIL_LOADER") && is_library(__builtin_return_address(0)))
		return HSA_STATUS_ERROR;
	return next.extension(extension, version_major, table_length, table);
}

RUNTIME(hsa_signal_create)(hsa_signal_value_t initial_value, uint32_t num_consumers,
				      const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	RESOLVE(create, hsa_signal_create);
	signals++;
	return next.create(initial_value, num_consumers, consumers, signal);
}

RUNTIME(hsa_amd_signal_create)(hsa_signal_value_t initial_value, uint32_t num_consumers,
					  const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	RESOLVE(amd_create, hsa_amd_signal_create);
	signals++;
	return next.amd_create(initial_value, num_consumers, consumers, attributes, signal);
}

RUNTIME(hsa_signal_destroy)(hsa_signal_t signal)
{
	RESOLVE(destroy, hsa_signal_destroy);
	signals--;
	return next.destroy(signal);
}

EXPORT int64_t beneath_signals_alive(void);

EXPORT int64_t beneath_signals_alive(void)
{
	return signals;
}

#define PATCH(place, member, name)                      \
	do {                                            \
		void **slot = (place);                  \
                                                        \
		memcpy(&next.member, slot, sizeof(void *)); \
		*slot = (void *)OUR(name);              \
	} while (0)

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names)
{
	PATCH(amd_slot(root, AMD_ASYNC_COPY), copy, hsa_amd_memory_async_copy);
	PATCH(amd_slot(root, AMD_POOL_ALLOCATE), allocate, hsa_amd_memory_pool_allocate);
	PATCH(&root->core->slot[CORE_SIGNAL_CREATE], create, hsa_signal_create);
	PATCH(amd_slot(root, AMD_SIGNAL_CREATE), amd_create, hsa_amd_signal_create);
	PATCH(&root->core->slot[CORE_SIGNAL_DESTROY], destroy, hsa_signal_destroy);
	PATCH(&root->core->slot[CORE_EXTENSION_TABLE], extension, hsa_system_get_major_extension_table);
	return true;
}

EXPORT void OnUnload(void)
{
}

/* --- the observer --- */

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	phase = record.phase == KREPLAY_CALLBACK_PHASE_ENTER ? record.operation : 0;
	copies = pools = 0;
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t operations[] = { KREPLAY_KERNEL_REPLAY_SNAPSHOT,
								   KREPLAY_KERNEL_REPLAY_RESTORE };
	kreplay_context_id_t context;

	/* no make_context: that ends the program, and here an allocation of the library's may have been made to fail */
	return kreplay_create_context(&context) != KREPLAY_STATUS_SUCCESS ||
	       kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, operations, 2,
							  on_replay, NULL) != KREPLAY_STATUS_SUCCESS ||
	       kreplay_start_context(context) != KREPLAY_STATUS_SUCCESS;
}

static void finalize(void *data)
{
	say("%llu\n", (unsigned long long)mallocs);
}

TOOL("beneath", "E2E_BENEATH_LOG", initialize, finalize)
