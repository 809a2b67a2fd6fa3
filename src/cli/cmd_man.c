/* SPDX-License-Identifier: MIT */
/*
 * `kreplay man [COMMAND]`, hidden: prints a man page from the same rows as --help. The pages under
 * docs/man were made by it, and a test compares them.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Text in which nothing means anything to roff. Dashes are those of flags. */
static void print_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text; text++) {
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
	}
}

static void print_upper(const char *text)
{
	for (; *text; text++)
		putchar(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
}

static void print_flag(const struct kr_cli_flag *flag)
{
	printf(".TP\n");
	if (flag->letter)
		printf("\\fB\\-%c\\fR, ", flag->letter);
	printf("\\fB\\-\\-");
	print_text(flag->flag);
	printf("\\fR");
	if (flag->argument == KR_ARGUMENT_REQUIRED)
		printf(" \\fI%s\\fR", flag->metavar);
	else if (flag->argument == KR_ARGUMENT_OPTIONAL)
		printf("[=\\fI%s\\fR]", flag->metavar);
	putchar('\n');
	print_text(flag->help);
	if (flag->fallback) {
		printf(" Default: ");
		print_text(flag->fallback);
		putchar('.');
	}
	if (flag->env)
		printf(" Environment variable: \\fB%s\\fR.", flag->env);
	putchar('\n');
}

static void print_statuses(void)
{
	printf(".SH EXIT STATUS\n"
	       "The program's own, or\n"
	       ".TP\n.B 3\na check failed (\\-\\-check=fail), and the program itself succeeded;\n"
	       ".TP\n.B 125\nkreplay was used wrongly, or failed itself before the program "
	       "started;\n"
	       ".TP\n.B 126\nthe command cannot be executed;\n"
	       ".TP\n.B 127\nthe command is not found;\n"
	       ".TP\n.B 128+N\nsignal N killed the program.\n");
}

static void print_command(const struct kr_cli_command *command)
{
	struct kr_cli_flag flags[KR_CLI_MOST_FLAGS];
	size_t count = command->flags ? command->flags(flags) : 0;

	printf(".TH KREPLAY\\-");
	print_upper(command->name);
	printf(" 1 \"\" kreplay \"User Commands\"\n.SH NAME\nkreplay\\-%s \\- ", command->name);
	print_text(command->summary);
	printf("\n.SH SYNOPSIS\n.B kreplay %s\n", command->name);
	print_text(command->synopsis);
	printf("\n.SH DESCRIPTION\n");
	for (const char *const *paragraph = command->description; *paragraph; paragraph++) {
		if (paragraph != command->description)
			printf(".PP\n");
		print_text(*paragraph);
		putchar('\n');
	}
	if (count > 0)
		printf(".SH OPTIONS\n");
	for (size_t i = 0; i < count; i++)
		print_flag(&flags[i]);
	if (count > 0)
		printf(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint a summary of these flags.\n");
	if (!command->own_status)
		print_statuses();
	printf(".SH SEE ALSO\n.BR kreplay (1)\n");
}

static void print_main(void)
{
	const char *between = "";

	printf(".TH KREPLAY 1 \"\" kreplay \"User Commands\"\n"
	       ".SH NAME\nkreplay \\- replay the GPU kernels of unmodified HSA programs in place\n"
	       ".SH SYNOPSIS\n.B kreplay\n.I COMMAND\n\\&...\n.br\n.B kreplay \\-\\-help\n.br\n.B "
	       "kreplay \\-\\-version\n"
	       ".SH DESCRIPTION\nRuns programs so that each dispatch of a kernel can be repeated "
	       "over the same memory, "
	       "measured, and shown to tools.\n.SH COMMANDS\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (command->hidden)
			continue;
		printf(".TP\n\\fB%s\\fR ", command->name);
		print_text(command->synopsis);
		putchar('\n');
		print_text(command->summary);
		printf(".\n");
	}
	print_statuses();
	printf(".SH SEE ALSO\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (!command->hidden) {
			printf("%s.BR kreplay\\-%s (1)", between, command->name);
			between = ",\n";
		}
	}
	printf(",\n.BR kreplay.h (3)\n");
}

int kr_cli_cmd_man(const struct kr_cli_command *command, int argc, char **argv)
{
	const struct kr_cli_command *asked;

	(void)command;
	if (argc < 2) {
		print_main();
		return 0;
	}
	asked = kr_cli_find_command(argv[1]);
	if (!asked || asked->hidden) {
		kr_cli_say("'%s' has no man page", argv[1]);
		return KR_EXIT_BAD_USE;
	}
	print_command(asked);
	return 0;
}
