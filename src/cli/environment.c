/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "options/options.h"

char *kr_cli_prepend(const char *old, const char *element, const char *separators)
{
	size_t length = strlen(element);
	char *fresh = malloc(length + 1 + (old ? strlen(old) : 0) + 1), *out;

	if (!fresh)
		return NULL;
	out = stpcpy(fresh, element);
	if (!old || old[0] == '\0')
		return fresh;
	/* what was there, byte for byte, without a second mention of ours */
	for (const char *at = old;;) {
		size_t span = strcspn(at, separators);

		if (span != length || memcmp(at, element, length) != 0) {
			*out++ = at == old ? separators[0] : at[-1];
			memcpy(out, at, span);
			out += span;
		}
		if (at[span] == '\0')
			break;
		at += span + 1;
	}
	*out = '\0';
	return fresh;
}

static bool prepend_variable(const char *name, const char *element, const char *separators)
{
	char *value = kr_cli_prepend(getenv(name), element, separators);
	bool done = value && setenv(name, value, 1) == 0;

	if (!done)
		kr_cli_say("no memory for %s", name);
	free(value);
	return done;
}

bool kr_cli_add_preload(const char *library)
{
	/* ld.so(8): both separate, and neither can be escaped */
	if (strpbrk(library, " :")) {
		kr_cli_say("LD_PRELOAD cannot hold '%s', which has a space or a colon in it (try "
			   "--door tools-lib)",
			   library);
		return false;
	}
	return prepend_variable("LD_PRELOAD", library, ": ");
}

bool kr_cli_add_tools_lib(const char *library)
{
	/* the runtime splits the list at spaces and takes what follows a backslash as it is */
	char *escaped = malloc(2 * strlen(library) + 1), *out = escaped;
	bool done;

	if (!escaped) {
		kr_cli_say("no memory for HSA_TOOLS_LIB");
		return false;
	}
	for (; *library; library++) {
		if (strchr(" \"\\", *library))
			*out++ = '\\';
		*out++ = *library;
	}
	*out = '\0';
	/* an element with an escaped space in it is never found again; the runtime loads a library
	 * once all the same */
	done = prepend_variable("HSA_TOOLS_LIB", escaped, " ");
	free(escaped);
	return done;
}

bool kr_cli_add_library_path(const char *folder)
{
	/* ld.so(8): both separate, and neither can be escaped */
	if (strpbrk(folder, ":;")) {
		kr_cli_say(
			"LD_LIBRARY_PATH cannot hold '%s', which has a colon or a semicolon in it",
			folder);
		return false;
	}
	return prepend_variable("LD_LIBRARY_PATH", folder, ":;");
}

bool kr_cli_use_softgpu(const struct kr_cli_libraries *libraries, const char *spec)
{
	if (!libraries->softgpu) {
		kr_cli_say("the software GPU (libhsakmt.so.1) is not where kreplay looks for it");
		return false;
	}
	/* without a specification the variable keeps what it holds */
	if (spec && spec[0] && setenv(kr_option_table[KR_OPTION_SOFTGPU].env, spec, 1) != 0) {
		kr_cli_say("no memory for the environment");
		return false;
	}
	return kr_cli_add_library_path(libraries->softgpu);
}
