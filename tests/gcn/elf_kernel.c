/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "elf_kernel.h"

struct code_object {
	uint8_t *file, *image;
	size_t file_size, image_size;
	enum gcn_isa isa;
};

static bool map_segments(struct code_object *c)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)c->file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(c->file + e->e_phoff);

	for (int k = 0; k < e->e_phnum; k++)
		if (p[k].p_type == PT_LOAD && p[k].p_vaddr + p[k].p_memsz > c->image_size)
			c->image_size = p[k].p_vaddr + p[k].p_memsz;
	c->image = mmap(NULL, c->image_size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->image == MAP_FAILED)
		return false;
	for (int k = 0; k < e->e_phnum; k++)
		if (p[k].p_type == PT_LOAD)
			memcpy(c->image + p[k].p_vaddr, c->file + p[k].p_offset, p[k].p_filesz);
	return true;
}

struct code_object *code_load(const char *path)
{
	struct code_object *c = calloc(1, sizeof(*c));
	FILE *f = fopen(path, "rb");
	uint32_t mach;

	if (!c || !f)
		abort();
	fseek(f, 0, SEEK_END);
	c->file_size = (size_t)ftell(f);
	rewind(f);
	c->file = malloc(c->file_size);
	if (!c->file || fread(c->file, 1, c->file_size, f) != c->file_size)
		abort();
	fclose(f);
	mach = ((const Elf64_Ehdr *)c->file)->e_flags & 0xff;
	c->isa = mach == 0x3f ? GCN_GFX90A : mach == 0x2f ? GCN_GFX906 : GCN_GFX900;
	if (!map_segments(c))
		abort();
	return c;
}

void code_unload(struct code_object *c)
{
	gcn_program_invalidate((uint64_t)(uintptr_t)c->image, c->image_size);
	munmap(c->image, c->image_size + 4096);
	free(c->file);
	free(c);
}

static uint64_t symbol(const struct code_object *c, const char *name)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)c->file;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(c->file + e->e_shoff);

	for (int k = 0; k < e->e_shnum; k++) {
		const Elf64_Sym *sym = (const Elf64_Sym *)(c->file + s[k].sh_offset);

		if (s[k].sh_type != SHT_DYNSYM)
			continue;
		for (size_t n = 0; n < s[k].sh_size / sizeof(*sym); n++)
			if (!strcmp((const char *)c->file + s[s[k].sh_link].sh_offset + sym[n].st_name, name))
				return sym[n].st_value;
	}
	return 0;
}

/* LLVM AMDGPUUsage, "Kernel Descriptor" (code object v3 and later). */
bool code_kernel(struct code_object *c, const char *name, const void *kernarg, struct gcn_launch *l)
{
	char kd_name[128];
	uint64_t kd_at;
	const uint8_t *kd;
	int64_t entry;
	uint32_t rsrc1, rsrc2, rsrc3, n = 0;
	uint16_t props;

	snprintf(kd_name, sizeof(kd_name), "%s.kd", name);
	kd_at = symbol(c, kd_name);
	if (!kd_at)
		return false;
	kd = c->image + kd_at;
	memset(l, 0, sizeof(*l));
	memcpy(&l->lds_bytes, kd, 4);
	memcpy(&l->private_bytes, kd + 4, 4);
	memcpy(&entry, kd + 16, 8);
	memcpy(&rsrc3, kd + 44, 4);
	memcpy(&rsrc1, kd + 48, 4);
	memcpy(&rsrc2, kd + 52, 4);
	memcpy(&props, kd + 56, 2);
	l->isa = c->isa;
	l->kernel_name = name;
	l->entry = (uint64_t)(uintptr_t)kd + (uint64_t)entry;
	l->sgpr_private_segment_buffer = l->sgpr_flat_scratch_init = -1;
	if (props & 1)
		l->sgpr_private_segment_buffer = (int)n, n += 4;
	n += props & 2 ? 2 : 0; /* dispatch packet */
	n += props & 4 ? 2 : 0; /* queue */
	if (props & 8) {
		uint64_t a = (uint64_t)(uintptr_t)kernarg;

		memcpy(&l->user_sgpr[n], &a, 8);
		n += 2;
	}
	n += props & 16 ? 2 : 0; /* dispatch id */
	if (props & 32)
		l->sgpr_flat_scratch_init = (int)n, n += 2;
	n += props & 64 ? 1 : 0;
	l->user_sgpr_count = rsrc2 >> 1 & 31;
	l->sgpr_wave_scratch_offset = rsrc2 & 1;
	for (int k = 0; k < 3; k++)
		l->sgpr_workgroup_id[k] = rsrc2 >> (7 + k) & 1;
	l->sgpr_workgroup_info = rsrc2 >> 10 & 1;
	l->vgpr_workitem_id = rsrc2 >> 11 & 3;
	l->packed_workitem_id = c->isa == GCN_GFX90A;
	l->vgpr_count = ((rsrc1 & 63) + 1) * (c->isa == GCN_GFX90A ? 8 : 4);
	l->accum_offset = c->isa == GCN_GFX90A ? ((rsrc3 & 63) + 1) * 4 : 0;
	l->sgpr_count = ((rsrc1 >> 6 & 15) / 2 + 1) * 16;
	l->mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
	l->lds_aperture = (uint64_t)1 << 48;
	l->private_aperture = (uint64_t)2 << 48;
	l->private_bytes += 4096; /* for calls whose depth the compiler does not know */
	return true;
}

enum gcn_status code_run(const struct gcn_launch *l, struct gcn_fault *f)
{
	struct gcn_wg *wg = gcn_wg_create();
	enum gcn_status r = GCN_DONE;
	uint32_t n[3];

	gcn_catch_faults();
	for (int k = 0; k < 3; k++)
		n[k] = (l->grid_size[k] + l->workgroup_size[k] - 1u) / l->workgroup_size[k];
	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0] && r == GCN_DONE; x++) {
				const uint32_t id[3] = { x, y, z };

				if (!gcn_wg_start(wg, l, id, f))
					r = GCN_FAULT;
				else
					while ((r = gcn_wg_run(wg, 10000, f)) == GCN_YIELD)
						;
			}
	gcn_wg_destroy(wg);
	return r;
}
