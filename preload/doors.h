/* SPDX-License-Identifier: MIT */
#ifndef KR_DOORS_H
#define KR_DOORS_H

/* The runtime handed us its API table: the exported functions only pass through
 * from now on. */
void kr_preload_close(void);

#endif
