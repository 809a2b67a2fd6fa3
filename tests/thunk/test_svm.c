/* SPDX-License-Identifier: MIT */
/* Attributes of shared virtual memory at the thunk: every list against a model that keeps them page by page. */
#include "kmt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define PAGES 40
#define TWO_GPUS "gfx90a:2,vram=64M"
#define NOWHERE 0xffffffffu

static HSAKMT_STATUS set(void *at, uint64_t size, HSAuint32 type, HSAuint32 value)
{
	HSA_SVM_ATTRIBUTE a = {type, value};

	return KMT(hsaKmtSVMSetAttr)(at, size, 1, &a);
}

static HSA_SVM_ATTRIBUTE get(void *at, uint64_t size, HSAuint32 type, HSAuint32 value)
{
	HSA_SVM_ATTRIBUTE a = {type, value};

	assert_int_equal(KMT(hsaKmtSVMGetAttr)(at, size, 1, &a), HSAKMT_STATUS_SUCCESS);
	return a;
}

static void capability(void **state)
{
	HsaNodeProperties node;

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(KMT(hsaKmtGetNodeProperties)(i, &node), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(node.Capability.ui32.SVMAPISupported, 1);
	}
}

/* What nobody has said anything about. */
static void defaults(void **state)
{
	uint8_t *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_PREFERRED_LOC, 0).value, NOWHERE);
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_PREFETCH_LOC, 0).value, NOWHERE);
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_GRANULARITY, 0).value, 9);
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_SET_FLAGS, 0).value,
	                 HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT);
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_CLR_FLAGS, 0).value,
	                 ~(HSAuint32)(HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT));
	assert_int_equal(get(m, 4 * PAGE, HSA_SVM_ATTR_ACCESS, 1).type, HSA_SVM_ATTR_NO_ACCESS);
	munmap(m, 4 * PAGE);
}

struct page {
	bool said;
	uint32_t preferred, prefetch, granularity, flags;
	uint32_t access[3]; /* by node: the attribute that says it */
};

static void tell(struct page *p, HSAuint32 type, HSAuint32 value)
{
	if (!p->said)
		*p = (struct page){true, NOWHERE, NOWHERE, 9, HSA_SVM_FLAG_HOST_ACCESS | HSA_SVM_FLAG_COHERENT,
		                   {0, HSA_SVM_ATTR_NO_ACCESS, HSA_SVM_ATTR_NO_ACCESS}};
	switch (type) {
	case HSA_SVM_ATTR_PREFERRED_LOC: p->preferred = value; break;
	case HSA_SVM_ATTR_PREFETCH_LOC: p->prefetch = value; break;
	case HSA_SVM_ATTR_GRANULARITY: p->granularity = value; break;
	case HSA_SVM_ATTR_SET_FLAGS: p->flags |= value; break;
	case HSA_SVM_ATTR_CLR_FLAGS: p->flags &= ~value; break;
	default: p->access[value] = type;
	}
}

/* One word of the answer about pages [from, to), some of which have something said. */
static uint32_t expected(const struct page *pages, int from, int to, HSAuint32 type, HSAuint32 node)
{
	uint32_t word = 0, all = ~0u, any = 0, rights = 3;
	bool first = true, mixed = false;

	for (int i = from; i < to; i++) {
		const struct page *p = &pages[i];
		uint32_t mine = type == HSA_SVM_ATTR_PREFERRED_LOC ? p->preferred :
		                type == HSA_SVM_ATTR_PREFETCH_LOC ? p->prefetch : p->granularity;

		if (!p->said)
			continue;
		mixed |= !first && mine != word;
		word = first || (type == HSA_SVM_ATTR_GRANULARITY && mine < word) ? mine : word;
		all &= p->flags;
		any |= p->flags;
		rights &= p->access[node] == HSA_SVM_ATTR_ACCESS ? 1 : p->access[node] == HSA_SVM_ATTR_ACCESS_IN_PLACE ? 2 : 0;
		first = false;
	}
	switch (type) {
	case HSA_SVM_ATTR_SET_FLAGS: return all;
	case HSA_SVM_ATTR_CLR_FLAGS: return ~any;
	case HSA_SVM_ATTR_ACCESS:
		return rights & 1 ? HSA_SVM_ATTR_ACCESS : rights & 2 ? HSA_SVM_ATTR_ACCESS_IN_PLACE : HSA_SVM_ATTR_NO_ACCESS;
	case HSA_SVM_ATTR_GRANULARITY: return word;
	default: return mixed ? NOWHERE : word;
	}
}

static void compare(uint8_t *m, const struct page *pages, int from, int to)
{
	HSA_SVM_ATTRIBUTE list[] = {
		{HSA_SVM_ATTR_PREFERRED_LOC, 0}, {HSA_SVM_ATTR_PREFETCH_LOC, 0}, {HSA_SVM_ATTR_GRANULARITY, 0},
		{HSA_SVM_ATTR_ACCESS, 1}, {HSA_SVM_ATTR_NO_ACCESS, 2}, {HSA_SVM_ATTR_CLR_FLAGS, 0}, {HSA_SVM_ATTR_SET_FLAGS, 0},
	};
	bool said = false;

	for (int i = from; i < to; i++)
		said |= pages[i].said;
	if (!said)
		return;
	assert_int_equal(KMT(hsaKmtSVMGetAttr)(m + from * PAGE, (uint64_t)(to - from) * PAGE, 7, list),
	                 HSAKMT_STATUS_SUCCESS);
	for (int k = 0; k < 7; k++) {
		bool access = k == 3 || k == 4;
		HSAuint32 type = access ? HSA_SVM_ATTR_ACCESS : list[k].type;
		uint32_t got = access ? list[k].type : list[k].value, want = expected(pages, from, to, type, k == 4 ? 2 : 1);

		if (got != want)
			fail_msg("pages %d to %d, attribute %d: 0x%x, not 0x%x", from, to, k, got, want);
	}
}

static void against_a_model(void **state)
{
	uint8_t *m = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct page pages[PAGES];
	unsigned int seed = 7;

	(void)state;
	memset(pages, 0, sizeof(pages));
	for (int round = 0; round < 4000; round++) {
		int from = rand_r(&seed) % PAGES, to = from + 1 + rand_r(&seed) % (PAGES - from);
		HSA_SVM_ATTRIBUTE list[3];
		unsigned int count = 1 + (unsigned int)rand_r(&seed) % 3;

		if (rand_r(&seed) % 3) /* mostly small pieces, so that there are many */
			to = from + 1;
		for (unsigned int k = 0; k < count; k++) {
			HSAuint32 type = (HSAuint32)rand_r(&seed) % 8, r = (HSAuint32)rand_r(&seed);

			list[k].type = type;
			list[k].value = type == HSA_SVM_ATTR_PREFERRED_LOC && r % 4 == 3 ? NOWHERE :
			                type <= HSA_SVM_ATTR_PREFETCH_LOC ? r % 3 :
			                type <= HSA_SVM_ATTR_NO_ACCESS ? 1 + r % 2 :
			                type == HSA_SVM_ATTR_GRANULARITY ? r % 19 : r % 64;
			for (int i = from; i < to; i++)
				tell(&pages[i], type, list[k].value);
		}
		assert_int_equal(KMT(hsaKmtSVMSetAttr)(m + from * PAGE, (uint64_t)(to - from) * PAGE, count, list),
		                 HSAKMT_STATUS_SUCCESS);
		from = rand_r(&seed) % PAGES;
		to = from + 1 + rand_r(&seed) % (PAGES - from);
		compare(m, pages, from, to);
		compare(m, pages, from, from + 1);
	}
	munmap(m, PAGES * PAGE);
}

/* A list that is not right changes nothing. */
static void refused(void **state)
{
	uint8_t *m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HSA_SVM_ATTRIBUTE half[2] = {{HSA_SVM_ATTR_GRANULARITY, 3}, {HSA_SVM_ATTR_ACCESS, 9}};

	(void)state;
	assert_int_equal(set(m + 1, PAGE, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(set(m, PAGE + 1, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(set(m, 0, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(set(NULL, PAGE, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(set(m, PAGE, HSA_SVM_ATTR_PREFERRED_LOC, 3), HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(set(m, PAGE, HSA_SVM_ATTR_PREFETCH_LOC, NOWHERE), HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(set(m, PAGE, HSA_SVM_ATTR_ACCESS, 0), HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(set(m, PAGE, 77, 0), HSAKMT_STATUS_ERROR);
	assert_int_equal(KMT(hsaKmtSVMSetAttr)(m, PAGE, 2, half), HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(get(m, PAGE, HSA_SVM_ATTR_GRANULARITY, 0).value, 9);
	assert_int_equal(KMT(hsaKmtSVMGetAttr)(m, PAGE, 1, NULL), HSAKMT_STATUS_INVALID_PARAMETER);
	/* A hole in the range, in the middle and at the end. */
	munmap(m + 2 * PAGE, PAGE);
	assert_int_equal(set(m, 4 * PAGE, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_ERROR);
	assert_int_equal(set(m, 3 * PAGE, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_ERROR);
	assert_int_equal(set(m, 2 * PAGE, HSA_SVM_ATTR_GRANULARITY, 1), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtSVMGetAttr)(m, 4 * PAGE, 1, half), HSAKMT_STATUS_ERROR);
	munmap(m, 2 * PAGE);
	munmap(m + 3 * PAGE, PAGE);
}

/* What is freed takes its attributes along, and nothing of its neighbours'. */
static void freed(void **state)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .FixedAddress = 1}};
	uint8_t *m = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *middle = m + 2 * PAGE;

	(void)state;
	munmap(middle, 2 * PAGE);
	assert_int_equal(KMT(hsaKmtAllocMemory)(0, 2 * PAGE, flags, &middle), HSAKMT_STATUS_SUCCESS);
	assert_ptr_equal(middle, m + 2 * PAGE);
	assert_int_equal(set(m, 6 * PAGE, HSA_SVM_ATTR_GRANULARITY, 3), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(set(m, 6 * PAGE, HSA_SVM_ATTR_ACCESS, 1), HSAKMT_STATUS_SUCCESS);
	/* It stays mapped in the process. */
	KMT(hsaKmtUnmapMemoryToGPU)(middle);
	assert_int_equal(get(middle, 2 * PAGE, HSA_SVM_ATTR_GRANULARITY, 0).value, 3);
	assert_int_equal(KMT(hsaKmtFreeMemory)(middle, 2 * PAGE), HSAKMT_STATUS_SUCCESS);
	assert_ptr_equal(mmap(middle, 2 * PAGE, PROT_READ | PROT_WRITE,
	                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), middle);
	for (int i = 0; i < 6; i++)
		assert_int_equal(get(m + i * PAGE, PAGE, HSA_SVM_ATTR_GRANULARITY, 0).value, i == 2 || i == 3 ? 9 : 3);
	assert_int_equal(get(m + 3 * PAGE, PAGE, HSA_SVM_ATTR_ACCESS, 1).type, HSA_SVM_ATTR_NO_ACCESS);
	assert_int_equal(get(m + 4 * PAGE, PAGE, HSA_SVM_ATTR_ACCESS, 1).type, HSA_SVM_ATTR_ACCESS);
	munmap(m, 6 * PAGE);
}

/* Of a card's memory, and of what another shared; the same addresses come again. */
static void freed_memory_of_a_card(void **state)
{
	uint8_t *vram = kmt_alloc(GPU_NODE, 4 * PAGE);
	void *import = NULL;
	HsaSharedMemoryHandle handle;
	HSAuint64 size;

	(void)state;
	assert_int_equal(KMT(hsaKmtShareMemory)(vram, 4 * PAGE, &handle), HSAKMT_STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		void *before = import;

		assert_int_equal(KMT(hsaKmtRegisterSharedHandle)((const HsaSharedMemoryHandle *)&handle, &import, &size),
		                 HSAKMT_STATUS_SUCCESS);
		assert_true(!before || before == import);
		assert_int_equal(get(import, PAGE, HSA_SVM_ATTR_GRANULARITY, 0).value, 9);
		assert_int_equal(set(import, PAGE, HSA_SVM_ATTR_GRANULARITY, 3), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(KMT(hsaKmtDeregisterMemory)(import), HSAKMT_STATUS_SUCCESS);
	}
	assert_int_equal(set(vram, 4 * PAGE, HSA_SVM_ATTR_PREFERRED_LOC, 1), HSAKMT_STATUS_SUCCESS);
	kmt_free(vram, 4 * PAGE);
	assert_ptr_equal(kmt_alloc(GPU_NODE, 4 * PAGE), vram);
	assert_int_equal(get(vram, 4 * PAGE, HSA_SVM_ATTR_PREFERRED_LOC, 0).value, NOWHERE);
	kmt_free(vram, 4 * PAGE);
}

#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(capability, TWO_GPUS),
		TEST(defaults, TWO_GPUS),
		TEST(against_a_model, TWO_GPUS),
		TEST(refused, TWO_GPUS),
		TEST(freed, TWO_GPUS),
		TEST(freed_memory_of_a_card, TWO_GPUS),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
