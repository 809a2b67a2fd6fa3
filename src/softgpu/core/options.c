/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, NUMBER, SIZE };

struct key {
	const char *name;
	enum kind kind;
	uint64_t low, high;
	size_t offset;
	size_t width; /* of the field */
};

#define FIELD(f) offsetof(struct sg_options, f), sizeof(((struct sg_options *)0)->f)

/* A switch is a row; docs/softgpu.md lists the same names. */
static const struct key keys[] = {
	{"vram", SIZE, 16ull << 20, 1ull << 40, FIELD(vram_bytes)},
	{"cus", NUMBER, 1, 1024, FIELD(compute_units)},
	{"threads", NUMBER, 1, 1024, FIELD(threads)},
	{"doorbell", NUMBER, 1, 2, FIELD(doorbell_type)},
	{"private-vram", FLAG, 0, 1, FIELD(private_vram)},
	{"random-order", FLAG, 0, 1, FIELD(random_order)},
	{"seed", NUMBER, 0, UINT64_MAX, FIELD(seed)},
	{"delay-us", NUMBER, 0, 1000000, FIELD(delay_us)},
	{"late-doorbell-us", NUMBER, 0, 1000000, FIELD(late_doorbell_us)},
};

/* Decimal digits, for SIZE one of K M G T behind them. */
static bool parse_number(const char *text, size_t length, enum kind kind, uint64_t *value)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return false;
	}
	if (i == 0)
		return false;
	if (kind == SIZE && i + 1 == length) {
		static const char suffix[] = "KMGT";
		const char *s = strchr(suffix, text[i]);

		if (!s || !text[i])
			return false;
		unsigned shift = 10 * (unsigned)(s - suffix + 1);

		if (v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		i++;
	}
	*value = v;
	return i == length;
}

static void store(struct sg_options *options, const struct key *key, uint64_t value)
{
	char *field = (char *)options + key->offset;

	if (key->width == sizeof(uint64_t))
		memcpy(field, &value, sizeof(value));
	else if (key->width == sizeof(uint32_t))
		memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
	else
		memcpy(field, &(bool){value != 0}, sizeof(bool));
}

static bool parse_gpu(const char *item, size_t length, struct sg_options *options)
{
	const char *colon = memchr(item, ':', length);
	size_t name_length = colon ? (size_t)(colon - item) : length;
	const struct sg_gpu_data *data = sg_gpu_data_find(item, name_length);
	uint64_t count = 1;

	if (!data)
		return false;
	if (colon && !parse_number(colon + 1, length - name_length - 1, NUMBER, &count))
		return false;
	if (count == 0 || count > SG_MAX_GPUS - options->gpu_count)
		return false;
	while (count--)
		options->gpus[options->gpu_count++] = data;
	return true;
}

static bool parse_item(const char *item, size_t length, struct sg_options *options,
                       uint32_t *seen, char *reason, size_t size)
{
	const char *equals = memchr(item, '=', length);
	size_t name_length = equals ? (size_t)(equals - item) : length;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct key *key = &keys[i];
		uint64_t value = 1;

		if (strlen(key->name) != name_length || memcmp(key->name, item, name_length))
			continue;
		if (*seen & 1u << i) {
			snprintf(reason, size, "'%s' given twice", key->name);
			return false;
		}
		*seen |= 1u << i;
		if ((key->kind == FLAG) != (equals == NULL) ||
		    (equals && !parse_number(equals + 1, length - name_length - 1, key->kind,
		                             &value)) ||
		    value < key->low || value > key->high) {
			snprintf(reason, size, "bad value in '%.*s'", (int)length, item);
			return false;
		}
		store(options, key, value);
		return true;
	}
	if (!equals && !strncmp(item, "gfx", 3)) {
		if (parse_gpu(item, length, options))
			return true;
		snprintf(reason, size, "no such GPU or count in '%.*s' (at most %d in all)",
		         (int)length, item, SG_MAX_GPUS);
		return false;
	}
	snprintf(reason, size, "'%.*s' is not known", (int)length, item);
	return false;
}

bool sg_options_parse(const char *text, struct sg_options *options, char *reason, size_t size)
{
	uint32_t seen = 0;

	memset(options, 0, sizeof(*options));
	options->doorbell_type = 2;
	for (const char *p = text ? text : ""; *p;) {
		size_t length = strcspn(p, ",");

		if (!parse_item(p, length, options, &seen, reason, size))
			return false;
		p += length;
		if (*p == ',' && !*++p) {
			snprintf(reason, size, "nothing behind the last comma");
			return false;
		}
	}
	if (options->gpu_count == 0)
		options->gpus[options->gpu_count++] = sg_gpu_data_at(0);
	if (options->vram_bytes % 4096) {
		snprintf(reason, size, "vram is not a multiple of 4096");
		return false;
	}
	for (uint32_t i = 0; i < options->gpu_count; i++) {
		if (options->compute_units > options->gpus[i]->compute_units) {
			snprintf(reason, size, "%s has only %u compute units", options->gpus[i]->name,
			         options->gpus[i]->compute_units);
			return false;
		}
	}
	return true;
}
