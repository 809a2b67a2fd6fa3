/* SPDX-License-Identifier: MIT */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void daxpy(__global double *y, __global const double *x, double a, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		y[i] = fma(a, x[i], y[i]);
}
