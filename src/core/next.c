/* SPDX-License-Identifier: MIT */
#include "core/next.h"

struct kr_next kr_next;

const char *
kr_status_text(hsa_status_t status)
{
	const char *text = NULL;

	if (kr_next.hsa_status_string == NULL ||
	    kr_next.hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || text == NULL)
		return "unknown status";
	return text;
}
