/* SPDX-License-Identifier: MIT */
/*
 * Code objects that are not what they should be: for another instruction set, cut off, with bytes changed. The runtime
 * refuses them, or its loader dies of them as on a card; what loads is run. Each is met in a child, since such a death
 * is allowed: what is not is one with a function of the software GPU on the stack, or a hang. Arguments: a code object,
 * then those for others.
 */
#include "strict.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define PAGE 4096u
#define LIMIT_S 20 /* for one code object */

static char **foreign;
static uint8_t *image; /* the good code object */
static size_t image_size;

/* What a child leaves behind. */
static struct notes {
	uint32_t at;      /* how many it has begun */
	uint32_t loaded, refused, died;
	bool ours;        /* it died with us on the stack */
	char where[200];
} *notes;

static void note_frame(void *frame)
{
	Dl_info info;

	if (!dladdr(frame, &info) || !info.dli_fname)
		return;
	notes->ours |= strstr(info.dli_fname, "libhsakmt") != NULL;
	if (!notes->where[0] && !strstr(info.dli_fname, "libc.so") && !strstr(info.dli_fname, "test_softgpu"))
		snprintf(notes->where, sizeof(notes->where), "%s in %s", info.dli_sname ? info.dli_sname : "?",
		         info.dli_fname);
}

static void on_death(int number, siginfo_t *info, void *context)
{
	void *frames[64], *at = (void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	int count = backtrace(frames, 64), i = 0;

	(void)info;
	/* The device's own handler has passed it on: only what is beneath the signal counts. */
	while (i < count && frames[i] != at)
		i++;
	for (note_frame(at); i < count; i++)
		note_frame(frames[i]);
	signal(number, SIG_DFL);
	raise(number);
}

static void prepare_for_death(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	static uint8_t stack[1 << 16];
	struct sigaction action = {.sa_sigaction = on_death, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	void *frame;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	backtrace(&frame, 1); /* loads what it needs while there is time */
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

/* Runs it in a child of its own, which may die. */
static int in_child(void (*function)(void))
{
	int status;
	pid_t child;

	fflush(NULL);
	notes->ours = false;
	notes->where[0] = 0;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO); /* what the loader thinks of it */
		prepare_for_death();
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fail_msg("%u hangs", notes->at);
	if (notes->ours || (WIFEXITED(status) && WEXITSTATUS(status)))
		fail_msg("%u: status 0x%x, %s", notes->at, status, notes->where);
	return status;
}

static void load_foreign(void)
{
	hsa_client_open(&client, NULL);
	for (char **path = foreign; *path; path++, notes->at++) {
		hsa_executable_t executable;
		size_t size;
		void *bytes = read_file(*path, &size);

		if (load_code(bytes, size, &executable) != HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS)
			_exit(1);
		free(bytes);
	}
	/* And the good one. */
	if (load_code(image, image_size, &client.executable[0]) != HSA_STATUS_SUCCESS)
		_exit(2);
	hsa_client_close(&client);
}

static void another_isa(void **state)
{
	(void)state;
	notes->at = 0;
	assert_int_equal(in_child(load_foreign), 0);
	assert_true(notes->at >= 1);
}

/* The kernel of it that asks for nothing, if it is to be had: done, refused, faulted, or in a loop that it was made to
 * be in, of which only time can tell. */
static void run(hsa_executable_t executable)
{
	struct hsa_launch launch = {.grid = {64}, .group = {64}};
	hsa_executable_symbol_t symbol;
	struct error_queue error;
	hsa_signal_t signals[2];
	hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_NE};
	hsa_signal_value_t values[2] = {1, HSA_STATUS_SUCCESS};

	if (hsa_executable_get_symbol_by_name(executable, "nothing.kd", &client.gpus[0], &symbol) ||
	    hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &launch.kernel.object))
		return;
	make_error_queue(&error);
	signals[0] = launch.completion = make_signal(1);
	signals[1] = error.reported;
	hsa_client_launch(error.queue, &launch);
	hsa_amd_signal_wait_any(2, signals, conditions, values, hsa_client_ticks(100), HSA_WAIT_STATE_BLOCKED, NULL);
	destroy_error_queue(&error);
	HSA_CHECK(hsa_signal_destroy(signals[0]));
}

static void load_and_run(const void *bytes, size_t size)
{
	hsa_executable_t executable;

	alarm(LIMIT_S);
	if (load_code(bytes, size, &executable) != HSA_STATUS_SUCCESS) {
		notes->refused++;
		return;
	}
	notes->loaded++;
	run(executable);
	HSA_CHECK(hsa_executable_destroy(executable));
}

static uint32_t count; /* of the code objects to be made */
static void (*make_and_run)(uint32_t);

static void rest(void)
{
	hsa_client_open(&client, NULL);
	while (notes->at < count)
		make_and_run(notes->at++);
}

static void all_of(uint32_t how_many, void (*one)(uint32_t))
{
	*notes = (struct notes){0};
	count = how_many;
	make_and_run = one;
	while (notes->at < count) {
		uint32_t before = notes->at;

		notes->died += in_child(rest) != 0;
		assert_true(notes->at > before);
	}
	print_message("%u loaded, %u refused, %u deaths of the runtime\n", notes->loaded, notes->refused, notes->died);
}

/* Behind the last byte are zeros, or nothing. */
static void run_truncated(uint32_t i)
{
	size_t length = i < 64 ? i : (i - 63) * image_size / (count - 63) - 1;
	size_t room = (length + PAGE - 1) / PAGE * PAGE, behind = i % 4 ? image_size / PAGE * PAGE + PAGE : 0;
	uint8_t *at = mmap(NULL, room + behind + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at + room + behind, PAGE, PROT_NONE);
	memcpy(at + room - length, image, length);
	load_and_run(at + room - length, length);
	munmap(at, room + behind + PAGE);
}

static void truncated(void **state)
{
	(void)state;
	all_of(80, run_truncated);
}

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % below;
}

/* Identification and flags, notes, symbols, strings, hashes, descriptors: of equal weight however small they are. Not
 * what says where things lie: with that the loader writes over the process's memory, and anything may happen on any
 * device. (test_image.c changes that, too, and without a loader.) */
static void pick(size_t *from, size_t *size)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff), *s;

	switch (draw(6)) {
	case 0:
		*from = 0;
		*size = offsetof(Elf64_Ehdr, e_entry);
		return;
	case 1:
		*from = offsetof(Elf64_Ehdr, e_flags);
		*size = sizeof(header->e_flags);
		return;
	}
	do
		s = &sections[draw(header->e_shnum)];
	while (!s->sh_size || s->sh_type == SHT_NOBITS || s->sh_type == SHT_DYNAMIC || s->sh_flags & SHF_EXECINSTR);
	*from = s->sh_offset;
	*size = s->sh_size;
}

static unsigned seed;

static void run_changed(uint32_t i)
{
	uint8_t *copy = malloc(image_size);
	size_t from, size;

	random_state = seed * 0x9e3779b97f4a7c15ull + i;
	draw(1);
	memcpy(copy, image, image_size);
	pick(&from, &size);
	for (uint32_t n = 1 + draw(3); n; n--) {
		uint8_t *at = &copy[from + draw((uint32_t)size)];

		*at = draw(2) ? (uint8_t)draw(256) : *at ^ (uint8_t)(1u << draw(8));
	}
	load_and_run(copy, image_size);
	free(copy);
}

static void changed(void **state)
{
	(void)state;
	seed = getenv("KREPLAY_NIGHTLY") ? (unsigned)time(NULL) : 1;
	print_message("seed %u\n", seed);
	all_of(getenv("KREPLAY_NIGHTLY") ? 5000 : 1000, run_changed);
	assert_true(notes->loaded > count / 4 && notes->refused + notes->died > count / 8);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_isa),
		cmocka_unit_test(truncated),
		cmocka_unit_test(changed),
	};

	if (argc < 3) {
		fprintf(stderr, "usage: %s CODE-OBJECT FOREIGN-CODE-OBJECT...\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	foreign = argv + 2;
	image = read_file(code_object, &image_size);
	/* Far from all else: a bad segment may have the runtime write over what comes behind device memory. */
	notes = mmap((void *)(1ull << 40), PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
