/* SPDX-License-Identifier: MIT */
/*
 * Stands between the library and the runtime and lets a call fail. beneath.so is preloaded behind the library;
 * beneath_table.so (built with TABLE) is named before it in HSA_TOOLS_LIB and exports no function of the runtime's. It is a
 * tool as well (an observer), to know when a snapshot or a restore is on.
 *
 * A runtime of ROCr 5.3 or later hands its API table to the preloaded library too, which from then on calls what it finds
 * there and not what is preloaded behind it. So beneath.so is handed the table as well, and before it.
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

/* Where the API table has them. */
#define FUNCTIONS(FUNCTION)                                                       \
	FUNCTION(hsa_amd_memory_async_copy, amd_slot(root, AMD_ASYNC_COPY))       \
	FUNCTION(hsa_amd_memory_pool_allocate, amd_slot(root, AMD_POOL_ALLOCATE)) \
	FUNCTION(hsa_signal_create, &root->core->slot[CORE_SIGNAL_CREATE])        \
	FUNCTION(hsa_amd_signal_create, amd_slot(root, AMD_SIGNAL_CREATE))        \
	FUNCTION(hsa_signal_destroy, &root->core->slot[CORE_SIGNAL_DESTROY])      \
	FUNCTION(hsa_system_get_major_extension_table, &root->core->slot[CORE_EXTENSION_TABLE])

static _Atomic int phase; /* an operation of KERNEL_REPLAY, 0 outside */
static _Atomic uint64_t copies, pools, mallocs;
static _Atomic int64_t signals;

/* The next functions: of the API table, or of the dynamic linker. */
static struct {
#define MEMBER(name, place) __typeof__(&name) name;
	FUNCTIONS(MEMBER)
} next;

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

static hsa_status_t our_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src,
						  hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
						  const hsa_signal_t *dep_signals, hsa_signal_t completion_signal)
{
	if (!copy_fails())
		return next.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals,
						      completion_signal);
	if (!getenv("E2E_FAIL_LATE"))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	hsa_signal_store_screlease(completion_signal, -1);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t our_hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **ptr)
{
	find();
	if (phase == KREPLAY_KERNEL_REPLAY_SNAPSHOT && ++pools >= number("E2E_FAIL_POOL", UINT64_MAX))
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	return next.hsa_amd_memory_pool_allocate(pool, size, flags, ptr);
}

static hsa_status_t our_hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
							     size_t table_length, void *table)
{
	find();
	if (getenv("E2E_FAIL_LOADER") && is_library(__builtin_return_address(0)))
		return HSA_STATUS_ERROR;
	return next.hsa_system_get_major_extension_table(extension, version_major, table_length, table);
}

static hsa_status_t our_hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
					  const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	signals++;
	return next.hsa_signal_create(initial_value, num_consumers, consumers, signal);
}

static hsa_status_t our_hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
					      const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	signals++;
	return next.hsa_amd_signal_create(initial_value, num_consumers, consumers, attributes, signal);
}

static hsa_status_t our_hsa_signal_destroy(hsa_signal_t signal)
{
	signals--;
	return next.hsa_signal_destroy(signal);
}

EXPORT int64_t beneath_signals_alive(void);

EXPORT int64_t beneath_signals_alive(void)
{
	return signals;
}

/* --- the ways in --- */

#ifdef TABLE
#define PASS_THROUGH(name, place)
#else
/* Each exported function is a jump: into ours, or past us, once the library calls ours by the API table. */
#define EXPORTED(name, place)                                                   \
	static __attribute__((used)) __typeof__(&name) way_##name = our_##name; \
	__asm__(".text\n"                                                       \
		".globl " #name "\n"                                            \
		".type " #name ", @function\n"                                  \
		#name ":\n"                                                     \
		"	jmp *way_" #name "(%rip)\n"                             \
		".size " #name ", . - " #name "\n");
#define LINK(way, name)                                 \
	do {                                            \
		void *symbol = dlsym(RTLD_NEXT, #name); \
                                                        \
		memcpy(&way, &symbol, sizeof(symbol));  \
	} while (0);
#define LINK_NEXT(name, place) LINK(next.name, name)
#define PASS_THROUGH(name, place) LINK(way_##name, name)

FUNCTIONS(EXPORTED)

__attribute__((constructor)) static void link_next(void)
{
	FUNCTIONS(LINK_NEXT)
}

EXPORT const uint32_t HSA_AMD_TOOL_PRIORITY = 1; /* the lowest first, and the library after us */
#endif

#define PATCH(name, place)                                \
	do {                                              \
		void **slot = (place);                    \
                                                          \
		memcpy(&next.name, slot, sizeof(void *)); \
		*slot = (void *)our_##name;               \
	} while (0);

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

EXPORT bool OnLoad(struct hsa_tables *root, uint64_t runtime_version, uint64_t failed_tools,
		   const char *const *failed_tool_names)
{
	FUNCTIONS(PASS_THROUGH)
	FUNCTIONS(PATCH)
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
