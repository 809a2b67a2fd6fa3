/* SPDX-License-Identifier: MIT */
/*
 * An application that does anything with its queues which HSA allows: reserves, publishes out of order, rings late, early,
 * twice or for others by any operation, has barriers wait, and changes its mind about replay between. At the end every
 * dispatch has run in the order of its queue, once as far as memory shows, and every signal has gone down once.
 */
#include "fuzz.h"

#include <stdbool.h>

#include "core/engine.h"
#include "core/log.h"
#include "core/proxy.h"
#include "kreplay/kreplay.h"
#include "stand_in.h"

kreplay_tool_configure_result_t *kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority,
						   kreplay_client_id_t *id);

#define QUEUES 2
#define SLOTS 64 /* of a queue */
#define MOST 512 /* packets of one input and queue */
#define DEPENDENCIES 3

struct call { /* a kernel's argument */
	uint64_t *cell;
	uint64_t id;
};

static struct application {
	hsa_queue_t *queue;
	uint64_t *cell; /* device memory */
	hsa_signal_t done;
	hsa_signal_value_t expected_done;
	uint64_t reserved;          /* write index */
	bool published[MOST];
	uint64_t dispatched[MOST]; /* 0: some other packet */
	struct call calls[MOST];
} applications[QUEUES];

static hsa_signal_t dependencies[DEPENDENCIES];
static bool may_wait; /* barriers may find their signals at 1 */
static uint64_t passes;
static kreplay_context_id_t replay_context, record_context;

/* ---- the tool ---- */

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return passes;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *args)
{
	kreplay_callback_tracing_kernel_replay_data_t *d = record.payload;

	if (record.operation == KREPLAY_KERNEL_REPLAY_CONFIG && record.phase == KREPLAY_CALLBACK_PHASE_ENTER && passes)
		d->replay_pass_count = pass_count;
}

static void on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *args)
{
}

static int initialize(kreplay_client_finalize_t finalize, void *data)
{
	return kreplay_create_context(&replay_context) || kreplay_create_context(&record_context) ||
	       kreplay_configure_callback_tracing_service(replay_context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0,
							  on_replay, NULL) ||
	       kreplay_configure_callback_tracing_service(record_context, KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL,
							  0, on_dispatch, NULL);
}

__attribute__((visibility("default"))) kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *id)
{
	static kreplay_tool_configure_result_t result = { sizeof(result), initialize, NULL, NULL };

	return &result;
}

/* ---- the application ---- */

/* Not commutative: what ran twice, not at all or in another order shows. */
static uint64_t step(uint64_t value, uint64_t id)
{
	return (value ^ id) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void kernel(void *arg)
{
	const struct call *call = arg;

	*call->cell = step(*call->cell, call->id);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	setenv("KREPLAY_DRAIN_TIMEOUT", "5", 1);
	kr_log_set_level(KR_LOG_ERROR);
	stand_in_reset();
	FUZZ_CHECK(kr_engine_start());
	for (int i = 0; i < DEPENDENCIES; i++)
		dependencies[i] = stand_in_signal(0);
	for (int i = 0; i < QUEUES; i++) {
		hsa_amd_memory_pool_t pool = { i == 0 ? STAND_IN_DEVICE_POOL : STAND_IN_DEVICE_POOL2 };

		FUZZ_CHECK(kr_hook_hsa_amd_memory_pool_allocate(pool, 4096, 0, (void **)&applications[i].cell) == 0);
		applications[i].done = stand_in_signal(0);
	}
	return 0;
}

static void start(struct application *a, unsigned i)
{
	*a = (struct application){ .cell = a->cell, .done = a->done };
	*a->cell = 0;
	kr_next.hsa_signal_store_screlease(a->done, 0);
	FUZZ_CHECK(kr_hook_hsa_queue_create(i == 0 ? STAND_IN_GPU : STAND_IN_GPU2, SLOTS, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
					    0, 0, &a->queue) == 0);
	FUZZ_CHECK(kr_proxy_of_queue(a->queue) != NULL);
}

static void ring(struct application *a, struct bytes *b)
{
	hsa_signal_t bell = a->queue->doorbell_signal;
	hsa_signal_value_t value = (hsa_signal_value_t)fuzz_byte(b);

	if (value == 255)
		value = (hsa_signal_value_t)fuzz_number(b, 8);
	switch (fuzz_byte(b) % 8) {
	case 0:
		kr_hook_hsa_signal_store_relaxed(bell, value);
		break;
	case 1:
		kr_hook_hsa_signal_silent_store_screlease(bell, value);
		break;
	case 2:
		kr_hook_hsa_signal_exchange_scacq_screl(bell, value);
		break;
	case 3:
		kr_hook_hsa_signal_add_relaxed(bell, value);
		break;
	case 4:
		kr_hook_hsa_signal_cas_screlease(bell, 0, value);
		break;
	case 5:
		kr_hook_hsa_signal_or_scacquire(bell, value);
		break;
	default:
		kr_hook_hsa_signal_store_screlease(bell, value);
	}
}

static void reserve(struct application *a, unsigned count)
{
	uint64_t read = kr_hook_hsa_queue_load_read_index_scacquire(a->queue);

	FUZZ_CHECK(read <= a->reserved);
	while (count-- > 0 && a->reserved < MOST && a->reserved - read < SLOTS) {
		uint64_t index = kr_next.hsa_queue_add_write_index_scacq_screl(a->queue, 1);

		FUZZ_CHECK(index == a->reserved);
		a->reserved++;
	}
}

/* A packet of one of the types; others than dispatches and barriers do nothing on this device, and signal nothing. */
static uint32_t fill(struct application *a, uint64_t index, union kr_packet *packet, struct bytes *b)
{
	uint8_t kind = fuzz_byte(b);
	unsigned type = kind % 8 < 4 ? HSA_PACKET_TYPE_KERNEL_DISPATCH :
			kind % 8 == 4 ? HSA_PACKET_TYPE_BARRIER_AND :
			kind % 8 == 5 ? HSA_PACKET_TYPE_BARRIER_OR :
			kind % 8 == 6 ? HSA_PACKET_TYPE_VENDOR_SPECIFIC : HSA_PACKET_TYPE_AGENT_DISPATCH;
	uint32_t high = (uint32_t)fuzz_byte(b) << 24 | 1u << 16;

	for (unsigned i = 0; i < 8; i++)
		packet->words[i] = fuzz_byte(b) * UINT64_C(0x0101010101010101);
	packet->words[7] = 0;
	if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
		struct call *call = &a->calls[index];

		*call = (struct call){ a->cell, index + 1 };
		a->dispatched[index] = index + 1;
		packet->dispatch.kernel_object = (uint64_t)(uintptr_t)kernel;
		packet->dispatch.kernarg_address = call;
	} else if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
		for (unsigned i = 0; i < 5; i++) {
			uint8_t which = fuzz_byte(b) % (DEPENDENCIES + 2);

			packet->barrier.dep_signal[i].handle = which < DEPENDENCIES ? dependencies[which].handle : 0;
		}
	}
	if ((kind & 8) != 0 && type != HSA_PACKET_TYPE_VENDOR_SPECIFIC && type != HSA_PACKET_TYPE_AGENT_DISPATCH) {
		packet->words[7] = a->done.handle;
		a->expected_done--;
	}
	return high | kr_packet_header(type, (kind & 16) != 0);
}

/* The which-th reserved slot that is not published yet. */
static void publish(struct application *a, unsigned which, struct bytes *b)
{
	union kr_packet packet;

	for (uint64_t index = a->reserved > SLOTS ? a->reserved - SLOTS : 0; index < a->reserved; index++)
		if (!a->published[index] && which-- == 0) {
			uint32_t head = fill(a, index, &packet, b);

			a->published[index] = true;
			kr_packet_publish((union kr_packet *)a->queue->base_address + index % SLOTS, &packet, head);
			return;
		}
}

static void toggle(kreplay_context_id_t context)
{
	if (kreplay_stop_context(context) != KREPLAY_STATUS_SUCCESS)
		(void)kreplay_start_context(context);
}

static void act(struct bytes *b)
{
	uint8_t what = fuzz_byte(b);
	struct application *a = &applications[what >> 7];

	switch (what % 9) {
	case 0:
		reserve(a, 1 + (what >> 4) % 8);
		break;
	case 1:
		publish(a, (what >> 4) % 8, b);
		break;
	case 2:
		ring(a, b);
		break;
	case 3: /* as most do */
		reserve(a, 1);
		publish(a, 0, b);
		ring(a, b);
		break;
	case 4:
		kr_hook_hsa_signal_store_screlease(dependencies[(what >> 4) % DEPENDENCIES], may_wait && (what >> 6) % 2);
		break;
	case 5:
		passes = fuzz_byte(b) % 5;
		break;
	case 6:
		toggle((what >> 4) % 2 ? replay_context : record_context);
		break;
	case 7:
		(void)kr_hook_hsa_queue_load_read_index_relaxed(a->queue);
		break;
	case 8: /* copies in both directions of the agent's lock */
		FUZZ_CHECK(kr_hook_hsa_memory_copy((char *)a->cell + 64, (char *)a->cell + 128, 64) == 0);
		break;
	}
}

/* Everything that is still missing comes, and then it must all end. */
static void end(struct application *a)
{
	struct bytes nothing = { 0 };
	uint64_t want = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		publish(a, 0, &nothing);
	for (;;) { /* a barrier of its own, when the queue has room for it */
		uint64_t before = a->reserved;
		union kr_packet packet = { .words = { [7] = a->done.handle } };

		kr_hook_hsa_signal_store_screlease(a->queue->doorbell_signal, (hsa_signal_value_t)a->reserved);
		if (before - kr_hook_hsa_queue_load_read_index_scacquire(a->queue) >= SLOTS)
			continue;
		(void)kr_next.hsa_queue_add_write_index_scacq_screl(a->queue, 1);
		kr_packet_publish((union kr_packet *)a->queue->base_address + before % SLOTS, &packet,
				  kr_packet_header(HSA_PACKET_TYPE_BARRIER_AND, true));
		kr_hook_hsa_signal_store_screlease(a->queue->doorbell_signal, (hsa_signal_value_t)before);
		a->expected_done--;
		break;
	}
	/* libFuzzer's own time-out says so when this waits for ever */
	while (kr_next.hsa_signal_wait_scacquire(a->done, HSA_SIGNAL_CONDITION_LT, a->expected_done + 1, 1000000000,
						 HSA_WAIT_STATE_BLOCKED) > a->expected_done)
		;
	FUZZ_CHECK(kr_next.hsa_signal_load_scacquire(a->done) == a->expected_done);
	for (uint64_t i = 0; i < a->reserved; i++)
		if (a->dispatched[i] != 0)
			want = step(want, a->dispatched[i]);
	FUZZ_CHECK(*a->cell == want);
	FUZZ_CHECK(kr_hook_hsa_queue_destroy(a->queue) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned signals_left;
	struct bytes b = { data, data + size };
	unsigned mode = fuzz_byte(&b) % 16;

	/* with a tool and barriers that wait, each may cost the engine's patience: rarely, and not for long */
	passes = 0;
	may_wait = mode < 7 || mode == 15;
	if (mode == 15 && size > 100)
		b.end = data + 100;
	if (mode >= 7) {
		passes = mode % 4;
		(void)kreplay_start_context(replay_context);
	}
	for (unsigned i = 0; i < QUEUES; i++)
		start(&applications[i], i);
	while (b.at < b.end) {
		/* in the modes below 7 nobody is interested in dispatches */
		if (mode < 7 && *b.at % 9 == 6)
			b.at++;
		else
			act(&b);
	}
	for (int i = 0; i < DEPENDENCIES; i++)
		kr_hook_hsa_signal_store_screlease(dependencies[i], 0);
	for (unsigned i = 0; i < QUEUES; i++)
		end(&applications[i]);
	(void)kreplay_stop_context(replay_context);
	(void)kreplay_stop_context(record_context);
	/* signals that the engine keeps are few, and soon all made */
	FUZZ_CHECK(stand_in.live_queues == 0);
	if (stand_in.live_signals > signals_left)
		signals_left = stand_in.live_signals;
	FUZZ_CHECK(signals_left < 4096);
	return 0;
}
