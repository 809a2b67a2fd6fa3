/* SPDX-License-Identifier: MIT */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void add(__global uint *values, uint amount, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		values[i] += amount;
}

/* The order of two of these shows in the result, and so does one too many. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void mix(__global uint *values, uint amount, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		values[i] = values[i] * 3 + amount;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void bump(volatile __global uint *cell)
{
	atomic_add(cell, 1u);
}

/* Waits for a flag in device memory that another kernel raises. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void wait_flag(volatile __global uint *flag, __global uint *out)
{
	while (*flag == 0)
		;
	*out += 1;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void set_flag(volatile __global uint *flag)
{
	atomic_xchg(flag, 1u);
}

/* Says "ready" to the host and waits for its "go"; both in host memory. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void handshake(volatile __global uint *ready, volatile __global uint *go, __global uint *out)
{
	atomic_xchg(ready, 1u);
	while (*go == 0)
		;
	*out += 1;
}

/* Rings a doorbell from the device. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ring(volatile __global long *doorbell, long index)
{
	*doorbell = index;
}
