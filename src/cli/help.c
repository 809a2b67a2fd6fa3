/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define COLUMNS 80

void kr_cli_print_usage(FILE *to)
{
	fprintf(to, "usage: kreplay COMMAND ...\n"
		    "       kreplay --help | --version\n\n"
		    "Replays the GPU kernels of unmodified HSA programs in place.\n\ncommands:\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (!command->hidden)
			fprintf(to, "  %-10s %s\n", command->name, command->summary);
	}
	fprintf(to, "\n\"kreplay help COMMAND\" describes a command and its flags.\n");
}

/* Words from `indent` on; the first line starts at `column`. */
static void print_wrapped(const char *text, size_t indent, size_t column)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > indent && column + 1 + word > COLUMNS) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)word, text);
		column += word;
		text += word;
		while (*text == ' ')
			text++;
	}
	putchar('\n');
}

static void print_flag(const struct kr_cli_flag *flag)
{
	printf("  ");
	if (flag->letter)
		printf("-%c, ", flag->letter);
	printf("--%s", flag->flag);
	if (flag->argument == KR_ARGUMENT_REQUIRED)
		printf(" %s", flag->metavar);
	else if (flag->argument == KR_ARGUMENT_OPTIONAL)
		printf("[=%s]", flag->metavar);
	printf("\n%*s", 8, "");
	print_wrapped(flag->help, 8, 8);
	if (flag->env)
		printf("%*s[environment: %s%s%s]\n", 8, "", flag->env,
		       flag->fallback ? "; default: " : "", flag->fallback ? flag->fallback : "");
}

void kr_cli_print_help(const struct kr_cli_command *command)
{
	struct kr_cli_flag flags[KR_CLI_MOST_FLAGS];
	size_t count = command->flags ? command->flags(flags) : 0;

	printf("usage: kreplay %s %s\n", command->name, command->synopsis);
	for (const char *const *paragraph = command->description; *paragraph; paragraph++) {
		putchar('\n');
		print_wrapped(*paragraph, 0, 0);
	}
	if (count > 0)
		printf("\nflags:\n");
	for (size_t i = 0; i < count; i++)
		print_flag(&flags[i]);
	if (count > 0)
		printf("  -h, --help\n        Print this.\n");
	if (count > 0 && !command->own_status)
		printf("\nexit status: the program's own; 128+N when signal N killed it; 3 when a check\n"
		       "failed and --check=fail asked for that; 125 when kreplay was used wrongly or\n"
		       "failed itself; 126 when the command cannot be executed; 127 when it is not\n"
		       "found.\n");
}
