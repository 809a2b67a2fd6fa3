/* SPDX-License-Identifier: MIT */
/* A tool that decides by a seed (SOAK_SEED) and the dispatch how often it runs: not asked for, once, or up to four times.
 * Says at the end what became of them (SOAK_LOG). */
#include "../e2e/tools/tool.h"

#include <stdatomic.h>

static uint64_t seed;
static _Atomic uint64_t outcomes[4], passes_run, callbacks, records;
static _Atomic unsigned first_decline;

static uint64_t pass_count(kreplay_kernel_dispatch_info_t info, kreplay_user_data_t user_data)
{
	return user_data.value;
}

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	replay_data *d = record.payload;
	uint64_t mixed = (d->dispatch_info.dispatch_id ^ seed) * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	atomic_fetch_add(&callbacks, 1);
	if (record.operation != KREPLAY_KERNEL_REPLAY_CONFIG)
		return;
	if (record.phase == KREPLAY_CALLBACK_PHASE_ENTER) {
		user_data->value = mixed % 9 < 4 ? 0 : 1 + mixed / 9 % 4;
		if (user_data->value)
			d->replay_pass_count = pass_count;
		return;
	}
	if ((unsigned)d->outcome < 4)
		atomic_fetch_add(&outcomes[d->outcome], 1);
	if (d->outcome == KREPLAY_OUTCOME_DECLINED)
		atomic_store(&first_decline, (unsigned)d->decline);
	atomic_fetch_add(&passes_run, d->passes_run);
}

static void on_dispatch(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	if (record.operation == KREPLAY_KERNEL_DISPATCH_COMPLETE)
		atomic_fetch_add(&records, 1);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	seed = number("SOAK_SEED", 1);
	make_context(KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, NULL, 0, on_replay, 1);
	if (seed % 2) /* with records of every dispatch, or without */
		make_context(KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH, NULL, 0, on_dispatch, 1);
	return 0;
}

static void finalize(void *data)
{
	say("replayed %llu declined %llu passes %llu callbacks %llu records %llu first_decline %u\n",
	    (unsigned long long)outcomes[KREPLAY_OUTCOME_REPLAYED], (unsigned long long)outcomes[KREPLAY_OUTCOME_DECLINED],
	    (unsigned long long)passes_run, (unsigned long long)callbacks, (unsigned long long)records, first_decline);
}

TOOL("random_passes", "SOAK_LOG", initialize, finalize)
