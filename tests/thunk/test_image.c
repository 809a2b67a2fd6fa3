/* SPDX-License-Identifier: MIT */
/*
 * A loaded code object whose bytes change before a dispatch, thousands of times: whatever the device reads of it, that
 * ends in completion, one line and an error, a memory fault or an endless loop. Argument: a code object for gfx90a.
 */
#include "kmt.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 4000
#define LOOP_MS 50 /* longer is an endless loop, of which only time can tell */

static uint8_t *file, *image, *pristine;
static uint64_t image_size;
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % below;
}

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");

	file = malloc(1 << 20);
	assert_non_null(f);
	assert_true(fread(file, 1, 1 << 20, f) > sizeof(Elf64_Ehdr));
	fclose(f);
}

static const Elf64_Shdr *section(unsigned i)
{
	return (const Elf64_Shdr *)(file + ((const Elf64_Ehdr *)file)->e_shoff) + i;
}

static void load(void)
{
	HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .NonPaged = 1, .ExecuteAccess = 1}};
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(file + header->e_phoff);
	HSAuint64 va;

	image_size = 0;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > image_size)
			image_size = (p[i].p_vaddr + p[i].p_memsz + 4095) & ~4095ull;
	}
	assert_int_equal(KMT(hsaKmtAllocMemory)(GPU_NODE, image_size, flags, (void **)&image), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(KMT(hsaKmtMapMemoryToGPU)(image, image_size, &va), HSAKMT_STATUS_SUCCESS);
	pristine = calloc(1, image_size);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD)
			memcpy(pristine + p[i].p_vaddr, file + p[i].p_offset, p[i].p_filesz);
	}
}

static uint64_t symbol(const char *name)
{
	for (unsigned i = 0; i < ((const Elf64_Ehdr *)file)->e_shnum; i++) {
		const Elf64_Sym *s = (const Elf64_Sym *)(file + section(i)->sh_offset);

		for (size_t n = section(i)->sh_type == SHT_DYNSYM ? section(i)->sh_size / sizeof(*s) : 0; n; n--, s++) {
			if (!strcmp((const char *)file + section(section(i)->sh_link)->sh_offset + s->st_name, name))
				return s->st_value;
		}
	}
	fail_msg("no %s", name);
	return 0;
}

/* Headers, notes, symbols, names, hashes, the dynamic section, descriptors: each of equal weight. */
static void damage(uint64_t descriptor)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)pristine;
	uint64_t from = 0, size = sizeof(*header);

	memcpy(image, pristine, image_size);
	switch (draw(4)) {
	case 0:
		break;
	case 1:
		from = header->e_phoff;
		size = header->e_phnum * sizeof(Elf64_Phdr);
		break;
	case 2:
		from = descriptor;
		size = 64;
		break;
	default:
		for (const Elf64_Shdr *s = NULL; !s || !(s->sh_flags & SHF_ALLOC) || s->sh_flags & SHF_EXECINSTR ||
		                                 s->sh_type == SHT_NOBITS; from = s->sh_addr, size = s->sh_size)
			s = section(draw(header->e_shnum));
	}
	for (uint32_t n = 1 + draw(4); n; n--) {
		uint8_t *at = &image[from + draw((uint32_t)size)];

		*at = draw(2) ? (uint8_t)draw(256) : *at ^ (uint8_t)(1u << draw(8));
	}
}

/* What was said meanwhile: whole lines of ours, as many as there were failures. */
static void check_lines(int fd, uint32_t failures)
{
	static char text[ROUNDS * 256];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	uint32_t lines = 0;

	assert_true(length >= 0);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		if (strncmp(line, "softgpu: ", 9))
			fail_msg("not a line of ours: %s", line);
		for (const char *c = line; *c; c++)
			assert_in_range((unsigned char)*c, ' ', 255);
	}
	assert_int_equal(lines, failures);
}

static void damaged(void **state)
{
	unsigned seed = getenv("KREPLAY_NIGHTLY") ? (unsigned)time(NULL) : 1;
	uint32_t completed = 0, refused = 0, faulted = 0, looped = 0;
	int lines = memfd_create("lines", MFD_CLOEXEC), screen = dup(STDERR_FILENO);
	HsaEvent *told = kmt_event(HSA_EVENTTYPE_SIGNAL, false), *fault = kmt_event(HSA_EVENTTYPE_MEMORY, false);
	amd_signal_t *done = kmt_alloc(0, 4096);
	uint64_t *kernarg = kmt_alloc(0, 1 << 16), kernels[2];
	struct kmt_queue queue = {0};

	(void)state;
	print_message("seed %u\n", seed);
	random_state = seed;
	load();
	kernels[0] = symbol("nothing.kd");
	kernels[1] = symbol("unknown_instruction.kd"); /* whose name is looked up */
	dup2(lines, STDERR_FILENO);
	for (int i = 0; i < ROUNDS; i++) {
		hsa_kernel_dispatch_packet_t packet = {
			.header = HEADER(HSA_PACKET_TYPE_KERNEL_DISPATCH, 1), .setup = 1,
			.workgroup_size_x = 64, .workgroup_size_y = 1, .workgroup_size_z = 1,
			.grid_size_x = 64, .grid_size_y = 1, .grid_size_z = 1,
			.kernel_object = (uint64_t)(uintptr_t)image + kernels[i % 2], .kernarg_address = kernarg,
			.completion_signal = {(uint64_t)(uintptr_t)done},
		};
		HSAKMT_STATUS ended;

		damage(kernels[i % 2]);
		memset(kernarg, 0, 4096);
		kernarg[0] = (uint64_t)(uintptr_t)(kernarg + 4096);
		kmt_signal_init(done, 1, told);
		if (!queue.packets)
			kmt_queue_create(&queue, 64);
		kmt_queue_put(&queue, &packet);
		ended = KMT(hsaKmtWaitOnMultipleEvents)((HsaEvent *[]){told, queue.event, fault}, 3, false, LOOP_MS);
		if (done->value == 0) {
			completed++;
			continue;
		}
		refused += queue.reason != 0;
		faulted += ended == HSAKMT_STATUS_SUCCESS && !queue.reason;
		looped += ended != HSAKMT_STATUS_SUCCESS;
		kmt_queue_destroy(&queue);
		queue.packets = 0;
	}
	dup2(screen, STDERR_FILENO);
	close(screen);
	print_message("%u completed, %u refused, %u memory faults, %u loops\n", completed, refused, faulted, looped);
	check_lines(lines, refused + faulted);
	assert_true(completed > ROUNDS / 8 && refused > ROUNDS / 8);
	close(lines);
	if (queue.packets)
		kmt_queue_destroy(&queue);
	free(pristine);
	kmt_free(image, image_size);
	kmt_free(kernarg, 1 << 16);
	kmt_free(done, 4096);
	KMT(hsaKmtDestroyEvent)(told);
	KMT(hsaKmtDestroyEvent)(fault);
}

#define TEST(f, spec) cmocka_unit_test_prestate_setup_teardown(f, kmt_setup, kmt_teardown, (void *)(spec))

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(damaged, "gfx90a,vram=64M"),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s CODE-OBJECT\n", argv[0]);
		return 2;
	}
	read_file(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
