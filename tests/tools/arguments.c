/* SPDX-License-Identifier: MIT */
/* Metadata of code objects: a real one, and that one with bytes changed or cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/arguments.h"

static unsigned char *image;
static size_t image_bytes;

static void real(void **state)
{
	const struct kr_arguments *found;

	(void)state;
	kr_arguments_read(1, image, image_bytes);
	found = kr_arguments_find(1, "racy");
	assert_non_null(found);
	assert_int_equal(found->count, 3);
	assert_string_equal(found->items[0].name, "input");
	assert_string_equal(found->items[0].type, "uint*");
	assert_true(found->items[0].is_pointer && found->items[0].is_read_only);
	assert_string_equal(found->items[1].name, "output");
	assert_true(found->items[1].is_pointer && !found->items[1].is_read_only);
	assert_int_equal(found->items[1].offset, 8);
	assert_int_equal(found->items[2].bytes, 8);
	assert_non_null(kr_arguments_find(1, "steady"));
	assert_null(kr_arguments_find(2, "racy"));
	assert_null(kr_arguments_find(1, "rac"));
	/* nothing is at hand here */
	kr_arguments_here(found, NULL);
	assert_int_equal(kr_argument_into(0x1000, 64), -1);
}

static void broken(void **state)
{
	unsigned char *copy = malloc(image_bytes);
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		size_t bytes = round % 2 ? image_bytes : (size_t)rand_r(&seed) % image_bytes;

		memcpy(copy, image, image_bytes);
		for (unsigned i = 0; i < 8; i++)
			copy[(size_t)rand_r(&seed) % image_bytes] = (unsigned char)rand_r(&seed);
		kr_arguments_read(3, copy, bytes);
	}
	free(copy);
}

static void noise(void **state)
{
	unsigned char bytes[64];
	unsigned seed = 2;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		size_t count = (size_t)rand_r(&seed) % sizeof(bytes);

		/* so that the list of kernels is entered now and then */
		memcpy(bytes, "\x81\xae" "amdhsa.kernels" "\xdd", 17);
		for (size_t i = round % 2 ? 0 : 17; i < count; i++)
			bytes[i] = (unsigned char)rand_r(&seed);
		kr_arguments_parse(4, bytes, count);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(real), cmocka_unit_test(broken), cmocka_unit_test(noise) };
	FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
	int status;

	if (!file)
		return 1;
	image = malloc(1 << 20);
	image_bytes = fread(image, 1, 1 << 20, file);
	fclose(file);
	status = cmocka_run_group_tests(tests, NULL, NULL);
	free(image);
	return status;
}
