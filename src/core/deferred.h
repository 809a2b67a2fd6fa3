/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous copies of the application's, and those among them that have to
 * wait. A copy whose dependencies are not resolved yet is kept here until they
 * are, and only then given to the runtime: inside a copy engine it would stand
 * in front of the copies of a window, which might be what it waits for; and it
 * could start in the middle of a window.
 */
#ifndef KR_DEFERRED_H
#define KR_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/next.h"

enum kr_copy_kind { KR_COPY_PLAIN, KR_COPY_RECT, KR_COPY_ENGINE };

struct kr_copy {
	enum kr_copy_kind kind;
	struct kr_agent *to, *from; /* NULL: the host */
	uint32_t num_deps;
	const hsa_signal_t *deps;
	hsa_signal_t completion;
	/* Plain copies, and those on an engine. */
	void *dst;
	const void *src;
	hsa_agent_t dst_agent, src_agent;
	size_t size;
	uint32_t engine;
	bool force;
	/* Rectangles. */
	hsa_pitched_ptr_t rect_dst, rect_src;
	hsa_dim3_t dst_offset, src_offset, range;
	hsa_agent_t copy_agent;
	hsa_amd_copy_direction_t direction;
};

/* Submits the copy, now or when its dependencies are resolved. Any thread. */
hsa_status_t kr_copy_submit(const struct kr_copy *copy);

/* Ends the thread; copies that still wait are dropped with what they wait for. */
void kr_deferred_stop(void);

#endif
