/* SPDX-License-Identifier: MIT */
/*
 * `kreplay completion bash|zsh`, hidden: prints a shell's completion from the same rows as --help. The files under
 * completions/ were made by it, and a test compares them.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* What stands behind a flag, by its metavariable. */
enum what { ANYTHING, A_FILE, A_TOOL, A_DOOR, A_LEVEL, A_CHECK };

static enum what what_follows(const struct kr_cli_flag *flag)
{
	static const struct {
		const char *metavar;
		enum what what;
	} rows[] = {
		{ "FILE", A_FILE }, { "BASE", A_FILE }, { "TOOL", A_TOOL }, { "DOOR", A_DOOR }, { "LEVEL", A_LEVEL }, { "fail", A_CHECK },
	};

	for (size_t i = 0; flag->metavar && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(flag->metavar, rows[i].metavar) == 0)
			return rows[i].what;
	}
	return ANYTHING;
}

#define TOOL_NAMES "timing determinism writes"
#define DOOR_NAMES "preload tools-lib"
#define LEVEL_NAMES "error warn info debug"

static void print_names(const char *between)
{
	const char *separator = "";

	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (command->hidden)
			continue;
		printf("%s%s", separator, command->name);
		separator = between;
	}
}

/* --- bash --- */

static void bash_flags(const struct kr_cli_command *command)
{
	struct kr_cli_flag flags[KR_CLI_MOST_FLAGS];
	size_t count = command->flags ? command->flags(flags) : 0;

	printf("\t%s)\n\t\tflags='", command->name);
	for (size_t i = 0; i < count; i++) {
		if (flags[i].letter)
			printf("-%c ", flags[i].letter);
		printf("--%s ", flags[i].flag);
	}
	printf("--help'\n\t\twords='");
	/* flags that take the next word: the command is looked for behind it */
	for (size_t i = 0; i < count; i++) {
		if (flags[i].argument != KR_ARGUMENT_REQUIRED)
			continue;
		if (flags[i].letter)
			printf("-%c ", flags[i].letter);
		printf("--%s ", flags[i].flag);
	}
	printf("'\n\t\t;;\n");
}

static void print_bash(void)
{
	printf("# SPDX-License-Identifier: MIT\n"
	       "# bash completion for kreplay; made by `kreplay completion bash`.\n"
	       "_kreplay()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags= words= i\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W '");
	print_names(" ");
	printf(" --help --version' -- \"$word\")\n\t\treturn\n\tfi\n"
	       "\tcase ${COMP_WORDS[1]} in\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (!command->hidden && command->flags)
			bash_flags(command);
	}
	printf("\thelp)\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	print_names(" ");
	printf("' -- \"$word\")\n\t\treturn\n\t\t;;\n\t*) return ;;\n\tesac\n"
	       "\tcase $before in\n"
	       "\t-t | --tool)\n\t\tmapfile -t COMPREPLY < <(compgen -W '" TOOL_NAMES "' -- \"$word\"; compgen -f -X '!*.so' -- \"$word\"; compgen -d -- \"$word\")\n\t\treturn\n\t\t;;\n"
	       "\t--door)\n\t\tmapfile -t COMPREPLY < <(compgen -W '" DOOR_NAMES "' -- \"$word\")\n\t\treturn\n\t\t;;\n"
	       "\t--log)\n\t\tmapfile -t COMPREPLY < <(compgen -W '" LEVEL_NAMES "' -- \"$word\")\n\t\treturn\n\t\t;;\n"
	       "\t--until)\n\t\tmapfile -t COMPREPLY < <(compgen -W 'cv=1%%' -- \"$word\")\n\t\treturn\n\t\t;;\n"
	       "\tesac\n"
	       "\tif [[ \" $words \" == *\" $before \"* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n\t\treturn\n\tfi\n"
	       "\tif [ \"${COMP_WORDS[1]}\" = report ]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\"; compgen -f -X '!*.json' -- \"$word\"; compgen -d -- \"$word\")\n\t\treturn\n\tfi\n"
	       "\t# behind the command everything is the command's own\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase ${COMP_WORDS[i]} in\n"
	       "\t\t--) i=$((i + 1)); break ;;\n"
	       "\t\t-*) [[ \" $words \" == *\" ${COMP_WORDS[i]} \"* ]] && i=$((i + 1)) ;;\n"
	       "\t\t*) break ;;\n"
	       "\t\tesac\n"
	       "\tdone\n"
	       "\tif [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	       "\telif [[ $word == -* ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
	       "\telse\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$word\"; compgen -f -- \"$word\")\n"
	       "\tfi\n"
	       "}\n"
	       "complete -o filenames -F _kreplay kreplay\n");
}

/* --- zsh --- */

/* Up to the first full stop, with what means something inside '...[...]' escaped. */
static void zsh_text(const char *text)
{
	for (; *text && strncmp(text, ". ", 2) != 0 && !(text[0] == '.' && text[1] == '\0'); text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_argument(const struct kr_cli_flag *flag)
{
	if (flag->argument == KR_ARGUMENT_NONE)
		return;
	printf("%s%s:", flag->argument == KR_ARGUMENT_OPTIONAL ? "::" : ":", flag->metavar);
	switch (what_follows(flag)) {
	case A_FILE:
		printf("_files");
		break;
	case A_TOOL:
		printf("_alternative \"tools\\:tool\\:(" TOOL_NAMES ")\" \"files\\:file\\:_files -g \\\"*.so\\\"\"");
		break;
	case A_DOOR:
		printf("(" DOOR_NAMES ")");
		break;
	case A_LEVEL:
		printf("(" LEVEL_NAMES ")");
		break;
	case A_CHECK:
		printf("(fail)");
		break;
	case ANYTHING:
		printf(" ");
		break;
	}
}

static void zsh_flag(const struct kr_cli_flag *flag)
{
	const char *many = flag->joint ? "*" : "", *joined = flag->argument == KR_ARGUMENT_OPTIONAL ? "=-" : flag->argument ? "=" : "";

	printf("\t\t\t'%s--%s%s[", many, flag->flag, joined);
	zsh_text(flag->help);
	printf("]");
	zsh_argument(flag);
	printf("' \\\n");
	if (!flag->letter)
		return;
	printf("\t\t\t'%s-%c%s[", many, flag->letter, flag->argument ? "+" : "");
	zsh_text(flag->help);
	printf("]");
	zsh_argument(flag);
	printf("' \\\n");
}

static void print_zsh(void)
{
	struct kr_cli_flag flags[KR_CLI_MOST_FLAGS];

	printf("#compdef kreplay\n"
	       "# SPDX-License-Identifier: MIT\n"
	       "# zsh completion for kreplay; made by `kreplay completion zsh`.\n"
	       "_kreplay()\n{\n\tlocal -a commands\n\tcommands=(\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		if (command->hidden)
			continue;
		printf("\t\t'%s:", command->name);
		zsh_text(command->summary);
		printf("'\n");
	}
	printf("\t)\n"
	       "\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	       "\tshift words\n\t((CURRENT--))\n"
	       "\tcase $words[1] in\n");
	for (const struct kr_cli_command *command = kr_cli_commands; command->name; command++) {
		size_t count;

		if (command->hidden || !command->flags)
			continue;
		count = command->flags(flags);
		printf("\t%s)\n\t\t_arguments -s -S \\\n", command->name);
		for (size_t i = 0; i < count; i++)
			zsh_flag(&flags[i]);
		printf("\t\t\t'(-h --help)'{-h,--help}'[print a summary of the flags]'");
		if (command->flags_anywhere)
			printf(" \\\n\t\t\t'*:report:_files -g \"*.json\"'");
		else if (strstr(command->synopsis, "COMMAND"))
			printf(" \\\n\t\t\t'(-)1:command:_command_names -e' '*::arguments:_normal'");
		printf("\n\t\t;;\n");
	}
	printf("\thelp) _describe command commands ;;\n\tesac\n}\n_kreplay \"$@\"\n");
}

int kr_cli_cmd_completion(const struct kr_cli_command *command, int argc, char **argv)
{
	(void)command;
	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		print_bash();
	else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		print_zsh();
	else {
		kr_cli_say("completion: for bash or for zsh");
		return KR_EXIT_BAD_USE;
	}
	return 0;
}
