/* SPDX-License-Identifier: MIT */
/* print: printf on the device; what it returns is checked here, the text by the test. */
#include "check.h"

__global__ void print(int *lengths, double x)
{
	int i = threadIdx.x;

	if (i < 3)
		lengths[i] = printf("lane %d of %s: %5.2f %e %#x %c %lld %u%%\n", i, i & 1 ? "odd" : "even", x * i, x, 255 - i, 'a' + i,
				    -5000000000ll, 100u);
	else if (i == 70)
		lengths[3] = printf("a line with nothing in it\n");
	else if (i == 200)
		lengths[4] = printf("%s", "two\nlines\n");
}

int main()
{
	Buffer<int> lengths(5);
	std::vector<int> found;

	print<<<1, 256>>>(lengths.data, 1.25);
	LAUNCHED();
	HIP_CHECK(hipDeviceSynchronize());
	found = lengths.get();
	for (int length : found)
		EXPECT(length >= 0);
	std::printf("print: ok\n");
	return 0;
}
