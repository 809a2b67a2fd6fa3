/* SPDX-License-Identifier: MIT */
/* Memory between processes: given back once its owner has freed it and nobody else holds it. */
#include "kmt.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes);

#define CARD (64u << 20)
#define SIZE (40u << 20)

enum ending { DEREGISTERS, CLOSES, DIES };

/* What the importer does when it may go on. */
static int importer(const HsaSharedMemoryHandle *handle, uint64_t want, enum ending ending, int ready, int go_on)
{
	HSAuint64 size = 0;
	uint32_t *mine = NULL;
	char byte = 'x';

	if (KMT(hsaKmtOpenKFD)() != HSAKMT_STATUS_SUCCESS)
		return 1;
	if (KMT(hsaKmtRegisterSharedHandle)(handle, (void **)&mine, &size) != HSAKMT_STATUS_SUCCESS)
		return 2;
	if (size != want || mine[0] != 41 || mine[want / 4 - 1] != 42)
		return 3;
	if (write(ready, &byte, 1) != 1 || read(go_on, &byte, 1) != 1)
		return 4;
	/* The owner has freed it; here it is as it was. */
	if (mine[0] != 41 || mine[want / 4 - 1] != 42)
		return 5;
	if (ending == DIES)
		kill(getpid(), SIGKILL);
	if (ending == CLOSES)
		return KMT(hsaKmtCloseKFD)() == HSAKMT_STATUS_SUCCESS ? 0 : 6;
	if (KMT(hsaKmtDeregisterMemory)(mine) != HSAKMT_STATUS_SUCCESS)
		return 7;
	/* It let go, and still lives when the owner looks. */
	return write(ready, &byte, 1) == 1 && read(go_on, &byte, 1) == 1 ? 0 : 8;
}

struct other {
	pid_t pid;
	int ready, go_on;
};

static struct other start(const HsaSharedMemoryHandle *handle, uint64_t size, enum ending ending)
{
	int ready[2], go_on[2];
	struct other other;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go_on), 0);
	other = (struct other){fork(), ready[0], go_on[1]};
	if (other.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a check of the owner's may fail */
		_exit(importer(handle, size, ending, ready[1], go_on[0]));
	}
	close(ready[1]);
	close(go_on[0]);
	return other;
}

static void await(const struct other *other)
{
	char byte;

	assert_int_equal(read(other->ready, &byte, 1), 1);
}

static void let(const struct other *other)
{
	assert_int_equal(write(other->go_on, "x", 1), 1);
}

static void end(const struct other *other, enum ending ending)
{
	int status;

	assert_int_equal(waitpid(other->pid, &status, 0), other->pid);
	if (ending == DIES)
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("the importer ended with 0x%x", status);
	close(other->ready);
	close(other->go_on);
}

static uint64_t available(void)
{
	HSAuint64 bytes = 0;

	assert_int_equal(KMT(hsaKmtAvailableMemory)(GPU_NODE, &bytes), HSAKMT_STATUS_SUCCESS);
	return bytes;
}

static bool fits(uint64_t size)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .CoarseGrain = 1}};
	void *at = NULL;
	HSAKMT_STATUS status = KMT(hsaKmtAllocMemory)(GPU_NODE, size, flags, &at);

	if (status == HSAKMT_STATUS_SUCCESS) {
		assert_int_equal(((uint32_t *)at)[0], 0); /* nothing of the other's */
		kmt_free(at, size);
	}
	return status == HSAKMT_STATUS_SUCCESS;
}

static void device_memory(enum ending ending)
{
	uint32_t *vram = kmt_alloc(GPU_NODE, SIZE);
	HsaSharedMemoryHandle handle, again;
	struct other other;
	HSAuint64 size;
	void *mine;

	vram[0] = 41;
	vram[SIZE / 4 - 1] = 42;
	assert_int_equal(KMT(hsaKmtShareMemory)(vram, SIZE, &handle), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtShareMemory)(vram, SIZE, &again), HSAKMT_STATUS_SUCCESS);
	assert_memory_equal(handle, again, sizeof(handle));
	other = start((const HsaSharedMemoryHandle *)&handle, SIZE, ending);
	await(&other);
	kmt_free(vram, SIZE);
	/* Held by the other: used up all the same, and nobody new gets it. */
	assert_int_equal(available(), CARD - SIZE);
	assert_false(fits(SIZE));
	assert_int_not_equal(KMT(hsaKmtRegisterSharedHandle)((const HsaSharedMemoryHandle *)&handle, &mine, &size),
	                     HSAKMT_STATUS_SUCCESS);
	let(&other);
	if (ending == DEREGISTERS)
		await(&other);
	else
		end(&other, ending);
	assert_true(fits(SIZE));
	assert_int_equal(available(), CARD);
	if (ending == DEREGISTERS) {
		let(&other);
		end(&other, ending);
	}
	/* An old handle does not mean what lies there now. */
	vram = kmt_alloc(GPU_NODE, SIZE);
	assert_int_not_equal(KMT(hsaKmtRegisterSharedHandle)((const HsaSharedMemoryHandle *)&handle, &mine, &size),
	                     HSAKMT_STATUS_SUCCESS);
	kmt_free(vram, SIZE);
}

static void importer_lets_go(void **state)
{
	(void)state;
	device_memory(DEREGISTERS);
}

static void importer_closes(void **state)
{
	(void)state;
	device_memory(CLOSES);
}

static void importer_dies(void **state)
{
	(void)state;
	device_memory(DIES);
}

/* Nobody ever took it: it is there again at once, time after time. */
static void never_imported(void **state)
{
	HsaSharedMemoryHandle handle;

	(void)state;
	for (int i = 0; i < 100; i++) {
		void *vram = kmt_alloc(GPU_NODE, SIZE);

		assert_int_equal(KMT(hsaKmtShareMemory)(vram, SIZE, &handle), HSAKMT_STATUS_SUCCESS);
		kmt_free(vram, SIZE);
	}
	assert_int_equal(available(), CARD);
}

/* Bytes that this process's memory file of that name takes. */
static uint64_t file_bytes(const char *name)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t bytes = 0;

	for (struct dirent *entry; (entry = readdir(dir));) {
		char path[300], target[300] = "";
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, name) && !stat(path, &st))
			bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(dir);
	return bytes;
}

static void host_memory(void **state)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .NonPaged = 1}};
	uint64_t before = file_bytes("softgpu-system");
	HsaSharedMemoryHandle handle;
	uint32_t *memory = NULL;
	struct other other;
	void *more = NULL;

	(void)state;
	assert_int_equal(KMT(hsaKmtAllocMemory)(0, SIZE, flags, (void **)&memory), HSAKMT_STATUS_SUCCESS);
	memset(memory, 1, SIZE);
	memory[0] = 41;
	memory[SIZE / 4 - 1] = 42;
	assert_int_equal(KMT(hsaKmtShareMemory)(memory, SIZE, &handle), HSAKMT_STATUS_SUCCESS);
	other = start((const HsaSharedMemoryHandle *)&handle, SIZE, CLOSES);
	await(&other);
	kmt_free(memory, SIZE);
	assert_true(file_bytes("softgpu-system") >= before + SIZE);
	let(&other);
	end(&other, CLOSES);
	/* Seen when the next comes. */
	assert_int_equal(KMT(hsaKmtAllocMemory)(0, 4096, flags, &more), HSAKMT_STATUS_SUCCESS);
	assert_true(file_bytes("softgpu-system") <= before + 4096);
	kmt_free(more, 4096);
}

#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(importer_lets_go, "vram=64M"),
		TEST(importer_closes, "vram=64M"),
		TEST(importer_dies, "vram=64M"),
		TEST(never_imported, "vram=64M"),
		TEST(host_memory, "vram=64M"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
