/* SPDX-License-Identifier: MIT */
/*
 * What kernels take as arguments, as their code objects' metadata says (AMDGPU ABI, "Code Object V3 Metadata" and later:
 * a note of type NT_AMDGPU_METADATA that holds MessagePack), and which argument of the dispatch at hand points into a
 * region.
 */
#ifndef KR_CORE_ARGUMENTS_H
#define KR_CORE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kr_argument {
	char *name; /* NULL: not recorded */
	char *type;
	uint32_t offset;
	uint32_t bytes;
	bool is_pointer; /* to global memory */
	bool is_read_only;
};

struct kr_arguments {
	struct kr_arguments *next;
	uint64_t executable;
	char *symbol; /* without ".kd" */
	bool calls_host; /* is given what it needs to print or to have the host do something */
	size_t count;
	struct kr_argument *items; /* those that the compiler adds are left out */
};

/* Reads an ELF image's metadata and keeps what it says. An image without any, or with what is none, adds nothing. */
void kr_arguments_read(uint64_t executable, const void *image, size_t size);

/* Of a kernel whose symbol is `symbol`; NULL when nothing is known. Lives for ever. */
const struct kr_arguments *kr_arguments_find(uint64_t executable, const char *symbol);

/* The dispatch at hand on this thread, from the snapshot to the end of the window; NULL arguments: none. The block of
 * arguments is copied when the host may read it. */
void kr_arguments_here(const struct kr_arguments *arguments, const void *block);

/* The first argument of the dispatch at hand that points into the region; -1: none, or not known. */
int32_t kr_argument_into(uint64_t address, uint64_t bytes);

/* The first argument of the dispatch at hand that points to memory of the host's that a kernel may write and that no
 * snapshot holds; NULL: none, or not known. */
const struct kr_argument *kr_argument_to_host(void);

/* For tests: one MessagePack document. */
void kr_arguments_parse(uint64_t executable, const void *document, size_t size);

#endif
