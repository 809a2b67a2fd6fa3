/* SPDX-License-Identifier: MIT */
/*
 * Contexts and their services.
 *
 * Everything but "started" is fixed once the configuration is locked, and before that nothing is live; so whoever finds a
 * context live may read its services without a lock. A context is named by its index below KR_MAX_CONTEXTS, and sets of
 * contexts are 64-bit masks.
 */
#ifndef KR_CORE_CONTEXTS_H
#define KR_CORE_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include <kreplay/kreplay.h>

#include "core/replay.h"

#define KR_MAX_CONTEXTS 64

/* What a loop has toggled; lives on the stack of the loop. */
struct kr_toggles {
	uint64_t stopped; /* contexts masked for the loop at hand */
};

/* --- configuration; one thread at a time --- */

/* Contexts may be made now, for this client (not 0). */
void kr_contexts_open(uint32_t client);
/* No longer. */
void kr_contexts_close(void);
/* The client's initialize failed: what it made is gone. Only before the lock. */
void kr_contexts_drop(uint32_t client);
/* For good: what is started becomes live. */
void kr_contexts_lock(void);
/* How many contexts of this client there are. */
unsigned kr_contexts_count(uint32_t client);
/* Whether a context has CONFIG already. */
bool kr_contexts_driven(void);
/* Whether it is one of this client's. */
bool kr_contexts_drives(uint32_t client);

/*
 * Stops these clients' contexts (mask of contexts from kr_contexts_of), waits at most timeout_ms for the windows and the
 * callbacks that are under way on other threads, and sees to it that none follows. False when time ran out.
 */
bool kr_contexts_retire(uint64_t contexts, unsigned timeout_ms);
uint64_t kr_contexts_of(uint32_t client);

/* Forgets all, for tests. */
void kr_contexts_reset(void);

/* --- delivery; any thread, no lock --- */

/* Started contexts that subscribe to this operation. */
uint64_t kr_contexts_live(kreplay_callback_tracing_kind_t kind, int operation);
/* All contexts that subscribe to it, started or not; only after the lock. */
uint64_t kr_contexts_subscribed(kreplay_callback_tracing_kind_t kind, int operation);
/* One past the highest index in use. */
unsigned kr_contexts_limit(void);
uint32_t kr_context_client(unsigned index);
/* The tool is about to end: a loop that this context drives must come to its end. */
bool kr_context_retiring(unsigned index);

/*
 * Brackets every call of a tool's function. Enter is false when the tool has ended: do not call, do not leave. `armed`:
 * the toggles that replay_start_context and replay_stop_context work on during the call; NULL: they are refused.
 */
struct kr_call {
	unsigned index;
	struct kr_toggles *outer;
};
bool kr_context_enter(struct kr_call *call, unsigned index, struct kr_toggles *armed);
void kr_context_leave(const struct kr_call *call);

/* Whether the tool has ended meanwhile, inside a bracket: what was to be called next must not be. */
bool kr_context_ended(unsigned index);

/* One callback, inside a bracket. */
void kr_context_call(unsigned index, const struct kr_dispatch *d, kreplay_callback_tracing_kind_t kind, int operation,
		     kreplay_callback_phase_t phase, void *payload, kreplay_user_data_t *user_data);

/* The same in a bracket of its own; false when the tool has ended. */
bool kr_context_deliver(unsigned index, const struct kr_dispatch *d, kreplay_callback_tracing_kind_t kind,
			int operation, kreplay_callback_phase_t phase, void *payload, kreplay_user_data_t *user_data,
			struct kr_toggles *armed);

/* What the payload's pointers point to. */
kreplay_status_t kr_context_start_locally(kreplay_context_id_t context_id);
kreplay_status_t kr_context_stop_locally(kreplay_context_id_t context_id);

/*
 * A window is open from kr_window_opened to kr_window_closed, on whatever thread. Here and away bracket the time in which
 * it is on this thread's stack, so that a tool that ends itself from inside does not wait for itself.
 */
void kr_window_opened(void);
void kr_window_closed(void);
void kr_window_here(void);
void kr_window_away(void);

#endif
