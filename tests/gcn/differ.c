/* SPDX-License-Identifier: MIT */
/* Runner of differ.py: each named kernel of a code object against the host's function of that name, bit for bit. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_kernel.h"

#define GROUP 256
#define COUNT 600 /* two groups and a part of one */
#define TOTALS 8

struct result {
	uint64_t out[COUNT];
	uint32_t total[TOTALS];
	uint64_t totall[TOTALS];
};

typedef void (*host_fn)(uint64_t *out, const uint32_t *in, uint32_t *total, uint64_t *totall, uint32_t n);

static uint32_t in[COUNT];

static void fill_inputs(void)
{
	static const uint32_t edge[] = {
		0, 1, 2, 31, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x3f800000,
		0xbf800000, 0x3f800001, 0x7f800000, 0xff800000, 0x7f7fffff, 0x00800000, 0x007fffff, 0x3ff00000,
		0x7fe00000, 0x000fffff, 0x00100000, 0x4b000000, 0x4f000000, 0x3c003c00, 0x7bff0001, 0x40490fdb,
	};
	uint64_t s = 88172645463325252u;

	for (uint32_t i = 0; i < COUNT; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		in[i] = i % 3 == 0 ? edge[(s >> 40) % (sizeof(edge) / sizeof(edge[0]))] : (uint32_t)(s >> 16);
	}
}

static void clear(struct result *r)
{
	memset(r, 0, sizeof(*r));
	for (int k = 0; k < TOTALS; k++) {
		r->total[k] = 100;
		r->totall[k] = 200;
	}
}

static bool on_gpu(struct code_object *code, const char *name, struct result *r)
{
	struct {
		uint64_t *out;
		const uint32_t *in;
		uint32_t *total;
		uint64_t *totall;
		uint32_t n;
	} arg = { r->out, in, r->total, r->totall, COUNT };
	struct gcn_launch l;
	struct gcn_fault f;

	if (!code_kernel(code, name, &arg, &l)) {
		printf("%s: not in the code object\n", name);
		return false;
	}
	for (int k = 0; k < 3; k++)
		l.grid_size[k] = l.workgroup_size[k] = 1;
	l.grid_size[0] = COUNT;
	l.workgroup_size[0] = GROUP;
	if (code_run(&l, &f) == GCN_DONE)
		return true;
	printf("%s: %s\n", name, f.text);
	return false;
}

static bool compare(const char *name, const struct result *gpu, const struct result *host)
{
	for (unsigned int i = 0; i < COUNT; i++)
		if (gpu->out[i] != host->out[i]) {
			printf("%s: work-item %u gives %016llx, host %016llx\n", name, i,
			       (unsigned long long)gpu->out[i], (unsigned long long)host->out[i]);
			return false;
		}
	for (unsigned int k = 0; k < TOTALS; k++)
		if (gpu->total[k] != host->total[k] || gpu->totall[k] != host->totall[k]) {
			printf("%s: total %u is %08x and %016llx, host %08x and %016llx\n", name, k, gpu->total[k],
			       (unsigned long long)gpu->totall[k], host->total[k], (unsigned long long)host->totall[k]);
			return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	struct code_object *code = argc > 3 ? code_load(argv[1]) : NULL;
	void *shared = argc > 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
	static struct result gpu, host;
	int bad = 0;

	if (!code || !shared) {
		fprintf(stderr, "usage: differ CODE-OBJECT SHARED-OBJECT KERNEL...\n");
		return 2;
	}
	fill_inputs();
	for (int k = 3; k < argc; k++) {
		host_fn fn = (host_fn)dlsym(shared, argv[k]);

		if (!fn) {
			printf("%s: not in the shared object\n", argv[k]);
			bad++;
			continue;
		}
		clear(&gpu);
		clear(&host);
		fn(host.out, in, host.total, host.totall, COUNT);
		bad += !on_gpu(code, argv[k], &gpu) || !compare(argv[k], &gpu, &host);
	}
	code_unload(code);
	if (bad)
		printf("%d of %d kernels differ\n", bad, argc - 3);
	return bad != 0;
}
