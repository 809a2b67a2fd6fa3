/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: bytes as a stream of decisions, and the check of an oracle. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *at, *end;
};

/* 0 when there are no more. */
static inline uint8_t fuzz_byte(struct bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

static inline uint64_t fuzz_number(struct bytes *b, unsigned count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | fuzz_byte(b);
	return value;
}

/* The rest as a string in memory of just its size, to be freed. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#define FUZZ_CHECK(condition)                                                                     \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

#endif
