/* SPDX-License-Identifier: MIT */
/*
 * Bad input: each ends in the real runtime's own error or in one line that names
 * the cause; never in a hang, a wrong value, or a crash. Arguments: a code object,
 * and one for another instruction set.
 */
#include "strict.h"

static const char *foreign;

static hsa_queue_t *error_queue;
static volatile hsa_status_t reported;

static void on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
	(void)data;
	if (source == error_queue)
		reported = status;
}

static void make_error_queue(void)
{
	reported = HSA_STATUS_SUCCESS;
	HSA_CHECK(hsa_queue_create(client.gpus[0], 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL,
	                           UINT32_MAX, UINT32_MAX, &error_queue));
}

/* Dispatches and waits for an end, good or bad; what the queue's callback was told. */
static hsa_status_t outcome(struct hsa_launch launch)
{
	make_error_queue();
	launch.completion = make_signal(1);
	launch.barrier = true;
	hsa_client_launch(error_queue, &launch);
	for (int i = 0; i < 10000 && reported == HSA_STATUS_SUCCESS; i++) {
		if (hsa_signal_wait_scacquire(launch.completion, HSA_SIGNAL_CONDITION_LT, 1, 1000000,
		                              HSA_WAIT_STATE_BLOCKED) < 1)
			break;
		assert_true(i < 9999);
	}
	HSA_CHECK(hsa_queue_destroy(error_queue));
	HSA_CHECK(hsa_signal_destroy(launch.completion));
	return reported;
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

static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = malloc(1 << 20);

	assert_non_null(file);
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static hsa_status_t load(const void *bytes, size_t size, hsa_executable_t *executable)
{
	hsa_code_object_reader_t reader;
	hsa_status_t status = hsa_code_object_reader_create_from_memory(bytes, size, &reader);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
	                                    NULL, executable));
	status = hsa_executable_load_agent_code_object(*executable, client.gpus[0], reader, NULL, NULL);
	if (status == HSA_STATUS_SUCCESS)
		status = hsa_executable_freeze(*executable, NULL);
	HSA_CHECK(hsa_code_object_reader_destroy(reader));
	if (status != HSA_STATUS_SUCCESS)
		HSA_CHECK(hsa_executable_destroy(*executable));
	return status;
}

static void another_isa(void **state)
{
	hsa_executable_t executable;
	size_t size;
	void *bytes = read_file(foreign, &size);

	(void)state;
	assert_int_equal(load(bytes, size, &executable), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
	free(bytes);
	still_works();
}

/* In a process of its own: the 5.2 runtime's loader itself reads beyond the end of
 * some of these and dies, on any device. What it may not do is hang or succeed. */
static int truncated_child(size_t length)
{
	hsa_executable_t executable;
	size_t size;
	void *bytes;

	hsa_client_open(&client, NULL);
	bytes = read_file(code_object, &size);
	return load(realloc(bytes, length), length, &executable) == HSA_STATUS_SUCCESS;
}

static void truncated(void **state)
{
	static const char *const lengths[] = {"1", "16", "63", "64", "200", "4096"};
	char output[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int status = in_process(NULL, "truncated", lengths[i], output, sizeof(output));

		assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 1);
	}
}

/* Overwrites words of a loaded kernel before its first run, and runs it. */
static int corrupted_child(unsigned seed)
{
	struct hsa_kernel kernel;
	struct hsa_launch launch = {.grid = {128}, .group = {64}, .barrier = true};
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
	launch.completion = make_signal(1);
	make_error_queue();
	hsa_client_launch(error_queue, &launch);
	/* Done, refused, or in a loop that it was made to be in: all right. */
	for (int i = 0; i < 200 && reported == HSA_STATUS_SUCCESS; i++) {
		if (hsa_signal_wait_scacquire(launch.completion, HSA_SIGNAL_CONDITION_LT, 1, 1000000,
		                              HSA_WAIT_STATE_BLOCKED) < 1)
			break;
	}
	HSA_CHECK(hsa_queue_destroy(error_queue));
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

/* A kernel object that is no kernel: zeros are instructions, but they end nowhere. */
static int no_kernel(void)
{
	hsa_client_open(&client, code_object);
	return outcome((struct hsa_launch){
		.kernel = {.object = (uintptr_t)hsa_client_host(&client, 4096)},
		.grid = {64}, .group = {64},
	}) == HSA_STATUS_SUCCESS;
}

static void not_a_kernel(void **state)
{
	char output[4096];
	int status = in_process(NULL, "nokernel", "", output, sizeof(output));

	(void)state;
	assert_true(status == 0 || strstr(output, "Memory access fault by GPU"));
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

static void bad_packets(void **state)
{
	struct hsa_launch good = {
		.kernel = hsa_client_kernel(&client, 0, "nothing"), .grid = {64}, .group = {64},
	};
	struct hsa_launch launch = good;

	(void)state;
	launch.group[0] = 2000;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_ARGUMENT);
	launch = good;
	launch.dynamic_group = 70000;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_ALLOCATION);
	launch = good;
	launch.kernel.object = 0;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	launch = good;
	launch.grid[0] = 0;
	assert_int_equal(outcome(launch), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
	still_works();
}

static void bad_spec(void **state)
{
	static const char *const specs[] = {"gfx90a,nonsense=3", "gfx1234", "inject=alloc:0", "vram=1K"};
	char output[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		int status = in_process(specs[i], "init", "", output, sizeof(output));

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 3);
		assert_ptr_equal(strstr(output, "softgpu: KREPLAY_SOFTGPU="), output);
		assert_non_null(strstr(output, specs[i]));
		assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_isa),
		cmocka_unit_test(truncated),
		cmocka_unit_test(corrupted_code),
		cmocka_unit_test(not_a_kernel),
		cmocka_unit_test(scratch_beyond),
		cmocka_unit_test(lds_beyond),
		cmocka_unit_test(bad_packets),
		cmocka_unit_test(bad_spec),
	};

	if (argc < 3) {
		fprintf(stderr, "usage: %s CODE-OBJECT FOREIGN-CODE-OBJECT\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	foreign = argv[2];
	if (!strcmp(argv[2], "truncated"))
		return truncated_child(strtoul(argv[3], NULL, 10));
	if (!strcmp(argv[2], "corrupted"))
		return corrupted_child((unsigned)strtoul(argv[3], NULL, 10));
	if (!strcmp(argv[2], "nokernel"))
		return no_kernel();
	if (!strcmp(argv[2], "init"))
		return hsa_init() == HSA_STATUS_SUCCESS ? 0 : 3;
	return cmocka_run_group_tests(tests, open_client, close_client);
}
