/* SPDX-License-Identifier: MIT */
/*
 * A name for a kernel descriptor, for messages. The loader puts a code object
 * into one allocation whose first segment holds the ELF header and the dynamic
 * symbols, so the name can be read from device memory itself.
 */
#include "internal.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

struct image {
	uint64_t base, size;
};

/* Bytes [offset, offset + size) of the image, NULL where it does not reach. */
static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
	if (offset > image->size || size > image->size - offset)
		return NULL;
	return sg_ptr(image->base + offset);
}

static bool find_dynamic(const struct image *image, uint64_t *offset, uint64_t *size)
{
	const Elf64_Ehdr *header = at(image, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *p = at(image, header->e_phoff + i * sizeof(*p), sizeof(*p));

		if (!p)
			return false;
		if (p->p_type == PT_DYNAMIC) {
			*offset = p->p_vaddr;
			*size = p->p_memsz;
			return true;
		}
	}
	return false;
}

static bool search_symbols(const struct image *image, uint64_t symbols, uint64_t strings,
                           uint64_t strings_size, uint64_t count, uint64_t value, char *text,
                           size_t text_size)
{
	for (uint64_t i = 1; i < count; i++) {
		const Elf64_Sym *s = at(image, symbols + i * sizeof(*s), sizeof(*s));

		if (!s)
			return false;
		if (s->st_value != value || s->st_name >= strings_size)
			continue;
		uint64_t room = strings_size - s->st_name;
		const char *name = at(image, strings + s->st_name, room);

		if (!name)
			return false;
		size_t length = strnlen(name, room);

		if (length > 3 && !memcmp(name + length - 3, ".kd", 3))
			length -= 3;
		snprintf(text, text_size, "%.*s", (int)length, name);
		return true;
	}
	return false;
}

static bool name_from_image(const struct image *image, uint64_t value, char *text, size_t text_size)
{
	uint64_t offset, size, symbols = 0, strings = 0, strings_size = 0, hash = 0;

	if (!find_dynamic(image, &offset, &size))
		return false;
	for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= size; i += sizeof(Elf64_Dyn)) {
		const Elf64_Dyn *d = at(image, offset + i, sizeof(*d));

		if (!d || d->d_tag == DT_NULL)
			break;
		if (d->d_tag == DT_SYMTAB)
			symbols = d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = d->d_un.d_ptr;
		else if (d->d_tag == DT_STRSZ)
			strings_size = d->d_un.d_val;
		else if (d->d_tag == DT_HASH)
			hash = d->d_un.d_ptr;
	}
	const uint32_t *table = hash ? at(image, hash, 8) : NULL; /* nbucket, nchain */

	return symbols && strings && table &&
	       search_symbols(image, symbols, strings, strings_size, table[1], value, text,
	                      text_size);
}

void sg_kernel_name(uint64_t descriptor, char *text, size_t size)
{
	struct sg_guard guard;
	struct image image;
	volatile bool found = false;

	if (sg_memory_find(descriptor, &image.base, &image.size) && SG_TRY(&guard)) {
		found = name_from_image(&image, descriptor - image.base, text, size);
		sg_guard_end(&guard);
	}
	if (!found)
		snprintf(text, size, "with descriptor 0x%llx", (unsigned long long)descriptor);
}
