/* SPDX-License-Identifier: MIT */
int unrelated(void);

int unrelated(void)
{
	return 0;
}
