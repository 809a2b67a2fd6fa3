/* SPDX-License-Identifier: MIT */
/*
 * The instruction set of the software GPU: what the rest of it sees.
 *
 * This module executes wavefronts of one work-group on the calling thread. It
 * knows nothing of queues, packets, events or the thunk; memory is the host's
 * own address space (a flat address is a host pointer), except for the two
 * apertures and LDS.
 *
 * Thread: one work-group object is used by one thread at a time. Different
 * objects may run at once. gcn_program_* is thread safe.
 */
#ifndef SOFTGPU_GCN_H
#define SOFTGPU_GCN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gcn_isa { GCN_GFX900, GCN_GFX906, GCN_GFX90A };

#define GCN_WAVE_LANES 64
#define GCN_MAX_WAVES 16 /* 1024 work-items a work-group */
#define GCN_MAX_USER_SGPR 16

/* Global wave sync of a queue that has it, zero to begin with. A resource is the
 * number of waves still to come (low half) and the count of releases. */
struct gcn_gws {
	_Atomic uint64_t resource[64];
};

/* Everything one dispatch gives each of its wavefronts. Filled by the
 * dispatcher from the AQL packet and the kernel descriptor; constant while any
 * work-group of the dispatch runs. */
struct gcn_launch {
	enum gcn_isa isa;
	uint64_t entry;             /* host address of the first instruction */
	const char *kernel_name;    /* for messages; may be NULL */

	uint32_t grid_size[3];      /* work-items */
	uint16_t workgroup_size[3]; /* work-items */

	/* Initial register state, LLVM AMDGPUUsage "Initial Kernel Execution State". */
	uint32_t user_sgpr_count;
	uint32_t user_sgpr[GCN_MAX_USER_SGPR];
	/* Scratch contract. The scratch of a work-group belongs to its gcn_wg and is
	 * laid out as hardware does it (dword-interleaved over the 64 lanes), so the
	 * two user-SGPR fields that point at it differ for each group and are filled
	 * by gcn_wg_start, not by the dispatcher. The dispatcher only says where in
	 * user_sgpr[] they stand (index of the first register, -1: not enabled) and
	 * leaves these words 0:
	 *   private segment buffer: 4 words, a swizzled V# with the TID added
	 *   flat scratch init: 2 words, gfx9 form (64-bit address)
	 * The wave scratch offset register is filled here too when asked for.
	 * private_bytes is the packet's private_segment_size (bytes a lane), and is
	 * all the scratch there is: an access beyond it is GCN_FAULT_SCRATCH.
	 * lds_aperture, private_aperture: bits 31:0 must be 0, and neither may be
	 * 0 in bits 63:32. */
	int sgpr_private_segment_buffer;
	int sgpr_flat_scratch_init;
	bool sgpr_workgroup_id[3];  /* which of x, y, z follow the user SGPRs */
	bool sgpr_workgroup_info;
	bool sgpr_wave_scratch_offset;
	uint8_t vgpr_workitem_id;   /* 0: x, 1: x y, 2: x y z */
	bool packed_workitem_id;    /* gfx90a: x | y << 10 | z << 20 in v0 */

	uint32_t vgpr_count;        /* architected and accumulation VGPRs together */
	uint32_t accum_offset;      /* first accumulation VGPR (gfx90a), else 0 */
	uint32_t sgpr_count;
	uint32_t mode;              /* initial MODE: round [3:0], denorm [7:4], dx10_clamp 8, ieee 9 */

	uint32_t lds_bytes;         /* static and dynamic */
	uint32_t private_bytes;     /* scratch bytes a lane */
	uint64_t lds_aperture;      /* flat base of LDS, 0 low half */
	uint64_t private_aperture;  /* flat base of scratch, 0 low half */

	/* s_sendmsg MSG_INTERRUPT (device-side signal operations): called on the
	 * running thread with the low 24 bits of M0, the event id. NULL: ignored. */
	void (*interrupt)(void *arg, uint32_t event_id);
	void *interrupt_arg;

	struct gcn_gws *gws;        /* NULL: GWS instructions are faults */

	uint64_t packet;            /* address of the dispatch packet, for s_getreg users; may be 0 */
};

enum gcn_status {
	GCN_DONE,    /* every wavefront has ended */
	GCN_YIELD,   /* budget used up, or every runnable wavefront sleeps: call again later */
	GCN_FAULT,   /* cannot go on; the fault says why. The work-group is dead. */
};

enum gcn_fault_kind {
	GCN_FAULT_NONE,
	GCN_FAULT_ILLEGAL,  /* no row for this instruction */
	GCN_FAULT_LDS,      /* LDS access outside the allocation (message only; hardware reads 0) */
	GCN_FAULT_SCRATCH,  /* scratch access outside the allocation */
	GCN_FAULT_MEMORY,   /* address that nothing maps, or a write to what may not be written */
	GCN_FAULT_TRAP,     /* s_trap */
	GCN_FAULT_RESOURCE, /* cannot allocate a work-group of this shape */
	GCN_FAULT_ALIGN,    /* atomic at an address that is no multiple of its size */
};

struct gcn_fault {
	enum gcn_fault_kind kind;
	uint64_t pc;         /* host address of the instruction */
	uint64_t address;    /* GCN_FAULT_MEMORY, _LDS, _SCRATCH: what was accessed, 48 bits */
	bool refused;        /* GCN_FAULT_MEMORY: something is mapped there, but not for this access */
	uint8_t trap_id;     /* GCN_FAULT_TRAP */
	char text[200];      /* one line: encoding name, opcode, words, kernel */
};

struct gcn_wg;

/* A reusable work-group object: registers, LDS and scratch. NULL when memory
 * is short. Destroy accepts NULL. */
struct gcn_wg *gcn_wg_create(void);
void gcn_wg_destroy(struct gcn_wg *wg);

/* Loads initial state for work-group (x, y, z) of the launch. `launch` must
 * stay valid until the group is done. False with `fault` filled when the shape
 * cannot be had. */
bool gcn_wg_start(struct gcn_wg *wg, const struct gcn_launch *launch,
                  const uint32_t id[3], struct gcn_fault *fault);

/* Runs up to about `budget` wave-instructions, all wavefronts in turn. */
enum gcn_status gcn_wg_run(struct gcn_wg *wg, uint64_t budget, struct gcn_fault *fault);

/* Wave-instructions executed by this object since it was created. */
uint64_t gcn_wg_instructions(const struct gcn_wg *wg);

/* Call before a dispatch runs: its faults are ours even when the process has put
 * signal handlers of its own over ours since the last one. (gcn_wg_run looks only
 * now and then.) Any thread. False when the handlers cannot be had. */
bool gcn_catch_faults(void);

/* Called for each SIGSEGV and SIGBUS that an access of another thread than a
 * wave's caused. It jumps away, or comes back: then it is the process's own. */
void gcn_set_fault_hook(void (*function)(const siginfo_t *info));

/* Device addresses with this bit name the host's memory at the address without it. */
#define GCN_HOST_BIT ((uint64_t)1 << 47)

/* Device memory that the host may not touch at the address the GPU uses: every
 * access of a wave (loads, stores, atomics, code) to [base, base + size) goes to
 * the address + delta instead. Size 0: none. Call while nothing runs. Fault
 * addresses are given as the GPU used them. */
void gcn_set_window(uint64_t base, uint64_t size, uint64_t delta);

/* Code at [start, start + size) was written or freed: drop predecoded copies.
 * Called on code-object load, free of executable memory and instruction-cache
 * invalidate packets. No work-group may be running in that range. */
void gcn_program_invalidate(uint64_t start, uint64_t size);

#endif
