/* SPDX-License-Identifier: MIT */
/* Shared by the HIP programs: a check that ends the program, device buffers, numbers that are the same everywhere. */
#ifndef CHECK_H
#define CHECK_H

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(call)                                                                                                \
	do {                                                                                                           \
		hipError_t check_error = (call);                                                                       \
		if (check_error != hipSuccess) {                                                                       \
			std::fprintf(stderr, "wrong: %s:%d: %s: %s\n", __FILE__, __LINE__, #call,                      \
				     hipGetErrorName(check_error));                                                    \
			std::exit(1);                                                                                  \
		}                                                                                                      \
	} while (0)

#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			std::fprintf(stderr, "wrong: %s:%d: %s\n", __FILE__, __LINE__, #condition);                    \
			std::exit(1);                                                                                  \
		}                                                                                                      \
	} while (0)

/* a launch that the runtime refuses says so only here */
#define LAUNCHED() HIP_CHECK(hipGetLastError())

/* expect_same: the first few elements that differ are named */
template <class T> void expect_same(const char *what, const T *found, const T *want, size_t count)
{
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		if (found[i] == want[i])
			continue;
		if (wrong++ < 4)
			std::fprintf(stderr, "wrong: %s[%zu] is %.17g instead of %.17g\n", what, i, (double)found[i],
				     (double)want[i]);
	}
	if (wrong) {
		std::fprintf(stderr, "wrong: %s: %d of %zu differ\n", what, wrong, count);
		std::exit(1);
	}
}

template <class T> void expect_same(const char *what, const std::vector<T> &found, const std::vector<T> &want)
{
	EXPECT(found.size() == want.size());
	expect_same(what, found.data(), want.data(), want.size());
}

/* device memory that is copied to and from vectors */
template <class T> struct Buffer {
	T *data = nullptr;
	size_t count;

	explicit Buffer(size_t n) : count(n)
	{
		HIP_CHECK(hipMalloc(&data, n * sizeof(T)));
	}
	explicit Buffer(const std::vector<T> &from) : Buffer(from.size())
	{
		put(from);
	}
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;
	~Buffer()
	{
		HIP_CHECK(hipFree(data));
	}
	void put(const std::vector<T> &from)
	{
		EXPECT(from.size() <= count);
		HIP_CHECK(hipMemcpy(data, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
	}
	std::vector<T> get() const
	{
		std::vector<T> out(count);

		HIP_CHECK(hipMemcpy(out.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
		return out;
	}
};

/* splitmix64 */
struct Random {
	uint64_t state;

	explicit Random(uint64_t seed = 1) : state(seed)
	{
	}
	uint64_t next()
	{
		uint64_t z = state += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		return z ^ (z >> 31);
	}
	/* [low, high) */
	double uniform(double low, double high)
	{
		return low + (high - low) * ((double)(next() >> 11) * 0x1p-53);
	}
};

#endif
