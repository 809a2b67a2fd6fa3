/* SPDX-License-Identifier: MIT */
/*
 * Bad input: each ends in the real runtime's own error or in one line that names
 * the cause; never in a hang, a wrong value, or a crash. Argument: a code object;
 * then, in a child, what to do with it. (What is bad about code objects themselves: test_code.c.)
 */
#include "strict.h"

#include <sys/mman.h>

/* Dispatches and waits for an end, good or bad, or until the time is over. */
static hsa_status_t outcome_within(struct hsa_launch launch, uint32_t ms, bool *ended)
{
	struct error_queue error;
	hsa_signal_t signals[2] = {launch.completion = make_signal(1)};
	hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_NE};
	hsa_signal_value_t values[2] = {1, HSA_STATUS_SUCCESS};
	hsa_status_t reported;

	make_error_queue(&error);
	signals[1] = error.reported;
	launch.barrier = true;
	hsa_client_launch(error.queue, &launch);
	*ended = hsa_amd_signal_wait_any(2, signals, conditions, values, hsa_client_ticks(ms), HSA_WAIT_STATE_BLOCKED,
	                                 NULL) != UINT32_MAX;
	reported = (hsa_status_t)hsa_signal_load_scacquire(error.reported);
	destroy_error_queue(&error);
	HSA_CHECK(hsa_signal_destroy(launch.completion));
	return reported;
}

/* What the queue's callback was told. */
static hsa_status_t outcome(struct hsa_launch launch)
{
	bool ended;
	hsa_status_t status = outcome_within(launch, 20000, &ended);

	assert_true(ended);
	return status;
}

/* The device must still work: a queue that failed takes nothing else along. */
static void still_works(void)
{
	int *words = hsa_client_host(&client, 4096);
	struct {
		int *a, *b, *c;
		int n;
	} *kernarg = hsa_client_host(&client, 4096);

	words[5] = 21;
	kernarg->a = kernarg->b = kernarg->c = words;
	kernarg->n = 64;
	assert_int_equal(outcome((struct hsa_launch){
		.kernel = hsa_client_kernel(&client, 0, "vector_add"),
		.grid = {64}, .group = {64}, .kernarg = kernarg,
	}), HSA_STATUS_SUCCESS);
	assert_int_equal(words[5], 42);
	HSA_CHECK(hsa_amd_memory_pool_free(words));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* Overwrites words of a loaded kernel before its first run, and runs it. */
static int corrupted_child(unsigned seed)
{
	struct hsa_kernel kernel;
	struct hsa_launch launch = {.grid = {128}, .group = {64}};
	bool ended;
	int64_t entry;
	void **kernarg;

	hsa_client_open(&client, code_object);
	kernel = hsa_client_kernel(&client, 0, "scratch");
	kernarg = hsa_client_host(&client, 1 << 20);
	kernarg[0] = kernarg[1] = kernarg + 4096;
	memcpy(&entry, (char *)(uintptr_t)kernel.object + 16, sizeof(entry));
	srand(seed);
	for (int i = 0; i < 4; i++) {
		uint32_t *code = (uint32_t *)(uintptr_t)(kernel.object + (uint64_t)entry);
		uint32_t word = (uint32_t)rand() << 16 ^ (uint32_t)rand();

		if (i == 0 && seed % 4 == 0)
			((uint32_t *)(uintptr_t)kernel.object)[rand() % 16] = word;
		else
			code[rand() % 64] = word;
	}
	launch.kernel = kernel;
	launch.kernarg = kernarg;
	/* Done, refused, or in a loop that it was made to be in, of which only time can tell: all right. */
	outcome_within(launch, 200, &ended);
	return 0;
}

static void corrupted_code(void **state)
{
	char output[4096], seed[16];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(seed, sizeof(seed), "%d", i);
		int status = in_process(NULL, "corrupted", seed, output, sizeof(output));
		bool fault = strstr(output, "Memory access fault by GPU");

		if (status && !fault) {
			print_error("seed %d, status 0x%x: %s", i, status, output);
			fail();
		}
	}
}

static void scratch_beyond(void **state)
{
	void **kernarg = hsa_client_host(&client, 1 << 20);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "scratch"),
		.grid = {128}, .group = {64}, .kernarg = kernarg,
	};

	(void)state;
	kernarg[0] = kernarg[1] = kernarg + 4096;
	assert_int_equal(outcome(launch), HSA_STATUS_SUCCESS);
	launch.kernel.private_size = 16;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	still_works();
}

/* Beyond its LDS a DS instruction reads 0 and writes nothing, as the ISA says. */
static void lds_beyond(void **state)
{
	int *data = hsa_client_host(&client, 4096);
	struct {
		int *data;
		uint32_t offset;
	} *kernarg = hsa_client_host(&client, 4096);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "reverse_in_group"),
		.grid = {64}, .group = {64}, .dynamic_group = 32 * 4, .kernarg = kernarg,
	};

	(void)state;
	for (int i = 0; i < 64; i++)
		data[i] = 100 + i;
	kernarg->data = data;
	assert_int_equal(outcome(launch), HSA_STATUS_SUCCESS);
	for (int i = 0; i < 64; i++)
		assert_int_equal(data[i], i < 32 ? 0 : 163 - i);
	HSA_CHECK(hsa_amd_memory_pool_free(data));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* Nor does one at an address that no LDS has. */
static void lds_nowhere(void **state)
{
	static const uint32_t addresses[] = {256, 65532, 65536, 65540, 0x00100000, 0x7ffffffc, 0xfffffffc};
	uint32_t *out = hsa_client_host(&client, 4096);
	struct {
		uint32_t *out;
		uint32_t address, mine, words;
	} *kernarg = hsa_client_host(&client, 4096);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "lds_at"),
		.grid = {64}, .group = {64}, .dynamic_group = 256, .kernarg = kernarg,
	};

	(void)state;
	kernarg->out = out;
	kernarg->words = 64;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		memset(out, 0xee, 16);
		kernarg->address = addresses[i];
		assert_int_equal(outcome(launch), HSA_STATUS_SUCCESS);
		for (int k = 0; k < 4; k++)
			assert_int_equal(out[k], 0);
	}
	/* The last word that there is. */
	kernarg->address = 252;
	assert_int_equal(outcome(launch), HSA_STATUS_SUCCESS);
	assert_int_equal(out[0], 7);
	assert_int_equal(out[1], 0);
	assert_int_equal(out[2], 7);
	assert_int_equal(out[3], 1);
	HSA_CHECK(hsa_amd_memory_pool_free(out));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
}

/* Which is a memory violation on a card, and nothing is written: global, LDS, flat; four and eight bytes. */
static void misaligned_atomic(void **state)
{
	uint32_t *words = hsa_client_host(&client, 4096);
	struct {
		void *out;
		uint32_t lds, kind, skew;
	} *kernarg = hsa_client_host(&client, 4096);
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "add_at"), .grid = {64}, .group = {64}, .kernarg = kernarg,
		.dynamic_group = 64,
	};

	(void)state;
	kernarg->out = words;
	for (kernarg->kind = 0; kernarg->kind < 8; kernarg->kind++) {
		uint32_t size = kernarg->kind == 2 || kernarg->kind == 3 || kernarg->kind > 5 ? 8 : 4;

		for (kernarg->skew = 0; kernarg->skew <= 8; kernarg->skew++) {
			bool good = kernarg->skew % size == 0;
			hsa_status_t status = outcome(launch);

			if (status != (good ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION))
				fail_msg("kind %u, %u bytes in: 0x%x", kernarg->kind, kernarg->skew, status);
			if (!(kernarg->kind & 1))
				assert_int_equal(words[kernarg->skew / 4], good ? 64 : 0);
			memset(words, 0, 16);
		}
	}
	HSA_CHECK(hsa_amd_memory_pool_free(words));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	still_works();
}

/* Faults end the process, as on a card: each in one of its own. */
static int fault_child(const char *where)
{
	void **kernarg;
	void *read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hsa_launch launch = {.grid = {64}, .group = {64}};

	hsa_client_open(&client, code_object);
	kernarg = hsa_client_host(&client, 4096);
	kernarg[0] = !strcmp(where, "read-only") ? read_only : (void *)strtoul(where, NULL, 16);
	launch.kernarg = kernarg;
	launch.kernel = hsa_client_kernel(&client, 0, "wild_store");
	if (!strcmp(where, "object"))
		launch.kernel.object = 0x12345000;
	if (!strcmp(where, "kernarg"))
		launch.kernarg = (void *)0x12345000;
	outcome(launch);
	return 0;
}

static void memory_faults(void **state)
{
	static const struct {
		const char *where, *line, *by;
		bool write;
	} faults[] = {
		{"0", "access to address 0x0, which nothing maps", "kernel wild_store at pc 0x", false},
		{"12345000", "access to address 0x12345000, which nothing maps", "kernel wild_store", false},
		{"8012345000", "access to address 0x8012345000, which nothing maps", "kernel wild_store", false},
		{"8000000012345000", "access to address 0x12345000, which nothing maps", "kernel wild_store", false},
		{"read-only", "which may only be read", "kernel wild_store", true},
		{"kernarg", "access to address 0x12345", "kernel wild_store", false},
		{"object", "access to address 0x12345", "the packet processor", false},
	};
	char output[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		int status = in_process(NULL, "fault", faults[i].where, output, sizeof(output));

		const char *reason = faults[i].write ? "Write access to a read-only page" : "Page not present";

		if ((!WIFSIGNALED(status) && WEXITSTATUS(status) != 134) || strncmp(output, "softgpu: node 1: ", 17) ||
		    !strstr(output, faults[i].line) || !strstr(output, faults[i].by) || !strstr(output, reason) ||
		    !strstr(output, "Memory access fault by GPU node-1"))
			fail_msg("%s: status 0x%x: %s", faults[i].where, status, output);
	}
}

/* What stderr has of an error that the queue's callback gets. */
static int say_child(const char *what)
{
	struct hsa_launch launch = {.grid = {64}, .group = {64}};
	void **kernarg;

	hsa_client_open(&client, code_object);
	kernarg = hsa_client_host(&client, 1 << 20);
	kernarg[0] = kernarg[1] = kernarg + 4096;
	launch.kernarg = kernarg;
	launch.kernel = hsa_client_kernel(&client, 0, what);
	if (!strcmp(what, "scratch"))
		launch.kernel.private_size = 16;
	if (!strcmp(what, "count"))
		kernarg[0] = (char *)kernarg[0] + 2;
	return outcome(launch) == HSA_STATUS_SUCCESS;
}

static void one_line(void **state)
{
	static const struct {
		const char *what, *says;
	} cases[] = {
		{"unknown_instruction", "SOPP opcode 0x7f (no such row), words bfff0000 "},
		{"scratch", "scratch"},
		{"count", "global_atomic_add: an address that is not aligned to 4 bytes"},
	};
	char output[4096], start[100];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = in_process(NULL, "say", cases[i].what, output, sizeof(output));

		snprintf(start, sizeof(start), "softgpu: AQL queue of node 1 stopped: kernel %s at pc 0x",
		         cases[i].what);
		if (status || strncmp(output, start, strlen(start)) || !strstr(output, cases[i].says) ||
		    strchr(output, '\n') != output + strlen(output) - 1)
			fail_msg("%s: status 0x%x: %s", cases[i].what, status, output);
	}
}

static void not_a_kernel(void **state)
{
	struct hsa_launch launch = {
		.kernel = hsa_client_kernel(&client, 0, "nothing"), .grid = {64}, .group = {64},
	};
	const uint64_t good = launch.kernel.object;
	uint8_t *bytes = hsa_client_host(&client, 4096);

	(void)state;
	launch.kernel.object = 0;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	launch.kernel.object = good + 4;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	/* Zeros, all ones, and an entry that is not where one may be. */
	launch.kernel.object = (uintptr_t)bytes;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	memset(bytes, 0xff, 4096);
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	memcpy(bytes, (void *)(uintptr_t)good, 64);
	memcpy(bytes + 16, &(int64_t){512 + 4}, 8);
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	/* And one that is. */
	memcpy(bytes + 16, &(int64_t){512}, 8);
	memcpy(bytes + 512, &(uint32_t){0xbf810000}, 4); /* s_endpgm */
	assert_int_equal(outcome(launch), HSA_STATUS_SUCCESS);
	HSA_CHECK(hsa_amd_memory_pool_free(bytes));
	still_works();
}

static void bad_packets(void **state)
{
	static const struct {
		uint32_t grid[3], group, dynamic_group, private_size;
		hsa_status_t status;
	} cases[] = {
		{{64}, 0, 0, 0, HSA_STATUS_ERROR_INVALID_ARGUMENT},
		{{2000}, 1025, 0, 0, HSA_STATUS_ERROR_INVALID_ARGUMENT},
		{{70000}, 65535, 0, 0, HSA_STATUS_ERROR_INVALID_ARGUMENT},
		{{0}, 64, 0, 0, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS},
		{{UINT32_MAX, UINT32_MAX, UINT32_MAX}, 1, 0, 0, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS},
		{{64}, 64, 65537, 0, HSA_STATUS_ERROR_INVALID_ALLOCATION},
		{{64}, 64, UINT32_MAX, 0, HSA_STATUS_ERROR_INVALID_ALLOCATION},
		{{64}, 64, 0, 131057, HSA_STATUS_ERROR_INVALID_ALLOCATION},
		{{64}, 64, 0, UINT32_MAX, HSA_STATUS_ERROR_INVALID_ALLOCATION},
		/* As much as there may be of each. */
		{{1024}, 1024, 65536, 131056, HSA_STATUS_SUCCESS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hsa_launch launch = {
			.kernel = hsa_client_kernel(&client, 0, "nothing"), .group = {(uint16_t)cases[i].group},
			.dynamic_group = cases[i].dynamic_group,
		};
		hsa_status_t status;

		memcpy(launch.grid, cases[i].grid, sizeof(launch.grid));
		launch.kernel.private_size = cases[i].private_size;
		status = outcome(launch);
		if (status != cases[i].status)
			fail_msg("case %zu: 0x%x", i, status);
	}
	still_works();
}

/* All of the card's memory is used up: what needs some is refused, what needs none goes on. */
static void vram_used_up(void **state)
{
	static void *blocks[65536];
	static hsa_executable_t executables[512];
	size_t size, unit = 8 << 20, count = 0, loaded = 0, total = 0;
	hsa_status_t status;
	hsa_queue_t *queue;
	void *bytes = read_file(code_object, &size);

	(void)state;
	for (; unit >= 4096; unit /= 2) {
		while (count < 65536 && hsa_amd_memory_pool_allocate(client.vram[0], unit, 0, &blocks[count]) ==
		                                HSA_STATUS_SUCCESS) {
			count++;
			total += unit;
		}
	}
	assert_in_range(total, 48 << 20, 64 << 20);
	assert_int_equal(hsa_amd_memory_pool_allocate(client.vram[0], 4096, 0, &blocks[count]),
	                 HSA_STATUS_ERROR_OUT_OF_RESOURCES);
	/* Less than a block of the runtime's is left for code. */
	while ((status = load_code(bytes, size, &executables[loaded])) == HSA_STATUS_SUCCESS)
		assert_true(++loaded < 512);
	assert_int_equal(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
	HSA_CHECK(hsa_queue_create(client.gpus[0], 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
	                           &queue));
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_amd_memory_fill(blocks[0], 0x77, 1024));
	still_works();
	while (count)
		HSA_CHECK(hsa_amd_memory_pool_free(blocks[--count]));
	while (loaded)
		HSA_CHECK(hsa_executable_destroy(executables[--loaded]));
	assert_int_equal(load_code(bytes, size, &executables[0]), HSA_STATUS_SUCCESS);
	HSA_CHECK(hsa_executable_destroy(executables[0]));
	free(bytes);
	still_works();
}

/* The rules of each item: test_options.c. Here, that each ends in one line and an hsa_init that fails. */
static void bad_spec(void **state)
{
	static const char *const specs[] = {
		"gfx90a,nonsense=3", "gfx1234", "gfx90a:17", "inject=alloc:0", "vram=1K", "vram=", "threads=-1",
		"delay=1e3", "seed=18446744073709551616", "doorbell=1,doorbell=2", "gfx90a,", "\t", "gfx90a,\nreorder",
	};
	char output[4096], quoted[100], spec[500];

	(void)state;
	memset(spec, 'x', sizeof(spec) - 1);
	spec[sizeof(spec) - 1] = 0;
	assert_int_not_equal(in_process(spec, "init", "", output, sizeof(output)), 0);
	assert_non_null(strstr(output, "xxx...: 'xxx"));
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		int status = in_process(specs[i], "init", "", output, sizeof(output));

		snprintf(quoted, sizeof(quoted), "softgpu: KREPLAY_SOFTGPU=%s: ", specs[i]);
		for (char *c = quoted; *c; c++)
			*c = *c < ' ' ? '?' : *c;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 3 || strncmp(output, quoted, strlen(quoted)) ||
		    strchr(output, '\n') != output + strlen(output) - 1)
			fail_msg("%s: status 0x%x: %s", specs[i], status, output);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrupted_code),
		cmocka_unit_test(not_a_kernel),
		cmocka_unit_test(scratch_beyond),
		cmocka_unit_test(lds_beyond),
		cmocka_unit_test(lds_nowhere),
		cmocka_unit_test(misaligned_atomic),
		cmocka_unit_test(memory_faults),
		cmocka_unit_test(one_line),
		cmocka_unit_test(bad_packets),
		cmocka_unit_test(vram_used_up),
		cmocka_unit_test(bad_spec),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	if (argc < 3)
		return cmocka_run_group_tests(tests, open_client, close_client);
	if (!strcmp(argv[2], "corrupted"))
		return corrupted_child((unsigned)strtoul(argv[3], NULL, 10));
	if (!strcmp(argv[2], "fault"))
		return fault_child(argv[3]);
	if (!strcmp(argv[2], "say"))
		return say_child(argv[3]);
	if (!strcmp(argv[2], "init"))
		return hsa_init() == HSA_STATUS_SUCCESS ? 0 : 3;
	return 2;
}
