/* SPDX-License-Identifier: MIT */
/*
 * The few words in which OpenCL C and CUDA differ, so that kernels.cl is both.
 * No library of either language is used: only what the compiler has built in.
 */
#ifndef KR_DEVICE_DIALECT_H
#define KR_DEVICE_DIALECT_H

#include "layout.h"

#if defined(__OPENCL_C_VERSION__)

#define KR_KERNEL __attribute__((reqd_work_group_size(64, 1, 1))) kernel void
#define KR_INLINE static inline __attribute__((always_inline))
#define KR_GLOBAL global
/* What nobody writes while kernels run, read by scalar loads where the address is the same in all lanes. */
#define KR_CONST constant
#define KR_SHARED local
#define KR_LOCAL_PTR local
#define KR_LANE() __builtin_amdgcn_workitem_id_x()
#define KR_GROUP() __builtin_amdgcn_workgroup_id_x()
/* Keeps the compiler from adding a lane's offset to a scalar before the last moment, at the load. */
#define KR_SCALAR(x) __asm__("" : "+s"(x))
/* Whether x is not 0 in any work-item. A work-group is one wave: the build asks for 64 lanes. 33: unequal. */
#define KR_ANY(x) (__builtin_amdgcn_uicmp(x, 0u, 33) != 0)
#define KR_BARRIER() \
	do { \
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
		__builtin_amdgcn_s_barrier(); \
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
	} while (0)
#define KR_ADD32(p, v) \
	__opencl_atomic_fetch_add((local atomic_uint *)(p), v, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
#define KR_ADD64(p, v) \
	__opencl_atomic_fetch_add((local atomic_ulong *)(p), v, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
typedef kr_u32 kr_vec __attribute__((ext_vector_type(4)));

#elif defined(__CUDACC__)

#define KR_KERNEL extern "C" __global__ void __launch_bounds__(64)
#define KR_INLINE static __device__ __forceinline__
#define KR_GLOBAL
#define KR_SHARED __shared__
#define KR_LOCAL_PTR
#define KR_LANE() threadIdx.x
#define KR_GROUP() blockIdx.x
#define KR_CONST
#define KR_SCALAR(x) (void)(x)
#define KR_ANY(x) __syncthreads_or((x) != 0u)
#define KR_BARRIER() __syncthreads()
#define KR_ADD32(p, v) atomicAdd(p, v)
#define KR_ADD64(p, v) atomicAdd((unsigned long long *)(p), (unsigned long long)(v))
typedef uint4 kr_vec;

#else
#error "kernels are compiled as OpenCL C or as CUDA"
#endif

#endif
