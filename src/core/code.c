/* SPDX-License-Identifier: MIT */
#include "core/code.h"

#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <hsa/hsa_ven_amd_loader.h>

#include "core/arguments.h"
#include "core/log.h"

#define MAX_SEGMENTS 16

struct loaded {
	struct loaded *next;
	uint64_t executable;
	uint64_t object; /* hsa_loaded_code_object_t */
	struct kr_agent *agent;
	bool known;
	uint64_t read_only; /* bytes */
	int count;
	struct kr_segment segment[MAX_SEGMENTS];
};

static struct {
	pthread_mutex_t mutex;
	struct loaded *list;
	uint64_t generation;
	_Atomic uint64_t removals;
	hsa_ven_amd_loader_1_01_pfn_t loader;
	bool has_loader;
} code = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* PT_GNU_RELRO: what is written while a code object is loaded and not after.
 * Linkers put the dynamic section there, and give it a segment of its own, so
 * without this a code object without a single variable had a writable segment.
 * Returns the bytes that it takes out. */
static uint64_t
take_out(const GElf_Phdr *relro, struct kr_segment *segments, int count)
{
	uint64_t end = relro->p_vaddr + relro->p_memsz, bytes = 0;

	for (int i = 0; i < count; i++) {
		struct kr_segment *s = &segments[i];
		uint64_t last = s->address + s->size, rest = end < last ? last - end : 0;

		/* It is at the start of its segment, or all of it. */
		if (relro->p_vaddr > s->address || end <= s->address)
			continue;
		bytes += s->size - rest;
		s->address = last - rest;
		s->size = rest;
	}
	return bytes;
}

static int
without_empty(struct kr_segment *segments, int count)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
		if (segments[i].size != 0)
			segments[kept++] = segments[i];
	return kept;
}

int
kr_code_writable(const void *image, size_t size, struct kr_segment *segments, int room, uint64_t *read_only)
{
	GElf_Phdr phdr, relro = {0};
	GElf_Ehdr header;
	size_t headers;
	int count = -1;
	Elf *elf;

	*read_only = 0;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -1;
	elf = elf_memory((char *)(uintptr_t)image, size);
	if (elf == NULL)
		return -1;
	/* libelf takes a header table that is cut off for one that is empty. */
	if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL ||
	    elf_getphdrnum(elf, &headers) != 0 || headers != header.e_phnum)
		goto out;
	count = 0;
	for (size_t i = 0; i < headers; i++) {
		if (gelf_getphdr(elf, (int)i, &phdr) == NULL) {
			count = -1;
			goto out;
		}
		if (phdr.p_type == PT_GNU_RELRO)
			relro = phdr;
		if (phdr.p_type != PT_LOAD || phdr.p_memsz == 0)
			continue;
		if (!(phdr.p_flags & PF_W)) {
			*read_only += phdr.p_flags & PF_X ? 0 : phdr.p_memsz;
			continue;
		}
		if (count < room) {
			segments[count].address = phdr.p_vaddr;
			segments[count].size = phdr.p_memsz;
		}
		count++;
	}
	if (count <= room) {
		*read_only += take_out(&relro, segments, count);
		count = without_empty(segments, count);
	}
out:
	elf_end(elf);
	return count;
}

static bool
get_loader(void)
{
	if (!code.has_loader)
		code.has_loader = kr_next.hsa_system_get_major_extension_table(
					  HSA_EXTENSION_AMD_LOADER, 1, sizeof(code.loader), &code.loader) ==
				  HSA_STATUS_SUCCESS;
	return code.has_loader;
}

static bool
is_listed(uint64_t object, uint64_t executable)
{
	bool found = false;

	pthread_mutex_lock(&code.mutex);
	for (struct loaded *l = code.list; l != NULL && !found; l = l->next)
		found = l->object == object && l->executable == executable;
	pthread_mutex_unlock(&code.mutex);
	return found;
}

/* Reads one loaded code object; `l->known` says whether that worked. */
static void
read_object(struct loaded *l, hsa_loaded_code_object_t object)
{
	uint64_t base = 0, size = 0;
	hsa_agent_t agent = {0};
	int64_t delta = 0;
	uint32_t kind = 0;

#define GET(what, to) \
	(code.loader.hsa_ven_amd_loader_loaded_code_object_get_info( \
		 object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_##what, to) == HSA_STATUS_SUCCESS)
	if (!GET(AGENT, &agent) || (l->agent = kr_agent_find(agent)) == NULL)
		return;
	if (!GET(CODE_OBJECT_STORAGE_TYPE, &kind) || kind != HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY ||
	    !GET(CODE_OBJECT_STORAGE_MEMORY_BASE, &base) || !GET(CODE_OBJECT_STORAGE_MEMORY_SIZE, &size) ||
	    !GET(LOAD_DELTA, &delta))
		return;
#undef GET
	kr_arguments_read(l->executable, (const void *)(uintptr_t)base, size);
	l->count = kr_code_writable((const void *)(uintptr_t)base, size, l->segment, MAX_SEGMENTS,
				    &l->read_only);
	if (l->count < 0 || l->count > MAX_SEGMENTS) {
		l->count = 0;
		return;
	}
	for (int i = 0; i < l->count; i++)
		l->segment[i].address += (uint64_t)delta;
	l->known = true;
}

static hsa_status_t
visit_object(hsa_executable_t executable, hsa_loaded_code_object_t object, void *data)
{
	struct loaded *l;

	if (is_listed(object.handle, executable.handle))
		return HSA_STATUS_SUCCESS;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	l->executable = executable.handle;
	l->object = object.handle;
	read_object(l, object);
	if (!l->known)
		kr_log(KR_LOG_WARN, "code", "a code object could not be read: its variables are unknown, "
					    "and while it is loaded nothing on its agent can be replayed");
	pthread_mutex_lock(&code.mutex);
	for (int i = 0; i < l->count; i++)
		l->segment[i].generation = ++code.generation;
	l->next = code.list;
	code.list = l;
	pthread_mutex_unlock(&code.mutex);
	return HSA_STATUS_SUCCESS;
}

void
kr_code_loaded(hsa_executable_t executable)
{
	struct loaded *unread;

	if (get_loader() && code.loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
				    executable, visit_object, NULL) == HSA_STATUS_SUCCESS)
		return;
	/* Something was loaded that we know nothing of: an entry for any agent. */
	kr_log(KR_LOG_WARN, "code", "loaded code objects cannot be listed: nothing can be replayed while they are loaded");
	unread = calloc(1, sizeof(*unread));
	if (unread == NULL)
		abort(); /* a dozen bytes: there is no way on that stays right */
	unread->executable = executable.handle;
	pthread_mutex_lock(&code.mutex);
	unread->next = code.list;
	code.list = unread;
	pthread_mutex_unlock(&code.mutex);
}

void
kr_code_destroyed(hsa_executable_t executable)
{
	struct loaded **at, *l;

	pthread_mutex_lock(&code.mutex);
	for (at = &code.list; (l = *at) != NULL;) {
		if (l->executable == executable.handle) {
			*at = l->next;
			atomic_fetch_add(&code.removals, 1);
			free(l);
		} else {
			at = &l->next;
		}
	}
	pthread_mutex_unlock(&code.mutex);
}

bool
kr_code_known(struct kr_agent *agent)
{
	bool known = true;

	pthread_mutex_lock(&code.mutex);
	for (struct loaded *l = code.list; l != NULL && known; l = l->next)
		known = l->known || (l->agent != NULL && l->agent != agent);
	pthread_mutex_unlock(&code.mutex);
	return known;
}

bool
kr_code_each(struct kr_agent *agent, bool (*visit)(const struct kr_segment *, void *), void *data)
{
	bool all = true;

	pthread_mutex_lock(&code.mutex);
	for (struct loaded *l = code.list; l != NULL && all; l = l->next)
		for (int i = 0; l->agent == agent && i < l->count && all; i++)
			all = visit(&l->segment[i], data);
	pthread_mutex_unlock(&code.mutex);
	return all;
}

uint64_t
kr_code_read_only(struct kr_agent *agent)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&code.mutex);
	for (struct loaded *l = code.list; l != NULL; l = l->next)
		bytes += l->agent == agent ? l->read_only : 0;
	pthread_mutex_unlock(&code.mutex);
	return bytes;
}

uint64_t
kr_code_removals(void)
{
	return atomic_load(&code.removals);
}

bool
kr_code_alive(uint64_t generation)
{
	bool alive = false;

	pthread_mutex_lock(&code.mutex);
	for (struct loaded *l = code.list; l != NULL && !alive; l = l->next)
		for (int i = 0; i < l->count && !alive; i++)
			alive = l->segment[i].generation == generation;
	pthread_mutex_unlock(&code.mutex);
	return alive;
}

void
kr_code_clear(void)
{
	struct loaded *l;

	pthread_mutex_lock(&code.mutex);
	while ((l = code.list) != NULL) {
		code.list = l->next;
		free(l);
	}
	code.has_loader = false;
	pthread_mutex_unlock(&code.mutex);
}
