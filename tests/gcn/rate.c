/* SPDX-License-Identifier: MIT */
/* Million wave-instructions a second on one core, for an integer and an f32 kernel. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "elf_kernel.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rate(struct code_object *c, const char *name)
{
	static uint32_t out[256];
	struct {
		uint32_t *out;
		uint32_t n;
	} arg = { out, 100000 };
	const uint32_t id[3] = { 0, 0, 0 };
	struct gcn_wg *wg = gcn_wg_create();
	struct gcn_launch l;
	struct gcn_fault f;
	double best = 0;

	if (!wg || !code_kernel(c, name, &arg, &l))
		return 0;
	l.grid_size[0] = l.workgroup_size[0] = 256;
	for (int k = 1; k < 3; k++)
		l.grid_size[k] = l.workgroup_size[k] = 1;
	for (int k = 0; k < 3; k++) {
		uint64_t before = gcn_wg_instructions(wg);
		double t = now(), r;

		if (!gcn_wg_start(wg, &l, id, &f))
			return 0;
		while (gcn_wg_run(wg, UINT64_MAX, &f) == GCN_YIELD)
			;
		r = (double)(gcn_wg_instructions(wg) - before) / (now() - t) / 1e6;
		best = r > best ? r : best;
	}
	gcn_wg_destroy(wg);
	return best;
}

int main(int argc, char **argv)
{
	struct code_object *c = argc == 2 ? code_load(argv[1]) : NULL;

	if (!c)
		return 2;
	printf("integer %.1f\n", rate(c, "k_int"));
	printf("f32 %.1f\n", rate(c, "k_f32"));
	code_unload(c);
	return 0;
}
