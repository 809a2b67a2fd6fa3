/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli/config.h"

/* Relative to the launcher's folder: the build tree first, then where meson installs. */
static const char *const library_places[] = {
	"preload/libkreplay.so",
	"../" KR_LIBDIR "/libkreplay.so",
	"../lib/libkreplay.so",
	"../lib64/libkreplay.so",
	NULL,
};

static const char *const softgpu_places[] = {
	"src/softgpu/libhsakmt.so.1",
	"../" KR_LIBDIR "/kreplay/softgpu/libhsakmt.so.1",
	"../lib/kreplay/softgpu/libhsakmt.so.1",
	"../lib64/kreplay/softgpu/libhsakmt.so.1",
	NULL,
};

static const char *const tool_places[] = {
	"src/tools/libkreplay-timing.so",
	"../" KR_LIBDIR "/kreplay/tools/libkreplay-timing.so",
	"../lib/kreplay/tools/libkreplay-timing.so",
	"../lib64/kreplay/tools/libkreplay-timing.so",
	NULL,
};

/*
 * The first place that is there, as the path of the file, or of its folder. The folder's name is
 * resolved and the file's is not: a link libhsakmt.so.1 may lead to a folder in which the dynamic
 * linker would not find that name.
 */
static char *find(const char *start, const char *const *places, bool folder_only)
{
	for (; *places; places++) {
		char path[PATH_MAX], *name, *folder, *file;
		int length;

		if (snprintf(path, sizeof(path), "%s/%s", start, *places) >= (int)sizeof(path) ||
		    access(path, R_OK) != 0)
			continue;
		name = strrchr(path, '/');
		*name++ = '\0';
		folder = realpath(path, NULL);
		if (!folder || folder_only)
			return folder;
		length = asprintf(&file, "%s/%s", folder, name);
		free(folder);
		return length < 0 ? NULL : file;
	}
	return NULL;
}

bool kr_cli_find_libraries(struct kr_cli_libraries *out)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	*out = (struct kr_cli_libraries){ 0 };
	if (length <= 0) {
		kr_cli_say("cannot tell where kreplay lies: /proc/self/exe: %m");
		return false;
	}
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	out->library = find(self, library_places, false);
	out->softgpu = find(self, softgpu_places, true);
	out->tools = find(self, tool_places, true);
	return true;
}

void kr_cli_free_libraries(struct kr_cli_libraries *libraries)
{
	free(libraries->library);
	free(libraries->softgpu);
	free(libraries->tools);
	*libraries = (struct kr_cli_libraries){ 0 };
}
