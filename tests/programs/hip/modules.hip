/* SPDX-License-Identifier: MIT */
/* modules: code objects from memory, from a file and as a bundle; functions, globals, both ways to pass arguments. */
#include "check.h"

#include <cstring>
#include <unistd.h>

#ifndef __HIP_DEVICE_COMPILE__
/* CODE_OBJECT and BUNDLE are files that the build names: kernels for this GPU alone, and the same in a bundle */
__asm__(".section .rodata\n"
	".balign 4096\n"
	"code_object: .incbin \"" CODE_OBJECT "\"\n"
	"code_object_end:\n"
	".balign 4096\n"
	"bundle: .incbin \"" BUNDLE "\"\n"
	".text\n");
#endif
extern "C" const unsigned char code_object[], code_object_end[], bundle[];

static const int n = 1000;

static void launch_axpy(hipModule_t module, bool packed)
{
	hipFunction_t axpy;
	std::vector<float> x(n), y(n), want(n);
	float a = 1.5f;
	int count = n;

	for (int i = 0; i < n; i++) {
		x[i] = (float)i;
		y[i] = 2.0f;
		want[i] = 2.0f + 1.5f * (float)i;
	}
	Buffer<float> device_x(x), device_y(y);

	HIP_CHECK(hipModuleGetFunction(&axpy, module, "axpy"));
	if (packed) {
		struct {
			float *y;
			const float *x;
			float a;
			int n;
		} args = {device_y.data, device_x.data, a, count};
		size_t size = sizeof(args);
		void *config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
				  HIP_LAUNCH_PARAM_END};

		HIP_CHECK(hipModuleLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, 0, nullptr, config));
	} else {
		void *args[] = {&device_y.data, &device_x.data, &a, &count};

		HIP_CHECK(hipModuleLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, 0, args, nullptr));
	}
	expect_same("y", device_y.get(), want);
}

static void globals(hipModule_t module)
{
	static const int table[4] = {3, 1, 4, 1};
	hipFunction_t count;
	hipDeviceptr_t where;
	size_t bytes;
	int value = 0;
	Buffer<int> out(128);
	std::vector<int> want(128), scratch(64), want_scratch(64);
	void *args[] = {&out.data};

	HIP_CHECK(hipModuleGetGlobal(&where, &bytes, module, "counter"));
	EXPECT(bytes == sizeof(int));
	HIP_CHECK(hipMemcpyDtoH(&value, where, sizeof(value)));
	EXPECT(value == 5);
	value = 40;
	HIP_CHECK(hipMemcpyHtoD(where, &value, sizeof(value)));
	HIP_CHECK(hipModuleGetFunction(&count, module, "count"));
	HIP_CHECK(hipModuleLaunchKernel(count, 1, 1, 1, 128, 1, 1, 0, 0, args, nullptr));
	for (int i = 0; i < 128; i++) {
		want[i] = table[i & 3] + 40;
		want_scratch[i & 63] = i;
	}
	expect_same("out", out.get(), want);
	HIP_CHECK(hipModuleGetGlobal(&where, &bytes, module, "scratch"));
	EXPECT(bytes == 64 * sizeof(int));
	HIP_CHECK(hipMemcpyDtoH(scratch.data(), where, bytes));
	/* two wavefronts write the same place in either order */
	for (int i = 0; i < 64; i++)
		EXPECT(scratch[i] == want_scratch[i] || scratch[i] == i);
}

static void dynamic_lds(hipModule_t module)
{
	hipFunction_t function;
	std::vector<int> x(512), want(512);

	for (int i = 0; i < 512; i++)
		x[i] = i;
	for (int i = 0; i < 512; i++)
		want[i] = i / 256 * 256 + 255 - i % 256;
	Buffer<int> device_x(x);
	uint32_t lds_offset = 0;
	void *args[] = {&device_x.data, &lds_offset};

	HIP_CHECK(hipModuleGetFunction(&function, module, "dynamic_lds"));
	HIP_CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 256, 1, 1, 256 * sizeof(int), 0, args, nullptr));
	expect_same("x", device_x.get(), want);
}

/* what is not a code object for this GPU is refused, and the next one works */
static void refusals(hipModule_t good)
{
	hipModule_t module = nullptr;
	hipFunction_t function;
	hipDeviceptr_t where;
	size_t bytes;
	std::vector<unsigned char> copy(code_object, code_object_end);

	EXPECT(hipModuleGetFunction(&function, good, "absent") == hipErrorNotFound);
	EXPECT(hipModuleGetGlobal(&where, &bytes, good, "absent") == hipErrorNotFound);
	EXPECT(hipModuleLoad(&module, "/nonexistent/module.co") == hipErrorFileNotFound);
	/* e_flags: another gfx number, so no kernel for this GPU is in it */
	copy[48] = 0x2c;
	EXPECT(hipModuleLoadData(&module, copy.data()) != hipSuccess);
	copy[48] = code_object[48];
	memset(copy.data(), 'x', 16);
	EXPECT(hipModuleLoadData(&module, copy.data()) != hipSuccess);
	(void)hipGetLastError();
}

static void from_file(const char *path)
{
	hipModule_t module;

	HIP_CHECK(hipModuleLoad(&module, path));
	launch_axpy(module, false);
	HIP_CHECK(hipModuleUnload(module));
}

int main()
{
	char path[] = "/tmp/kreplay-hip-XXXXXX";
	int file = mkstemp(path);
	hipModule_t module;

	EXPECT(file >= 0);
	EXPECT(write(file, code_object, code_object_end - code_object) == code_object_end - code_object);
	HIP_CHECK(hipInit(0));
	for (int round = 0; round < 3; round++) {
		HIP_CHECK(hipModuleLoadData(&module, round == 1 ? bundle : code_object));
		launch_axpy(module, round & 1);
		globals(module);
		dynamic_lds(module);
		refusals(module);
		HIP_CHECK(hipModuleUnload(module));
	}
	from_file(path);
	close(file);
	unlink(path);
	std::printf("modules: ok\n");
	return 0;
}
