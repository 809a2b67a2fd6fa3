/* SPDX-License-Identifier: MIT */
/* faults WHAT: a kernel that goes wrong in one way; what the runtime makes of it is for the test to see. `none` is well. */
#include "check.h"

#include <cstring>

__global__ void store(volatile int *where)
{
	*where = 1;
}

__global__ void load(int *out, const volatile int *where)
{
	*out = *where;
}

__global__ void add(int *where)
{
	atomicAdd(where, 1);
}

__global__ void jump(int *out, void (*where)())
{
	where();
	*out = 1;
}

__global__ void unknown(int *out)
{
	/* not an instruction of any format */
	__asm__ volatile(".long 0xd4ffffff\n.long 0xffffffff");
	*out = 1;
}

__global__ void trap(int *out)
{
	__builtin_trap();
	*out = 1;
}

__global__ void private_array(int *out, int index)
{
	volatile int room[16];

	for (int i = 0; i < 16; i++)
		room[i] = i;
	room[index] = 77;
	*out = room[index & 15];
}

__global__ void group_memory(int *out, int index)
{
	__shared__ volatile int room[16];

	room[index] = 77;
	*out = room[index];
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	Buffer<int> out(1);
	hipError_t error;
	void *memory;

	HIP_CHECK(hipMemset(out.data, 0, sizeof(int)));
	if (!strcmp(what, "none"))
		load<<<1, 1>>>(out.data, out.data);
	else if (!strcmp(what, "store"))
		store<<<1, 64>>>((int *)0x1000);
	else if (!strcmp(what, "load"))
		load<<<1, 64>>>(out.data, (const int *)0x123456789000);
	else if (!strcmp(what, "atomic"))
		add<<<1, 64>>>((int *)0x2000);
	else if (!strcmp(what, "noncanonical"))
		store<<<1, 1>>>((int *)0xdead123456789000);
	else if (!strcmp(what, "jump"))
		jump<<<1, 1>>>(out.data, (void (*)())0x3000);
	else if (!strcmp(what, "unknown"))
		unknown<<<1, 64>>>(out.data);
	else if (!strcmp(what, "trap"))
		trap<<<1, 64>>>(out.data);
	else if (!strcmp(what, "private"))
		private_array<<<1, 64>>>(out.data, 1 << 28);
	else if (!strcmp(what, "group"))
		group_memory<<<1, 1>>>(out.data, 1 << 20);
	else if (!strcmp(what, "memory")) {
		/* until there is no more */
		size_t step = (size_t)1 << 30;

		while ((error = hipMalloc(&memory, step)) == hipSuccess || (step /= 2) >= 4096)
			;
		std::printf("faults: %s\n", hipGetErrorName(error));
		return error != hipErrorOutOfMemory;
	} else {
		std::fprintf(stderr, "faults: no such thing: %s\n", what);
		return 2;
	}
	error = hipDeviceSynchronize();
	std::printf("faults: %s, %d\n", hipGetErrorName(error), error == hipSuccess ? out.get()[0] : 0);
	return error != hipSuccess;
}
