/* SPDX-License-Identifier: MIT */
/* The tools door: HSA_TOOLS_LIB, or a runtime that finds the preloaded library
 * by HSA_AMD_TOOL_PRIORITY, hands over its API table. */
#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/table.h"
#include "doors.h"

#define EXPORT __attribute__((visibility("default")))

/* Order among tool libraries, lowest first; the runtime's header names no
 * values. Proxies of others that were put in before are what we call next. */
EXPORT const uint32_t HSA_AMD_TOOL_PRIORITY = 1000;

EXPORT bool OnLoad(struct kr_root_table *table, uint64_t runtime_version, uint64_t failed_tools,
                   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

static bool open;

EXPORT bool
OnLoad(struct kr_root_table *table, uint64_t runtime_version, uint64_t failed_tools,
       const char *const *failed_tool_names)
{
	/* True in any case: we do no harm, and false would unload us. */
	if (open || !kr_engine_wanted() || !kr_table_attach(table))
		return true;
	kr_preload_close();
	open = true;
	if (!kr_engine_start())
		kr_table_detach();
	return true;
}

EXPORT void
OnUnload(void)
{
	if (!open)
		return;
	open = false;
	kr_engine_stop();
	kr_table_detach();
}
