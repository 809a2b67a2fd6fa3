/* SPDX-License-Identifier: MIT */
/* Shared virtual memory through the real runtime: its attributes, prefetches, and kernels that use it. */
#include "strict.h"

#include <sys/mman.h>

#define PAGE 4096u
#define N 4096

static uint8_t *pages(size_t count)
{
	uint8_t *m = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(m, MAP_FAILED);
	return m;
}

static hsa_status_t set(void *at, size_t size, uint64_t attribute, uint64_t value)
{
	hsa_amd_svm_attribute_pair_t pair = {attribute, value};

	return hsa_amd_svm_attributes_set(at, size, &pair, 1);
}

static hsa_amd_svm_attribute_pair_t get(void *at, size_t size, uint64_t attribute, uint64_t value)
{
	hsa_amd_svm_attribute_pair_t pair = {attribute, value};

	HSA_CHECK(hsa_amd_svm_attributes_get(at, size, &pair, 1));
	return pair;
}

static void supported(void **state)
{
	bool yes = false, by_default = true;

	(void)state;
	HSA_CHECK(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &yes));
	HSA_CHECK(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT, &by_default));
	assert_true(yes);
	assert_false(by_default); /* no retry of page faults: access is to be asked for */
}

static void attributes(void **state)
{
	uint8_t *m = pages(8);
	hsa_amd_svm_attribute_pair_t list[] = {
		{HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED},
		{HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1},
		{HSA_AMD_SVM_ATTRIB_READ_ONLY, 1},
		{HSA_AMD_SVM_ATTRIB_HIVE_LOCAL, 1},
		{HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 5},
		{HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, client.gpus[1].handle},
		{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, client.gpus[0].handle},
		{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, client.gpus[1].handle},
	};

	(void)state;
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 0).value, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED);
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 1).value, 0);
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, client.gpus[0].handle).attribute,
	                 HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
	HSA_CHECK(hsa_amd_svm_attributes_set(m, 4 * PAGE, list, sizeof(list) / sizeof(list[0])));
	assert_int_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 0).value, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED);
	assert_int_not_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0).value, 0);
	assert_int_not_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_READ_ONLY, 0).value, 0);
	assert_int_not_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_HIVE_LOCAL, 0).value, 0);
	assert_int_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 0).value, 5);
	assert_int_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0).value, client.gpus[1].handle);
	assert_int_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, client.gpus[0].handle).attribute,
	                 HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
	assert_int_equal(get(m, 4 * PAGE, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, client.gpus[1].handle).attribute,
	                 HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE);
	/* another part says other things */
	HSA_CHECK(set(m + 4 * PAGE, 4 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, client.cpu.handle));
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 0).value, HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE);
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0).value, 0);
	assert_int_equal(get(m + 4 * PAGE, PAGE, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0).value, client.cpu.handle);
	HSA_CHECK(set(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0));
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1).value, 0);
	munmap(m, 8 * PAGE);
	/* what is not there */
	assert_int_not_equal(set(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1), HSA_STATUS_SUCCESS);
}

/* A prefetch waits for what it depends on, says where the memory is bound for, then completes. */
static void prefetch(void **state)
{
	uint8_t *m = pages(8);
	hsa_signal_t before = make_signal(1), done = make_signal(1);

	(void)state;
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 1).value, 0);
	HSA_CHECK(hsa_amd_svm_prefetch_async(m, 8 * PAGE, client.gpus[1], 1, &before, done));
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0).value, client.gpus[1].handle);
	assert_int_equal(hsa_signal_load_scacquire(done), 1);
	hsa_signal_store_screlease(before, 0);
	hsa_client_wait(done);
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0).value, client.gpus[1].handle);
	hsa_signal_store_screlease(done, 1);
	HSA_CHECK(hsa_amd_svm_prefetch_async(m, 2 * PAGE, client.cpu, 0, NULL, done));
	hsa_client_wait(done);
	assert_int_equal(get(m, PAGE, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0).value, client.cpu.handle);
	assert_int_equal(get(m, 8 * PAGE, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 1).value, 0);
	HSA_CHECK(hsa_signal_destroy(before));
	HSA_CHECK(hsa_signal_destroy(done));
	munmap(m, 8 * PAGE);
}

/* Memory of malloc's and of nobody's pool, by its own address, on both GPUs. */
static void kernels(void **state)
{
	struct add {
		const int *a, *b;
		int *c;
		int n;
	} *kernarg = hsa_client_host(&client, 4096);
	int *a = malloc(N * sizeof(int)), *b = (int *)pages(N * sizeof(int) / PAGE);

	(void)state;
	for (int i = 0; i < N; i++)
		a[i] = i;
	for (uint32_t gpu = 0; gpu < 2; gpu++) {
		hsa_queue_t *queue = make_queue_of(gpu, HSA_QUEUE_TYPE_MULTI);
		hsa_signal_t done = make_signal(1);

		HSA_CHECK(set(a, N * sizeof(int), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, client.gpus[gpu].handle));
		HSA_CHECK(set(b, N * sizeof(int), HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, client.gpus[gpu].handle));
		*kernarg = (struct add){a, b, b, N};
		hsa_client_launch(queue, &(struct hsa_launch){
			.kernel = hsa_client_kernel(&client, gpu, "vector_add"),
			.grid = {N}, .group = {64}, .kernarg = kernarg, .barrier = true, .completion = done,
		});
		hsa_client_wait(done);
		HSA_CHECK(hsa_signal_destroy(done));
		HSA_CHECK(hsa_queue_destroy(queue));
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(b[i], 2 * i);
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	munmap(b, N * sizeof(int));
	free(a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(supported),
		cmocka_unit_test(attributes),
		cmocka_unit_test(prefetch),
		cmocka_unit_test(kernels),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	program = argv[0];
	code_object = argv[1];
	return cmocka_run_group_tests(tests, open_client, close_client);
}
