/* SPDX-License-Identifier: MIT */
/* `kreplay info`: whether replay can work here, and if not, what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "cli/config.h"
#include "options/options.h"
#include "report/text.h"

const char *const kr_cli_info_description[] = {
	"Tells what a run with the same flags would find: the HSA runtime and its version, the agents with their instruction sets "
	"and memory and whether kreplay has kernels of its own for them, which of the two doors into a program works, whether "
	"the device files may be opened and what to do when they may not, and the options that are in force and where each "
	"came from.",
	"The exit status is 0 when replay can work here and 1 when it cannot.",
	NULL,
};

#define MOST_OUTPUT 65536

struct probe {
	bool ran;      /* to its end, with status 0 */
	bool open;     /* the library came in */
	char *output;  /* its lines */
};

/* Prints "  KEY   TEXT", and never more than one line. */
static void say(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const char *key, const char *format, ...)
{
	va_list arguments;
	char line[1024];

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *at = line; *at; at++) {
		if ((unsigned char)*at < ' ')
			*at = ' ';
	}
	printf("  %-14s %s\n", key, line);
}

/* The value of the first line that begins with the key, as a new string; NULL: there is none. */
static char *value_of(const char *output, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = output; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncmp(at, key, length) == 0 && at[length] == ' ')
			return strndup(at + length + 1, strcspn(at + length + 1, "\n"));
	}
	return NULL;
}

/* In the child: becomes the probe, with this door open. -1: none. */
static void become_probe(const struct kr_cli_libraries *libraries, int door, bool softgpu, const char *spec, int out)
{
	char *const argv[] = { (char *)"kreplay", (char *)"probe", libraries->library, NULL };
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(KR_EXIT_BAD_USE);
	/* the library is to come in, and to do nothing */
	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		if (kr_option_table[i].id != KR_OPTION_SOFTGPU)
			unsetenv(kr_option_table[i].env);
	}
	if ((door == KR_DOOR_PRELOAD && !kr_cli_add_preload(libraries->library)) ||
	    (door == KR_DOOR_TOOLS_LIB && !kr_cli_add_tools_lib(libraries->library)) ||
	    (softgpu && !kr_cli_use_softgpu(libraries, spec)))
		_exit(KR_EXIT_BAD_USE);
	alarm(30);
	execv("/proc/self/exe", argv);
	_exit(KR_EXIT_BAD_USE);
}

static void run_probe(struct probe *probe, const struct kr_cli_libraries *libraries, int door, bool softgpu,
		      const char *spec)
{
	char *buffer = calloc(1, MOST_OUTPUT);
	int ends[2], status = 0;
	size_t used = 0;
	ssize_t got;
	pid_t child;

	*probe = (struct probe){ .output = buffer };
	if (!buffer || pipe2(ends, O_CLOEXEC) != 0)
		return;
	fflush(stdout);
	child = fork();
	if (child == 0)
		become_probe(libraries, door, softgpu, spec, ends[1]);
	close(ends[1]);
	while (child > 0 && used < MOST_OUTPUT - 1) {
		got = read(ends[0], buffer + used, MOST_OUTPUT - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	probe->ran = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	probe->open = strstr(buffer, "door open\n") != NULL;
	if (child > 0 && WIFSIGNALED(status))
		snprintf(buffer, MOST_OUTPUT, "error the runtime died of signal %d (%s) when it was started\n",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* --- the parts of the answer --- */

static bool print_runtime(const struct probe *probe)
{
	char *path = value_of(probe->output, "runtime"), *version = value_of(probe->output, "version");
	char *error = value_of(probe->output, "error");
	char *real = path ? realpath(path, NULL) : NULL;

	if (path)
		say("library", "%s", real ? real : path);
	else
		say("library", "none: install libhsa-runtime64.so.1 (Debian: libhsa-runtime64-1)");
	if (version)
		say("version", "%s", version);
	if (!probe->ran)
		say("problem", "%s", error ? error : "it could not be started");
	free(path);
	free(real);
	free(version);
	free(error);
	return probe->ran;
}

/* Whether kreplay's own kernels are there for "gfx90a". */
static bool has_kernels(const char *processor)
{
	static const char processors[] = KR_DEVICE_PROCESSORS;
	size_t length = strlen(processor);

	for (const char *at = processors; (at = strstr(at, processor)); at++) {
		if ((at == processors || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

static unsigned print_agents(const struct probe *probe)
{
	unsigned count = 0;

	for (const char *at = probe->output; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		char *name, *isa, *product, *memory, *units, bytes[KR_TEXT_NUMBER];

		if (strncmp(at, "agent ", 6) != 0)
			continue;
		name = value_of(at, "agent");
		isa = value_of(at, "isa");
		product = value_of(at, "product");
		memory = value_of(at, "memory");
		units = value_of(at, "units");
		printf("agent %s\n", name ? name : "?");
		say("product", "%s", product && product[0] ? product : "(no name)");
		say("isa", "%s", isa ? isa : "?");
		say("units", "%s compute units", units ? units : "?");
		say("memory", "%s of its own", kr_format_bytes(bytes, memory ? strtoull(memory, NULL, 10) : 0));
		say("kernels", "%s", name && strchr(name, ' ') && has_kernels(strchr(name, ' ') + 1)
					     ? "yes: snapshots are compared and restored on the device"
					     : "none for this ISA: snapshots are plain copies over the host link");
		free(name);
		free(isa);
		free(product);
		free(memory);
		free(units);
		count++;
	}
	return count;
}

static bool print_doors(const struct kr_cli_libraries *libraries, bool softgpu, const char *spec)
{
	struct probe preload, tools_lib;
	bool works;

	run_probe(&preload, libraries, KR_DOOR_PRELOAD, softgpu, spec);
	run_probe(&tools_lib, libraries, KR_DOOR_TOOLS_LIB, softgpu, spec);
	puts("doors");
	say("preload", "%s", preload.open ? "works, for every program that is not setuid and not linked statically"
					  : "does not work: the dynamic linker does not load the library");
	say("tools-lib", "%s", tools_lib.open ? "works: the runtime loads the library named by HSA_TOOLS_LIB"
					      : "does not work: this runtime does not load what HSA_TOOLS_LIB names");
	works = preload.open || tools_lib.open;
	if (works && !preload.open)
		say("use", "--door tools-lib");
	free(preload.output);
	free(tools_lib.output);
	return works;
}

/* One device file; true when it can be used. */
static bool print_device(const char *path)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group;
	struct stat status;

	if (stat(path, &status) != 0) {
		say(path, "%s", errno == ENOENT ? "not there: the driver (amdgpu) is not loaded, or there is no card" : strerror(errno));
		return false;
	}
	if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0) {
		say(path, "may be opened");
		return true;
	}
	group = getgrgid(status.st_gid);
	if (group && (status.st_mode & 060) == 060)
		say(path, "may not be opened: join its group, and log in anew: sudo usermod -aG %s %s", group->gr_name,
		    user ? user->pw_name : "USER");
	else
		say(path, "may not be opened, nor by its group: its mode is %o", (unsigned)status.st_mode & 0777);
	return false;
}

static void print_devices(void)
{
	struct dirent **names = NULL;
	int count = scandir("/dev/dri", &names, NULL, alphasort);
	char path[300];

	puts("devices");
	print_device("/dev/kfd");
	if (count < 0)
		say("/dev/dri", "not there");
	for (int i = 0; i < count; i++) {
		if (strncmp(names[i]->d_name, "renderD", 7) == 0) {
			snprintf(path, sizeof(path), "/dev/dri/%s", names[i]->d_name);
			print_device(path);
		}
		free(names[i]);
	}
	free(names);
}

static bool print_options(const struct kr_cli_arguments *arguments, struct kr_options *options)
{
	bool good = true;

	puts("options");
	for (size_t i = 0; i < KR_OPTION_COUNT; i++) {
		const struct kr_option *row = &kr_option_table[i];
		const char *value = NULL, *from = "default", *variable = getenv(row->env);
		char error[640], key[80];

		for (size_t j = 0; j < arguments->flag_count; j++) {
			if (arguments->flags[j].id == (int)i && arguments->values[j]) {
				value = arguments->values[j];
				from = "flag";
			}
		}
		if (!value && variable && (variable[0] || row->type == KR_TYPE_SPEC)) {
			value = variable;
			from = "environment";
		}
		if (value && !value[0] && (row->type == KR_TYPE_SWITCH || row->type == KR_TYPE_CHECK))
			value = "1";
		if (!row->flag && !value)
			continue;
		snprintf(key, sizeof(key), "%s", row->flag ? row->flag : row->env);
		if (value && !kr_option_set(options, row->id, value, error, sizeof(error))) {
			say(key, "wrong, so nothing would be replayed: %s (%s)", error, from);
			good = false;
		} else {
			say(key, "%s (%s)", value ? value[0] ? value : "on" : row->fallback ? row->fallback : "not set", from);
		}
	}
	return good;
}

int kr_cli_cmd_info(const struct kr_cli_command *command, int argc, char **argv)
{
	struct kr_cli_libraries libraries = { 0 };
	struct kr_cli_arguments arguments;
	struct kr_options options;
	struct probe probe = { 0 };
	bool works = false, softgpu, kfd = access("/dev/kfd", F_OK) == 0;
	int status = KR_EXIT_BAD_USE;

	kr_options_init(&options);
	if (!kr_cli_parse(&arguments, command, argc, argv))
		goto out;
	if (arguments.help) {
		kr_cli_print_help(command);
		status = 0;
		goto out;
	}
	if (arguments.program[0]) {
		kr_cli_say("info: takes no command (see kreplay info --help)");
		goto out;
	}
	if (!kr_cli_find_libraries(&libraries))
		goto out;
	puts("kreplay " KREPLAY_VERSION);
	say("library", "%s", libraries.library ? libraries.library : "not where kreplay looks for it: the installation is broken");
	say("tools", "%s", libraries.tools ? libraries.tools : "not where kreplay looks for them: only -t PATH works");
	say("software GPU", "%s", libraries.softgpu ? libraries.softgpu : "not installed");
	works = print_options(&arguments, &options);
	softgpu = libraries.softgpu && (options.softgpu || !kfd);
	print_devices();
	run_probe(&probe, &libraries, -1, softgpu, options.softgpu_spec);
	puts("runtime");
	say("runs on", "%s", !softgpu ? "the GPUs of this machine"
				      : options.softgpu ? "the software GPU, as asked for"
							: "the software GPU, for there is no /dev/kfd");
	if (!print_runtime(&probe)) {
		works = false;
	} else {
		if (print_agents(&probe) == 0) {
			puts("no GPU agent: a kernel can be dispatched to none");
			works = false;
		}
		works = libraries.library && print_doors(&libraries, softgpu, options.softgpu_spec) && works;
	}
	puts(works ? "replay can work here" : "replay cannot work here");
	status = works ? 0 : 1;
out:
	free(probe.output);
	kr_cli_free_libraries(&libraries);
	kr_options_finish(&options);
	kr_cli_free_arguments(&arguments);
	return status;
}
