/* SPDX-License-Identifier: MIT */
#include "core/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/agents.h"
#include "core/code.h"
#include "core/collector.h"
#include "core/completer.h"
#include "core/copies.h"
#include "core/deferred.h"
#include "core/log.h"
#include "core/proxy_internal.h"
#include "core/replay.h"
#include "core/snapshot.h"
#include "core/tools.h"
#include "core/tracker.h"
#include "core/watcher.h"
#include "options/options.h"

/* At the end, dispatches that are still running get this long to be reported. */
#define LAST_WAIT_NS 2000000000u

static struct {
	_Atomic bool active;
	_Atomic bool ended; /* tools were finalized; they do not come back */
	bool started, result;
	_Atomic bool forked; /* this is a child of the process that started it */
} engine;

bool
kr_engine_active(void)
{
	return atomic_load_explicit(&engine.active, memory_order_relaxed);
}

bool
kr_engine_wanted(void)
{
	const struct kr_options *o = kr_options_get();

	return o->valid && (o->active || kr_tools_exported());
}

static void
in_child(void)
{
	/* The runtime does not survive a fork, and none of our threads is here: the
	 * child sees the runtime as it is, and reports and finalizes nothing. */
	atomic_store(&engine.active, false);
	atomic_store(&engine.forked, true);
}

static void
at_exit(void)
{
	if (engine.forked)
		return;
	kr_snapshot_keeper_stop();
	if (!atomic_exchange(&engine.ended, true)) {
		if (kr_engine_active()) {
			kr_watcher_stop();
			kr_deferred_stop();
			kr_completer_finish(LAST_WAIT_NS);
		}
		kr_tools_finalize();
	}
	kr_tools_end_driver();
	kr_collector_flush();
}

bool
kr_engine_start(void)
{
	const struct kr_options *o = kr_options_get();
	struct kr_tools_options tools = {.tool_paths = o->tool, .builtin_driver = o->active};

	if (engine.forked)
		return false;
	if (engine.started) {
		/* The runtime is up once more. Tools were finalized; the built-in driver goes on. */
		bool goes_on = engine.result && (!engine.ended || kr_replay_wanted());

		atomic_store(&engine.active, goes_on);
		return goes_on;
	}
	engine.started = true;
	if (o->active)
		kr_collector_start(o);
	engine.result = kr_tools_load(&tools);
	if (engine.result || o->active) {
		/* Registered this late it runs before the destructors of the runtime. */
		atexit(at_exit);
		pthread_atfork(NULL, NULL, in_child);
	}
	atomic_store(&engine.active, engine.result);
	return engine.result;
}

void
kr_engine_stop(void)
{
	struct kr_agent *agent;

	if (!kr_engine_active() || engine.forked)
		return;
	kr_watcher_stop();
	kr_deferred_stop();
	kr_completer_finish(LAST_WAIT_NS);
	if (!atomic_exchange(&engine.ended, true))
		kr_tools_finalize();
	atomic_store(&engine.active, false);
	kr_proxy_abandon_all(kr_now_ns() + LAST_WAIT_NS);
	for (unsigned i = 0; (agent = kr_agent_at(i)) != NULL; i++) {
		/* A thread that submits to the last may be in a window, which ends after
		 * its pass. What a window that does not end uses is left to it. */
		if (!kr_agent_write_lock(agent, kr_now_ns() + LAST_WAIT_NS)) {
			kr_log(KR_LOG_WARN, "engine", "the runtime is shut down in the middle of a replay");
			continue;
		}
		kr_snapshot_destroy(agent);
		kr_copy_fence_destroy(agent);
		kr_agent_write_unlock(agent);
	}
	kr_tracker_clear();
	kr_code_clear();
	kr_agents_finish();
}

/* The library goes (dlclose, or the end of a process that never called exit
 * handlers of ours): whatever was not said yet. */
__attribute__((destructor)) static void
library_gone(void)
{
	if (engine.started)
		at_exit();
}

/* ---- what the tool-facing part asks for ---- */

bool
kr_agent_info(uint64_t agent_handle, kreplay_agent_info_t *out)
{
	struct kr_agent *agent = kr_agent_find((hsa_agent_t){agent_handle});

	if (agent == NULL)
		return false;
	out->id.handle = agent_handle;
	out->memory_bytes = agent->memory_bytes;
	out->node = agent->node;
	out->compute_units = agent->compute_units;
	memcpy(out->name, agent->name, sizeof(out->name));
	memcpy(out->isa, agent->isa, sizeof(out->isa));
	return true;
}

uint64_t
kr_timestamp_ns(void)
{
	static _Atomic uint64_t frequency;
	uint64_t hertz = atomic_load(&frequency), ticks = 0;

	if (hertz == 0) {
		kr_next.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hertz);
		atomic_store(&frequency, hertz != 0 ? hertz : 1000000000u);
		hertz = frequency;
	}
	kr_next.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
	return (uint64_t)((unsigned __int128)ticks * 1000000000u / hertz);
}
