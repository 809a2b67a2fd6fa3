/* SPDX-License-Identifier: MIT */
/*
 * The binary interface, frozen: sizes, offsets and values as an x86-64 tool that was built once relies on them. What is
 * here never changes; what is appended to a struct gets new rows, and its size a new value.
 */
#ifndef KR_ABI_LAYOUT_H
#define KR_ABI_LAYOUT_H

#include <kreplay/kreplay.h>

#include <stddef.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

#define FIELD(type, field, offset, bytes)                                                                              \
	CHECK(offsetof(type, field) == (offset));                                                                      \
	CHECK(sizeof(((type *)0)->field) == (bytes))

CHECK(sizeof(void *) == 8);

/* Every enum is an int wide, whatever it is built with. */
CHECK(sizeof(kreplay_status_t) == 4);
CHECK(sizeof(kreplay_callback_tracing_kind_t) == 4);
CHECK(sizeof(kreplay_callback_phase_t) == 4);
CHECK(sizeof(kreplay_outcome_t) == 4);
CHECK(sizeof(kreplay_decline_t) == 4);
CHECK(sizeof(kreplay_region_kind_t) == 4);
CHECK(sizeof(kreplay_tracing_operation_t) == 4);

CHECK(sizeof(kreplay_user_data_t) == 8);
CHECK(sizeof(kreplay_context_id_t) == 8);

CHECK(sizeof(kreplay_kernel_dispatch_info_t) == 128);
FIELD(kreplay_kernel_dispatch_info_t, size, 0, 8);
FIELD(kreplay_kernel_dispatch_info_t, agent_id, 8, 8);
FIELD(kreplay_kernel_dispatch_info_t, queue_id, 16, 8);
FIELD(kreplay_kernel_dispatch_info_t, kernel_id, 24, 8);
FIELD(kreplay_kernel_dispatch_info_t, dispatch_id, 32, 8);
FIELD(kreplay_kernel_dispatch_info_t, private_segment_size, 40, 4);
FIELD(kreplay_kernel_dispatch_info_t, group_segment_size, 44, 4);
FIELD(kreplay_kernel_dispatch_info_t, workgroup_size, 48, 12);
FIELD(kreplay_kernel_dispatch_info_t, grid_size, 60, 12);
FIELD(kreplay_kernel_dispatch_info_t, reserved_padding, 72, 56);

CHECK(sizeof(kreplay_callback_tracing_kernel_replay_data_t) == 376);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, size, 0, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, dispatch_info, 8, 128);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, current_pass, 136, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, total_passes, 144, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, replay_pass_count, 152, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, replay_continue, 160, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, replay_start_context, 168, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, replay_stop_context, 176, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, outcome, 184, 4);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, decline, 188, 4);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, flags, 192, 4);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, requests, 196, 4);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, passes_run, 200, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, snapshot, 208, 56);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, restore, 264, 56);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, left_out_bytes, 320, 32);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, window_ns, 352, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, memory, 360, 8);
FIELD(kreplay_callback_tracing_kernel_replay_data_t, left_out_read_only, 368, 8);

CHECK(sizeof(kreplay_phase_stats_t) == 56);
FIELD(kreplay_phase_stats_t, size, 0, 8);
FIELD(kreplay_phase_stats_t, regions, 8, 8);
FIELD(kreplay_phase_stats_t, bytes, 16, 8);
FIELD(kreplay_phase_stats_t, dirty_bytes, 24, 8);
FIELD(kreplay_phase_stats_t, host_link_bytes, 32, 8);
FIELD(kreplay_phase_stats_t, ns, 40, 8);
FIELD(kreplay_phase_stats_t, tier, 48, 4);
FIELD(kreplay_phase_stats_t, reserved, 52, 4);

CHECK(sizeof(kreplay_callback_tracing_kernel_dispatch_data_t) == 168);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, size, 0, 8);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, start_timestamp, 8, 8);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, end_timestamp, 16, 8);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, dispatch_info, 24, 128);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, replay_pass, 152, 8);
FIELD(kreplay_callback_tracing_kernel_dispatch_data_t, total_passes, 160, 8);

CHECK(sizeof(kreplay_correlation_id_t) == 24);
FIELD(kreplay_correlation_id_t, internal, 0, 8);
FIELD(kreplay_correlation_id_t, external, 8, 8);
FIELD(kreplay_correlation_id_t, ancestor, 16, 8);

CHECK(sizeof(kreplay_callback_tracing_record_t) == 64);
FIELD(kreplay_callback_tracing_record_t, context_id, 0, 8);
FIELD(kreplay_callback_tracing_record_t, thread_id, 8, 8);
FIELD(kreplay_callback_tracing_record_t, correlation_id, 16, 24);
FIELD(kreplay_callback_tracing_record_t, kind, 40, 4);
FIELD(kreplay_callback_tracing_record_t, operation, 44, 4);
FIELD(kreplay_callback_tracing_record_t, phase, 48, 4);
FIELD(kreplay_callback_tracing_record_t, payload, 56, 8);

CHECK(sizeof(kreplay_memory_view_t) == 48);
FIELD(kreplay_memory_view_t, size, 0, 8);
FIELD(kreplay_memory_view_t, iterate_regions, 8, 8);
FIELD(kreplay_memory_view_t, iterate_changes, 16, 8);
FIELD(kreplay_memory_view_t, read_current, 24, 8);
FIELD(kreplay_memory_view_t, read_snapshot, 32, 8);
FIELD(kreplay_memory_view_t, hash_region, 40, 8);

CHECK(sizeof(kreplay_memory_region_t) == 32);
FIELD(kreplay_memory_region_t, address, 8, 8);
FIELD(kreplay_memory_region_t, bytes, 16, 8);
FIELD(kreplay_memory_region_t, kind, 24, 4);
FIELD(kreplay_memory_region_t, argument, 28, 4);

CHECK(sizeof(kreplay_memory_range_t) == 16);
FIELD(kreplay_memory_range_t, address, 0, 8);
FIELD(kreplay_memory_range_t, bytes, 8, 8);

CHECK(sizeof(kreplay_client_id_t) == 24);
FIELD(kreplay_client_id_t, size, 0, 8);
FIELD(kreplay_client_id_t, name, 8, 8);
FIELD(kreplay_client_id_t, handle, 16, 4);

CHECK(sizeof(kreplay_tool_configure_result_t) == 32);
FIELD(kreplay_tool_configure_result_t, size, 0, 8);
FIELD(kreplay_tool_configure_result_t, initialize, 8, 8);
FIELD(kreplay_tool_configure_result_t, finalize, 16, 8);
FIELD(kreplay_tool_configure_result_t, tool_data, 24, 8);

CHECK(sizeof(kreplay_agent_info_t) == 160);
FIELD(kreplay_agent_info_t, size, 0, 8);
FIELD(kreplay_agent_info_t, id, 8, 8);
FIELD(kreplay_agent_info_t, memory_bytes, 16, 8);
FIELD(kreplay_agent_info_t, node, 24, 4);
FIELD(kreplay_agent_info_t, compute_units, 28, 4);
FIELD(kreplay_agent_info_t, name, 32, 64);
FIELD(kreplay_agent_info_t, isa, 96, 64);

/* Values */
CHECK(KREPLAY_STATUS_SUCCESS == 0 && KREPLAY_STATUS_ERROR == 1 && KREPLAY_STATUS_ERROR_CONTEXT_NOT_FOUND == 2);
CHECK(KREPLAY_STATUS_ERROR_KIND_NOT_FOUND == 4 && KREPLAY_STATUS_ERROR_OPERATION_NOT_FOUND == 5);
CHECK(KREPLAY_STATUS_ERROR_AGENT_NOT_FOUND == 7 && KREPLAY_STATUS_ERROR_CONTEXT_ERROR == 9);
CHECK(KREPLAY_STATUS_ERROR_CONTEXT_INVALID == 10 && KREPLAY_STATUS_ERROR_CONTEXT_NOT_STARTED == 11);
CHECK(KREPLAY_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED == 15 && KREPLAY_STATUS_ERROR_CONFIGURATION_LOCKED == 16);
CHECK(KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI == 18 && KREPLAY_STATUS_ERROR_INVALID_ARGUMENT == 19);
CHECK(KREPLAY_STATUS_ERROR_FINALIZED == 21 && KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES == 29);
CHECK(KREPLAY_STATUS_ERROR_NOT_AVAILABLE == 36 && KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND == 256);
CHECK(KREPLAY_CALLBACK_TRACING_KERNEL_DISPATCH == 1 && KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY == 2);
CHECK(KREPLAY_KERNEL_REPLAY_NONE == 0 && KREPLAY_KERNEL_REPLAY_CONFIG == 1 && KREPLAY_KERNEL_REPLAY_PASS == 2);
CHECK(KREPLAY_KERNEL_REPLAY_SNAPSHOT == 3 && KREPLAY_KERNEL_REPLAY_RESTORE == 4);
CHECK(KREPLAY_KERNEL_DISPATCH_NONE == 0 && KREPLAY_KERNEL_DISPATCH_ENQUEUE == 1);
CHECK(KREPLAY_KERNEL_DISPATCH_COMPLETE == 2);
CHECK(KREPLAY_CALLBACK_PHASE_NONE == 0 && KREPLAY_CALLBACK_PHASE_ENTER == 1 && KREPLAY_CALLBACK_PHASE_EXIT == 2);
CHECK(KREPLAY_OUTCOME_NONE == 0 && KREPLAY_OUTCOME_ONCE == 1 && KREPLAY_OUTCOME_REPLAYED == 2);
CHECK(KREPLAY_OUTCOME_DECLINED == 3);
CHECK(KREPLAY_DECLINE_NONE == 0 && KREPLAY_DECLINE_OUT_OF_MEMORY == 1 && KREPLAY_DECLINE_COPY_FAILED == 2);
CHECK(KREPLAY_DECLINE_VARIABLES_UNKNOWN == 3 && KREPLAY_DECLINE_OVER_BUDGET == 4);
CHECK(KREPLAY_DECLINE_DRAIN_TIMEOUT == 5 && KREPLAY_DECLINE_STUCK_PASS == 6 && KREPLAY_DECLINE_REENTRANT == 7);
CHECK(KREPLAY_DECLINE_BAD_PASS_COUNT == 8 && KREPLAY_DECLINE_UNSUPPORTED_PACKET == 9);
CHECK(KREPLAY_DECLINE_PASS_FAILED == 10 && KREPLAY_DECLINE_SHUTTING_DOWN == 11);
CHECK(KREPLAY_FLAG_REENTRANT == 1 && KREPLAY_FLAG_PEER_MEMORY == 2 && KREPLAY_FLAG_PLAIN_COPIES == 4);
CHECK(KREPLAY_FLAG_OTHER_THREAD == 8 && KREPLAY_FLAG_EXTERNALLY_VISIBLE == 16);
CHECK(KREPLAY_DECLINE_EXTERNALLY_VISIBLE == 12 && KREPLAY_REQUEST_DECLINE_VISIBLE == 1);
CHECK(KREPLAY_TIER_NONE == 0 && KREPLAY_TIER_DEVICE == 1 && KREPLAY_TIER_PINNED == 2 && KREPLAY_TIER_PAGEABLE == 3);
CHECK(KREPLAY_TIER_MIXED == 4);
CHECK(KREPLAY_REGION_POOL == 0 && KREPLAY_REGION_REGION == 1 && KREPLAY_REGION_VARIABLE == 2);
CHECK(KREPLAY_REGION_VMEM == 3);
CHECK(KREPLAY_LEFT_OUT_KERNARG == 0 && KREPLAY_LEFT_OUT_HOST == 1 && KREPLAY_LEFT_OUT_FINE_GRAINED == 2);
CHECK(KREPLAY_LEFT_OUT_EXECUTABLE == 3 && KREPLAY_LEFT_OUT_CLASSES == 4);

#endif
