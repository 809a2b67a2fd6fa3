/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Beyond every letter, so that getopt's result tells a flag by its place in the table. */
#define FIRST_CODE 256
#define HELP_CODE (FIRST_CODE + KR_CLI_MOST_FLAGS)

static void make_tables(const struct kr_cli_arguments *arguments, struct option *longs,
			char *shorts)
{
	/* '+': stop at the command, whose own flags are its own; ':': tell a missing argument from
	 * an unknown flag */
	shorts = stpcpy(shorts, arguments->command->flags_anywhere ? ":h" : "+:h");
	for (size_t i = 0; i < arguments->flag_count; i++) {
		const struct kr_cli_flag *flag = &arguments->flags[i];

		longs[i] = (struct option){
			.name = flag->flag,
			.has_arg = flag->argument == KR_ARGUMENT_NONE       ? no_argument
				   : flag->argument == KR_ARGUMENT_REQUIRED ? required_argument
									    : optional_argument,
			.val = FIRST_CODE + (int)i,
		};
		if (flag->letter) {
			*shorts++ = flag->letter;
			if (flag->argument != KR_ARGUMENT_NONE)
				*shorts++ = ':';
			if (flag->argument == KR_ARGUMENT_OPTIONAL)
				*shorts++ = ':';
		}
	}
	*shorts = '\0';
	longs[arguments->flag_count] = (struct option){ .name = "help", .val = HELP_CODE };
}

static bool take_value(struct kr_cli_arguments *arguments, size_t index, const char *value)
{
	const struct kr_cli_flag *flag = &arguments->flags[index];
	char *old = arguments->values[index], *fresh = NULL;
	int length;

	if (flag->joint && value[0] == '\0') {
		kr_cli_say("--%s: an empty value", flag->flag);
		return false;
	}
	/* a list of ranges is a value of its own */
	if (flag->joint && flag->joint != ',' && strchr(value, flag->joint)) {
		kr_cli_say("--%s: '%s' holds a %s, which separates several of them", flag->flag,
			   value, flag->joint == '\n' ? "line break" : "colon");
		return false;
	}
	if (old && flag->joint)
		length = asprintf(&fresh, "%s%c%s", old, flag->joint, value);
	else
		length = asprintf(&fresh, "%s", value);
	if (length < 0) {
		kr_cli_say("no memory for the command line");
		return false;
	}
	free(old);
	arguments->values[index] = fresh;
	return true;
}

static size_t flag_of_code(const struct kr_cli_arguments *arguments, int code)
{
	if (code >= FIRST_CODE)
		return (size_t)(code - FIRST_CODE);
	for (size_t i = 0; i < arguments->flag_count; i++) {
		if (arguments->flags[i].letter == code)
			return i;
	}
	return arguments->flag_count;
}

static bool say_bad_flag(const struct kr_cli_arguments *arguments, int code, char **argv)
{
	const char *name = arguments->command->name;

	/* optopt is a letter, or the code of a long flag whose argument is wrong, or 0 for an
	 * unknown long flag */
	if (optopt > 0 && optopt < FIRST_CODE) {
		kr_cli_say(code == ':' ? "-%c: its argument is missing (see kreplay %s --help)"
				       : "unknown flag -%c (see kreplay %s --help)",
			   optopt, name);
	} else if (code == ':') {
		kr_cli_say("%s: its argument is missing (see kreplay %s --help)", argv[optind - 1],
			   name);
	} else if (optopt >= FIRST_CODE) {
		kr_cli_say("%s: takes no argument (see kreplay %s --help)", argv[optind - 1], name);
	} else {
		kr_cli_say("unknown or ambiguous flag %s (see kreplay %s --help)", argv[optind - 1],
			   name);
	}
	return false;
}

bool kr_cli_parse(struct kr_cli_arguments *arguments, const struct kr_cli_command *command,
		  int argc, char **argv)
{
	struct option longs[KR_CLI_MOST_FLAGS + 2] = { 0 };
	char shorts[3 * KR_CLI_MOST_FLAGS + 8];
	int code;

	*arguments = (struct kr_cli_arguments){ .command = command };
	if (command->flags)
		arguments->flag_count = command->flags(arguments->flags);
	make_tables(arguments, longs, shorts);
	opterr = 0;
	optind = 1;
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (code == 'h' || code == HELP_CODE) {
			arguments->help = true;
			return true;
		}
		if (code == '?' || code == ':')
			return say_bad_flag(arguments, code, argv);
		if (!take_value(arguments, flag_of_code(arguments, code), optarg ? optarg : ""))
			return false;
	}
	arguments->program = argv + optind;
	return true;
}

void kr_cli_free_arguments(struct kr_cli_arguments *arguments)
{
	for (size_t i = 0; i < arguments->flag_count; i++)
		free(arguments->values[i]);
	*arguments = (struct kr_cli_arguments){ 0 };
}
