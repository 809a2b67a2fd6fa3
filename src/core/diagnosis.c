/* SPDX-License-Identifier: MIT */
#include "core/diagnosis.h"

#include <stdio.h>

#include "core/agents.h"
#include "core/kernels.h"
#include "core/log.h"
#include "core/proxy.h"

static const char *
outcome_name(kreplay_outcome_t outcome)
{
	switch (outcome) {
	case KREPLAY_OUTCOME_ONCE:
		return "once";
	case KREPLAY_OUTCOME_REPLAYED:
		return "replayed";
	case KREPLAY_OUTCOME_DECLINED:
		return "declined";
	default:
		return "none";
	}
}

static const char *
tier_name(uint32_t tier)
{
	static const char *const names[] = {"none", "device", "pinned", "pageable", "mixed"};

	return tier < sizeof(names) / sizeof(names[0]) ? names[tier] : "?";
}

void
kr_diagnose_window(const struct kr_replay *r)
{
	uint64_t rest;

	if (!kr_log_enabled(KR_LOG_INFO, "window"))
		return;
	rest = r->snapshot.ns + r->restore.ns;
	rest = r->window_ns > rest ? r->window_ns - rest : 0;
	kr_log(KR_LOG_INFO, "window",
	       "dispatch=%llu queue=%llu thread=%llu kernel=\"%s\" asked=%llu passes=%llu outcome=%s reason=\"%s\" "
	       "regions=%llu bytes=%llu restored=%llu link=%llu tier=%s snapshot_s=%.6f restore_s=%.6f passes_s=%.6f "
	       "reentrant=%d peer=%d worker=%d visible=%d left_out_kernarg=%llu left_out_host=%llu left_out_fine_grained=%llu "
	       "left_out_executable=%llu left_out_read_only=%llu",
	       (unsigned long long)r->dispatch.info.dispatch_id, (unsigned long long)r->dispatch.info.queue_id.handle,
	       (unsigned long long)r->dispatch.thread_id, r->dispatch.name != NULL ? r->dispatch.name : "?",
	       (unsigned long long)r->total, (unsigned long long)r->passes_run, outcome_name(r->outcome),
	       kreplay_decline_name(r->decline), (unsigned long long)r->snapshot.regions,
	       (unsigned long long)r->snapshot.bytes, (unsigned long long)r->restore.dirty_bytes,
	       (unsigned long long)(r->snapshot.host_link_bytes + r->restore.host_link_bytes),
	       tier_name(r->snapshot.tier), (double)r->snapshot.ns / 1e9, (double)r->restore.ns / 1e9,
	       (double)rest / 1e9, !!(r->flags & KREPLAY_FLAG_REENTRANT), !!(r->flags & KREPLAY_FLAG_PEER_MEMORY),
	       !!(r->flags & KREPLAY_FLAG_OTHER_THREAD), !!(r->flags & KREPLAY_FLAG_EXTERNALLY_VISIBLE),
	       (unsigned long long)r->left_out_bytes[KREPLAY_LEFT_OUT_KERNARG],
	       (unsigned long long)r->left_out_bytes[KREPLAY_LEFT_OUT_HOST],
	       (unsigned long long)r->left_out_bytes[KREPLAY_LEFT_OUT_FINE_GRAINED],
	       (unsigned long long)r->left_out_bytes[KREPLAY_LEFT_OUT_EXECUTABLE],
	       (unsigned long long)r->left_out_read_only);
}

void
kr_wait_longer(struct kr_wait *wait, const struct kr_proxy *who, const char *what)
{
	uint64_t now = kr_now_ns();

	if (wait->began == 0)
		wait->began = now;
	/* After one second, ten, a hundred. */
	if (now - wait->began < (wait->said == 0 ? 1000000000u : wait->said * 10))
		return;
	wait->said = now - wait->began;
	kr_log(KR_LOG_INFO, "wait", "%s: dispatch %llu of kernel %s on queue %llu has waited for %.1f s", what,
	       (unsigned long long)who->replay.dispatch.info.dispatch_id,
	       who->kernel != NULL ? who->kernel->name : "?", (unsigned long long)who->id, (double)wait->said / 1e9);
}

static const char *
packet_name(unsigned type)
{
	switch (type) {
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		return "vendor";
	case HSA_PACKET_TYPE_INVALID:
		return "none";
	case HSA_PACKET_TYPE_KERNEL_DISPATCH:
		return "dispatch";
	case HSA_PACKET_TYPE_BARRIER_AND:
		return "barrier-and";
	case HSA_PACKET_TYPE_BARRIER_OR:
		return "barrier-or";
	default:
		return "other";
	}
}

/* "0x7f..=1 0x7f..=0": the dependencies of a barrier and what they hold. */
static void
print_dependencies(const union kr_packet *packet, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	for (int i = 0; i < 5 && used < size; i++) {
		hsa_signal_t dep = packet->barrier.dep_signal[i];

		if (dep.handle != 0)
			used += (size_t)snprintf(text + used, size - used, " dep 0x%llx=%lld",
						 (unsigned long long)dep.handle,
						 (long long)kr_next.hsa_signal_load_relaxed(dep));
	}
}

static void
diagnose_queue(struct kr_proxy *q)
{
	uint64_t read = kr_next.hsa_queue_load_read_index_scacquire(q->hw);
	const union kr_packet *packet = &q->hw_ring[read & q->hw_mask];
	unsigned type = HSA_PACKET_TYPE_INVALID;
	char deps[200] = "";

	if (read < q->hw_write)
		type = kr_packet_type(atomic_load(&packet->head));
	if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR)
		print_dependencies(packet, deps, sizeof(deps));
	kr_log(KR_LOG_WARN, "queue", "queue %llu: read %llu, written %llu, idle at %llu, next packet: %s%s%s",
	       (unsigned long long)q->id, (unsigned long long)read, (unsigned long long)q->hw_write,
	       (unsigned long long)q->hw_idle_at, packet_name(type), deps, q->stopped ? ", stopped" : "");
}

void
kr_diagnose_agent(struct kr_agent *agent)
{
	pthread_mutex_lock(&agent->mutex);
	for (struct kr_proxy *q = agent->queues; q != NULL; q = q->next_on_agent)
		diagnose_queue(q);
	pthread_mutex_unlock(&agent->mutex);
}
