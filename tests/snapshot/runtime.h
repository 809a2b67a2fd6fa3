/* SPDX-License-Identifier: MIT */
/* The engine on the real runtime, without a door: kr_next is the runtime itself. What an application would do is done
 * through the hooks, and device memory is reached by copies only. */
#ifndef SNAPSHOT_RUNTIME_H
#define SNAPSHOT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents.h"
#include "core/snapshot.h"

struct kr_agent *runtime_start(void); /* the first GPU; ends the program when there is none */
void runtime_stop(void);

void *runtime_alloc(struct kr_agent *agent, size_t bytes);
void runtime_free(void *memory);
void runtime_write(struct kr_agent *agent, void *to, const void *from, size_t bytes);
void runtime_read(struct kr_agent *agent, void *to, const void *from, size_t bytes);

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			runtime_die(__FILE__, __LINE__, #condition); \
	} while (0)
_Noreturn void runtime_die(const char *file, int line, const char *what);

#endif
