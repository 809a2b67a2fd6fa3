/* SPDX-License-Identifier: MIT */
/*
 * The watcher: finds packets that were published without a ring that we saw (a
 * doorbell written through its pointer, or by the device), and keeps the read
 * index fresh for those who read it where it lies. One thread for all queues;
 * it looks rarely while there is nothing to see.
 */
#ifndef KR_WATCHER_H
#define KR_WATCHER_H

void kr_watcher_start(void); /* at the first queue */
void kr_watcher_stop(void);

#endif
