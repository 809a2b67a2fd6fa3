/* SPDX-License-Identifier: MIT */
/* memory: pinned, mapped, registered and managed memory, fills of every width, copies in two and three dimensions. */
#include "check.h"

#include <cstring>

static const int n = 5000;

/* in place on memory of the host, which a replay does not restore: not for replay */
__global__ void increment(int *x, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		x[i] += i;
}

static void expect_increments(const char *what, const int *x, int start, int times)
{
	std::vector<int> want(n);

	for (int i = 0; i < n; i++)
		want[i] = start + times * i;
	expect_same(what, x, want.data(), n);
}

/* the device works on host memory in place */
static void mapped(unsigned flags)
{
	int *host, *device;
	unsigned got = 0;

	HIP_CHECK(hipHostMalloc((void **)&host, n * sizeof(int), flags));
	HIP_CHECK(hipHostGetDevicePointer((void **)&device, host, 0));
	HIP_CHECK(hipHostGetFlags(&got, host));
	for (int i = 0; i < n; i++)
		host[i] = 9;
	for (int times = 1; times <= 3; times++) {
		increment<<<(n + 255) / 256, 256>>>(device, n);
		LAUNCHED();
		HIP_CHECK(hipDeviceSynchronize());
		expect_increments("mapped", host, 9, times);
	}
	HIP_CHECK(hipHostFree(host));
}

__global__ void triple(int *out, const int *in, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		out[i] = 3 * in[i];
}

/* host memory that is only read and only written */
static void streamed()
{
	int *in, *out;
	std::vector<int> want(n);

	HIP_CHECK(hipHostMalloc((void **)&in, n * sizeof(int), hipHostMallocDefault));
	HIP_CHECK(hipHostMalloc((void **)&out, n * sizeof(int), hipHostMallocDefault));
	for (int i = 0; i < n; i++) {
		in[i] = i * 7;
		want[i] = i * 21;
	}
	triple<<<(n + 255) / 256, 256>>>(out, in, n);
	LAUNCHED();
	HIP_CHECK(hipDeviceSynchronize());
	expect_same("streamed", out, want.data(), n);
	HIP_CHECK(hipHostFree(in));
	HIP_CHECK(hipHostFree(out));
}

static void registered()
{
	std::vector<int> x(n, 4);
	int *device;

	HIP_CHECK(hipHostRegister(x.data(), n * sizeof(int), hipHostRegisterMapped));
	HIP_CHECK(hipHostGetDevicePointer((void **)&device, x.data(), 0));
	increment<<<(n + 255) / 256, 256>>>(device, n);
	LAUNCHED();
	HIP_CHECK(hipDeviceSynchronize());
	expect_increments("registered", x.data(), 4, 1);
	HIP_CHECK(hipHostUnregister(x.data()));
}

__managed__ int managed_variable[8] = {1, 2, 3};

__global__ void increment_managed(int by)
{
	managed_variable[threadIdx.x] += by;
}

static void managed()
{
	hipPointerAttribute_t attributes;
	int *x;

	HIP_CHECK(hipMallocManaged((void **)&x, n * sizeof(int), hipMemAttachGlobal));
	for (int i = 0; i < n; i++)
		x[i] = -3;
	HIP_CHECK(hipPointerGetAttributes(&attributes, x));
	for (int times = 1; times <= 2; times++) {
		increment<<<(n + 255) / 256, 256>>>(x, n);
		LAUNCHED();
		HIP_CHECK(hipDeviceSynchronize());
		expect_increments("managed", x, -3, times);
	}
	HIP_CHECK(hipFree(x));
	managed_variable[3] = 40;
	increment_managed<<<1, 8>>>(2);
	LAUNCHED();
	HIP_CHECK(hipDeviceSynchronize());
	for (int i = 0; i < 8; i++)
		EXPECT(managed_variable[i] == (i < 3 ? i + 1 : i == 3 ? 40 : 0) + 2);
}

/* sizes and starts that are not multiples of anything */
static void fills()
{
	Buffer<unsigned char> x(n);
	std::vector<unsigned char> want(n, 0);

	HIP_CHECK(hipMemset(x.data, 0, n));
	HIP_CHECK(hipMemset(x.data + 3, 0x5a, 1001));
	memset(want.data() + 3, 0x5a, 1001);
	HIP_CHECK(hipMemsetD8((hipDeviceptr_t)(x.data + 2001), 0xc3, 17));
	memset(want.data() + 2001, 0xc3, 17);
	HIP_CHECK(hipMemsetD16((hipDeviceptr_t)(x.data + 2050), 0x1234, 33));
	for (int i = 0; i < 33; i++)
		memcpy(&want[2050 + 2 * i], "\x34\x12", 2);
	HIP_CHECK(hipMemsetD32((hipDeviceptr_t)(x.data + 3000), (int)0xdeadbeef, 55));
	for (int i = 0; i < 55; i++)
		memcpy(&want[3000 + 4 * i], "\xef\xbe\xad\xde", 4);
	HIP_CHECK(hipMemset2D(x.data + 4000, 50, 0x77, 11, 9));
	for (int row = 0; row < 9; row++)
		memset(&want[4000 + 50 * row], 0x77, 11);
	expect_same("filled", x.get(), want);
}

static void rectangles()
{
	const size_t width = 37, height = 21, depth = 5, pitch = 64;
	std::vector<unsigned char> in(width * height * depth), out(width * height * depth);
	unsigned char *device;
	size_t device_pitch;
	hipPitchedPtr cube;
	hipMemcpy3DParms params = {};
	std::vector<unsigned char> padded(pitch * height, 0xee);

	for (size_t i = 0; i < in.size(); i++)
		in[i] = (unsigned char)(i * 13 + i / 256);
	HIP_CHECK(hipMallocPitch((void **)&device, &device_pitch, width, height));
	HIP_CHECK(hipMemcpy2D(device, device_pitch, in.data(), width, width, height, hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy2D(padded.data(), pitch, device, device_pitch, width, height, hipMemcpyDeviceToHost));
	for (size_t row = 0; row < height; row++) {
		expect_same("row", &padded[row * pitch], &in[row * width], width);
		for (size_t i = width; i < pitch; i++)
			EXPECT(padded[row * pitch + i] == 0xee);
	}
	HIP_CHECK(hipFree(device));
	HIP_CHECK(hipMalloc3D(&cube, make_hipExtent(width, height, depth)));
	params.srcPtr = make_hipPitchedPtr(in.data(), width, width, height);
	params.dstPtr = cube;
	params.extent = make_hipExtent(width, height, depth);
	params.kind = hipMemcpyHostToDevice;
	HIP_CHECK(hipMemcpy3D(&params));
	params.srcPtr = cube;
	params.dstPtr = make_hipPitchedPtr(out.data(), width, width, height);
	params.kind = hipMemcpyDeviceToHost;
	HIP_CHECK(hipMemcpy3D(&params));
	expect_same("cube", out, in);
	HIP_CHECK(hipFree(cube.ptr));
}

/* large enough for the copy engine, and not aligned */
static void large()
{
	const size_t bytes = (6 << 20) + 13;
	std::vector<unsigned char> in(bytes), out(bytes);
	Buffer<unsigned char> a(bytes + 8), b(bytes + 8);
	hipDeviceptr_t base;
	size_t size, before, after, total;
	void *more;

	for (size_t i = 0; i < bytes; i++)
		in[i] = (unsigned char)(i * 2654435761u >> 24);
	HIP_CHECK(hipMemcpy(a.data + 3, in.data(), bytes, hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy(b.data + 5, a.data + 3, bytes, hipMemcpyDeviceToDevice));
	HIP_CHECK(hipMemcpy(out.data(), b.data + 5, bytes, hipMemcpyDefault));
	EXPECT(memcmp(in.data(), out.data(), bytes) == 0);
	HIP_CHECK(hipMemGetAddressRange(&base, &size, (hipDeviceptr_t)(b.data + 1000)));
	EXPECT(base == (hipDeviceptr_t)b.data && size == bytes + 8);
	HIP_CHECK(hipMemGetInfo(&before, &total));
	HIP_CHECK(hipMalloc(&more, 64 << 20));
	HIP_CHECK(hipMemGetInfo(&after, &total));
	EXPECT(before - after >= 64 << 20 && before <= total);
	HIP_CHECK(hipFree(more));
	EXPECT(hipMalloc(&more, total * 2) == hipErrorOutOfMemory);
	(void)hipGetLastError();
}

int main()
{
	mapped(hipHostMallocDefault);
	mapped(hipHostMallocMapped | hipHostMallocCoherent);
	mapped(hipHostMallocNonCoherent);
	mapped(hipHostMallocWriteCombined);
	streamed();
	registered();
	managed();
	fills();
	rectangles();
	large();
	std::printf("memory: ok\n");
	return 0;
}
