/* SPDX-License-Identifier: MIT */
/* Signal operations: all that can ring the doorbell of a queue of ours. */
#include "core/agents.h"
#include "core/foreign.h"
#include "core/proxy.h"

/* The operation is carried out in any case: the value of a doorbell is the
 * application's to read. A doorbell that is the hardware's own waits for the
 * window that is open. */
#define AROUND(signal, operation) \
	do { \
		struct kr_proxy *p = kr_proxy_of_doorbell(signal); \
		struct kr_agent *agent; \
\
		if (p != NULL) { \
			operation; \
			kr_proxy_ring(p); \
			break; \
		} \
		agent = kr_foreign_of_doorbell(signal); \
		kr_agent_enter(agent); \
		operation; \
		kr_agent_leave(agent); \
	} while (0)

#define VOID_OP(name) \
	void kr_hook_##name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		AROUND(signal, kr_next.name(signal, value)); \
	}

#define VALUE_OP(name) \
	hsa_signal_value_t kr_hook_##name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		hsa_signal_value_t old; \
\
		AROUND(signal, old = kr_next.name(signal, value)); \
		return old; \
	}

#define CAS_OP(name) \
	hsa_signal_value_t kr_hook_##name(hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t value) \
	{ \
		hsa_signal_value_t old; \
\
		AROUND(signal, old = kr_next.name(signal, expected, value)); \
		return old; \
	}

#define ORDERS(OP, name) \
	OP(name##_relaxed) \
	OP(name##_scacquire) \
	OP(name##_screlease) \
	OP(name##_scacq_screl)

/* What nearly every dispatch calls. Nobody sleeps on a doorbell of ours, so storing to it is all that the runtime would do. */
#define STORE_OP(name) \
	void kr_hook_##name(hsa_signal_t signal, hsa_signal_value_t value) \
	{ \
		struct kr_proxy *p = kr_proxy_of_doorbell(signal); \
\
		if (__builtin_expect(p == NULL, 0)) { \
			AROUND(signal, kr_next.name(signal, value)); \
			return; \
		} \
		__atomic_store_n(&kr_signal_amd(signal)->value, value, __ATOMIC_RELEASE); \
		kr_proxy_ring(p); \
	}

STORE_OP(hsa_signal_store_relaxed)
STORE_OP(hsa_signal_store_screlease)
VOID_OP(hsa_signal_silent_store_relaxed)
VOID_OP(hsa_signal_silent_store_screlease)
ORDERS(VALUE_OP, hsa_signal_exchange)
ORDERS(CAS_OP, hsa_signal_cas)
ORDERS(VOID_OP, hsa_signal_add)
ORDERS(VOID_OP, hsa_signal_subtract)
ORDERS(VOID_OP, hsa_signal_and)
ORDERS(VOID_OP, hsa_signal_or)
ORDERS(VOID_OP, hsa_signal_xor)
