/* SPDX-License-Identifier: MIT */
/*
 * hsa_app: the few steps that every small HSA program takes, written to be read.
 *
 *	init -> load a code object -> look a kernel up -> make a queue -> write a dispatch packet
 *	     -> ring the doorbell -> wait for the completion signal -> copy the result back
 *
 * Everything here is the plain HSA API (hsa.h and hsa_ext_amd.h); nothing knows of kreplay.
 * A failure is one line on standard error and an exit: that is all an example can do about it.
 *
 * Exit statuses: 0 right, 1 wrong result or HSA error, 2 bad arguments, 3 the queue reported
 * an error.
 */
#ifndef HSA_APP_H
#define HSA_APP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

enum hsa_app_exit {
	HSA_APP_OK = 0,
	HSA_APP_FAILED = 1,
	HSA_APP_USAGE = 2,
	HSA_APP_QUEUE_ERROR = 3,
};

/* The program's own code object, compiled from its .cl file and embedded by the build. */
extern const unsigned char hsa_app_image[];
extern const size_t hsa_app_image_size;

struct hsa_app {
	hsa_agent_t cpu;
	hsa_agent_t gpu;
	hsa_amd_memory_pool_t device;  /* GPU, coarse-grained: where kernels work */
	hsa_amd_memory_pool_t host;    /* CPU, fine-grained: coherent with the GPU at all times */
	hsa_amd_memory_pool_t kernarg; /* CPU: where kernel arguments must lie */
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	uint64_t wait_slice;      /* a tenth of a second in ticks of the system clock */
	_Atomic(int) queue_error; /* hsa_status_t of the first queue error, 0 while there is none */
};

/* What a dispatch packet needs to know about a kernel. */
struct hsa_app_kernel {
	uint64_t object; /* address of the kernel descriptor on the GPU */
	uint32_t kernarg_bytes;
	uint32_t group_bytes;   /* LDS per work-group */
	uint32_t private_bytes; /* scratch per work-item */
};

/* Grid and work-group size in work-items. Unused dimensions may be left 0. */
struct hsa_app_range {
	uint32_t grid[3];
	uint16_t group[3];
};

/* Initialises HSA, finds the agents and pools, loads and freezes hsa_app_image. */
void hsa_app_init(struct hsa_app *app);
/* Undoes hsa_app_init. Queues, signals and memory are the caller's to free before. */
void hsa_app_finish(struct hsa_app *app);

struct hsa_app_kernel hsa_app_find_kernel(struct hsa_app *app, const char *name);
/* Device address of a variable that the code object exports. */
void *hsa_app_find_variable(struct hsa_app *app, const char *name);

/* An error on the queue is one line, and status 3 at the next hsa_app_wait or full queue. */
hsa_queue_t *hsa_app_queue_create(struct hsa_app *app, uint32_t packets);

/* Memory. All of it is accessible from both agents as far as the hardware allows. */
void *hsa_app_alloc_device(struct hsa_app *app, size_t bytes);
void *hsa_app_alloc_host(struct hsa_app *app, size_t bytes);
void hsa_app_free(void *memory);

/* A kernel argument block holding `args`, a struct laid out as the kernel's parameters are. */
void *hsa_app_kernargs(struct hsa_app *app, const struct hsa_app_kernel *kernel, const void *args,
		       size_t bytes);

/* Copies between device and host memory from hsa_app_alloc_*, by the copy engine, and waits. */
void hsa_app_copy_to_device(struct hsa_app *app, void *device, const void *host, size_t bytes);
void hsa_app_copy_to_host(struct hsa_app *app, void *host, const void *device, size_t bytes);

hsa_signal_t hsa_app_signal_create(hsa_signal_value_t initial);

/*
 * Puts one kernel dispatch packet on the queue and rings the doorbell. Packets run in order: each
 * has the barrier bit. `done` is decremented when the kernel has finished; { 0 } when nobody needs
 * to know.
 */
void hsa_app_dispatch(struct hsa_app *app, hsa_queue_t *queue, const struct hsa_app_kernel *kernel,
		      const struct hsa_app_range *range, void *kernargs, hsa_signal_t done);
/* A barrier-AND packet without dependencies: `done` is decremented when all before it is over. */
void hsa_app_barrier(struct hsa_app *app, hsa_queue_t *queue, hsa_signal_t done);

/* Waits until the signal is 0 and sets it to 1 again, ready for the next use. */
void hsa_app_wait(struct hsa_app *app, hsa_signal_t done);

/* True and silent when equal bit for bit; otherwise one line that names the first difference. */
bool hsa_app_same_u32(const char *what, const uint32_t *got, const uint32_t *want, size_t count);
bool hsa_app_same_f32(const char *what, const float *got, const float *want, size_t count);
bool hsa_app_same_f64(const char *what, const double *got, const double *want, size_t count);

/* Argument number `i` as a whole number in [1, max], or `fallback` when it is not there. */
uint64_t hsa_app_argument(int argc, char **argv, int i, const char *what, uint64_t fallback,
			  uint64_t max);

/* n rounded up to a multiple of m */
static inline uint32_t hsa_app_round_up(uint32_t n, uint32_t m)
{
	return (n + m - 1) / m * m;
}

/* Ends the program with one line unless the call succeeded. */
#define HSA_CHECK(call) hsa_app_check((call), #call)
void hsa_app_check(hsa_status_t status, const char *call);
/* One line on standard error, starting with the program's name; then exit(status). */
_Noreturn void hsa_app_die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* calloc that never fails: plain memory for the CPU's side of the calculation */
void *hsa_app_calloc(size_t count, size_t bytes);

#endif
