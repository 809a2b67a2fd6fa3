/* SPDX-License-Identifier: MIT */
#include "core/contexts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "core/log.h"

#define MAX_OPERATIONS 8
#define BIT(index) (UINT64_C(1) << (index))

struct service {
	kreplay_callback_tracing_cb_t callback;
	void *args;
};

struct context {
	uint32_t client;
	struct service services[KREPLAY_CALLBACK_TRACING_LAST];
};

static struct context contexts[KR_MAX_CONTEXTS];
static uint64_t subscribed[KREPLAY_CALLBACK_TRACING_LAST][MAX_OPERATIONS];

/* Guards the writers of all that follows and of the two tables above; never held while a tool's function runs. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t used;           /* contexts that were made */
static uint32_t configuring;    /* client whose initialize is running, or 0 */
static bool locked;
static _Atomic uint64_t valid;    /* made, and not dropped */
static _Atomic uint64_t started;  /* what the public functions say */
static _Atomic uint64_t live;     /* what is delivered to: started, once locked */
static _Atomic uint64_t retiring;
static _Atomic uint64_t dead;

/* Calls under way for each context, and windows under way for the one driver. */
static _Atomic uint32_t calls[KR_MAX_CONTEXTS];
static _Atomic uint32_t windows;

/* This thread's part of them; together, since finding a thread's variable costs a call. */
static _Thread_local struct {
	struct kr_toggles *armed_toggles;
	unsigned windows;
	uint8_t calls[KR_MAX_CONTEXTS];
} here;

static const int operations_of[KREPLAY_CALLBACK_TRACING_LAST] = {
	[KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH] = KREPLAY_KERNEL_DISPATCH_LAST,
	[KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY] = KREPLAY_KERNEL_REPLAY_LAST,
};
_Static_assert(KREPLAY_KERNEL_DISPATCH_LAST <= MAX_OPERATIONS, "room for the operations");
_Static_assert(KREPLAY_KERNEL_REPLAY_LAST <= MAX_OPERATIONS, "room for the operations");

/* Index of a context, or -1. */
static int find(kreplay_context_id_t id)
{
	uint64_t index = id.handle - 1; /* handle 0 wraps to what no context has */

	if (index >= KR_MAX_CONTEXTS || !(atomic_load(&valid) & BIT(index)))
		return -1;
	return (int)index;
}

/* --- configuration --- */

void kr_contexts_open(uint32_t client)
{
	pthread_mutex_lock(&mutex);
	if (!locked)
		configuring = client;
	pthread_mutex_unlock(&mutex);
}

void kr_contexts_close(void)
{
	pthread_mutex_lock(&mutex);
	configuring = 0;
	pthread_mutex_unlock(&mutex);
}

uint64_t kr_contexts_of(uint32_t client)
{
	uint64_t all = atomic_load(&valid), mine = 0;

	for (unsigned i = 0; i < KR_MAX_CONTEXTS; i++)
		if (all & BIT(i) && contexts[i].client == client)
			mine |= BIT(i);
	return mine;
}

unsigned kr_contexts_count(uint32_t client)
{
	return (unsigned)__builtin_popcountll(kr_contexts_of(client));
}

void kr_contexts_drop(uint32_t client)
{
	pthread_mutex_lock(&mutex);
	if (!locked) {
		uint64_t mine = kr_contexts_of(client);

		atomic_fetch_and(&valid, ~mine);
		atomic_fetch_and(&started, ~mine);
		for (unsigned kind = 0; kind < KREPLAY_CALLBACK_TRACING_LAST; kind++)
			for (unsigned op = 0; op < MAX_OPERATIONS; op++)
				subscribed[kind][op] &= ~mine;
	}
	pthread_mutex_unlock(&mutex);
}

void kr_contexts_lock(void)
{
	pthread_mutex_lock(&mutex);
	configuring = 0;
	locked = true;
	atomic_store(&live, atomic_load(&started));
	pthread_mutex_unlock(&mutex);
}

static uint64_t drivers(void)
{
	pthread_mutex_lock(&mutex);
	uint64_t mask = subscribed[KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY][KREPLAY_KERNEL_REPLAY_CONFIG];
	pthread_mutex_unlock(&mutex);
	return mask;
}

bool kr_contexts_driven(void)
{
	return drivers() != 0;
}

bool kr_contexts_drives(uint32_t client)
{
	return (drivers() & kr_contexts_of(client)) != 0;
}

void kr_contexts_reset(void)
{
	pthread_mutex_lock(&mutex);
	memset(contexts, 0, sizeof contexts);
	memset(subscribed, 0, sizeof subscribed);
	used = 0;
	configuring = 0;
	locked = false;
	atomic_store(&valid, 0);
	atomic_store(&started, 0);
	atomic_store(&live, 0);
	atomic_store(&retiring, 0);
	atomic_store(&dead, 0);
	pthread_mutex_unlock(&mutex);
}

/* --- the public functions --- */

kreplay_status_t kreplay_create_context(kreplay_context_id_t *context_id)
{
	kreplay_status_t status = KREPLAY_STATUS_SUCCESS;

	if (!context_id)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&mutex);
	if (!configuring) {
		status = KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED;
	} else if (!~used) {
		status = KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES;
	} else {
		unsigned index = (unsigned)__builtin_ctzll(~used);

		used |= BIT(index);
		contexts[index] = (struct context){ .client = configuring };
		atomic_fetch_or(&valid, BIT(index));
		context_id->handle = index + 1;
	}
	pthread_mutex_unlock(&mutex);
	return status;
}

kreplay_status_t kreplay_start_context(kreplay_context_id_t context_id)
{
	kreplay_status_t status = KREPLAY_STATUS_SUCCESS;

	pthread_mutex_lock(&mutex);
	int index = find(context_id);
	if (index < 0) {
		status = KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
	} else if (atomic_load(&retiring) & BIT(index)) {
		status = KREPLAY_STATUS_ERROR_FINALIZED;
	} else {
		atomic_fetch_or(&started, BIT(index));
		if (locked)
			atomic_fetch_or(&live, BIT(index));
	}
	pthread_mutex_unlock(&mutex);
	return status;
}

kreplay_status_t kreplay_stop_context(kreplay_context_id_t context_id)
{
	kreplay_status_t status = KREPLAY_STATUS_SUCCESS;

	pthread_mutex_lock(&mutex);
	int index = find(context_id);
	if (index < 0) {
		status = KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
	} else {
		if (!(atomic_fetch_and(&started, ~BIT(index)) & BIT(index)))
			status = KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED;
		atomic_fetch_and(&live, ~BIT(index));
	}
	pthread_mutex_unlock(&mutex);
	return status;
}

kreplay_status_t kreplay_context_is_active(kreplay_context_id_t context_id, int *status)
{
	if (!status)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	int index = find(context_id);
	*status = index >= 0 && atomic_load(&started) & BIT(index) ? 1 : 0;
	return index < 0 ? KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND : KREPLAY_STATUS_SUCCESS;
}

kreplay_status_t kreplay_context_is_valid(kreplay_context_id_t context_id, int *status)
{
	if (!status)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	*status = find(context_id) >= 0;
	return *status ? KREPLAY_STATUS_SUCCESS : KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
}

/* The operations asked for, as bits; 0 and a status when there is something wrong with them. */
static unsigned operation_bits(unsigned kind, const kreplay_tracing_operation_t *operations, size_t count,
			       kreplay_status_t *status)
{
	unsigned bits = 0;

	*status = KREPLAY_STATUS_SUCCESS;
	if (!count)
		return (1u << operations_of[kind]) - 2; /* all but NONE */
	if (!operations || count > 64) {
		*status = KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (operations[i] <= 0 || operations[i] >= operations_of[kind]) {
			*status = KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND;
			return 0;
		}
		bits |= 1u << operations[i];
	}
	return bits;
}

/* Under the mutex; everything has been checked but who has what already. */
static kreplay_status_t subscribe(unsigned index, unsigned kind, unsigned bits, kreplay_callback_tracing_cb_t callback,
				  void *args)
{
	struct service *service = &contexts[index].services[kind];

	if (service->callback)
		return KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED;
	if (kind == KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY && bits & (1u << KREPLAY_KERNEL_REPLAY_CONFIG) &&
	    subscribed[kind][KREPLAY_KERNEL_REPLAY_CONFIG])
		return KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED;
	*service = (struct service){ callback, args };
	for (unsigned op = 0; op < MAX_OPERATIONS; op++)
		if (bits & (1u << op))
			subscribed[kind][op] |= BIT(index);
	return KREPLAY_STATUS_SUCCESS;
}

kreplay_status_t kreplay_configure_callback_tracing_service(kreplay_context_id_t context_id,
							    kreplay_callback_tracing_kind_t kind,
							    const kreplay_tracing_operation_t *operations,
							    size_t operations_count,
							    kreplay_callback_tracing_cb_t callback, void *callback_args)
{
	unsigned which = (unsigned)kind, bits;
	kreplay_status_t status;

	pthread_mutex_lock(&mutex);
	int index = find(context_id);
	if (!configuring)
		status = KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED;
	else if (index < 0 || contexts[index].client != configuring)
		status = KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
	else if (which >= KREPLAY_CALLBACK_TRACING_LAST || !operations_of[which])
		status = KREPLAY_STATUS_ERROR_KIND_NOT_FOUND;
	else if (!callback)
		status = KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	else if ((bits = operation_bits(which, operations, operations_count, &status)))
		status = subscribe((unsigned)index, which, bits, callback, callback_args);
	pthread_mutex_unlock(&mutex);
	return status;
}

/* --- delivery --- */

bool kr_replay_wanted(void)
{
	/* The table is written before `live` is, and never after. */
	return atomic_load_explicit(&live, memory_order_acquire) &
	       subscribed[KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY][KREPLAY_KERNEL_REPLAY_CONFIG];
}

bool kr_dispatch_wanted(void)
{
	uint64_t now = atomic_load_explicit(&live, memory_order_acquire);

	return now && now & (subscribed[KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH][KREPLAY_KERNEL_DISPATCH_ENQUEUE] |
			     subscribed[KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH][KREPLAY_KERNEL_DISPATCH_COMPLETE]);
}

uint64_t kr_contexts_live(kreplay_callback_tracing_kind_t kind, int operation)
{
	return atomic_load_explicit(&live, memory_order_acquire) & subscribed[kind][operation];
}

uint64_t kr_contexts_subscribed(kreplay_callback_tracing_kind_t kind, int operation)
{
	return subscribed[kind][operation];
}

unsigned kr_contexts_limit(void)
{
	uint64_t all = atomic_load_explicit(&valid, memory_order_relaxed);

	return all ? 64 - (unsigned)__builtin_clzll(all) : 0;
}

uint32_t kr_context_client(unsigned index)
{
	return contexts[index].client;
}

bool kr_context_retiring(unsigned index)
{
	return atomic_load(&retiring) & BIT(index);
}

bool kr_context_ended(unsigned index)
{
	return atomic_load(&dead) & BIT(index);
}

bool kr_context_enter(struct kr_call *call, unsigned index, struct kr_toggles *armed)
{
	/* Counted first and looked at second; kr_contexts_retire does it the other way round. */
	atomic_fetch_add(&calls[index], 1);
	if (atomic_load(&dead) & BIT(index)) {
		atomic_fetch_sub(&calls[index], 1);
		return false;
	}
	here.calls[index]++;
	call->index = index;
	call->outer = here.armed_toggles;
	here.armed_toggles = armed;
	return true;
}

void kr_context_leave(const struct kr_call *call)
{
	here.armed_toggles = call->outer;
	here.calls[call->index]--;
	atomic_fetch_sub(&calls[call->index], 1);
}

/* Two neighbours of a struct in one store. */
static void put_pair(void *at, uint32_t low, uint32_t high)
{
	uint64_t pair = (uint64_t)high << 32 | low;

	memcpy(at, &pair, sizeof pair);
}

/*
 * The record goes by value. What has just been stored must not be moved in pieces that are wider than it was stored in: the
 * processor would wait until the stores have arrived in its cache, which takes longer than all the rest.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("general-regs-only"), noinline))
#endif
void kr_context_call(unsigned index, const struct kr_dispatch *d, kreplay_callback_tracing_kind_t kind, int operation,
		     kreplay_callback_phase_t phase, void *payload, kreplay_user_data_t *user_data)
{
	const struct service *service = &contexts[index].services[kind];
	kreplay_callback_tracing_record_t record;

	_Static_assert(sizeof record == 64 && offsetof(kreplay_callback_tracing_record_t, operation) ==
						      offsetof(kreplay_callback_tracing_record_t, kind) + 4 &&
			       offsetof(kreplay_callback_tracing_record_t, payload) ==
				       offsetof(kreplay_callback_tracing_record_t, phase) + 8,
		       "pairs");
	record.context_id.handle = index + 1;
	record.thread_id = d->thread_id;
	record.correlation_id.internal = d->correlation_id;
	record.correlation_id.external.value = 0;
	record.correlation_id.ancestor = d->ancestor;
	put_pair(&record.kind, (uint32_t)kind, (uint32_t)operation);
	put_pair(&record.phase, (uint32_t)phase, 0);
	record.payload = payload;
	service->callback(record, user_data, service->args);
}

bool kr_context_deliver(unsigned index, const struct kr_dispatch *d, kreplay_callback_tracing_kind_t kind,
			int operation, kreplay_callback_phase_t phase, void *payload, kreplay_user_data_t *user_data,
			struct kr_toggles *armed)
{
	struct kr_call call;

	if (!kr_context_enter(&call, index, armed))
		return false;
	kr_context_call(index, d, kind, operation, phase, payload, user_data);
	kr_context_leave(&call);
	return true;
}

/* --- local toggles --- */

kreplay_status_t kr_context_stop_locally(kreplay_context_id_t context_id)
{
	if (!here.armed_toggles)
		return KREPLAY_STATUS_ERROR_CONTEXT_ERROR;
	int index = find(context_id);
	if (index < 0) {
		kr_log_once("toggle-unknown", KR_LOG_WARN, "replay",
			    "a tool toggles context %llu, which does not exist",
			    (unsigned long long)context_id.handle);
		return KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
	}
	here.armed_toggles->stopped |= BIT(index);
	return KREPLAY_STATUS_SUCCESS;
}

kreplay_status_t kr_context_start_locally(kreplay_context_id_t context_id)
{
	if (!here.armed_toggles)
		return KREPLAY_STATUS_ERROR_CONTEXT_ERROR;
	int index = find(context_id);
	if (index < 0) {
		kr_log_once("toggle-unknown", KR_LOG_WARN, "replay",
			    "a tool toggles context %llu, which does not exist",
			    (unsigned long long)context_id.handle);
		return KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND;
	}
	here.armed_toggles->stopped &= ~BIT(index);
	return atomic_load(&started) & BIT(index) ? KREPLAY_STATUS_SUCCESS
						  : KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED;
}

/* --- the end --- */

void kr_window_opened(void)
{
	atomic_fetch_add(&windows, 1);
}

void kr_window_closed(void)
{
	atomic_fetch_sub(&windows, 1);
}

void kr_window_here(void)
{
	here.windows++;
}

void kr_window_away(void)
{
	here.windows--;
}

static bool calls_elsewhere(uint64_t which)
{
	for (unsigned i = 0; i < KR_MAX_CONTEXTS; i++)
		if (which & BIT(i) && atomic_load(&calls[i]) > here.calls[i])
			return true;
	return false;
}

/* False when time ran out. */
static bool pause_until(const struct timespec *end)
{
	struct timespec now, nap = { 0, 500000 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec))
		return false;
	nanosleep(&nap, NULL);
	return true;
}

bool kr_contexts_retire(uint64_t which, unsigned timeout_ms)
{
	struct timespec end;
	bool quiet = true;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}

	pthread_mutex_lock(&mutex);
	atomic_fetch_or(&retiring, which);
	atomic_fetch_and(&started, ~which);
	atomic_fetch_and(&live, ~which);
	bool drives = which & subscribed[KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY][KREPLAY_KERNEL_REPLAY_CONFIG];
	pthread_mutex_unlock(&mutex);

	/* calls first: the one that opens a window has counted it before it ends */
	while (quiet && (calls_elsewhere(which) || (drives && atomic_load(&windows) > here.windows)))
		quiet = pause_until(&end);
	/* From here on no call begins; one that slipped in between is waited for as well. */
	atomic_fetch_or(&dead, which);
	while (quiet && calls_elsewhere(which))
		quiet = pause_until(&end);
	return quiet;
}
