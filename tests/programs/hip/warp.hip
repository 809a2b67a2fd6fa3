/* SPDX-License-Identifier: MIT */
/* warp: shuffles of every type and width, votes, lane masks, and a wavefront's sums and scans built on them. */
#include "check.h"

static const int lanes = 64;

enum { SHUFFLE, UP, DOWN, XOR };

template <class T> __global__ void shuffle(T *out, const T *in, int how, int by, int width)
{
	T x = in[threadIdx.x], y;

	if (how == SHUFFLE)
		y = __shfl(x, ((int)threadIdx.x * 7 + by) % width, width);
	else if (how == UP)
		y = __shfl_up(x, by, width);
	else if (how == DOWN)
		y = __shfl_down(x, by, width);
	else
		y = __shfl_xor(x, by, width);
	out[threadIdx.x] = y;
}

/* the lane that a lane reads; itself, where that would be out of its part of `width` lanes */
static int source(int lane, int how, int by, int width)
{
	int start = lane / width * width, at = lane - start, from;

	if (how == SHUFFLE)
		return start + (lane * 7 + by) % width;
	from = how == UP ? at - by : how == DOWN ? at + by : (at ^ by);
	return from < 0 || from >= width ? lane : start + from;
}

template <class T> static void shuffles(const char *name)
{
	std::vector<T> in(lanes), want(lanes);
	Random random(3);

	for (int i = 0; i < lanes; i++)
		in[i] = (T)(random.next() >> 8) / (T)3;
	Buffer<T> device_in(in), out(lanes);

	for (int how = SHUFFLE; how <= XOR; how++) {
		for (int width = 64; width >= 4; width /= 4) {
			for (int by : {1, 3, 63}) {
				if (how == XOR && by >= width)
					continue;
				shuffle<<<1, lanes>>>(out.data, device_in.data, how, by, width);
				LAUNCHED();
				for (int i = 0; i < lanes; i++)
					want[i] = in[source(i, how, by, width)];
				expect_same(name, out.get(), want);
			}
		}
	}
}

struct Votes {
	unsigned long long ballot, mask_lt, active;
	int any, all, lane, first, count;
};

__global__ void vote(Votes *out, unsigned long long chosen, int limit)
{
	int lane = threadIdx.x & 63;
	Votes v = {};

	if (lane < limit) {
		int predicate = (int)(chosen >> lane & 1);

		v.ballot = __ballot(predicate);
		v.any = __any(predicate);
		v.all = __all(predicate);
		v.active = __ballot64(1);
		v.lane = __lane_id();
		v.mask_lt = __lanemask_lt();
		v.first = __ffsll((unsigned long long)v.ballot);
		v.count = __popcll(v.ballot & v.mask_lt);
	}
	out[threadIdx.x] = v;
}

static void votes()
{
	Buffer<Votes> out(2 * lanes);

	for (int limit : {1, 31, 32, 33, 64}) {
		unsigned long long active = limit == 64 ? ~0ull : (1ull << limit) - 1;

		for (unsigned long long chosen : {0ull, 1ull, ~0ull, 0x123456789abcdef0ull, 1ull << 32}) {
			unsigned long long ballot = chosen & active;

			vote<<<1, 2 * lanes>>>(out.data, chosen, limit);
			LAUNCHED();
			std::vector<Votes> found = out.get();

			for (int i = 0; i < 2 * lanes; i++) {
				int lane = i % lanes;
				unsigned long long lower = (1ull << lane) - 1;

				if (lane >= limit) {
					EXPECT(found[i].active == 0 && found[i].ballot == 0);
					continue;
				}
				EXPECT(found[i].ballot == ballot);
				EXPECT(found[i].active == active);
				EXPECT(!!found[i].any == (ballot != 0));
				EXPECT(!!found[i].all == (ballot == active));
				EXPECT(found[i].lane == lane);
				EXPECT(found[i].mask_lt == lower);
				EXPECT(found[i].first == __builtin_ffsll((long long)ballot));
				EXPECT(found[i].count == __builtin_popcountll(ballot & lower));
			}
		}
	}
}

/* lanes that leave a loop one after another: each time round, the rest vote */
__global__ void peel(int *order, const int *rounds)
{
	int left = rounds[threadIdx.x], seen = 0;

	while (left > 0) {
		seen += __popcll(__ballot(left > 0));
		left--;
	}
	order[threadIdx.x] = seen;
}

static void divergent()
{
	std::vector<int> rounds(lanes), want(lanes);

	for (int i = 0; i < lanes; i++)
		rounds[i] = i * 5 % 13;
	for (int i = 0; i < lanes; i++)
		for (int turn = 0; turn < rounds[i]; turn++)
			for (int k = 0; k < lanes; k++)
				want[i] += rounds[k] > turn;
	Buffer<int> device_rounds(rounds), order(lanes);

	peel<<<1, lanes>>>(order.data, device_rounds.data);
	LAUNCHED();
	expect_same("peel", order.get(), want);
}

__global__ void sums(double *total, int *scanned, const int *in)
{
	int lane = threadIdx.x & 63, wave = threadIdx.x >> 6, x = in[threadIdx.x];
	double sum = x;

	for (int step = 32; step; step /= 2)
		sum += __shfl_xor(sum, step);
	for (int step = 1; step < 64; step *= 2) {
		int from = __shfl_up(x, step);

		if (lane >= step)
			x += from;
	}
	scanned[threadIdx.x] = x;
	if (lane == 0)
		total[wave] = sum;
}

static void wave_sums()
{
	const int waves = 4;
	std::vector<int> in(waves * lanes), want(waves * lanes);
	std::vector<double> want_total(waves);

	for (int i = 0; i < waves * lanes; i++) {
		in[i] = i * 37 % 101 - 50;
		want[i] = in[i] + (i % lanes ? want[i - 1] : 0);
		want_total[i / lanes] += in[i];
	}
	Buffer<int> device_in(in), scanned(waves * lanes);
	Buffer<double> total(waves);

	sums<<<1, waves * lanes>>>(total.data, scanned.data, device_in.data);
	LAUNCHED();
	expect_same("scanned", scanned.get(), want);
	expect_same("total", total.get(), want_total);
}

int main()
{
	int warp = 0;

	HIP_CHECK(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
	EXPECT(warp == lanes);
	shuffles<int>("int");
	shuffles<unsigned>("unsigned");
	shuffles<float>("float");
	shuffles<double>("double");
	shuffles<long long>("long long");
	shuffles<unsigned long>("unsigned long");
	votes();
	divergent();
	wave_sums();
	std::printf("warp: ok\n");
	return 0;
}
