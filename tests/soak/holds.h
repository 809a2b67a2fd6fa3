/* SPDX-License-Identifier: MIT */
/* What a process holds: descriptors, threads, handlers of signals and mappings, each by its name. */
#ifndef HOLDS_H
#define HOLDS_H

#include <stdbool.h>

struct holds;

struct holds *holds_now(void);
void holds_free(struct holds *holds);

/* Whether there is nothing in `after` that was not in `before`, but for what may stay (NULL: nothing may). Prints
 * what is. A line is its kind ("descriptor", "thread", "handler of signal", "blocked signal", "mapping") and its
 * name. */
bool holds_no_more(const struct holds *before, const struct holds *after, bool (*may_stay)(const char *line));

#endif
