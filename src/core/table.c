/* SPDX-License-Identifier: MIT */
#include "core/table.h"

#include <stddef.h>
#include <string.h>

#include "core/log.h"
#include "core/next.h"

static struct kr_root_table *attached;

static unsigned
slots_of(const struct kr_api_table *table)
{
	size_t size = table->version.minor_id;

	return size < offsetof(struct kr_api_table, slot)
	           ? 0
	           : (unsigned)((size - offsetof(struct kr_api_table, slot)) / sizeof(void *));
}

int
kr_amd_slot_index(enum kr_amd_slot slot, unsigned slots)
{
	static const unsigned since[] = {
#define SLOT(name, since) since,
#include "core/amd_table.def"
#undef SLOT
	};
	int index = 0;

	if (since[slot] > slots)
		return -1;
	for (unsigned i = 0; i < (unsigned)slot; i++)
		index += since[i] <= slots;
	return (unsigned)index < slots ? index : -1;
}

/* The core table has only ever been one; the AMD table's layout must be one that
 * we know, or one that has grown at the end of the newest. */
static bool
is_known_layout(unsigned amd_slots)
{
	static const unsigned known[] = {48, 51, 55, 67, 68};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (amd_slots == known[i])
			return true;
	return amd_slots >= 70;
}

static void **
core_slot(struct kr_root_table *root, unsigned slot)
{
	return slot < slots_of(root->core) ? &root->core->slot[slot] : NULL;
}

static void **
amd_slot(struct kr_root_table *root, enum kr_amd_slot slot)
{
	int index = kr_amd_slot_index(slot, slots_of(root->amd));

	return index >= 0 ? &root->amd->slot[index] : NULL;
}

/* 1, 1 and 1 until ROCr 5; 3, 2 and 2 from ROCr 6 on, which has more tables behind these two and the same functions in them. */
static bool
is_known_version(const struct kr_root_table *root)
{
	if (root == NULL || root->core == NULL || root->amd == NULL)
		return false;

	unsigned table = root->core->version.major_id;

	return root->amd->version.major_id == table &&
	       ((root->version.major_id == 1 && table == 1) || (root->version.major_id == 3 && table == 2));
}

bool
kr_table_attach(struct kr_root_table *root)
{
	void **slot;

	if (!is_known_version(root)) {
		kr_log(KR_LOG_WARN, "door", "the runtime's API table has an unknown version; kreplay stays inert");
		return false;
	}
	if (!is_known_layout(slots_of(root->amd))) {
		kr_log(KR_LOG_WARN, "door", "the runtime's AMD API table has %u slots, a layout that kreplay does not "
					    "know; kreplay stays inert", slots_of(root->amd));
		return false;
	}
#define NEED(table, name) \
	slot = table##_slot(root, KR_##table##_##name); \
	if (slot == NULL || *slot == NULL) { \
		kr_log(KR_LOG_WARN, "door", "the runtime's API table has no " #name "; kreplay stays inert"); \
		return false; \
	}
#define HOOK(table, name) NEED(table, name)
#define NEWER(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER

	/* Two rounds: a hook may run on another thread as soon as its slot is patched. */
#define NEED(table, name) \
	slot = table##_slot(root, KR_##table##_##name); \
	kr_next.name = (__typeof__(kr_next.name))(slot != NULL ? *slot : NULL);
#define HOOK(table, name) NEED(table, name)
#define NEWER(table, name) NEED(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
#define NEED(table, name)
#define HOOK(table, name) \
	slot = table##_slot(root, KR_##table##_##name); \
	if (slot != NULL && *slot != NULL) \
		__atomic_store_n(slot, (void *)kr_hook_##name, __ATOMIC_RELEASE);
#define NEWER(table, name) HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
	attached = root;
	return true;
}

void
kr_table_detach(void)
{
	void **slot;

	if (attached == NULL)
		return;
	/* A tool loaded after us has saved our hook and put its own there: leave it. */
#define NEED(table, name)
#define HOOK(table, name) \
	slot = table##_slot(attached, KR_##table##_##name); \
	if (slot != NULL && *slot == (void *)kr_hook_##name) \
		*slot = (void *)kr_next.name;
#define NEWER(table, name) HOOK(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#undef NEWER
	attached = NULL;
}
