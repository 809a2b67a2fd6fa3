/* SPDX-License-Identifier: MIT */
/* What the runtime-level test dispatches. */

__kernel void vector_add(__global const int *a, __global const int *b, __global int *c, int n)
{
	int i = get_global_id(0);

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Every id in three dimensions, with partial work-groups. */
__kernel void ids(__global int *out, int width, int height)
{
	int at = (get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0);

	out[at] = get_group_id(0) | get_group_id(1) << 6 | get_group_id(2) << 12 |
	          get_local_id(0) << 18 | get_local_id(1) << 24 | get_local_id(2) << 28;
}

__kernel void reverse_in_group(__global int *data, __local int *tmp)
{
	int l = get_local_id(0), n = get_local_size(0), base = get_group_id(0) * n;

	tmp[l] = data[base + l];
	barrier(CLK_LOCAL_MEM_FENCE);
	data[base + l] = tmp[n - 1 - l];
}

/* An array that cannot live in registers: scratch. */
__kernel void scratch(__global int *out, __global const int *index)
{
	int stack[64];
	int i = get_global_id(0);

	for (int k = 0; k < 64; k++)
		stack[k] = i * 64 + k;
	for (int k = 0; k < 64; k++)
		stack[index[k]] += stack[index[63 - k]];
	out[i] = stack[index[i & 63]];
}

/* A signal of the host's, and how the device library counts it down. */
typedef struct {
	ulong handle;
} hsa_signal_t;
void __ockl_hsa_signal_subtract(hsa_signal_t signal, long value, int memory_order);

/* Tells when it has begun, if there is whom to tell. */
__kernel void wait_for_flag(__global volatile int *flag, __global int *out, hsa_signal_t begun)
{
	if (begun.handle && get_global_id(0) == 0)
		__ockl_hsa_signal_subtract(begun, 1, memory_order_release);
	while (__opencl_atomic_load((__global atomic_int *)flag, memory_order_acquire,
	                            memory_scope_all_svm_devices) == 0)
		;
	out[get_global_id(0)] = 1;
}

__kernel void set_flag(__global volatile int *flag)
{
	__opencl_atomic_store((__global atomic_int *)flag, 1, memory_order_release,
	                      memory_scope_all_svm_devices);
}

__kernel void count(__global volatile int *counter)
{
	__opencl_atomic_fetch_add((__global atomic_int *)counter, 1, memory_order_relaxed,
	                          memory_scope_device);
}

__kernel void wild_store(__global int *where)
{
	where[get_global_id(0)] = 1;
}

/* LDS at any address: a store, loads of both widths and an atomic; then whether anything of the group's own changed. */
__kernel void lds_at(__global uint *out, uint address, __local uint *mine, uint words)
{
	__local volatile uint *p = (__local volatile uint *)address;

	if (get_local_id(0))
		return;
	for (uint i = 0; i < words; i++)
		mine[i] = i ^ 0x5a5a5a5a;
	*p = 7;
	out[0] = *p;
	out[1] = (uint)(*(__local volatile ulong *)p >> 32);
	out[2] = __opencl_atomic_fetch_add((__local atomic_uint *)p, 1, memory_order_relaxed,
	                                   memory_scope_work_group);
	out[3] = 0;
	for (uint i = 0; i < words; i++)
		out[3] += mine[i] != (i ^ 0x5a5a5a5a);
}

/* An atomic of each kind, `skew` bytes into where it should be. */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define ADD(type, address) \
	__opencl_atomic_fetch_add((type *)(address), 1, memory_order_relaxed, memory_scope_device)
__kernel void add_at(__global char *out, __local char *lds, uint kind, uint skew)
{
	char *either = kind & 1 ? (char *)lds : (char *)out;

	switch (kind) {
	case 0: ADD(__global atomic_int, out + skew); break;
	case 1: ADD(__local atomic_int, lds + skew); break;
	case 2: ADD(__global atomic_long, out + skew); break;
	case 3: ADD(__local atomic_long, lds + skew); break;
	case 4: case 5: ADD(atomic_int, either + skew); break;
	default: ADD(atomic_long, either + skew);
	}
}

__kernel void unknown_instruction(__global int *out)
{
	out[0] = 1;
	__asm__ volatile(".long 0xbfff0000");
	out[0] = 2;
}

__kernel void nothing(void)
{
}

/* The device's clock. */
__kernel void stamp(__global ulong *when)
{
	*when = __builtin_amdgcn_s_memrealtime();
}

/* Who came when: order[k] is the id of the k-th, group by group. */
__kernel void arrive(__global volatile int *counter, __global int *order, int id)
{
	if (get_local_id(0) == 0)
		order[__opencl_atomic_fetch_add((__global atomic_int *)counter, 1, memory_order_relaxed,
		                                memory_scope_device)] = id + get_group_id(0);
}

/* A lock that work-groups fight for, around an increment that is not atomic. */
__kernel void locked_count(__global volatile int *lock, __global volatile int *counter)
{
	if (get_local_id(0) != 0)
		return;
	for (int i = 0; i < 10; i++) {
		int expected = 0;

		while (!__opencl_atomic_compare_exchange_strong(
			(__global atomic_int *)lock, &expected, 1, memory_order_acquire,
			memory_order_relaxed, memory_scope_device))
			expected = 0;
		*counter = *counter + 1;
		__opencl_atomic_store((__global atomic_int *)lock, 0, memory_order_release,
		                      memory_scope_device);
	}
}

/* The device library's grid barrier, as cooperative launches use it. */
void __ockl_gws_init(uint count, uint resource);
void __ockl_grid_sync(void);

__kernel void grid_init(uint count)
{
	__ockl_gws_init(count, 0);
}

__kernel void grid_rounds(__global volatile int *counter, __global int *bad)
{
	int groups = get_num_groups(0);

	for (int round = 1; round <= 5; round++) {
		if (get_local_id(0) == 0)
			__opencl_atomic_fetch_add((__global atomic_int *)counter, 1,
			                          memory_order_relaxed, memory_scope_device);
		__ockl_grid_sync();
		if (*counter < round * groups || *counter > round * groups + groups)
			*bad = round;
		__ockl_grid_sync();
		if (*counter != round * groups)
			*bad = -round;
		__ockl_grid_sync();
	}
}
