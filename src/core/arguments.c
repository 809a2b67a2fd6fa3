/* SPDX-License-Identifier: MIT */
#include "core/arguments.h"

#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kreplay/kreplay.h>

#include "core/engine.h"
#include "core/kernels.h"
#include "core/tracker.h"

#define NT_AMDGPU_METADATA 32
#define DEEPEST 32
#define LARGEST_BLOCK 4096

static struct {
	pthread_mutex_t mutex;
	struct kr_arguments *buckets[4096];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- MessagePack, as far as metadata uses it ---- */

struct reader {
	const unsigned char *at, *end;
	bool bad;
};

enum item { NOTHING, NUMBER, STRING, ARRAY, MAP, OTHER };

struct value {
	enum item kind;
	uint64_t number; /* or how many elements, or the string's length */
	const char *string;
};

static uint64_t
take(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	while (bytes-- > 0)
		value = value << 8 | *r->at++;
	return value;
}

static struct value
take_string(struct reader *r, uint64_t length)
{
	struct value v = {STRING, length, (const char *)r->at};

	if ((uint64_t)(r->end - r->at) < length) {
		r->bad = true;
		return (struct value){NOTHING, 0, NULL};
	}
	r->at += length;
	return v;
}

/* The head of the next item; the elements of an array or a map are still to be read. */
static struct value
next(struct reader *r)
{
	unsigned head = (unsigned)take(r, 1);

	if (r->bad)
		return (struct value){NOTHING, 0, NULL};
	if (head <= 0x7f)
		return (struct value){NUMBER, head, NULL};
	if (head <= 0x8f)
		return (struct value){MAP, head & 15, NULL};
	if (head <= 0x9f)
		return (struct value){ARRAY, head & 15, NULL};
	if (head <= 0xbf)
		return take_string(r, head & 31);
	if (head >= 0xe0)
		return (struct value){OTHER, 0, NULL};
	switch (head) {
	case 0xc2: /* false */
		return (struct value){NUMBER, 0, NULL};
	case 0xc3:
		return (struct value){NUMBER, 1, NULL};
	case 0xcc: case 0xcd: case 0xce: case 0xcf: /* unsigned */
		return (struct value){NUMBER, take(r, 1u << (head - 0xcc)), NULL};
	case 0xd0: case 0xd1: case 0xd2: case 0xd3: /* signed: none of ours is negative */
		return (struct value){NUMBER, take(r, 1u << (head - 0xd0)), NULL};
	case 0xca: case 0xcb: /* floating */
		take(r, head == 0xca ? 4 : 8);
		return (struct value){OTHER, 0, NULL};
	case 0xd9: case 0xda: case 0xdb: /* str */
		return take_string(r, take(r, 1u << (head - 0xd9)));
	case 0xc4: case 0xc5: case 0xc6: /* bin */
		take_string(r, take(r, 1u << (head - 0xc4)));
		return (struct value){OTHER, 0, NULL};
	case 0xdc: case 0xdd:
		return (struct value){ARRAY, take(r, head == 0xdc ? 2 : 4), NULL};
	case 0xde: case 0xdf:
		return (struct value){MAP, take(r, head == 0xde ? 2 : 4), NULL};
	case 0xc0: /* nil */
		return (struct value){OTHER, 0, NULL};
	default:
		r->bad = true;
		return (struct value){NOTHING, 0, NULL};
	}
}

static void skip_elements(struct reader *r, struct value v, unsigned depth);

static void
skip(struct reader *r, unsigned depth)
{
	skip_elements(r, next(r), depth);
}

static void
skip_elements(struct reader *r, struct value v, unsigned depth)
{
	uint64_t count = v.kind == MAP ? 2 * v.number : v.kind == ARRAY ? v.number : 0;

	if (depth > DEEPEST)
		r->bad = true;
	while (count-- > 0 && !r->bad)
		skip(r, depth + 1);
}

static bool
is(struct value v, const char *text)
{
	return v.kind == STRING && v.number == strlen(text) && memcmp(v.string, text, v.number) == 0;
}

static char *
copy(struct value v)
{
	/* One with a zero byte in it is no name. */
	return v.kind == STRING && v.number > 0 && memchr(v.string, 0, v.number) == NULL ? strndup(v.string, v.number)
											   : NULL;
}

/* ---- metadata ---- */

/* One argument; true when it is one of the source's. *calls_host is set by one of those that only the host's part of a
 * printf or of a call to the host reads. */
static bool
read_argument(struct reader *r, struct kr_argument *a, bool *calls_host)
{
	struct value map = next(r);
	bool hidden = false, constant = false, global = false, buffer = false;

	*a = (struct kr_argument){0};
	if (map.kind != MAP) {
		r->bad = true;
		return false;
	}
	for (uint64_t i = 0; i < map.number && !r->bad; i++) {
		struct value key = next(r), value = next(r);

		if (is(key, ".name") && a->name == NULL)
			a->name = copy(value);
		else if (is(key, ".type_name") && a->type == NULL)
			a->type = copy(value);
		else if (is(key, ".offset"))
			a->offset = (uint32_t)value.number;
		else if (is(key, ".size"))
			a->bytes = (uint32_t)value.number;
		else if (is(key, ".value_kind")) {
			hidden = value.kind == STRING && value.number >= 7 && memcmp(value.string, "hidden_", 7) == 0;
			buffer = is(value, "global_buffer");
			*calls_host |= is(value, "hidden_hostcall_buffer") || is(value, "hidden_printf_buffer");
		} else if (is(key, ".address_space"))
			global = is(value, "global");
		else if (is(key, ".is_const"))
			constant = value.number != 0;
		else if (is(key, ".access") || is(key, ".actual_access"))
			a->is_read_only = a->is_read_only || is(value, "read_only");
		skip_elements(r, value, 0);
	}
	a->is_pointer = buffer || global;
	a->is_read_only = a->is_pointer && (a->is_read_only || constant);
	return !hidden;
}

static void
free_arguments(struct kr_arguments *k)
{
	for (size_t i = 0; k != NULL && i < k->count; i++) {
		free(k->items[i].name);
		free(k->items[i].type);
	}
	if (k != NULL) {
		free(k->items);
		free(k->symbol);
		free(k);
	}
}

static void
read_arguments(struct reader *r, struct kr_arguments *k, struct value list)
{
	if (list.kind != ARRAY || list.number > LARGEST_BLOCK) {
		r->bad = true;
		return;
	}
	k->items = calloc(list.number + 1, sizeof(*k->items));
	if (k->items == NULL)
		r->bad = true;
	for (uint64_t i = 0; i < list.number && !r->bad; i++) {
		struct kr_argument *a = &k->items[k->count];

		if (read_argument(r, a, &k->calls_host)) {
			k->count++;
			continue;
		}
		free(a->name);
		free(a->type);
		*a = (struct kr_argument){0};
	}
}

static size_t
bucket_of(uint64_t executable, const char *symbol)
{
	uint64_t hash = executable * UINT64_C(0x9e3779b97f4a7c15);

	for (; *symbol; symbol++)
		hash = (hash ^ (unsigned char)*symbol) * UINT64_C(0x100000001b3);
	return (size_t)(hash >> 32) % (sizeof(table.buckets) / sizeof(table.buckets[0]));
}

static void
keep(struct kr_arguments *k)
{
	size_t length = strlen(k->symbol), bucket;

	if (length > 3 && strcmp(k->symbol + length - 3, ".kd") == 0)
		k->symbol[length - 3] = '\0';
	bucket = bucket_of(k->executable, k->symbol);
	pthread_mutex_lock(&table.mutex);
	k->next = table.buckets[bucket];
	table.buckets[bucket] = k;
	pthread_mutex_unlock(&table.mutex);
}

static void
read_kernel(struct reader *r, uint64_t executable)
{
	struct kr_arguments *k = calloc(1, sizeof(*k));
	struct value map = next(r);

	if (k == NULL || map.kind != MAP) {
		r->bad = true;
		free(k);
		return;
	}
	k->executable = executable;
	for (uint64_t i = 0; i < map.number && !r->bad; i++) {
		struct value key = next(r), value = next(r);

		if (is(key, ".args") && k->items == NULL)
			read_arguments(r, k, value);
		else if (is(key, ".symbol") && k->symbol == NULL)
			k->symbol = copy(value);
		else
			skip_elements(r, value, 0);
	}
	if (k->symbol == NULL || r->bad)
		free_arguments(k);
	else
		keep(k);
}

void
kr_arguments_parse(uint64_t executable, const void *document, size_t size)
{
	struct reader r = {.at = document, .end = (const unsigned char *)document + size};
	struct value map = next(&r);

	for (uint64_t i = 0; map.kind == MAP && i < map.number && !r.bad; i++) {
		struct value key = next(&r), value = next(&r);

		if (!is(key, "amdhsa.kernels") || value.kind != ARRAY) {
			skip_elements(&r, value, 0);
			continue;
		}
		for (uint64_t j = 0; j < value.number && !r.bad; j++)
			read_kernel(&r, executable);
	}
}

static void
read_notes(uint64_t executable, Elf_Data *data)
{
	size_t offset = 0, name, desc;
	GElf_Nhdr note;

	while (data != NULL && (offset = gelf_getnote(data, offset, &note, &name, &desc)) > 0)
		if (note.n_type == NT_AMDGPU_METADATA && note.n_namesz == 7 &&
		    memcmp((char *)data->d_buf + name, "AMDGPU", 7) == 0)
			kr_arguments_parse(executable, (char *)data->d_buf + desc, note.n_descsz);
}

void
kr_arguments_read(uint64_t executable, const void *image, size_t size)
{
	GElf_Phdr phdr;
	size_t headers;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_memory((char *)(uintptr_t)image, size);
	if (elf == NULL)
		return;
	if (elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &headers) == 0)
		for (size_t i = 0; i < headers; i++)
			if (gelf_getphdr(elf, (int)i, &phdr) != NULL && phdr.p_type == PT_NOTE)
				read_notes(executable, elf_getdata_rawchunk(elf, (int64_t)phdr.p_offset,
									    phdr.p_filesz, ELF_T_NHDR));
	elf_end(elf);
}

const struct kr_arguments *
kr_arguments_find(uint64_t executable, const char *symbol)
{
	const struct kr_arguments *found;

	pthread_mutex_lock(&table.mutex);
	found = table.buckets[bucket_of(executable, symbol)];
	while (found != NULL && (found->executable != executable || strcmp(found->symbol, symbol) != 0))
		found = found->next;
	pthread_mutex_unlock(&table.mutex);
	return found;
}

/* ---- the dispatch at hand ---- */

static _Thread_local const struct kr_arguments *here;
static _Thread_local unsigned char *block_here;
static _Thread_local size_t block_bytes;

void
kr_arguments_here(const struct kr_arguments *arguments, const void *block)
{
	struct kr_allocation allocation;
	size_t bytes = 0;

	free(block_here);
	block_here = NULL;
	here = NULL;
	for (size_t i = 0; arguments != NULL && i < arguments->count; i++) {
		size_t end = (size_t)arguments->items[i].offset + arguments->items[i].bytes;

		if (end > bytes)
			bytes = end;
	}
	/* one in device memory may be out of the host's reach */
	if (bytes == 0 || bytes > LARGEST_BLOCK || block == NULL || !kr_tracker_find(block, &allocation) ||
	    allocation.agent != NULL || (uintptr_t)block - allocation.base > allocation.size - bytes)
		return;
	block_here = malloc(bytes);
	if (block_here == NULL)
		return;
	memcpy(block_here, block, bytes);
	block_bytes = bytes;
	here = arguments;
}

const struct kr_argument *
kr_argument_to_host(void)
{
	for (size_t i = 0; here != NULL && i < here->count; i++) {
		const struct kr_argument *a = &here->items[i];
		struct kr_allocation found;
		uint64_t pointer;

		if (!a->is_pointer || a->is_read_only || a->bytes != sizeof(pointer) ||
		    a->offset > block_bytes - sizeof(pointer))
			continue;
		memcpy(&pointer, block_here + a->offset, sizeof(pointer));
		if (kr_tracker_find((const void *)(uintptr_t)pointer, &found) && found.left_out >= 0 &&
		    found.left_out != KREPLAY_LEFT_OUT_EXECUTABLE)
			return a;
	}
	return NULL;
}

int32_t
kr_argument_into(uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; here != NULL && i < here->count; i++) {
		const struct kr_argument *a = &here->items[i];
		uint64_t pointer;

		if (a->bytes != sizeof(pointer) || a->offset > block_bytes - sizeof(pointer))
			continue;
		memcpy(&pointer, block_here + a->offset, sizeof(pointer));
		if (a->is_pointer && pointer >= address && pointer - address < bytes)
			return (int32_t)i;
	}
	return -1;
}

/* ---- the public look-up ---- */

kreplay_status_t
kreplay_query_kernel_argument(kreplay_kernel_id_t kernel_id, uint32_t index, kreplay_kernel_argument_t *argument)
{
	kreplay_kernel_argument_t mine = {.size = sizeof(mine)};
	const struct kr_arguments *arguments;
	uint64_t room;

	if (argument == NULL)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	room = argument->size;
	/* Beyond a page it is no struct of any later version but a size that was never set. */
	if (room < offsetof(kreplay_kernel_argument_t, is_pointer) || room > 4096)
		return KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI;
	if (kr_kernel_name(kernel_id, true) == NULL)
		return KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND;
	arguments = kr_kernel_arguments(kernel_id);
	if (arguments == NULL)
		return KREPLAY_STATUS_ERROR_NOT_AVAILABLE;
	if (index >= arguments->count)
		return KREPLAY_STATUS_ERROR_INVALID_ARGUMENT;
	mine.offset = arguments->items[index].offset;
	mine.bytes = arguments->items[index].bytes;
	mine.is_pointer = arguments->items[index].is_pointer;
	mine.is_read_only = arguments->items[index].is_read_only;
	mine.name = arguments->items[index].name;
	mine.type = arguments->items[index].type;
	mine.size = room < sizeof(mine) ? room : sizeof(mine);
	memcpy(argument, &mine, mine.size);
	if (room > sizeof(mine))
		memset((char *)argument + sizeof(mine), 0, room - sizeof(mine));
	return KREPLAY_STATUS_SUCCESS;
}
