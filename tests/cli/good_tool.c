/* SPDX-License-Identifier: MIT */
#include <stdio.h>

/* What a tool's constructor prints while the launcher has a look at it is not to be seen. */
__attribute__((constructor)) static void noise(void)
{
	puts("noise on standard output");
	fputs("noise on standard error\n", stderr);
	fflush(NULL);
}

/* Only the name matters here: the launcher looks for it and does not call it. */
__attribute__((visibility("default"))) void *kreplay_configure(void);

void *kreplay_configure(void)
{
	return NULL;
}
