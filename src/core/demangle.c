/* SPDX-License-Identifier: MIT */
#include "core/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);

static demangle_fn demangle;

static void
find(void)
{
	static const char *const owners[] = {"libstdc++.so.6", "libc++abi.so.1"};

	demangle = (demangle_fn)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	for (size_t i = 0; demangle == NULL && i < sizeof(owners) / sizeof(owners[0]); i++) {
		void *library = dlopen(owners[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library == NULL)
			continue;
		demangle = (demangle_fn)dlsym(library, "__cxa_demangle");
		/* The reference is kept with the pointer. */
	}
}

char *
kr_demangle(const char *mangled)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *name = NULL;
	int status = 0;

	if (strncmp(mangled, "_Z", 2) == 0) {
		pthread_once(&once, find);
		if (demangle != NULL)
			name = demangle(mangled, NULL, NULL, &status);
	}
	return name != NULL ? name : strdup(mangled);
}
