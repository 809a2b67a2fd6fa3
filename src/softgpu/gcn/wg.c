/* SPDX-License-Identifier: MIT */
/* Work-groups: initial state, the run loop, barriers, faults. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "inst.h"

#define SLICE 4000 /* instructions a wave runs before the next one's turn */

struct gcn_window gcn_window;

void gcn_set_window(uint64_t base, uint64_t size, uint64_t delta)
{
	gcn_window = (struct gcn_window){ base, delta ? size : 0, delta };
}

static _Thread_local struct gcn_wave *running;
static _Thread_local uint32_t host_mxcsr;

void gcn_wave_fault(const siginfo_t *info)
{
	struct gcn_wave *w = running;

	if (!w)
		return;
	running = NULL;
	w->wg->fault.kind = GCN_FAULT_MEMORY;
	w->wg->fault.refused = info->si_code == SEGV_ACCERR && info->si_signo == SIGSEGV;
	w->wg->faulted = w;
	w->wg->fault.address = (uint64_t)(uintptr_t)info->si_addr;
	if (w->wg->fault.address - gcn_window.delta - gcn_window.base < gcn_window.size)
		w->wg->fault.address -= gcn_window.delta;
	siglongjmp(w->wg->jmp, 1);
}

/* A kernel that runs for long meets handlers that came after its start. */
static void look_at_handlers(void)
{
	static _Thread_local uint64_t checked; /* asking costs as much as a small kernel */
	uint64_t now = __builtin_ia32_rdtsc();

	if (checked && now - checked < 1 << 20)
		return;
	checked = now;
	gcn_catch_faults();
}

/* Appends where the wave stands to what the fault already says. */
static void describe(struct gcn_wg *wg, struct gcn_wave *w, const char *what)
{
	const struct gcn_launch *l = wg->launch;
	uint64_t pc = w->cur ? w->cur->pc : w->pc;

	wg->fault.pc = pc;
	snprintf(wg->fault.text, sizeof(wg->fault.text), "%.110s at %s+0x%llx", what,
	         l->kernel_name ? l->kernel_name : "kernel",
	         (unsigned long long)(pc - l->entry));
}

void gcn_raise(struct gcn_wave *w, enum gcn_fault_kind kind, uint64_t address, const char *fmt, ...)
{
	struct gcn_wg *wg = w->wg;
	char what[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	wg->fault.kind = kind;
	wg->fault.address = address;
	describe(wg, w, what);
	running = NULL;
	siglongjmp(wg->jmp, 1);
}

/* Bits 63:47 are not all 0: the host's memory, else nothing at all. A processor would not even say which address it
 * was. The card does, in a field of 36 bits for the page. */
uint64_t gcn_host_high(uint64_t a)
{
	uint64_t seen = a & (((uint64_t)1 << 48) - 1);

	if (a >> 47 == 1)
		return a - GCN_HOST_BIT;
	if (running)
		gcn_raise(running, GCN_FAULT_MEMORY, seen, "memory access fault at 0x%llx", (unsigned long long)seen);
	return a;
}

/* MODE to MXCSR, for each class of instruction (ISA "Floating-Point Rounding
 * and Denormal Modes"; x86 codes the two directed roundings the other way). */
void gcn_mode_changed(struct gcn_wave *w)
{
	static const uint32_t rc[4] = { 0, 0x4000, 0x2000, 0x6000 };
	static const uint32_t flush[4] = { 0x8040, 0x8000, 0x0040, 0 };
	uint32_t m = w->mode;

	w->mxcsr[0] = 0x1f80;
	w->mxcsr[1] = 0x1f80 | rc[m & 3] | flush[m >> 4 & 3];
	w->mxcsr[2] = 0x1f80 | rc[m >> 2 & 3] | flush[m >> 6 & 3];
	w->mxcsr[3] = 0x1f80 | rc[m & 3] | flush[0];
	w->mxcsr[4] = 0x1f80 | flush[0];
}

struct gcn_wg *gcn_wg_create(void)
{
	return calloc(1, sizeof(struct gcn_wg));
}

void gcn_wg_destroy(struct gcn_wg *wg)
{
	if (!wg)
		return;
	for (int k = 0; k < GCN_MAX_WAVES; k++)
		free(wg->wave[k]);
	free(wg->lds);
	free(wg->scratch);
	gcn_program_put(wg->program);
	free(wg);
}

static bool refuse(struct gcn_fault *f, const char *why)
{
	memset(f, 0, sizeof(*f));
	f->kind = GCN_FAULT_RESOURCE;
	snprintf(f->text, sizeof(f->text), "cannot start a work-group: %s", why);
	return false;
}

/* Grows a buffer, zeroed once; contents do not survive growth. */
static bool reserve(uint8_t **p, size_t *have, size_t want)
{
	if (*have < want) {
		free(*p);
		*p = aligned_alloc(64, (want + 64 + 63) & ~(size_t)63);
		*have = *p ? want : 0;
		if (*p)
			memset(*p, 0, want);
	}
	return *p || !want;
}

static bool storage(struct gcn_wg *wg, const struct gcn_launch *l)
{
	/* Lanes are interleaved by dwords, so scratch is whole dwords a lane. */
	wg->wave_scratch = (((size_t)l->private_bytes + 3) & ~(size_t)3) * LANES;
	wg->lds_size = l->lds_bytes;
	if (!reserve(&wg->lds, &wg->lds_alloc, wg->lds_size + 4) ||
	    !reserve(&wg->scratch, &wg->scratch_alloc, wg->wave_scratch * wg->waves + 4))
		return false;
	memset(wg->lds, 0, wg->lds_size); /* scratch can be megabytes and stays as it was */
	for (unsigned int k = 0; k < wg->waves; k++) {
		if (!wg->wave[k])
			wg->wave[k] = aligned_alloc(64, (sizeof(struct gcn_wave) + 63) & ~(size_t)63);
		if (!wg->wave[k])
			return false;
	}
	return true;
}

static void init_sgprs(struct gcn_wg *wg, struct gcn_wave *w)
{
	const struct gcn_launch *l = wg->launch;
	uint64_t base = (uint64_t)(uintptr_t)wg->scratch;
	uint32_t n = l->user_sgpr_count;

	memcpy(w->s, l->user_sgpr, n * sizeof(w->s[0]));
	if (l->sgpr_private_segment_buffer >= 0) {
		uint32_t *v = &w->s[l->sgpr_private_segment_buffer];

		v[0] = (uint32_t)base;
		v[1] = (uint32_t)(base >> 32) | 1u << 31;    /* SWIZZLE_ENABLE */
		v[2] = (uint32_t)wg->wave_scratch;
		v[3] = 3u << 21 | 1u << 23 | 0x7000;         /* INDEX_STRIDE 64, ADD_TID_ENABLE */
	}
	if (l->sgpr_flat_scratch_init >= 0)
		gcn_set64(&w->s[l->sgpr_flat_scratch_init], base);
	for (int k = 0; k < 3; k++)
		if (l->sgpr_workgroup_id[k])
			w->s[n++] = wg->id[k];
	if (l->sgpr_workgroup_info)
		w->s[n++] = wg->waves;
	if (l->sgpr_wave_scratch_offset)
		w->s[n++] = (uint32_t)(wg->wave_scratch * w->index);
	/* Apertures as operands 235..238: base and limit, 64 bits each. */
	gcn_set64(&w->s[128], l->lds_aperture);
	gcn_set64(&w->s[130], l->lds_aperture | 0xffffffff);
	gcn_set64(&w->s[132], l->private_aperture);
	gcn_set64(&w->s[134], l->private_aperture | 0xffffffff);
}

static void init_wave(struct gcn_wg *wg, struct gcn_wave *w, unsigned int index,
                      const uint32_t size[3])
{
	const struct gcn_launch *l = wg->launch;
	uint32_t items = size[0] * size[1] * size[2], first_item = index * LANES;
	uint32_t rows = l->vgpr_count < 256 ? l->vgpr_count : 256;
	uint64_t exec = items - first_item >= LANES ? ALL_LANES :
	                ((uint64_t)1 << (items - first_item)) - 1;

	/* Registers that the kernel does not declare are cleared too where cheap:
	 * results then never depend on what ran here before. */
	memset(w->v, 0, (rows < 16 ? 16 : rows) * sizeof(w->v[0]));
	if (l->accum_offset)
		memset(w->v[ACC_BASE], 0, (size_t)(l->vgpr_count > l->accum_offset ?
		       (l->vgpr_count - l->accum_offset) & 511 : 0) % 257 * sizeof(w->v[0]));
	memset(w->s, 0, sizeof(w->s));
	w->wg = wg;
	w->index = index;
	w->scc = 0;
	w->cur = NULL;
	w->pc = l->entry;
	w->state = WAVE_RUN;
	w->stop = w->slept = w->gws_queued = w->apart = false;
	w->mode = l->mode;
	w->mxcsr_now = 0;
	gcn_mode_changed(w);
	init_sgprs(wg, w);
	gcn_set64(&w->s[SGPR_EXEC], exec);
	uint32_t x = first_item % size[0], y = first_item / size[0] % size[1];
	uint32_t z = first_item / size[0] / size[1];

	for (uint32_t lane = 0; lane < LANES && first_item + lane < items; lane++, x++) {
		if (x == size[0]) {
			x = 0;
			z += ++y == size[1];
			y = y == size[1] ? 0 : y;
		}
		if (l->packed_workitem_id) {
			w->v[0][lane] = x | (l->vgpr_workitem_id > 0 ? y << 10 : 0) |
			                (l->vgpr_workitem_id > 1 ? z << 20 : 0);
			continue;
		}
		w->v[0][lane] = x;
		if (l->vgpr_workitem_id > 0)
			w->v[1][lane] = y;
		if (l->vgpr_workitem_id > 1)
			w->v[2][lane] = z;
	}
}

bool gcn_wg_start(struct gcn_wg *wg, const struct gcn_launch *l, const uint32_t id[3],
                  struct gcn_fault *fault)
{
	uint32_t size[3], items = 1;
	struct gcn_program *p;

	for (int k = 0; k < 3; k++) {
		uint64_t from = (uint64_t)id[k] * l->workgroup_size[k];

		if (!l->workgroup_size[k] || from >= l->grid_size[k])
			return refuse(fault, "it lies outside the grid");
		/* The last group of a dimension may be partial. */
		size[k] = l->grid_size[k] - (uint32_t)from;
		if (size[k] > l->workgroup_size[k])
			size[k] = l->workgroup_size[k];
		items *= size[k];
		if (items > GCN_MAX_WAVES * LANES)
			return refuse(fault, "more than 1024 work-items");
	}
	if (l->user_sgpr_count > GCN_MAX_USER_SGPR || l->lds_bytes > 65536 ||
	    l->sgpr_private_segment_buffer > GCN_MAX_USER_SGPR - 4 ||
	    l->sgpr_flat_scratch_init > GCN_MAX_USER_SGPR - 2)
		return refuse(fault, "bad user SGPRs or LDS size");
	if ((uint64_t)l->private_bytes * items > (uint64_t)1 << 31)
		return refuse(fault, "more than 2 GiB of scratch");
	wg->launch = l;
	wg->waves = wg->live = (items + LANES - 1) / LANES;
	wg->next = 0;
	wg->dead = false;
	memcpy(wg->id, id, sizeof(wg->id));
	memset(&wg->fault, 0, sizeof(wg->fault));
	p = gcn_program_get(l->isa);
	if (wg->program)
		gcn_program_put(wg->program);
	wg->program = p;
	if (!p || !storage(wg, l))
		return refuse(fault, "out of memory");
	for (unsigned int k = 0; k < wg->waves; k++)
		init_wave(wg, wg->wave[k], k, size);
	return true;
}

/* If code was invalidated between two calls, go on in the new program. */
static bool refresh_program(struct gcn_wg *wg)
{
	struct gcn_program *p;

	if (gcn_program_current(wg->program, wg->launch->isa))
		return true;
	p = gcn_program_get(wg->launch->isa);
	if (!p)
		return false;
	for (unsigned int k = 0; k < wg->waves; k++) {
		if (wg->wave[k]->cur)
			wg->wave[k]->pc = wg->wave[k]->cur->pc;
		wg->wave[k]->cur = NULL;
	}
	gcn_program_put(wg->program);
	wg->program = p;
	return true;
}

static int64_t run_wave(struct gcn_wave *w, int64_t slice)
{
	const struct gcn_inst *i = w->cur;
	int64_t n;

	w->stop = w->slept = false;
	w->mxcsr_now = 0;
	running = w;
	if (!i)
		i = gcn_program_find(w->wg->program, w->pc, w);
	if (w->mode & (MODE_GPR_IDX_EN | MODE_VSKIP))
		i = gcn_run_apart(i, w);
	for (n = slice; n > 0 && !w->stop; n--) {
		w->cur = i;
		i = i->fn(i, w);
	}
	w->cur = i;
	running = NULL;
	return slice - n;
}

/* One turn of every wave that can run. */
static enum gcn_status turn(struct gcn_wg *wg, int64_t *budget)
{
	bool awake = false;
	unsigned int waiting = 0;

	for (unsigned int k = 0; k < wg->waves && *budget > 0; k++) {
		struct gcn_wave *w = wg->wave[(wg->next + k) % wg->waves];
		int64_t used;

		if (w->state != WAVE_RUN)
			continue;
		used = run_wave(w, *budget < SLICE ? *budget : SLICE);
		*budget -= used;
		wg->instructions += (uint64_t)used;
		if (w->state == WAVE_DONE)
			wg->live--;
		awake |= !w->slept;
	}
	wg->next = (wg->next + 1) % wg->waves;
	if (!wg->live)
		return GCN_DONE;
	for (unsigned int k = 0; k < wg->waves; k++)
		waiting += wg->wave[k]->state == WAVE_BARRIER;
	if (waiting == wg->live)
		for (unsigned int k = 0; k < wg->waves; k++)
			if (wg->wave[k]->state == WAVE_BARRIER)
				wg->wave[k]->state = WAVE_RUN;
	return awake && *budget > 0 ? GCN_FAULT : GCN_YIELD; /* FAULT: another turn */
}

enum gcn_status gcn_wg_run(struct gcn_wg *wg, uint64_t budget, struct gcn_fault *fault)
{
	enum gcn_status r;
	int64_t left = budget > INT64_MAX ? INT64_MAX : (int64_t)budget;

	if (wg->dead) {
		*fault = wg->fault;
		return GCN_FAULT;
	}
	look_at_handlers();
	host_mxcsr = _mm_getcsr();
	if (sigsetjmp(wg->jmp, 0)) { /* SA_NODEFER: the mask never changes */
		_mm_setcsr(host_mxcsr);
		running = NULL;
		wg->dead = true;
		if (wg->fault.kind == GCN_FAULT_MEMORY && !wg->fault.text[0]) {
			char what[80];

			snprintf(what, sizeof(what), "memory access fault at 0x%llx",
			         (unsigned long long)wg->fault.address);
			describe(wg, wg->faulted, what);
		}
		*fault = wg->fault;
		return GCN_FAULT;
	}
	if (!refresh_program(wg)) {
		refuse(fault, "out of memory");
		wg->fault = *fault;
		wg->dead = true;
		return GCN_FAULT;
	}
	if (!wg->live)
		return GCN_DONE;
	do
		r = turn(wg, &left);
	while (r == GCN_FAULT);
	_mm_setcsr(host_mxcsr);
	return r;
}

uint64_t gcn_wg_instructions(const struct gcn_wg *wg)
{
	return wg->instructions;
}
