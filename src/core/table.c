/* SPDX-License-Identifier: MIT */
#include "core/table.h"

#include <stddef.h>
#include <string.h>

#include "core/log.h"
#include "core/next.h"

static struct kr_root_table *attached;

static bool
has_slot(const struct kr_api_table *table, size_t index)
{
	return table != NULL &&
	       offsetof(struct kr_api_table, slot) + (index + 1) * sizeof(void *) <= table->version.minor_id;
}

bool
kr_table_attach(struct kr_root_table *root)
{
	if (root == NULL || root->version.major_id != 1 || root->core == NULL || root->amd == NULL ||
	    root->core->version.major_id != 1 || root->amd->version.major_id != 1) {
		kr_log(KR_LOG_WARN, "door", "the runtime's API table has an unknown version; kreplay stays inert");
		return false;
	}
#define NEED(table, name) \
	if (!has_slot(root->table, KR_##table##_##name)) { \
		kr_log(KR_LOG_WARN, "door", "the runtime's API table has no " #name "; kreplay stays inert"); \
		return false; \
	}
#define HOOK(table, name) NEED(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED

	/* Two rounds: a hook may run on another thread as soon as its slot is patched. */
#define NEED(table, name) kr_next.name = (__typeof__(kr_next.name))root->table->slot[KR_##table##_##name];
#define HOOK(table, name) NEED(table, name)
#include "core/hooks.def"
#undef HOOK
#undef NEED
#define NEED(table, name)
#define HOOK(table, name) \
	__atomic_store_n(&root->table->slot[KR_##table##_##name], (void *)kr_hook_##name, __ATOMIC_RELEASE);
#include "core/hooks.def"
#undef HOOK
#undef NEED
	attached = root;
	return true;
}

void
kr_table_detach(void)
{
	if (attached == NULL)
		return;
	/* A tool loaded after us has saved our hook and put its own there: leave it. */
#define NEED(table, name)
#define HOOK(table, name) \
	if (attached->table->slot[KR_##table##_##name] == (void *)kr_hook_##name) \
		attached->table->slot[KR_##table##_##name] = (void *)kr_next.name;
#include "core/hooks.def"
#undef HOOK
#undef NEED
	attached = NULL;
}
