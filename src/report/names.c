/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool has_suffix(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot != name && dot[1];
}

enum kr_report_kind kr_report_kind_of(const char *path)
{
	if (ends_in(path, ".perfetto.json"))
		return KR_REPORT_PERFETTO;
	if (ends_in(path, ".csv"))
		return KR_REPORT_CSV;
	if (ends_in(path, ".html") || ends_in(path, ".htm"))
		return KR_REPORT_HTML;
	return ends_in(path, ".json") || !has_suffix(path) ? KR_REPORT_JSON : KR_REPORT_UNKNOWN;
}

int32_t kr_report_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		char *end;
		long rank;

		if (!value || value[0] < '0' || value[0] > '9')
			continue;
		errno = 0;
		rank = strtol(value, &end, 10);
		if (*end == '\0' && errno == 0 && rank <= INT32_MAX)
			return (int32_t)rank;
	}
	return -1;
}

static void add_name(struct kr_text *out, const char *name)
{
	for (; *name; name++)
		kr_text_add_bytes(out, *name == '/' ? "_" : name, 1);
}

char *kr_report_expand(const char *pattern, const char *program)
{
	const char *base = program ? strrchr(program, '/') : NULL;
	struct kr_text out = { 0 };
	char host[256] = "";
	int32_t rank = kr_report_rank();

	gethostname(host, sizeof(host) - 1);
	kr_text_add(&out, "");
	for (; *pattern; pattern++) {
		if (*pattern != '%' || !pattern[1]) {
			kr_text_add_bytes(&out, pattern, 1);
			continue;
		}
		switch (*++pattern) {
		case 'p':
			kr_text_addf(&out, "%d", (int)getpid());
			break;
		case 'h':
			add_name(&out, host);
			break;
		case 'r':
			kr_text_addf(&out, "%d", rank < 0 ? 0 : (int)rank);
			break;
		case 'n':
			add_name(&out, base ? base + 1 : program ? program : "");
			break;
		case '%':
			kr_text_add(&out, "%");
			break;
		default:
			kr_text_add_bytes(&out, pattern - 1, 2);
		}
	}
	return kr_text_take(&out, NULL);
}

bool kr_report_make_folders(const char *path)
{
	char *copy = strdup(path);
	bool done = copy != NULL;

	for (char *at = copy ? strchr(copy + 1, '/') : NULL; at && done; at = strchr(at + 1, '/')) {
		*at = '\0';
		done = mkdir(copy, 0777) == 0 || errno == EEXIST || errno == EROFS || access(copy, F_OK) == 0;
		*at = '/';
	}
	free(copy);
	return done;
}
