/* SPDX-License-Identifier: MIT */
/* Code objects of any bytes: their writable segments, and what their metadata says of arguments. */
#include "fuzz.h"

#include "core/arguments.h"
#include "core/code.h"
#include "core/next.h"
#include "core/tracker.h"
#include "stand_in.h"

#define EXECUTABLE 7

static uint8_t *block; /* of arguments; its end is the allocation's, so that a read past it shows */
#define BLOCK 4096

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	stand_in_reset();
	FUZZ_CHECK(kr_agents_init());
	block = calloc(1, BLOCK);
	kr_tracker_add(block, BLOCK, STAND_IN_KERNARG_POOL, 0, 0);
	return 0;
}

static void use_arguments(void)
{
	const struct kr_arguments *arguments = kr_arguments_find(EXECUTABLE, "k");

	for (size_t i = 0; arguments && i < arguments->count; i++) {
		FUZZ_CHECK(!arguments->items[i].name || strlen(arguments->items[i].name) > 0);
		FUZZ_CHECK(!arguments->items[i].is_read_only || arguments->items[i].is_pointer);
	}
	kr_arguments_here(arguments, block);
	FUZZ_CHECK(kr_argument_into(0, UINT64_MAX) >= -1);
	kr_arguments_here(NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kr_segment segments[4];
	uint8_t *copy;

	if (size == 0)
		return 0;
	copy = malloc(size); /* aligned, and of just its size */
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 2 == 0) {
		kr_arguments_parse(EXECUTABLE, copy, size - 1);
	} else {
		uint64_t read_only;
		int count = kr_code_writable(copy, size - 1, segments, 4, &read_only);

		FUZZ_CHECK(count >= -1);
		for (int i = 0; i < count && i < 4; i++)
			FUZZ_CHECK(segments[i].size > 0);
		kr_arguments_read(EXECUTABLE, copy, size - 1);
	}
	use_arguments();
	free(copy);
	return 0;
}
