/* SPDX-License-Identifier: MIT */
/* In place: y is read and written, so running this twice on the same y is not running it once. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void saxpy(__global float *y, __global const float *x, float a, uint n)
{
	uint i = get_global_id(0);

	if (i < n)
		y[i] = fma(a, x[i], y[i]);
}
