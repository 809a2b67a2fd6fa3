/* SPDX-License-Identifier: MIT */
/* The thunk by itself: exports, topology, events, memory, life cycle. */
#include "kmt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes);
HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *Event, HSAuint32 Milliseconds, uint64_t *event_age);

static void exports(void **state)
{
	static const char *const names[] = {
#define SG_EXPORT(name) #name,
#define SG_REFUSE(name, parameters) #name,
#include "../../src/softgpu/thunk/exports.def"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		kmt_symbol(names[i]);
}

static void refusals(void **state)
{
	HSAuint32 first;

	(void)state;
	assert_int_equal(KMT(hsaKmtAllocQueueGWS)(1, 1, &first), HSAKMT_STATUS_INVALID_HANDLE);
	assert_int_equal(KMT(hsaKmtDbgRegister)(1), HSAKMT_STATUS_NOT_SUPPORTED);
}

static void topology(void **state)
{
	HsaSystemProperties system;
	HsaNodeProperties node;

	(void)state;
	assert_int_equal(KMT(hsaKmtAcquireSystemProperties)(&system), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(system.NumNodes, 3);
	assert_int_equal(KMT(hsaKmtGetNodeProperties)(0, &node), HSAKMT_STATUS_SUCCESS);
	assert_true(node.NumCPUCores > 0 && node.NumFComputeCores == 0);
	for (uint32_t i = 1; i < 3; i++) {
		HsaMemoryProperties banks[3];
		HsaIoLinkProperties links[2];

		assert_int_equal(KMT(hsaKmtGetNodeProperties)(i, &node), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(node.EngineId.ui32.Stepping, i == 1 ? 10 : 6);
		assert_true(node.NumSIMDPerCU > 0);
		assert_int_equal(node.NumFComputeCores / node.NumSIMDPerCU % node.NumShaderBanks, 0);
		assert_int_equal(node.NumMemoryBanks, 3);
		assert_int_equal(KMT(hsaKmtGetNodeMemoryProperties)(i, 3, banks),
		                 HSAKMT_STATUS_SUCCESS);
		assert_int_equal(banks[0].SizeInBytes, 64 << 20);
		assert_int_equal(node.NumIOLinks, 2);
		assert_int_equal(KMT(hsaKmtGetNodeIoLinkProperties)(i, 2, links),
		                 HSAKMT_STATUS_SUCCESS);
		assert_int_equal(links[0].NodeTo, 0);
	}
	assert_int_equal(KMT(hsaKmtGetNodeProperties)(3, &node), HSAKMT_STATUS_INVALID_NODE_UNIT);
}

/* ---- events ---- */

/* The library sleeps by this function of the C library's, which the test's stands in for: when a thread comes here, it
 * is among those that the event knows to wait. */
static sem_t asleep;
static _Thread_local bool falls_asleep;

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*_Atomic next)(long, ...);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_futex && falls_asleep) {
		falls_asleep = false;
		sem_post(&asleep);
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void *wait_event(void *event)
{
	falls_asleep = true;
	return (void *)(intptr_t)KMT(hsaKmtWaitOnEvent)(event, 5000);
}

static void await_sleepers(int count)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	while (count--)
		assert_int_equal(sem_timedwait(&asleep, &end), 0);
}

static void event_wakes_all(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	pthread_t threads[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, wait_event, event);
	await_sleepers(8);
	assert_int_equal(KMT(hsaKmtSetEvent)(event), HSAKMT_STATUS_SUCCESS);
	for (int i = 0; i < 8; i++) {
		void *result;

		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t)result, HSAKMT_STATUS_SUCCESS);
	}
	/* All were waiting, so it did not stay set. */
	assert_int_equal(KMT(hsaKmtQueryEventState)(event), HSAKMT_STATUS_WAIT_TIMEOUT);
	/* Nobody waits: it stays, for one wait. */
	KMT(hsaKmtSetEvent)(event);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT(hsaKmtDestroyEvent)(event);
}

/* Another waiter takes the set while this thread is on its way to wait: it must
 * not sleep, as it may be the only one that could end its sleep. */
static void *set_and_take(void *event)
{
	KMT(hsaKmtSetEvent)(event);
	return (void *)(intptr_t)KMT(hsaKmtWaitOnEvent)(event, 0);
}

static void event_not_lost(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	pthread_create(&thread, NULL, set_and_take, event);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtQueryEventState)(event), HSAKMT_STATUS_WAIT_TIMEOUT);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 1000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 10), HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT(hsaKmtDestroyEvent)(event);
}

static void event_manual(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, true);

	(void)state;
	KMT(hsaKmtSetEvent)(event);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_SUCCESS);
	KMT(hsaKmtResetEvent)(event);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT(hsaKmtDestroyEvent)(event);
}

static void event_timeout(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	uint64_t before = kmt_now_ns();

	(void)state;
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(event, 50), HSAKMT_STATUS_WAIT_TIMEOUT);
	uint64_t took = kmt_now_ns() - before;

	assert_true(took >= 50000000 && took < 500000000);
	KMT(hsaKmtDestroyEvent)(event);
}

static void event_multiple(void **state)
{
	HsaEvent *events[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		events[i] = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	KMT(hsaKmtSetEvent)(events[17]);
	assert_int_equal(KMT(hsaKmtWaitOnMultipleEvents)(events, 20, false, 0),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtWaitOnMultipleEvents)(events, 20, false, 1),
	                 HSAKMT_STATUS_WAIT_TIMEOUT);
	for (int i = 0; i < 19; i++)
		KMT(hsaKmtSetEvent)(events[i]);
	assert_int_equal(KMT(hsaKmtWaitOnMultipleEvents)(events, 20, true, 1),
	                 HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT(hsaKmtSetEvent)(events[19]);
	assert_int_equal(KMT(hsaKmtWaitOnMultipleEvents)(events, 20, true, 1),
	                 HSAKMT_STATUS_SUCCESS);
	for (int i = 0; i < 20; i++)
		KMT(hsaKmtDestroyEvent)(events[i]);
}

static void event_age(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	uint64_t age = 1;

	(void)state;
	KMT(hsaKmtSetEvent)(event);
	KMT(hsaKmtWaitOnEvent)(event, 0); /* somebody else consumed it */
	assert_int_equal(KMT(hsaKmtWaitOnEvent_Ext)(event, 0, &age), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(age, 2);
	assert_int_equal(KMT(hsaKmtWaitOnEvent_Ext)(event, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT);
	KMT(hsaKmtDestroyEvent)(event);
}

static void event_destroyed_while_waiting(void **state)
{
	HsaEvent *event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	pthread_t thread;
	void *result;

	(void)state;
	pthread_create(&thread, NULL, wait_event, event);
	await_sleepers(1);
	assert_int_equal(KMT(hsaKmtDestroyEvent)(event), HSAKMT_STATUS_SUCCESS);
	event = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, HSAKMT_STATUS_WAIT_FAILURE);
	KMT(hsaKmtDestroyEvent)(event);
}

static void event_limit(void **state)
{
	static HsaEvent *events[5000];
	HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
	int count = 0;

	(void)state;
	while (count < 5000 && KMT(hsaKmtCreateEvent)(&descriptor, false, false,
	                                              &events[count]) == HSAKMT_STATUS_SUCCESS)
		count++;
	assert_in_range(count, 1000, 4999);
	while (count)
		KMT(hsaKmtDestroyEvent)(events[--count]);
}

/* ---- memory ---- */

static void vram_exhaustion(void **state)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .NonPaged = 1}};
	void *blocks[64];
	HSAuint64 left;
	int count = 0;

	(void)state;
	while (count < 64 && KMT(hsaKmtAllocMemory)(1, 4 << 20, flags, &blocks[count]) ==
	                             HSAKMT_STATUS_SUCCESS) {
		assert_int_equal((uintptr_t)blocks[count] % (2 << 20), 0);
		memset(blocks[count], count, 4096);
		count++;
	}
	assert_int_equal(count, 16); /* 64 MiB */
	assert_int_equal(KMT(hsaKmtAllocMemory)(1, 4096, flags, &blocks[16]),
	                 HSAKMT_STATUS_NO_MEMORY);
	/* The other card is not affected. */
	assert_int_equal(KMT(hsaKmtAllocMemory)(2, 4096, flags, &blocks[16]),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtAvailableMemory)(2, &left), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(left, (64 << 20) - 4096);
	KMT(hsaKmtFreeMemory)(blocks[16], 4096);
	for (int i = 0; i < count; i += 2)
		assert_int_equal(KMT(hsaKmtFreeMemory)(blocks[i], 4 << 20), HSAKMT_STATUS_SUCCESS);
	/* Half is free in pieces; device page tables do not mind. */
	assert_int_equal(KMT(hsaKmtAllocMemory)(1, 32 << 20, flags, &blocks[0]),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(*(volatile char *)blocks[0], 0);
	KMT(hsaKmtFreeMemory)(blocks[0], 32 << 20);
	for (int i = 1; i < count; i += 2) {
		assert_int_equal(*(char *)blocks[i], i);
		KMT(hsaKmtFreeMemory)(blocks[i], 4 << 20);
	}
	assert_int_equal(KMT(hsaKmtFreeMemory)(blocks[1], 4 << 20),
	                 HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
	assert_int_equal(KMT(hsaKmtAvailableMemory)(1, &left), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(left, 64 << 20);
}

static void pointer_info(void **state)
{
	char *vram = kmt_alloc(1, 64 << 10);
	char *user = malloc(10000);
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .CoarseGrain = 1}};
	HsaMemMapFlags map = {0};
	HSAuint32 nodes[2] = {1, 2};
	HsaPointerInfo info;
	HSAuint64 va;

	(void)state;
	assert_int_equal(KMT(hsaKmtQueryPointerInfo)(vram + 5000, &info), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(info.Type, HSA_POINTER_ALLOCATED);
	assert_int_equal(info.Node, 1);
	assert_ptr_equal(info.CPUAddress, vram);
	assert_int_equal(info.GPUAddress, (uintptr_t)vram);
	assert_int_equal(info.SizeInBytes, 64 << 10);
	assert_int_equal(KMT(hsaKmtMapMemoryToGPUNodes)(vram, 64 << 10, &va, map, 2, nodes),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtSetMemoryUserData)(vram, user), HSAKMT_STATUS_SUCCESS);
	KMT(hsaKmtQueryPointerInfo)(vram, &info);
	assert_int_equal(info.NMappedNodes, 2);
	assert_int_equal(info.MappedNodes[1], 2);
	assert_ptr_equal(info.UserData, user);

	assert_int_not_equal(KMT(hsaKmtQueryPointerInfo)(user, &info), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(info.Type, HSA_POINTER_UNKNOWN);
	for (int i = 0; i < 2; i++)
		assert_int_equal(KMT(hsaKmtRegisterMemoryWithFlags)(user, 10000, flags),
		                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtMapMemoryToGPU)(user, 10000, &va), HSAKMT_STATUS_SUCCESS);
	/* elsewhere than for the host; either address finds it */
	assert_int_not_equal(va, (uintptr_t)user);
	for (int i = 0; i < 2; i++) {
		KMT(hsaKmtQueryPointerInfo)((char *)(i ? (void *)va : user) + 9999, &info);
		assert_int_equal(info.Type, HSA_POINTER_REGISTERED_USER);
		assert_ptr_equal(info.CPUAddress, user);
		assert_int_equal(info.GPUAddress, va);
	}
	/* Registered twice, so it takes two to forget. */
	KMT(hsaKmtDeregisterMemory)(user);
	assert_int_equal(KMT(hsaKmtQueryPointerInfo)(user, &info), HSAKMT_STATUS_SUCCESS);
	KMT(hsaKmtDeregisterMemory)(user);
	assert_int_not_equal(KMT(hsaKmtQueryPointerInfo)(user, &info), HSAKMT_STATUS_SUCCESS);
	assert_int_not_equal(KMT(hsaKmtDeregisterMemory)(user), HSAKMT_STATUS_SUCCESS);
	kmt_free(vram, 64 << 10);
	free(user);
}

static void share_with_child(void **state)
{
	int *vram = kmt_alloc(1, 2 << 20);
	HsaSharedMemoryHandle handle;
	int status, ready[2];
	char byte;

	(void)state;
	*vram = 41;
	assert_int_equal(KMT(hsaKmtShareMemory)(vram, 2 << 20, &handle), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(handle[6] & 0x800001ff, 0);
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();

	if (child == 0) {
		HSAuint64 size = 0;
		int *mine = NULL;

		/* Closed until the child opens for itself. */
		if (KMT(hsaKmtFreeMemory)(vram, 2 << 20) !=
		    HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED)
			_exit(1);
		if (KMT(hsaKmtOpenKFD)() != HSAKMT_STATUS_SUCCESS)
			_exit(2);
		if (KMT(hsaKmtRegisterSharedHandle)((const HsaSharedMemoryHandle *)&handle,
		                                    (void **)&mine, &size) != HSAKMT_STATUS_SUCCESS)
			_exit(3);
		if (size != 2 << 20 || *mine != 41)
			_exit(4);
		*mine = 42;
		if (KMT(hsaKmtDeregisterMemory)(mine) != HSAKMT_STATUS_SUCCESS)
			_exit(5);
		if (KMT(hsaKmtCloseKFD)() != HSAKMT_STATUS_SUCCESS)
			_exit(6);
		_exit(write(ready[1], "x", 1) == 1 ? 0 : 7);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(*vram, 42);
	kmt_free(vram, 2 << 20);
}

static void scratch_pool(void **state)
{
	HsaMemFlags flags = {.ui32 = {.Scratch = 1, .HostAccess = 1}};
	char *pool = NULL;
	HSAuint64 va;

	(void)state;
	assert_int_equal(KMT(hsaKmtAllocMemory)(1, 1ull << 32, flags, (void **)&pool),
	                 HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtMapMemoryToGPU)(pool + 65536, 65536, &va), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtUnmapMemoryToGPU)(pool + 65536), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtFreeMemory)(pool, 1ull << 32), HSAKMT_STATUS_SUCCESS);
}

static void bad_arguments(void **state)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *p = NULL;

	(void)state;
	assert_int_equal(KMT(hsaKmtAllocMemory)(0, 0, flags, &p), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(KMT(hsaKmtAllocMemory)(0, 100, flags, &p), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(KMT(hsaKmtAllocMemory)(9, 4096, flags, &p), HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(KMT(hsaKmtDestroyQueue)(77), HSAKMT_STATUS_INVALID_HANDLE);
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(NULL, 0), HSAKMT_STATUS_INVALID_HANDLE);
}

/* ---- life cycle ---- */

static void closed(void **state)
{
	HsaSystemProperties system;

	(void)state;
	assert_int_equal(KMT(hsaKmtAcquireSystemProperties)(&system),
	                 HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
	setenv("KREPLAY_SOFTGPU", "no-such-thing", 1);
	assert_int_not_equal(KMT(hsaKmtOpenKFD)(), HSAKMT_STATUS_SUCCESS);
	setenv("KREPLAY_SOFTGPU", "gfx90a", 1);
	assert_int_equal(KMT(hsaKmtOpenKFD)(), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtOpenKFD)(), HSAKMT_STATUS_KERNEL_ALREADY_OPENED);
	assert_int_equal(KMT(hsaKmtCloseKFD)(), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtAcquireSystemProperties)(&system), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtCloseKFD)(), HSAKMT_STATUS_SUCCESS);
	assert_int_not_equal(KMT(hsaKmtCloseKFD)(), HSAKMT_STATUS_SUCCESS);
}

/* The largest SPEC that there is, with work for it. */
static void largest(void **state)
{
	HsaSystemProperties system;
	void *block;

	(void)state;
	assert_int_equal(KMT(hsaKmtAcquireSystemProperties)(&system), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(system.NumNodes, 17);
	block = kmt_alloc(16, 1 << 20);
	kmt_free(block, 1 << 20);
	kmt_device_turn();
}

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ull +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
}

static void idle_is_cheap(void **state)
{
	HsaEvent *never = kmt_event(HSA_EVENTTYPE_SIGNAL, false);
	struct kmt_queue queue;
	uint64_t before;

	(void)state;
	kmt_queue_create(&queue, 64);
	kmt_device_turn(); /* after work it stays awake for a while */
	/* Time is what is measured: what the device's threads take of 200 ms, its way to sleep included. */
	before = cpu_ns();
	assert_int_equal(KMT(hsaKmtWaitOnEvent)(never, 200), HSAKMT_STATUS_WAIT_TIMEOUT);
	assert_true(cpu_ns() - before < 20000000); /* a tenth of a core, a loaded machine allowed for */
	kmt_queue_destroy(&queue);
	KMT(hsaKmtDestroyEvent)(never);
}

#define TWO_GPUS "gfx90a,gfx906,vram=64M"
#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports),
		cmocka_unit_test(closed),
		TEST(refusals, NULL),
		TEST(topology, TWO_GPUS),
		TEST(event_wakes_all, NULL),
		TEST(event_not_lost, NULL),
		TEST(event_manual, NULL),
		TEST(event_timeout, NULL),
		TEST(event_multiple, NULL),
		TEST(event_age, NULL),
		TEST(event_destroyed_while_waiting, NULL),
		TEST(event_limit, NULL),
		TEST(vram_exhaustion, TWO_GPUS),
		TEST(pointer_info, TWO_GPUS),
		TEST(share_with_child, NULL),
		TEST(scratch_pool, NULL),
		TEST(bad_arguments, NULL),
		TEST(largest, "gfx90a:16,vram=1T,threads=1024"),
		TEST(largest, "gfx90a:16,vram=1T,private-vram"),
		TEST(idle_is_cheap, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
