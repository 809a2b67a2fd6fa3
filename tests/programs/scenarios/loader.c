/* SPDX-License-Identifier: MIT */
/* loader MODULE: knows nothing of HSA; loads a module that does, lets it work, unloads it, and exits with 0 or 1. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		void *module = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
		int (*work)(void);
		void *symbol;

		if (!module || !(symbol = dlsym(module, "module_work"))) {
			fprintf(stderr, "loader: %s\n", dlerror());
			return 2;
		}
		memcpy(&work, &symbol, sizeof(work));
		if (work() != 0)
			return 1;
		dlclose(module);
	}
	puts("loader: ok");
	return 0;
}
