/* SPDX-License-Identifier: MIT */
/* The preload door: the next functions come from the dynamic linker. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/engine.h"
#include "core/log.h"
#include "core/next.h"
#include "core/table.h"
#include "doors.h"
#include "slots.h"

/* What the dynamic linker finds behind us, kept apart from kr_next: that one is
 * the API table's once the other door is open. */
static struct kr_next exported;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned references; /* successful hsa_init calls that came this way */
static _Atomic bool other_door;

static void *
find(const char *name)
{
	static void *runtime;
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol != NULL)
		return symbol;
	/* Loaded by dlopen without RTLD_GLOBAL, as by an interpreter's module: not in
	 * the search order behind us, but in the process. */
	if (runtime == NULL)
		runtime = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return runtime != NULL ? dlsym(runtime, name) : NULL;
}

static void
die_without_runtime(const char *name)
{
	kr_log(KR_LOG_ERROR, "door", "%s was called, but no HSA runtime is loaded that has it", name);
	abort();
}

static void
resolve(void)
{
	bool complete = true;

#define HOOK(table, name) \
	exported.name = (__typeof__(exported.name))find(#name); \
	complete &= exported.name != NULL;
#define NEED(table, name) HOOK(table, name)
#define NEWER(table, name) exported.name = (__typeof__(exported.name))find(#name);
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
	if (exported.hsa_init == NULL)
		die_without_runtime("hsa_init");
	kr_slots_pass_through();
	if (other_door || !kr_engine_wanted())
		return;
	if (!complete) {
		kr_log(KR_LOG_WARN, "door", "the HSA runtime lacks functions that kreplay needs; kreplay stays inert");
		return;
	}
	kr_next = exported;
#define HOOK(table, name) __atomic_store_n(&kr_slot_##name, (void *)kr_hook_##name, __ATOMIC_RELEASE);
#define NEED(table, name)
#define NEWER(table, name) \
	if (exported.name != NULL) \
		HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
}

void
kr_slots_resolve(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, resolve);
}

/* What an exported function is that the runtime does not have: an older runtime
 * than the program was made for, which without us would have failed to link. */
static hsa_status_t
absent(void)
{
	return HSA_STATUS_ERROR;
}

void
kr_slots_pass_through(void)
{
	if (exported.hsa_init == NULL)
		return; /* nobody came through this door yet */
#define HOOK(table, name) \
	__atomic_store_n(&kr_slot_##name, exported.name != NULL ? (void *)exported.name : (void *)absent, \
			 __ATOMIC_RELEASE);
#define NEED(table, name)
#define NEWER(table, name) HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
}

void
kr_preload_close(void)
{
	atomic_store(&other_door, true);
	kr_slots_pass_through();
}

/* Also what a patched API table calls; then the other door counts. */
hsa_status_t
kr_hook_hsa_init(void)
{
	hsa_status_t status = kr_next.hsa_init();

	if (status != HSA_STATUS_SUCCESS || other_door)
		return status;
	pthread_mutex_lock(&mutex);
	if (references++ == 0 && !kr_engine_start())
		kr_slots_pass_through();
	pthread_mutex_unlock(&mutex);
	return status;
}

hsa_status_t
kr_hook_hsa_shut_down(void)
{
	if (!other_door) {
		pthread_mutex_lock(&mutex);
		if (references > 0 && --references == 0)
			kr_engine_stop();
		pthread_mutex_unlock(&mutex);
	}
	return kr_next.hsa_shut_down();
}
