/* SPDX-License-Identifier: MIT */
/* Whether this compiler can link a target at all. */
#include <stddef.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	return 0;
}
