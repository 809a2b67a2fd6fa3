/* SPDX-License-Identifier: MIT */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void null_kernel(void)
{
}
