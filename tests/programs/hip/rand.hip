/* SPDX-License-Identifier: MIT */
/* rand: the rocRAND library on the device against the same generators, from its headers, run on the host. */
#define FQUALIFIERS __forceinline__ __device__ __host__
#include "check.h"

#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>

#include <cmath>

#define RAND_CHECK(call)                                                                                               \
	do {                                                                                                           \
		rocrand_status rand_status = (call);                                                                   \
		if (rand_status != ROCRAND_STATUS_SUCCESS) {                                                           \
			std::fprintf(stderr, "wrong: %s: %d\n", #call, (int)rand_status);                              \
			std::exit(1);                                                                                  \
		}                                                                                                      \
	} while (0)

static const int n = 4096;
static const unsigned long long seed = 20240229;

static rocrand_generator make(rocrand_rng_type type)
{
	rocrand_generator generator;

	RAND_CHECK(rocrand_create_generator(&generator, type));
	RAND_CHECK(rocrand_set_seed(generator, seed));
	return generator;
}

/* one generator's four kinds of numbers; its stream goes on from one call to the next */
static void philox()
{
	rocrand_generator generator = make(ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
	rocrand_state_philox4x32_10 state;
	Buffer<unsigned> words(n);
	Buffer<float> floats(n);
	Buffer<double> doubles(n);
	std::vector<unsigned> want_words(n);
	std::vector<float> want_floats(n);
	std::vector<double> want_doubles(n);

	rocrand_init(seed, 0, 0, &state);
	RAND_CHECK(rocrand_generate(generator, words.data, n));
	for (unsigned &x : want_words)
		x = rocrand(&state);
	expect_same("philox", words.get(), want_words);
	RAND_CHECK(rocrand_generate_uniform(generator, floats.data, n));
	for (float &x : want_floats)
		x = rocrand_uniform(&state);
	expect_same("philox uniform", floats.get(), want_floats);
	RAND_CHECK(rocrand_generate_uniform_double(generator, doubles.data, n));
	for (double &x : want_doubles)
		x = rocrand_uniform_double(&state);
	expect_same("philox uniform double", doubles.get(), want_doubles);
	/* the device takes its fast logarithm and sine */
	RAND_CHECK(rocrand_generate_normal(generator, floats.data, n, 0, 1));
	for (float &x : want_floats)
		x = rocrand_normal(&state);
	std::vector<float> found = floats.get();
	for (int i = 0; i < n; i++)
		EXPECT(std::fabs(found[i] - want_floats[i]) < 1e-5f);
	RAND_CHECK(rocrand_destroy_generator(generator));
}

/* many states side by side, each a subsequence of its own; the first number of each */
template <class State> static void side_by_side(const char *what, rocrand_rng_type type)
{
	rocrand_generator generator = make(type);
	Buffer<unsigned> words(n);
	std::vector<unsigned> want(n);

	RAND_CHECK(rocrand_generate(generator, words.data, n));
	for (int i = 0; i < n; i++) {
		State state;

		rocrand_init(seed, i, 0, &state);
		want[i] = rocrand(&state);
	}
	expect_same(what, words.get(), want);
	RAND_CHECK(rocrand_destroy_generator(generator));
}

/* no reference: the mean and the variance, both lambda, by five standard errors */
static void poisson(double lambda)
{
	rocrand_generator generator = make(ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
	Buffer<unsigned> words(n);
	double sum = 0, squares = 0;

	RAND_CHECK(rocrand_generate_poisson(generator, words.data, n, lambda));
	for (unsigned x : words.get()) {
		sum += x;
		squares += (x - lambda) * (x - lambda);
	}
	EXPECT(std::fabs(sum / n - lambda) < 5 * std::sqrt(lambda / n));
	EXPECT(std::fabs(squares / n - lambda) < 5 * std::sqrt((lambda + 2 * lambda * lambda) / n));
	RAND_CHECK(rocrand_destroy_generator(generator));
}

int main()
{
	philox();
	side_by_side<rocrand_state_xorwow>("xorwow", ROCRAND_RNG_PSEUDO_XORWOW);
	side_by_side<rocrand_state_mrg32k3a>("mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A);
	poisson(12);
	poisson(500);
	std::printf("rand: ok\n");
	return 0;
}
