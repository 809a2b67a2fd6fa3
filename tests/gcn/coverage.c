/* SPDX-License-Identifier: MIT */
/*
 * How much of real code the instruction table knows. Reads llvm-objdump's disassembly of gfx90a code objects; each
 * line ends in a comment with the address and the words of the instruction, which are decoded here and must come out
 * under llvm's name and with llvm's size.
 *
 * usage: coverage NAME < disassembly      prints "NAME known total percent", then the unknown ones by count
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst.h"

#define NAMES 4096

struct unknown {
	char name[48];
	unsigned long count;
	char first[96]; /* an example */
};

static struct unknown unknown[NAMES];

static void count_unknown(const char *name, const char *line)
{
	unsigned int h = 5381;
	struct unknown *u;

	for (const char *c = name; *c; c++)
		h = h * 33 + (unsigned char)*c;
	for (u = &unknown[h % NAMES]; u->count && strcmp(u->name, name); u = &unknown[(size_t)(u - unknown + 1) % NAMES])
		;
	if (!u->count) {
		snprintf(u->name, sizeof(u->name), "%s", name);
		snprintf(u->first, sizeof(u->first), "%s", line);
	}
	u->count++;
}

static int by_count(const void *a, const void *b)
{
	const struct unknown *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->name, y->name);
}

/* llvm names the encoding where it matters to the assembler. */
static void bare_name(char *name)
{
	static const char *const suffix[] = { "_e32", "_e64", "_sdwa", "_dpp" };
	size_t n = strlen(name);

	for (size_t k = 0; k < sizeof(suffix) / sizeof(suffix[0]); k++) {
		size_t m = strlen(suffix[k]);

		if (n > m && !strcmp(name + n - m, suffix[k])) {
			name[n - m] = 0;
			return;
		}
	}
}

static bool known(const char *name, const uint32_t *word, unsigned int words)
{
	struct gcn_consts *consts = NULL;
	struct gcn_inst in;
	unsigned int size = gcn_decode(&in, GCN_GFX90A, 0x1000, word, &consts);

	gcn_consts_free(consts);
	return in.fn != gcn_illegal && size == 4 * words && !strcmp(in.row->name, name);
}

int main(int argc, char **argv)
{
	static char line[4096];
	unsigned long total = 0, good = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: coverage NAME < disassembly\n");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *comment = strstr(line, "// "), name[48];
		uint32_t word[4] = { 0 };
		unsigned int words;

		if (!comment || (line[0] != '\t' && line[0] != ' ') || sscanf(line, " %47s", name) != 1)
			continue;
		words = (unsigned int)sscanf(comment, "// %*[0-9A-F]: %8x %8x %8x", &word[0], &word[1], &word[2]);
		if (words < 1 || words > 3)
			continue;
		/* Padding between functions and what follows the last one. */
		if (!strcmp(name, "s_code_end") || !strcmp(name, ".long"))
			continue;
		total++;
		bare_name(name);
		if (known(name, word, words)) {
			good++;
		} else {
			line[strcspn(line, "\n")] = 0;
			count_unknown(name, line + strspn(line, " \t"));
		}
	}
	if (!total) {
		fprintf(stderr, "coverage: no instructions in the disassembly of %s\n", argv[1]);
		return 1;
	}
	/* Rounded down: 100 means all. */
	printf("%s %lu %lu %lu.%04lu\n", argv[1], good, total, good * 100 / total, good * 1000000 / total % 10000);
	qsort(unknown, NAMES, sizeof(unknown[0]), by_count);
	for (size_t k = 0; k < NAMES && unknown[k].count; k++)
		printf("  %lu %s: %s\n", unknown[k].count, unknown[k].name, unknown[k].first);
	return 0;
}
