/* SPDX-License-Identifier: MIT */
/* The rows of docs/performance.md. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kreplay/kreplay.h"
#include "side.h"

#define ROUNDS 21

static const char *const idle_tool[] = { "BENCH_STOPPED=1", NULL };
static const char *const one_core[] = { "BENCH_ONE_CORE=1", NULL };
/* The built-in driver, with no kernel to its liking. */
static const char *const one_core_filtered[] = { "BENCH_ONE_CORE=1", "KREPLAY_TOOL=", "KREPLAY_KERNEL=^touch$", NULL };
static const char *const one_core_idle[] = { "BENCH_ONE_CORE=1", "BENCH_STOPPED=1", NULL };
static const char *const two_passes[] = { "BENCH_PASSES=2", NULL };
static const char *const five_passes[] = { "BENCH_PASSES=5", NULL };
static const char *const driver_two_passes[] = { "KREPLAY_TOOL=", "KREPLAY_PASSES=2", NULL };

static bool start(struct side *sides, const enum side_kind *kinds, unsigned count,
		  const char *const *settings)
{
	bool ok = true;

	for (unsigned i = 0; i < count; i++)
		ok &= side_start(&sides[i], kinds[i], settings);
	return ok;
}

static void stop(struct side *sides, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		side_stop(&sides[i]);
}

/* ABAB...: every side in its turn, and so on. */
static bool take_turns(struct side *sides, unsigned count, unsigned rounds, const char *command)
{
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < count; i++) {
			if (!side_ask(&sides[i], "%s", command))
				return false;
			sides[i].taken[r] = sides[i].value[0];
		}
	return true;
}

static void describe(const char *what, const double *values, unsigned rounds, double unit,
		     const char *unit_name)
{
	bench_detail("%s: median %.4g %s, quartiles %.4g .. %.4g", what,
		     bench_quantile(values, rounds, 0.5) / unit, unit_name,
		     bench_quantile(values, rounds, 0.25) / unit,
		     bench_quantile(values, rounds, 0.75) / unit);
}

/* The median of a/b over the rounds, whose two halves lie side by side in time. */
static double ratio(const char *name, const double *a, const double *b, unsigned rounds)
{
	double ratios[MOST_ROUNDS];

	for (unsigned r = 0; r < rounds; r++)
		ratios[r] = a[r] / b[r];
	bench_detail("%s: ratio %.4g, quartiles %.4g .. %.4g of %u rounds", name,
		     bench_quantile(ratios, rounds, 0.5), bench_quantile(ratios, rounds, 0.25),
		     bench_quantile(ratios, rounds, 0.75), rounds);
	return bench_quantile(ratios, rounds, 0.5);
}

/* ---- forwarding ---- */

/*
 * Throughput with us over throughput without: time without over time with. On one core, what the
 * submitting thread does cannot hide behind the software GPU's part of the work, which takes longer.
 */
static bool forward(const struct row *row, enum side_kind kind, const char *const *settings,
		    const char *command)
{
	const enum side_kind kinds[] = { SIDE_BARE, kind };
	struct side sides[2];
	bool ok = start(sides, kinds, 2, settings) && take_turns(sides, 2, ROUNDS, command);

	if (ok) {
		describe("without us", sides[0].taken, ROUNDS, 1, "ns a dispatch");
		describe("with us", sides[1].taken, ROUNDS, 1, "ns a dispatch");
		bench_figure(row, ratio(row->name, sides[0].taken, sides[1].taken, ROUNDS), true);
	}
	stop(sides, 2);
	return ok;
}

/* Nobody asks: the tool's context is not started. */
static bool forward_preload(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, one_core_idle, "pipeline 1 20000 256");
}

static bool forward_tools(const struct row *row)
{
	return forward(row, SIDE_TOOLS, one_core_idle, "pipeline 1 20000 256");
}

/* The tool is asked about every dispatch and leaves it alone. */
static bool forward_preload_asked(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, one_core, "pipeline 1 20000 256");
}

static bool forward_tools_asked(const struct row *row)
{
	return forward(row, SIDE_TOOLS, one_core, "pipeline 1 20000 256");
}

static bool forward_filtered(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, one_core_filtered, "pipeline 1 20000 256");
}

static bool forward_all_cores(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, NULL, "pipeline 1 20000 256");
}

static bool forward_threads(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, idle_tool, "pipeline 8 2000 64");
}

static bool forward_latency(const struct row *row)
{
	return forward(row, SIDE_PRELOAD, NULL, "latency 2000");
}

static bool against_intercept(const struct row *row, const char *command, const char *const *settings)
{
	const enum side_kind kinds[] = { SIDE_BARE, SIDE_TOOLS, SIDE_INTERCEPT };
	struct side sides[3];
	double ours[ROUNDS], theirs[ROUNDS];
	bool ok = start(sides, kinds, 3, settings) && take_turns(sides, 3, ROUNDS, command);

	if (ok) {
		for (unsigned r = 0; r < ROUNDS; r++) {
			ours[r] = sides[1].taken[r] - sides[0].taken[r];
			theirs[r] = sides[2].taken[r] - sides[0].taken[r];
		}
		describe("without either", sides[0].taken, ROUNDS, 1, "ns a dispatch");
		describe("we add", ours, ROUNDS, 1, "ns");
		describe("the runtime's intercept queue adds", theirs, ROUNDS, 1, "ns");
		/* Of medians: a difference may be near 0, and its reciprocal anything. */
		bench_figure(row, bench_quantile(ours, ROUNDS, 0.5) / bench_quantile(theirs, ROUNDS, 0.5),
			     bench_quantile(theirs, ROUNDS, 0.5) > 0);
	}
	stop(sides, 3);
	return ok;
}

static bool forward_vs_intercept(const struct row *row)
{
	return against_intercept(row, "submit 10000", idle_tool);
}

static bool intercept_asked(const struct row *row)
{
	return against_intercept(row, "submit 10000", NULL);
}

/* ---- windows ---- */

static bool window_fixed(const struct row *row)
{
	const enum side_kind kinds[] = { SIDE_BARE, SIDE_PRELOAD };
	struct side sides[2];
	bool ok = start(sides, kinds, 2, driver_two_passes) && take_turns(sides, 2, ROUNDS, "latency 200");

	if (ok) {
		describe("dispatch and wait", sides[0].taken, ROUNDS, 1e3, "us");
		describe("window of 2 passes", sides[1].taken, ROUNDS, 1e3, "us");
		bench_figure(row, ratio(row->name, sides[1].taken, sides[0].taken, ROUNDS), true);
	}
	stop(sides, 2);
	return ok;
}

/* One dispatch of `touch` on a side of ours: passes, snapshot, restores, link bytes, tier. */
enum { WALL, PASSES, SNAPSHOT, RESTORE, LINK, TIER };

static bool window_on(struct side *side, unsigned passes)
{
	if (!side_ask(side, "window"))
		return false;
	if ((unsigned)side->value[PASSES] == passes)
		return true;
	fprintf(stderr, "bench: a window of %u passes had %g\n", passes, side->value[PASSES]);
	return false;
}

static const char *tier_name(double tier)
{
	switch ((int)tier) {
	case KREPLAY_TIER_DEVICE:
		return "device";
	case KREPLAY_TIER_PINNED:
		return "pinned host";
	case KREPLAY_TIER_PAGEABLE:
		return "pageable host";
	case KREPLAY_TIER_NONE:
		return "no";
	}
	return "mixed";
}

static bool against_memcpy(const struct row *row, const char *const *settings)
{
	struct side side;
	double copies[ROUNDS];
	bool ok = side_start(&side, SIDE_PRELOAD, settings) && side_ask(&side, "regions 1 67108864 1000") &&
		  side_ask(&side, "memcpy") && window_on(&side, 2);

	for (unsigned r = 0; ok && r < ROUNDS; r++) {
		ok = side_ask(&side, "memcpy");
		copies[r] = side.value[0];
		ok = ok && window_on(&side, 2);
		side.taken[r] = side.value[SNAPSHOT] + side.value[RESTORE];
	}
	if (ok) {
		describe("memcpy out and back", copies, ROUNDS, 1e6, "ms");
		describe("snapshot and restore", side.taken, ROUNDS, 1e6, "ms");
		bench_detail("64 MiB, all of it changed by each pass, %s memory", tier_name(side.value[TIER]));
		bench_figure(row, ratio(row->name, side.taken, copies, ROUNDS),
			     side.value[TIER] == KREPLAY_TIER_PINNED);
	}
	side_stop(&side);
	return ok;
}

static bool snapshot_vs_memcpy(const struct row *row)
{
	static const char *const full[] = { "BENCH_PASSES=2", "KREPLAY_SNAPSHOT=full", NULL };

	return against_memcpy(row, full);
}

static bool snapshot_all_changed(const struct row *row)
{
	static const char *const host[] = { "BENCH_PASSES=2", "KREPLAY_SNAPSHOT=host", NULL };

	return against_memcpy(row, host);
}

static bool against_upstream(const struct row *row, const char *who)
{
	const enum side_kind kinds[] = { SIDE_BARE, SIDE_PRELOAD };
	enum { TURNS = 9 };
	struct side sides[2];
	bool ok = start(sides, kinds, 2, five_passes);

	for (unsigned i = 0; i < 2; i++)
		ok = ok && side_ask(&sides[i], "regions 256 1048576 10");
	ok = ok && side_ask(&sides[0], "upstream 5 %s", who) && window_on(&sides[1], 5);
	for (unsigned r = 0; ok && r < TURNS; r++) {
		ok = side_ask(&sides[0], "upstream 5 %s", who);
		sides[0].taken[r] = sides[0].value[WALL];
		ok = ok && window_on(&sides[1], 5);
		sides[1].taken[r] = sides[1].value[WALL];
	}
	if (ok) {
		describe("upstream's way", sides[0].taken, TURNS, 1e6, "ms");
		describe("ours", sides[1].taken, TURNS, 1e6, "ms");
		bench_detail("256 regions of 1 MiB, 1%% changed by each of 5 passes, %s memory",
			     tier_name(sides[1].value[TIER]));
		bench_figure(row, ratio(row->name, sides[0].taken, sides[1].taken, TURNS), true);
	}
	stop(sides, 2);
	return ok;
}

/* As the vendor SDK copies: hsa_memory_copy, a call for each region. */
static bool snapshot_vs_upstream(const struct row *row)
{
	return against_upstream(row, "runtime");
}

/* As nobody can on a card whose memory the host does not see. */
static bool snapshot_vs_host_copy(const struct row *row)
{
	return against_upstream(row, "memcpy");
}

/* Bytes over the link in a window, over all bytes times passes; from the second window on. */
static bool link_share_of(const struct row *row, const char *const *settings, unsigned tier, unsigned count,
			  unsigned kib)
{
	enum { TURNS = 9 };
	struct side side;
	double bytes;
	bool ok = side_start(&side, SIDE_PRELOAD, settings) && side_ask(&side, "regions %u %u 10", count, kib << 10);

	bytes = side.value[0];
	ok = ok && window_on(&side, 5);
	for (unsigned r = 0; ok && r < TURNS; r++) {
		ok = window_on(&side, 5);
		side.taken[r] = side.value[LINK];
	}
	if (ok) {
		describe("over the link", side.taken, TURNS, 1, "bytes a window");
		bench_detail("%u regions of %u KiB, 1%% changed by each of 5 passes, %s memory", count, kib,
			     tier_name(side.value[TIER]));
		bench_figure(row, bench_quantile(side.taken, TURNS, 0.5) / (bytes * 5),
			     side.value[TIER] == tier);
	}
	side_stop(&side);
	return ok;
}

static bool link_share(const struct row *row)
{
	static const char *const host[] = { "BENCH_PASSES=5", "KREPLAY_SNAPSHOT=host", NULL };

	return link_share_of(row, host, KREPLAY_TIER_PINNED, 64, 1024);
}

static bool link_share_small(const struct row *row)
{
	static const char *const host[] = { "BENCH_PASSES=5", "KREPLAY_SNAPSHOT=host", NULL };

	return link_share_of(row, host, KREPLAY_TIER_PINNED, 256, 64);
}

static bool link_share_device(const struct row *row)
{
	static const char *const device[] = { "BENCH_PASSES=5", "KREPLAY_SNAPSHOT=device", NULL };

	return link_share_of(row, device, KREPLAY_TIER_DEVICE, 64, 1024);
}

static bool many_regions(const struct row *row)
{
	const enum side_kind kinds[] = { SIDE_PRELOAD, SIDE_PRELOAD };
	enum { TURNS = 9 };
	struct side sides[2];
	bool ok = start(sides, kinds, 2, two_passes) && side_ask(&sides[0], "regions 10000 4096 1000") &&
		  side_ask(&sides[1], "regions 1 40960000 1000");

	for (unsigned i = 0; i < 2; i++)
		ok = ok && window_on(&sides[i], 2);
	for (unsigned r = 0; ok && r < TURNS; r++)
		for (unsigned i = 0; ok && i < 2; i++) {
			ok = window_on(&sides[i], 2);
			sides[i].taken[r] = sides[i].value[SNAPSHOT] + sides[i].value[RESTORE];
		}
	if (ok) {
		describe("10,000 regions", sides[0].taken, TURNS, 1e6, "ms");
		describe("one region", sides[1].taken, TURNS, 1e6, "ms");
		bench_figure(row, ratio(row->name, sides[0].taken, sides[1].taken, TURNS), true);
	}
	stop(sides, 2);
	return ok;
}

/* ---- the tracker ---- */

/*
 * On one core for both: neighbours may slow one core of a machine down for minutes and not the other. And with several
 * pairs of processes, since where the memory of one happens to lie is worth some nanoseconds for as long as it lives.
 */
static bool allocations(const struct row *row, const char *live, const char *pair)
{
	enum { PROCESSES = 7 };
	const enum side_kind kinds[] = { SIDE_BARE, SIDE_PRELOAD };
	double taken[2][PROCESSES], ratios[PROCESSES];
	bool ok = true;

	for (unsigned p = 0; p < PROCESSES && ok; p++) {
		struct side sides[2];

		ok = start(sides, kinds, 2, one_core_idle);
		for (unsigned i = 0; i < 2; i++)
			ok = ok && side_ask(&sides[i], "%s", live) && side_ask(&sides[i], "%s", pair);
		ok = ok && take_turns(sides, 2, ROUNDS, pair);
		if (ok) {
			ratios[p] = ratio(row->name, sides[1].taken, sides[0].taken, ROUNDS);
			for (unsigned i = 0; i < 2; i++)
				taken[i][p] = bench_quantile(sides[i].taken, ROUNDS, 0.5);
		}
		stop(sides, 2);
	}
	if (ok) {
		describe("without us", taken[0], PROCESSES, 1e3, "us a pair, by process");
		describe("with us", taken[1], PROCESSES, 1e3, "us a pair, by process");
		bench_figure(row, bench_quantile(ratios, PROCESSES, 0.5), true);
	}
	return ok;
}

/* Small: the runtime serves it from a block that it has. */
static bool tracker(const struct row *row)
{
	return allocations(row, "live 100000 4096", "pair 2000 4096");
}

/* What is freed is another than what was allocated last. */
static bool tracker_turnover(const struct row *row)
{
	return allocations(row, "live 100000 4096", "turnover 2000 4096");
}

/* Large: one of its own, by way of the driver. */
static bool tracker_large(const struct row *row)
{
	return allocations(row, "live 100000 4096", "pair 200 4194304");
}

/* ---- the software GPU ---- */

static bool softgpu_rate(const struct row *row)
{
	enum { TURNS = 9 };
	double integer[TURNS], single[TURNS], a, b;
	char command[2 * 4096 + 64];

	snprintf(command, sizeof(command), "'%s/tests/gcn/gcn_rate' '%s/tests/gcn/rate.co'", side_build(),
		 side_build());

	for (unsigned r = 0; r < TURNS; r++) {
		FILE *from = popen(command, "r");
		bool ok = from && fscanf(from, "integer %lf f32 %lf", &integer[r], &single[r]) == 2;

		if (!from || pclose(from) != 0 || !ok)
			return false;
	}
	describe("integer", integer, TURNS, 1, "million a second");
	describe("f32", single, TURNS, 1, "million a second");
	a = bench_quantile(integer, TURNS, 0.5);
	b = bench_quantile(single, TURNS, 0.5);
	bench_figure(row, a < b ? a : b, true);
	return true;
}

/* Seconds of a kernel through the runtime; no way to measure it: negative. */
static double softgpu_seconds(const char *kernel, unsigned threads)
{
	char command[3 * 4096 + 128], spec[32] = "";
	double seconds;
	FILE *from;

	if (threads)
		snprintf(spec, sizeof(spec), "threads=%u", threads);
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH='%s/src/softgpu' KREPLAY_SOFTGPU=%s '%s/tests/bench/softgpu' '%s/tests/bench/softgpu.co' %s",
		 side_build(), spec, side_build(), side_build(), kernel);
	from = popen(command, "r");
	if (!from)
		return -1;
	if (fscanf(from, "%lf", &seconds) != 1)
		seconds = -1;
	return pclose(from) == 0 ? seconds : -1;
}

static bool softgpu_kernel(const struct row *row, const char *kernel)
{
	enum { TURNS = 3 };
	double taken[TURNS];

	for (unsigned r = 0; r < TURNS; r++) {
		taken[r] = softgpu_seconds(kernel, 0);
		if (taken[r] < 0)
			return false;
	}
	describe(kernel, taken, TURNS, 1, "s");
	bench_figure(row, bench_quantile(taken, TURNS, 0.5), true);
	return true;
}

static bool softgpu_transpose(const struct row *row)
{
	return softgpu_kernel(row, "transpose");
}

static bool softgpu_gemm(const struct row *row)
{
	return softgpu_kernel(row, "gemm");
}

/* Times faster on all cores than on one, for each core; turn by turn. */
static bool softgpu_scaling(const struct row *row)
{
	enum { TURNS = 9 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double one[TURNS], all[TURNS];

	for (unsigned r = 0; r < TURNS; r++) {
		one[r] = softgpu_seconds("busy", 1) / (double)cores;
		all[r] = softgpu_seconds("busy", (unsigned)cores);
		if (one[r] < 0 || all[r] < 0)
			return false;
	}
	bench_figure(row, ratio("one core over all", one, all, TURNS), true);
	return true;
}

const struct row bench_rows[] = {
	{ "forward_preload", forward_preload, 0.95, .at_most = false },
	{ "forward_tools", forward_tools, 0.95, .at_most = false },
	{ "forward_vs_intercept", forward_vs_intercept, 0.8, .at_most = true },
	{ "forward_threads", forward_threads, 0.9, .at_most = false },
	/* The same with a tool that has stopped its context, or a driver that filters by name. */
	{ "forward_preload_filtered", forward_filtered, 0.95, .at_most = false },
	{ "forward_preload_asked", forward_preload_asked, 0.95, .at_most = false },
	{ "forward_tools_asked", forward_tools_asked, 0.95, .at_most = false },
	{ "forward_vs_intercept_asked", intercept_asked, 0.8, .at_most = true },
	{ "forward_all_cores", forward_all_cores, .extra = true },
	{ "forward_latency", forward_latency, .extra = true },
	{ "window_fixed", window_fixed, 10, .at_most = true },
	{ "tracker", tracker, 1.1, .at_most = true },
	{ "tracker_turnover", tracker_turnover, .extra = true },
	{ "tracker_large", tracker_large, .extra = true },
	{ "snapshot_vs_memcpy", snapshot_vs_memcpy, 1.25, .at_most = true },
	{ "snapshot_all_changed", snapshot_all_changed, .extra = true },
	{ "snapshot_vs_upstream", snapshot_vs_upstream, 4, .at_most = false },
	{ "snapshot_vs_host_copy", snapshot_vs_host_copy, .extra = true },
	{ "link_share", link_share, 0.02, .at_most = true },
	{ "link_share_small", link_share_small, .extra = true },
	{ "link_share_device", link_share_device, 0, .at_most = true },
	{ "regions", many_regions, 3, .at_most = true },
	{ "softgpu_rate", softgpu_rate, 50, .at_most = false },
	{ "softgpu_scaling", softgpu_scaling, 0.85, .at_most = false },
	{ "softgpu_transpose", softgpu_transpose, 2, .at_most = true },
	{ "softgpu_gemm", softgpu_gemm, 2, .at_most = true },
	{ NULL },
};
