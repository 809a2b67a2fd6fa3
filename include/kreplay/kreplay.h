/* SPDX-License-Identifier: MIT */
/**
 * kreplay.h: the public C ABI of kreplay.
 *
 * kreplay repeats a kernel dispatch in place and hands each pass to a tool. A tool is a shared
 * library that exports kreplay_configure() and is named in KREPLAY_TOOL; the application itself
 * or a preloaded library may export it as well. This header is all that a tool sees.
 *
 * Reading the tags
 *   [thread: init]      the thread that brings up HSA, inside kreplay_configure or `initialize`
 *   [thread: ringing]   the thread that rang the doorbell, or the worker of that queue when the
 *                       work was handed over (KREPLAY_FLAG_OTHER_THREAD says so)
 *   [thread: window]    the one thread on which everything between CONFIG ENTER and CONFIG EXIT of
 *                       one dispatch is delivered; it is the ringing thread or the queue's worker
 *   [thread: any]       any thread, at any time, also inside a callback
 *   [phase: ...]        the operation and phase of the callback in which the call is legal
 *
 * Rules that hold everywhere
 *   - Every struct that crosses the boundary starts with `size`: the bytes that its writer filled.
 *     Members are only ever appended. Test `size` before reading one that is newer than you need.
 *   - Pointers in a record or a payload are ours and are valid until the callback returns, unless
 *     the member says otherwise. Copy what is to be kept.
 *   - Times are nanoseconds, sizes are bytes.
 *   - No lock of ours is held while a tool's function runs. It may dispatch, allocate, copy.
 *   - No C++ exception may leave a tool's function.
 *
 * Rationale, names: each name is the vendor SDK's with the prefix replaced, with the same members
 * in the same order and the same widths, so that a tool moves over by renaming. What the vendor
 * does not have is appended after what it has.
 */
#ifndef KREPLAY_KREPLAY_H
#define KREPLAY_KREPLAY_H

#include <stddef.h>
#include <stdint.h>

#define KREPLAY_VERSION_MAJOR 0
#define KREPLAY_VERSION_MINOR 1
#define KREPLAY_VERSION_PATCH 0
/** One number for comparisons: 10000 * major + 100 * minor + patch. */
#define KREPLAY_VERSION                                                                            \
	((10000 * KREPLAY_VERSION_MAJOR) + (100 * KREPLAY_VERSION_MINOR) + KREPLAY_VERSION_PATCH)
#define KREPLAY_VERSION_STRING "0.1.0"

/** On a function of ours: exported from libkreplay.so at version node KREPLAY_1. */
#if defined(__GNUC__)
#define KREPLAY_API __attribute__((visibility("default")))
#else
#define KREPLAY_API
#endif

/** On a function of the tool: put it on your kreplay_configure. */
#define KREPLAY_TOOL_EXPORT KREPLAY_API

#ifdef __cplusplus
#define KREPLAY_EXTERN_C_INIT extern "C" {
#define KREPLAY_EXTERN_C_FINI }
#else
#define KREPLAY_EXTERN_C_INIT
#define KREPLAY_EXTERN_C_FINI
#endif

KREPLAY_EXTERN_C_INIT

/* ---------------------------------------------------------------------------------------------
 * Status
 * ------------------------------------------------------------------------------------------- */

/** What a call says. Values that the vendor SDK has are the vendor's, number included. */
typedef enum kreplay_status_t {
	KREPLAY_STATUS_SUCCESS = 0,
	KREPLAY_STATUS_ERROR = 1,
	KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND = 2,          /**< no context has this id */
	KREPLAY_STATUS_ERROR_KIND_NOT_FOUND = 4,             /**< no such tracing kind */
	KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND = 5,        /**< the kind has no such operation */
	KREPLAY_STATUS_ERROR_AGENT_NOT_FOUND = 7,            /**< no agent has this handle */
	KREPLAY_STATUS_ERROR_CONTEXT_ERROR = 9,              /**< not legal for a context here */
	KREPLAY_STATUS_ERROR_CONTEXT_INVALID = 10,           /**< the context cannot be used so */
	KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED = 11,       /**< the context is not started */
	KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED = 15,/**< someone has this service already */
	KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED = 16,      /**< not inside `initialize` */
	KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI = 18,          /**< a `size` that we cannot serve */
	KREPLAY_STATUS_ERROR_INVALID_ARGUMENT = 19,
	KREPLAY_STATUS_ERROR_FINALIZED = 21,                 /**< the tool has been finalized */
	KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES = 29,
	KREPLAY_STATUS_ERROR_NOT_AVAILABLE = 36,             /**< not on this thread, or not now */
	KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND = 256          /**< ours: no kernel has this id */
} kreplay_status_t;

/* ---------------------------------------------------------------------------------------------
 * Identities
 * ------------------------------------------------------------------------------------------- */

typedef uint64_t kreplay_timestamp_t;         /**< nanoseconds of the HSA system clock */
typedef uint64_t kreplay_thread_id_t;         /**< as gettid() gives it */
typedef uint64_t kreplay_kernel_id_t;         /**< one per kernel symbol loaded; never 0 */
typedef uint64_t kreplay_dispatch_id_t;       /**< counts logical dispatches of the process */
typedef int32_t kreplay_tracing_operation_t;  /**< an operation of a tracing kind */

typedef struct kreplay_context_id_t {
	uint64_t handle; /**< 0 is never a context */
} kreplay_context_id_t;

typedef struct kreplay_agent_id_t {
	uint64_t handle; /**< the hsa_agent_t's handle */
} kreplay_agent_id_t;

typedef struct kreplay_queue_id_t {
	uint64_t handle; /**< the hsa_queue_t's id */
} kreplay_queue_id_t;

/** The tool's own eight bytes for one dispatch; zero at the start. */
typedef union kreplay_user_data_t {
	uint64_t value;
	void *ptr;
} kreplay_user_data_t;

typedef struct kreplay_correlation_id_t {
	uint64_t internal;            /**< one per logical dispatch, the same in every pass of it */
	kreplay_user_data_t external; /**< reserved for identities from outside; 0 today */
	uint64_t ancestor;            /**< the dispatch in whose callback this one was made, or 0 */
} kreplay_correlation_id_t;

typedef struct kreplay_dim3_t {
	uint32_t x;
	uint32_t y;
	uint32_t z;
} kreplay_dim3_t;

/** What is being dispatched. 128 bytes; passed by value to the tool's upcalls. */
typedef struct kreplay_kernel_dispatch_info_t {
	uint64_t size;                      /**< bytes in use, the reserved tail not counted (72) */
	kreplay_agent_id_t agent_id;
	kreplay_queue_id_t queue_id;
	kreplay_kernel_id_t kernel_id;      /**< kreplay_query_kernel_name() gives the name */
	kreplay_dispatch_id_t dispatch_id;  /**< one logical dispatch: the same in each of its passes */
	uint32_t private_segment_size;      /**< bytes per work-item */
	uint32_t group_segment_size;        /**< bytes per work-group */
	kreplay_dim3_t workgroup_size;      /**< work-items */
	kreplay_dim3_t grid_size;           /**< work-items, not work-groups */
	uint8_t reserved_padding[56];
} kreplay_kernel_dispatch_info_t;

/* ---------------------------------------------------------------------------------------------
 * Callback tracing: kinds, operations, the record
 * ------------------------------------------------------------------------------------------- */

typedef enum kreplay_callback_tracing_kind_t {
	KREPLAY_CALLBACK_TRACING_NONE = 0,
	KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH = 1, /**< kreplay_callback_tracing_kernel_dispatch_data_t */
	KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY = 2,   /**< kreplay_callback_tracing_kernel_replay_data_t */
	KREPLAY_CALLBACK_TRACING_LAST
} kreplay_callback_tracing_kind_t;

/** Operations of KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY. */
typedef enum kreplay_kernel_replay_operation_t {
	KREPLAY_KERNEL_REPLAY_NONE = 0,
	KREPLAY_KERNEL_REPLAY_CONFIG = 1,   /**< around one whole dispatch; only the driver sees it */
	KREPLAY_KERNEL_REPLAY_PASS = 2,     /**< around one execution */
	KREPLAY_KERNEL_REPLAY_SNAPSHOT = 3, /**< around the taking of the snapshot */
	KREPLAY_KERNEL_REPLAY_RESTORE = 4,  /**< around the restore between two passes */
	KREPLAY_KERNEL_REPLAY_LAST
} kreplay_kernel_replay_operation_t;

/** Operations of KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH. */
typedef enum kreplay_kernel_dispatch_operation_t {
	KREPLAY_KERNEL_DISPATCH_NONE = 0,
	KREPLAY_KERNEL_DISPATCH_ENQUEUE = 1,  /**< ENTER and EXIT, before the packet is submitted */
	KREPLAY_KERNEL_DISPATCH_COMPLETE = 2, /**< PHASE_NONE, with the timestamps */
	KREPLAY_KERNEL_DISPATCH_LAST
} kreplay_kernel_dispatch_operation_t;

typedef enum kreplay_callback_phase_t {
	KREPLAY_CALLBACK_PHASE_NONE = 0,
	KREPLAY_CALLBACK_PHASE_ENTER = 1,
	KREPLAY_CALLBACK_PHASE_EXIT = 2,
	KREPLAY_CALLBACK_PHASE_LAST
} kreplay_callback_phase_t;

/** Passed by value to every tracing callback. */
typedef struct kreplay_callback_tracing_record_t {
	kreplay_context_id_t context_id;         /**< the context that subscribed */
	kreplay_thread_id_t thread_id;           /**< the thread that rang the doorbell */
	kreplay_correlation_id_t correlation_id; /**< of the one logical dispatch */
	kreplay_callback_tracing_kind_t kind;    /**< tells the type of `payload` */
	kreplay_tracing_operation_t operation;
	kreplay_callback_phase_t phase;
	void *payload;                           /**< ours; valid until the callback returns */
} kreplay_callback_tracing_record_t;

/**
 * A tool's tracing callback.
 *
 * @param record         what happens; by value
 * @param user_data      never NULL, valid until the callback returns. See the kinds' payloads for
 *                       which later callback sees what is written to it
 * @param callback_data  the `callback_args` given when the service was configured; the tool's own
 *
 * [thread: window] for KERNEL_REPLAY and for the KERNEL_DISPATCH records of a replayed dispatch;
 * for the records of a dispatch that runs once: ENQUEUE on the ringing thread, COMPLETE on a thread
 * of ours or of the runtime.
 */
typedef void (*kreplay_callback_tracing_cb_t)(kreplay_callback_tracing_record_t record,
					      kreplay_user_data_t *user_data, void *callback_data);

/* ---------------------------------------------------------------------------------------------
 * The memory view
 * ------------------------------------------------------------------------------------------- */

typedef enum kreplay_region_kind_t {
	KREPLAY_REGION_POOL = 0,     /**< hsa_amd_memory_pool_allocate */
	KREPLAY_REGION_REGION = 1,   /**< hsa_memory_allocate */
	KREPLAY_REGION_VARIABLE = 2, /**< writable segment of a loaded code object */
	KREPLAY_REGION_VMEM = 3      /**< virtual-memory mapping */
} kreplay_region_kind_t;

/** One region that the snapshot covers. */
typedef struct kreplay_memory_region_t {
	uint64_t size;
	uint64_t address;           /**< device address of the first byte */
	uint64_t bytes;
	kreplay_region_kind_t kind;
	int32_t argument;           /**< index of the kernel argument that points into it; -1 unknown */
} kreplay_memory_region_t;

/** A run of bytes. */
typedef struct kreplay_memory_range_t {
	uint64_t address; /**< device address of the first byte */
	uint64_t bytes;
} kreplay_memory_range_t;

/** Return 0 to go on, anything else to stop; `region` is valid until it returns. [thread: window] */
typedef int (*kreplay_memory_region_cb_t)(const kreplay_memory_region_t *region, void *data);
/** Return 0 to go on, anything else to stop; `range` is valid until it returns. [thread: window] */
typedef int (*kreplay_memory_range_cb_t)(const kreplay_memory_range_t *range, void *data);

typedef struct kreplay_memory_view_t kreplay_memory_view_t;

/**
 * The memory in scope of a window, now and as the snapshot holds it.
 *
 * Got from the payload's `memory`. Valid from SNAPSHOT EXIT to CONFIG EXIT of the same window,
 * both included, and only on the window's thread; NULL at every other time. The view stays ours.
 * Each function takes the view itself first. Every one of them:
 *   [thread: window] [phase: SNAPSHOT EXIT .. CONFIG EXIT]
 *   KREPLAY_STATUS_SUCCESS; KREPLAY_STATUS_ERROR_INVALID_ARGUMENT for a NULL pointer or an address
 *   out of scope; KREPLAY_STATUS_ERROR_NOT_AVAILABLE on another thread or outside the window;
 *   KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES; KREPLAY_STATUS_ERROR when a copy failed.
 *
 * Rationale: a write map or a determinism check is then an ordinary observer of PASS EXIT, which
 * works on the last pass too, although no restore follows it.
 */
struct kreplay_memory_view_t {
	uint64_t size;

	/** Every region in scope, by rising address. A region freed since the snapshot is left out. */
	kreplay_status_t (*iterate_regions)(const kreplay_memory_view_t *view,
					    kreplay_memory_region_cb_t callback, void *data);

	/** The runs of bytes that differ from the snapshot now: exact to the byte, merged, by rising
	 *  address. A byte written with the value that it had does not differ. */
	kreplay_status_t (*iterate_changes)(const kreplay_memory_view_t *view,
					    kreplay_memory_range_cb_t callback, void *data);

	/** Copies [address, address + bytes) as it is now to host memory `dst`, which is the
	 *  caller's. The range must lie in one region. */
	kreplay_status_t (*read_current)(const kreplay_memory_view_t *view, uint64_t address,
					 void *dst, uint64_t bytes);

	/** The same as the snapshot holds it. */
	kreplay_status_t (*read_snapshot)(const kreplay_memory_view_t *view, uint64_t address,
					  void *dst, uint64_t bytes);

	/** 128-bit hash of what the region that begins at `region_address` holds now. Equal contents
	 *  give equal hashes within one process; do not store them. */
	kreplay_status_t (*hash_region)(const kreplay_memory_view_t *view, uint64_t region_address,
					uint64_t hash[2]);
};

/* ---------------------------------------------------------------------------------------------
 * KERNEL_REPLAY
 * ------------------------------------------------------------------------------------------- */

/** How one dispatch ended. */
typedef enum kreplay_outcome_t {
	KREPLAY_OUTCOME_NONE = 0,     /**< not over yet */
	KREPLAY_OUTCOME_ONCE = 1,     /**< the driver asked for a single run */
	KREPLAY_OUTCOME_REPLAYED = 2, /**< as the driver asked; `passes_run` says how often */
	KREPLAY_OUTCOME_DECLINED = 3  /**< `decline` says why; the application sees one execution */
} kreplay_outcome_t;

/** Why a dispatch was not replayed, or not to the end. */
typedef enum kreplay_decline_t {
	KREPLAY_DECLINE_NONE = 0,
	KREPLAY_DECLINE_OUT_OF_MEMORY = 1,      /**< no room for the snapshot, or for our own data */
	KREPLAY_DECLINE_COPY_FAILED = 2,        /**< a copy of the snapshot failed */
	KREPLAY_DECLINE_VARIABLES_UNKNOWN = 3,  /**< variables of a code object cannot be listed */
	KREPLAY_DECLINE_OVER_BUDGET = 4,        /**< the snapshot would exceed KREPLAY_BUDGET */
	KREPLAY_DECLINE_DRAIN_TIMEOUT = 5,      /**< the agent did not come to rest in time */
	KREPLAY_DECLINE_STUCK_PASS = 6,         /**< a pass took longer than the drain time */
	KREPLAY_DECLINE_REENTRANT = 7,          /**< made by a callback of a window on its agent. In the log only:
						     nobody is asked about such a dispatch, so no CONFIG EXIT has it */
	KREPLAY_DECLINE_BAD_PASS_COUNT = 8,     /**< 0 without replay_continue, or beyond the limit */
	KREPLAY_DECLINE_UNSUPPORTED_PACKET = 9, /**< no kernel, nothing in its grid, or a signal that is
						     destroyed: it stops its queue with an error */
	KREPLAY_DECLINE_PASS_FAILED = 10,       /**< a pass ended in an error */
	KREPLAY_DECLINE_SHUTTING_DOWN = 11,     /**< the process or the tool is on its way out */
	KREPLAY_DECLINE_EXTERNALLY_VISIBLE = 12,/**< each pass would be seen outside, and the driver asked
						     for a decline (KREPLAY_REQUEST_DECLINE_VISIBLE) */
	KREPLAY_DECLINE_LAST
} kreplay_decline_t;

/** Bits of the payload's `flags`. */
enum {
	KREPLAY_FLAG_REENTRANT = 1,    /**< a callback dispatched on this agent during the window */
	KREPLAY_FLAG_PEER_MEMORY = 2,  /**< the agent can write memory that the snapshot leaves out
					    because another agent or process owns it */
	KREPLAY_FLAG_PLAIN_COPIES = 4, /**< no kernels of ours for this ISA: the runtime's copies */
	KREPLAY_FLAG_OTHER_THREAD = 8, /**< the window ran on the queue's worker */
	KREPLAY_FLAG_EXTERNALLY_VISIBLE = 16 /**< each pass is seen outside: the kernel can print or call
					    the host, or is given host memory that it may write. From
					    SNAPSHOT EXIT on, as far as the code object's metadata tells */
};

/** Bits of the payload's `requests`. */
enum {
	/** Decline the dispatch, so that it runs once, when KREPLAY_FLAG_EXTERNALLY_VISIBLE would be set. */
	KREPLAY_REQUEST_DECLINE_VISIBLE = 1
};

/** Where the bytes of the snapshot lie. */
typedef enum kreplay_tier_t {
	KREPLAY_TIER_NONE = 0,
	KREPLAY_TIER_DEVICE = 1,   /**< memory of the agent itself */
	KREPLAY_TIER_PINNED = 2,   /**< pinned host memory */
	KREPLAY_TIER_PAGEABLE = 3, /**< ordinary host memory */
	KREPLAY_TIER_MIXED = 4
} kreplay_tier_t;

/** Index into `left_out_bytes`. */
enum {
	KREPLAY_LEFT_OUT_KERNARG = 0,
	KREPLAY_LEFT_OUT_HOST = 1,
	KREPLAY_LEFT_OUT_FINE_GRAINED = 2,
	KREPLAY_LEFT_OUT_EXECUTABLE = 3,
	KREPLAY_LEFT_OUT_CLASSES = 4
};

/** What one snapshot or restore (or the sum of several) cost. */
typedef struct kreplay_phase_stats_t {
	uint64_t size;
	uint64_t regions;         /**< regions in scope */
	uint64_t bytes;           /**< bytes in scope */
	uint64_t dirty_bytes;     /**< snapshot: bytes taken anew; restore: bytes written back */
	uint64_t host_link_bytes; /**< of these, bytes that crossed the host link, either way */
	uint64_t ns;
	uint32_t tier;            /**< kreplay_tier_t */
	uint32_t reserved;
} kreplay_phase_stats_t;

/** The most passes a fixed count may ask for. More is taken for a mistake: the dispatch is declined
 *  with KREPLAY_DECLINE_BAD_PASS_COUNT. For a longer loop return 0 and set replay_continue. */
#define KREPLAY_PASS_COUNT_MAX UINT64_C(4294967295)

/**
 * The tool's function that says how often a dispatch is to run.
 * Asked once per dispatch, right after CONFIG ENTER. [thread: ringing]
 *
 * @param user_data  what CONFIG ENTER left, by value
 * @return N > 1: N passes at most; 1: run once, no snapshot, no PASS callbacks;
 *         0: pass after pass until replay_continue returns 0 (which then must be set, otherwise
 *         a warning is given and the dispatch runs once)
 */
typedef uint64_t (*kreplay_kernel_replay_pass_count_cb_t)(
	kreplay_kernel_dispatch_info_t dispatch_info, kreplay_user_data_t user_data);

/**
 * The tool's function that says whether another pass is to follow.
 * Asked after PASS EXIT, but not after the last pass of a fixed count: for N passes it sees
 * current_pass 0 to N - 2. An indefinite loop asks after every pass. [thread: window]
 *
 * @param current_pass  the pass that has just ended, from 0
 * @param total_passes  N, or 0 in an indefinite loop
 * @param user_data     what that pass's PASS EXIT left, by value
 * @return 0 to leave the loop, anything else to go on. It cannot go beyond N.
 */
typedef int (*kreplay_kernel_replay_continue_cb_t)(kreplay_kernel_dispatch_info_t dispatch_info,
						   uint64_t current_pass, uint64_t total_passes,
						   kreplay_user_data_t user_data);

/**
 * Our function that masks a context for the loop at hand, or unmasks it.
 * [thread: window] [phase: PASS ENTER, in a callback of the driver's tool]
 *
 * Sticky: holds for this pass and those after it until toggled back or until the loop ends. It never
 * touches the global state and is not seen by other threads' dispatches. A masked context gets no
 * KERNEL_DISPATCH records of the passes and, when it is an observer, no PASS and no RESTORE;
 * a callback whose ENTER was delivered gets its EXIT. The driver's context keeps all of its
 * KERNEL_REPLAY callbacks whatever is masked: it is the one that has to unmask.
 *
 * @return KREPLAY_STATUS_SUCCESS;
 *         KREPLAY_STATUS_ERROR_CONTEXT_ERROR outside PASS ENTER (nothing is recorded);
 *         KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND for an unknown context (a warning is given);
 *         KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED from a local start of a context that is
 *         globally stopped: a local stop of it is undone, but it stays stopped
 */
typedef kreplay_status_t (*kreplay_kernel_replay_context_cb_t)(kreplay_context_id_t context_id);

/**
 * Payload of KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY.
 *
 * One flat struct for all operations; a member that means nothing in one of them is zero there.
 *
 * Delivered for each dispatch, in this order, all on one thread: CONFIG ENTER, SNAPSHOT ENTER and
 * EXIT, for each pass PASS ENTER and EXIT with RESTORE ENTER and EXIT between two passes, CONFIG
 * EXIT. A dispatch that runs once has CONFIG ENTER and EXIT only. Every ENTER has exactly one EXIT,
 * on declines and failures too.
 *
 * One context drives (it subscribes to CONFIG), any number observe. An observer decides nothing:
 * what it writes to the payload is not read.
 *
 * user_data: what CONFIG ENTER leaves is given, as a fresh copy, to each later operation of the
 * same dispatch and to CONFIG EXIT. A write in an ENTER is seen by the EXIT of that same operation
 * and, for PASS, by replay_continue; by nothing later. All contexts of the driver's tool share
 * that value; the contexts of other tools have one of their own each, which starts at 0.
 */
typedef struct kreplay_callback_tracing_kernel_replay_data_t {
	uint64_t size;                                /**< bytes filled by the library */
	kreplay_kernel_dispatch_info_t dispatch_info; /**< always set */

	/** [PASS, RESTORE] the pass at hand, from 0; in RESTORE the pass that has just ended. */
	uint64_t current_pass;
	/** [all but CONFIG ENTER] the count asked for; 0 = indefinite. */
	uint64_t total_passes;

	/** [CONFIG ENTER] set by the driver; NULL leaves the dispatch alone. NULL in PASS. */
	kreplay_kernel_replay_pass_count_cb_t replay_pass_count;
	/** [CONFIG ENTER] set by the driver, optional. NULL in PASS ENTER. In PASS EXIT the one in
	 *  effect; what the driver writes there holds for the decision after that pass only. */
	kreplay_kernel_replay_continue_cb_t replay_continue;

	/** [PASS ENTER, driver's tool] NULL at every other time. */
	kreplay_kernel_replay_context_cb_t replay_start_context;
	kreplay_kernel_replay_context_cb_t replay_stop_context;

	/* What follows is ours. */

	/** [CONFIG EXIT] how it ended. KREPLAY_OUTCOME_NONE before. */
	kreplay_outcome_t outcome;
	/** [SNAPSHOT EXIT, PASS EXIT, CONFIG EXIT] why not, KREPLAY_DECLINE_NONE when all is well. */
	kreplay_decline_t decline;
	uint32_t flags;      /**< KREPLAY_FLAG_* */
	/** [CONFIG ENTER] set by the driver: KREPLAY_REQUEST_*; bits that are not known are not looked at. 0 at
	 *  every other time. */
	uint32_t requests;
	uint64_t passes_run; /**< executions in the window that have ended */

	/** [from SNAPSHOT EXIT] this window's snapshot. */
	kreplay_phase_stats_t snapshot;
	/** [RESTORE EXIT] this restore; everywhere else the sum of the restores so far. */
	kreplay_phase_stats_t restore;

	/** [from SNAPSHOT EXIT] live bytes of the agent that the snapshot does not cover, by class
	 *  (KREPLAY_LEFT_OUT_*). A kernel that writes there is not undone between passes. */
	uint64_t left_out_bytes[4];

	/** [CONFIG EXIT] from the moment the agent was to be stopped to the end of the last pass. */
	uint64_t window_ns;

	/** [SNAPSHOT EXIT .. CONFIG EXIT] NULL at every other time and when there is no snapshot. */
	const kreplay_memory_view_t *memory;

	/** [from SNAPSHOT EXIT] bytes of the agent's code objects that hold what no kernel may write:
	 *  constants and other read-only data. Left out as well; no kernel can change them. */
	uint64_t left_out_read_only;
} kreplay_callback_tracing_kernel_replay_data_t;

/* ---------------------------------------------------------------------------------------------
 * KERNEL_DISPATCH
 * ------------------------------------------------------------------------------------------- */

/**
 * Payload of KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH: one execution of one dispatch.
 *
 * ENQUEUE ENTER and EXIT come before the packet is submitted, COMPLETE (phase NONE) when the
 * execution has ended. COMPLETE comes to exactly those contexts that had the ENQUEUE.
 * user_data: one per context and execution; what ENQUEUE leaves is given to COMPLETE.
 */
typedef struct kreplay_callback_tracing_kernel_dispatch_data_t {
	uint64_t size;
	kreplay_timestamp_t start_timestamp; /**< [COMPLETE] when the kernel began */
	kreplay_timestamp_t end_timestamp;   /**< [COMPLETE] when it ended; both 0 when they are not known,
						  as when the execution could not be submitted */
	kreplay_kernel_dispatch_info_t dispatch_info;
	uint64_t replay_pass;  /**< ours: from 0; 0 for a dispatch that is not replayed */
	uint64_t total_passes; /**< ours: the count asked for, 0 = indefinite; 1 when not replayed */
} kreplay_callback_tracing_kernel_dispatch_data_t;

/* ---------------------------------------------------------------------------------------------
 * The tool
 * ------------------------------------------------------------------------------------------- */

/** Who a tool is. Ours, one per tool, valid until the process ends. */
typedef struct kreplay_client_id_t {
	size_t size;
	const char *name; /**< NULL; the tool may set it in kreplay_configure, for messages. The string
			       is the tool's and must live until kreplay_configure has returned */
	uint32_t handle;  /**< set by us; not 0 */
} kreplay_client_id_t;

/** Ours: finalizes the tool now; what happens is said at kreplay_tool_finalize_t. [thread: any] */
typedef void (*kreplay_client_finalize_t)(kreplay_client_id_t client);

/**
 * The tool's: makes and starts contexts. The only place, with kreplay_configure itself, where
 * contexts can be made and services configured. [thread: init]
 *
 * @param finalize_func  to be kept when the tool wants to end by itself
 * @param tool_data      from the result of kreplay_configure
 * @return 0; anything else: the tool does not take part, its contexts are dropped
 */
typedef int (*kreplay_tool_initialize_t)(kreplay_client_finalize_t finalize_func, void *tool_data);

/**
 * The tool's: the end. Called exactly once, at the first of: OnUnload, the last hsa_shut_down,
 * process exit, the tool's own request. The tool's contexts are stopped before; no callback of
 * the tool runs after it has begun. [thread: any, and not inside a callback unless the tool
 * itself asked, or ended the process, from one]
 */
typedef void (*kreplay_tool_finalize_t)(void *tool_data);

/** What kreplay_configure returns. The tool's; must live until the process ends. */
typedef struct kreplay_tool_configure_result_t {
	size_t size;                          /**< sizeof(kreplay_tool_configure_result_t) */
	kreplay_tool_initialize_t initialize; /**< required */
	kreplay_tool_finalize_t finalize;     /**< may be NULL */
	void *tool_data;                      /**< handed to both */
} kreplay_tool_configure_result_t;

/**
 * The one function that a tool exports. Declared here, defined by the tool. [thread: init]
 *
 * @param version          KREPLAY_VERSION of the running library
 * @param runtime_version  the same as text; lives as long as the process
 * @param priority         how many tools have been configured before this one
 * @param client_id        the tool's identity; may be kept
 * @return NULL when the tool does not want to take part
 */
KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority,
		  kreplay_client_id_t *client_id);

typedef kreplay_tool_configure_result_t *(*kreplay_configure_func_t)(uint32_t version,
								     const char *runtime_version,
								     uint32_t priority,
								     kreplay_client_id_t *client_id);

/* ---------------------------------------------------------------------------------------------
 * Functions
 * ------------------------------------------------------------------------------------------- */

/** Version of the running library. Each pointer may be NULL. [thread: any] */
KREPLAY_API kreplay_status_t kreplay_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch);

/** "KREPLAY_STATUS_SUCCESS" and so on; NULL for an unknown status. Static text. [thread: any] */
KREPLAY_API const char *kreplay_get_status_name(kreplay_status_t status);

/** One sentence on the status; NULL for an unknown status. Static text. [thread: any] */
KREPLAY_API const char *kreplay_get_status_string(kreplay_status_t status);

/** A short stable text such as "out of memory"; "none" for NONE, "unknown" for what is not in the
 *  enum. Static text; reports use it as a key. [thread: any] */
KREPLAY_API const char *kreplay_decline_name(kreplay_decline_t decline);

/**
 * Makes a context: a set of services that is started and stopped as one. [thread: init]
 * @return SUCCESS; INVALID_ARGUMENT for NULL; CONFIGURATION_LOCKED outside `initialize`;
 *         OUT_OF_RESOURCES beyond 64 contexts
 */
KREPLAY_API kreplay_status_t kreplay_create_context(kreplay_context_id_t *context_id);

/**
 * Starts the context. Starting a started one succeeds. Takes effect for dispatches that come later.
 * [thread: any]
 * @return SUCCESS; CONTEXT_NOT_FOUND; FINALIZED after the tool's end
 */
KREPLAY_API kreplay_status_t kreplay_start_context(kreplay_context_id_t context_id);

/**
 * Stops the context. A window that has begun still delivers its driver's callbacks up to CONFIG EXIT.
 * [thread: any]
 * @return SUCCESS; CONTEXT_NOT_FOUND; CONTEXT_NOT_STARTED
 */
KREPLAY_API kreplay_status_t kreplay_stop_context(kreplay_context_id_t context_id);

/** Writes 1 when the context is started, otherwise 0. Local toggles do not show. [thread: any]
 *  @return SUCCESS; INVALID_ARGUMENT for NULL; CONTEXT_NOT_FOUND (0 is written) */
KREPLAY_API kreplay_status_t kreplay_context_is_active(kreplay_context_id_t context_id, int *status);

/** Writes 1 when the context exists, otherwise 0. [thread: any]
 *  @return SUCCESS; INVALID_ARGUMENT for NULL; CONTEXT_NOT_FOUND (0 is written) */
KREPLAY_API kreplay_status_t kreplay_context_is_valid(kreplay_context_id_t context_id, int *status);

/**
 * Subscribes a context to operations of one kind. [thread: init]
 *
 * @param operations        array of `operations_count` operations; NULL with count 0: all of them.
 *                          Copied
 * @param callback          not NULL
 * @param callback_args     handed to the callback; the tool's, must live until the tool's end
 * @return SUCCESS; CONFIGURATION_LOCKED outside `initialize`; CONTEXT_NOT_FOUND; KIND_NOT_FOUND;
 *         OPERATION_NOT_FOUND; INVALID_ARGUMENT; SERVICE_ALREADY_CONFIGURED when this context has
 *         the kind already, or when another context has KREPLAY_KERNEL_REPLAY_CONFIG
 */
KREPLAY_API kreplay_status_t kreplay_configure_callback_tracing_service(
	kreplay_context_id_t context_id, kreplay_callback_tracing_kind_t kind,
	const kreplay_tracing_operation_t *operations, size_t operations_count,
	kreplay_callback_tracing_cb_t callback, void *callback_args);

/** Name of a kind, such as "KERNEL_REPLAY". `name_len` may be NULL. Static text. [thread: any]
 *  @return SUCCESS; INVALID_ARGUMENT; KIND_NOT_FOUND */
KREPLAY_API kreplay_status_t kreplay_query_callback_tracing_kind_name(
	kreplay_callback_tracing_kind_t kind, const char **name, uint64_t *name_len);

/** Name of an operation, such as "KERNEL_REPLAY_PASS". `name_len` may be NULL. Static text.
 *  [thread: any]
 *  @return SUCCESS; INVALID_ARGUMENT; KIND_NOT_FOUND; OPERATION_NOT_FOUND */
KREPLAY_API kreplay_status_t kreplay_query_callback_tracing_kind_operation_name(
	kreplay_callback_tracing_kind_t kind, kreplay_tracing_operation_t operation,
	const char **name, uint64_t *name_len);

/**
 * Name of a kernel. [thread: any]
 *
 * @param mangled   0: as the source has it; otherwise as the code object has it
 * @param name      ours; lives until the process ends
 * @param name_len  bytes without the terminating 0; may be NULL
 * @return SUCCESS; INVALID_ARGUMENT; KERNEL_NOT_FOUND
 */
KREPLAY_API kreplay_status_t kreplay_query_kernel_name(kreplay_kernel_id_t kernel_id, int mangled,
						       const char **name, uint64_t *name_len);

/** What an agent is. The caller's. */
typedef struct kreplay_agent_info_t {
	uint64_t size;         /**< in: sizeof as the caller knows it; out: bytes filled */
	kreplay_agent_id_t id;
	uint64_t memory_bytes; /**< of its own coarse-grained memory */
	uint32_t node;         /**< HSA driver node */
	uint32_t compute_units;
	char name[64];         /**< such as "gfx90a"; ends in 0 */
	char isa[64];          /**< such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"; ends in 0 */
} kreplay_agent_info_t;

/**
 * Fills *info for an agent; set info->size first. What lies beyond the library's own size is zeroed.
 * [thread: any]
 * @return SUCCESS; INVALID_ARGUMENT for NULL; INCOMPATIBLE_ABI when size cannot hold size and id;
 *         AGENT_NOT_FOUND
 */
KREPLAY_API kreplay_status_t kreplay_query_agent_info(kreplay_agent_id_t agent_id,
						      kreplay_agent_info_t *info);

/** What a kernel takes as one of its arguments, as far as its code object says. The caller's. */
typedef struct kreplay_kernel_argument_t {
	uint64_t size;         /**< in: sizeof as the caller knows it; out: bytes filled */
	uint32_t offset;       /**< in the kernel's argument block, bytes */
	uint32_t bytes;
	uint32_t is_pointer;   /**< 1: to global memory */
	uint32_t is_read_only; /**< 1: a pointer through which the kernel is declared not to write */
	const char *name;      /**< ours, lives until the process ends; NULL when it is not recorded */
	const char *type;      /**< as the source has it; the same */
} kreplay_kernel_argument_t;

/**
 * Fills *argument for the kernel's argument `index`, counted from 0 in the order of the source; those that the compiler adds
 * are not among them. Set argument->size first. What lies beyond the library's own size is zeroed. [thread: any]
 * @return SUCCESS; INVALID_ARGUMENT for NULL, or for an index beyond the last; INCOMPATIBLE_ABI when size cannot hold
 *         `bytes`; KERNEL_NOT_FOUND; NOT_AVAILABLE when the code object describes no arguments
 */
KREPLAY_API kreplay_status_t kreplay_query_kernel_argument(kreplay_kernel_id_t kernel_id, uint32_t index,
							   kreplay_kernel_argument_t *argument);

/** Now, on the clock of every timestamp here: nanoseconds of the HSA system clock. [thread: any]
 *  @return SUCCESS; INVALID_ARGUMENT for NULL */
KREPLAY_API kreplay_status_t kreplay_get_timestamp(kreplay_timestamp_t *timestamp);

/* ---------------------------------------------------------------------------------------------
 * The report
 * ------------------------------------------------------------------------------------------- */

typedef enum kreplay_report_severity_t {
	KREPLAY_REPORT_INFO = 0,   /**< something to know */
	KREPLAY_REPORT_FINDING = 1 /**< something is wrong with the program: `kreplay run --check=fail` ends in status 3 */
} kreplay_report_severity_t;

/** `pass` of a note that is of no pass. */
#define KREPLAY_NO_PASS UINT64_MAX

/**
 * Something that a tool has found out, for the report. The tool's; copied.
 *
 * A note with an end_timestamp is a span: `text` is its name, and it is drawn in the timeline. Any other note's text is
 * printed below the table, after its topic and its kernel's name.
 */
typedef struct kreplay_report_note_t {
	uint64_t size;                       /**< sizeof(kreplay_report_note_t) */
	const char *topic;                   /**< whose it is: 1 to 31 of a-z, 0-9 and '-' */
	kreplay_report_severity_t severity;
	uint32_t reserved;                   /**< 0 */
	kreplay_kernel_id_t kernel_id;       /**< 0: of no kernel */
	kreplay_dispatch_id_t dispatch_id;   /**< 0: of no dispatch */
	uint64_t pass;                       /**< KREPLAY_NO_PASS: of no pass */
	const char *text;                    /**< for people, in UTF-8, one or more lines; NULL: none */
	const char *data;                    /**< for programs: one JSON object; NULL: none */
	kreplay_timestamp_t start_timestamp; /**< of a span; as kreplay_get_timestamp gives it */
	kreplay_timestamp_t end_timestamp;   /**< 0: no span */
} kreplay_report_note_t;

/**
 * Writes a note into the report of this run. It is there at once, whatever becomes of the process. [thread: any]
 *
 * @return SUCCESS; INVALID_ARGUMENT for NULL, a bad topic, a severity that does not exist, a span that ends before it
 *         starts, or data that is no JSON object; INCOMPATIBLE_ABI when size cannot hold `data`; KERNEL_NOT_FOUND;
 *         NOT_AVAILABLE when no report is made; OUT_OF_RESOURCES when the note is longer than a mebibyte or the journal
 *         is full, which the report counts
 *
 * Rationale: findings belong where the run's other figures are, in the table and in every file, of every process of the
 * run; a file of the tool's own would be lost or overwritten where several processes run.
 */
KREPLAY_API kreplay_status_t kreplay_report_note(const kreplay_report_note_t *note);

KREPLAY_EXTERN_C_FINI

#endif /* KREPLAY_KREPLAY_H */
