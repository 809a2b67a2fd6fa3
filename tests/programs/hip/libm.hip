/* SPDX-License-Identifier: MIT */
/* libm: the device's double functions against the C library's in extended precision. The limits are those that OpenCL C,
 * section "Relative error as ULPs", sets for double precision; the device library is made to them. */
#include "check.h"

#include <cfloat>
#include <cmath>

static const int n = 2048;

/* what is asked of each function: arguments from [low, high), or spread evenly over the exponents between them */
struct Row {
	const char *name;
	double low, high;
	bool spread;
	double limit;
};

#define ONE_ARGUMENT(ROW)                                                                                              \
	ROW(acos, -1, 1, false, 4)                                                                                     \
	ROW(acosh, 1, 1e300, true, 4)                                                                                  \
	ROW(asin, -1, 1, false, 4)                                                                                     \
	ROW(asinh, 1e-300, 1e300, true, 4)                                                                             \
	ROW(atan, 1e-300, 1e300, true, 5)                                                                              \
	ROW(atanh, -1, 1, false, 5)                                                                                    \
	ROW(cbrt, 1e-308, 1e308, true, 2)                                                                              \
	ROW(ceil, -1e6, 1e6, false, 0)                                                                                 \
	ROW(cos, -100, 100, false, 4)                                                                                  \
	ROW(cosh, -700, 700, false, 4)                                                                                 \
	ROW(erf, -6, 6, false, 16)                                                                                     \
	ROW(erfc, -6, 26, false, 16)                                                                                   \
	ROW(exp, -745, 709, false, 3)                                                                                  \
	ROW(exp2, -1074, 1023, false, 3)                                                                               \
	ROW(expm1, -40, 709, false, 3)                                                                                 \
	ROW(fabs, -1, 1, false, 0)                                                                                     \
	ROW(floor, -1e6, 1e6, false, 0)                                                                                \
	ROW(log, 5e-324, 1e308, true, 3)                                                                               \
	ROW(log10, 5e-324, 1e308, true, 3)                                                                             \
	ROW(log1p, 1e-300, 1e300, true, 2)                                                                             \
	ROW(log2, 5e-324, 1e308, true, 3)                                                                              \
	ROW(logb, 5e-324, 1e308, true, 0)                                                                              \
	ROW(rint, -1e6, 1e6, false, 0)                                                                                 \
	ROW(round, -1e6, 1e6, false, 0)                                                                                \
	ROW(sin, -100, 100, false, 4)                                                                                  \
	ROW(sinh, -700, 700, false, 4)                                                                                 \
	ROW(sqrt, 5e-324, 1e308, true, 0)                                                                              \
	ROW(tan, -100, 100, false, 5)                                                                                  \
	ROW(tanh, -20, 20, false, 5)                                                                                   \
	ROW(tgamma, 0.01, 170, false, 16)                                                                              \
	ROW(trunc, -1e6, 1e6, false, 0)

/* the same functions where the argument has to be reduced by many turns */
#define LARGE_ARGUMENT(ROW)                                                                                            \
	ROW(sin, 1e3, 1e300, true, 4)                                                                                  \
	ROW(cos, 1e3, 1e300, true, 4)                                                                                  \
	ROW(tan, 1e3, 1e300, true, 5)

#define TWO_ARGUMENTS(ROW)                                                                                             \
	ROW(atan2, -100, 100, false, 6)                                                                                \
	ROW(copysign, -1, 1, false, 0)                                                                                 \
	ROW(fdim, -1, 1, false, 0)                                                                                     \
	ROW(fmax, -1, 1, false, 0)                                                                                     \
	ROW(fmin, -1, 1, false, 0)                                                                                     \
	ROW(fmod, 1e-10, 1e10, true, 0)                                                                                \
	ROW(hypot, 1e-300, 1e300, true, 4)                                                                             \
	ROW(nextafter, -1, 1, false, 0)                                                                                \
	ROW(pow, 0.01, 100, false, 16)                                                                                 \
	ROW(remainder, 1e-10, 1e10, true, 0)

#define KERNEL_1(f, ...)                                                                                               \
	__global__ void gpu_##f(double *out, const double *x)                                                          \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		out[i] = f(x[i]);                                                                                      \
	}
#define KERNEL_2(f, ...)                                                                                               \
	__global__ void gpu_##f(double *out, const double *x, const double *y)                                         \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		out[i] = f(x[i], y[i]);                                                                                \
	}
ONE_ARGUMENT(KERNEL_1)
TWO_ARGUMENTS(KERNEL_2)

__global__ void arithmetic(double *out, const double *x, const double *y, int which)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	switch (which) {
	case 0: out[i] = x[i] / y[i]; break;
	case 1: out[i] = fma(x[i], y[i], -x[i]); break;
	case 2: out[i] = 1 / sqrt(x[i]); break;
	case 3: out[i] = ldexp(x[i], (int)y[i] % 40); break;
	case 4: out[i] = (double)(long long)(x[i] * 1e9) + (double)(unsigned)y[i]; break;
	default: out[i] = (double)((float)x[i] * (float)y[i]); break;
	}
}

static int failures;

/* the distance in units of the last place that a double has there */
static double ulps(double found, long double want)
{
	double nearest = (double)want;
	int exponent;

	if (std::isnan(found) || std::isnan(nearest))
		return std::isnan(found) && std::isnan(nearest) ? 0 : INFINITY;
	if (found == nearest)
		return 0;
	if (std::isinf(found) || std::isinf(nearest))
		/* overflow by a hair of the limit is not told apart */
		return std::fabs(std::isinf(found) ? nearest : found) > DBL_MAX * (1 - 1e-14) ? 0 : INFINITY;
	std::frexp(nearest, &exponent);
	return (double)(std::fabs((long double)found - want) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

static void compare(const Row &row, const std::vector<double> &found, const std::vector<long double> &want,
		    const std::vector<double> &x, const std::vector<double> &y)
{
	double worst = 0;
	int where = 0;

	for (int i = 0; i < n; i++) {
		double error = ulps(found[i], want[i]);

		if (error > worst) {
			worst = error;
			where = i;
		}
	}
	if (worst > row.limit) {
		std::fprintf(stderr, "wrong: %s(%.17g, %.17g) is %.17g instead of %.21Lg: %g ulp, not %g\n", row.name, x[where],
			     y[where], found[where], want[where], worst, row.limit);
		failures++;
	}
}

static std::vector<double> arguments(const Row &row, uint64_t seed)
{
	Random random(seed);
	std::vector<double> x(n);

	for (double &value : x) {
		if (row.spread)
			value = std::exp2(random.uniform(std::log2(row.low), std::log2(row.high)));
		else
			value = random.uniform(row.low, row.high);
		if (row.spread && row.low < 1e-299 && row.low > 1e-301 && random.next() & 1)
			value = -value; /* these take both signs */
	}
	return x;
}

template <class Kernel, class Reference> static void one(const Row &row, Kernel kernel, Reference reference)
{
	std::vector<double> x = arguments(row, 1), none(n);
	std::vector<long double> want(n);
	static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 0.5, DBL_MIN, DBL_MAX};
	int at = 0;

	for (double value : special)
		x[at++] = value;
	Buffer<double> device_x(x), out(n);

	kernel<<<n / 256, 256>>>(out.data, device_x.data);
	LAUNCHED();
	for (int i = 0; i < n; i++)
		want[i] = reference(x[i]);
	compare(row, out.get(), want, x, none);
}

template <class Kernel, class Reference> static void two(const Row &row, Kernel kernel, Reference reference)
{
	std::vector<double> x = arguments(row, 2), y = arguments(row, 3);
	std::vector<long double> want(n);
	Buffer<double> device_x(x), device_y(y), out(n);

	kernel<<<n / 256, 256>>>(out.data, device_x.data, device_y.data);
	LAUNCHED();
	for (int i = 0; i < n; i++)
		want[i] = reference(x[i], y[i]);
	compare(row, out.get(), want, x, y);
}

static double exactly(int which, double x, double y)
{
	switch (which) {
	case 0: return x / y;
	case 1: return std::fma(x, y, -x);
	case 2: return 1 / std::sqrt(x);
	case 3: return std::ldexp(x, (int)y % 40);
	case 4: return (double)(long long)(x * 1e9) + (double)(unsigned)y;
	default: return (double)((float)x * (float)y);
	}
}

static void basic()
{
	static const char *names[] = {"division", "fma", "1 / sqrt", "ldexp", "conversions", "float product"};

	for (int which = 0; which < 6; which++) {
		Row row = {names[which], 1e-3, 1e6, true, 0};
		std::vector<double> x = arguments(row, 4), y = arguments(row, 5);
		std::vector<long double> want(n);

		if (which == 0) {
			x[0] = 5e-324, y[0] = 3, x[1] = DBL_MAX, y[1] = 0.5, x[2] = 1, y[2] = 0, x[3] = -0.0, y[3] = 7;
			x[4] = DBL_MIN, y[4] = 3, x[5] = 1, y[5] = DBL_MAX, x[6] = 0, y[6] = 0, x[7] = INFINITY, y[7] = 2;
		}
		Buffer<double> device_x(x), device_y(y), out(n);

		arithmetic<<<n / 256, 256>>>(out.data, device_x.data, device_y.data, which);
		LAUNCHED();
		for (int i = 0; i < n; i++)
			want[i] = exactly(which, x[i], y[i]);
		compare(row, out.get(), want, x, y);
	}
}

int main()
{
	/* the correctly rounded ones: the C library's own for double, since rounding twice may not give the same */
#define RUN_1(f, low, high, spread, limit)                                                                             \
	one({#f, low, high, spread, limit}, gpu_##f, [](double x) { return limit == 0 ? (long double)std::f(x) : std::f((long double)x); });
#define RUN_2(f, low, high, spread, limit)                                                                             \
	two({#f, low, high, spread, limit}, gpu_##f,                                                                   \
	    [](double x, double y) {                                                                                   \
		    return limit == 0 ? (long double)std::f(x, y) : std::f((long double)x, (long double)y);            \
	    });
	ONE_ARGUMENT(RUN_1)
	LARGE_ARGUMENT(RUN_1)
	TWO_ARGUMENTS(RUN_2)
	basic();
	if (failures)
		return 1;
	std::printf("libm: ok\n");
	return 0;
}
