/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, NUMBER, SIZE, SWITCH }; /* SWITCH: a flag that may have a number */

struct key {
	const char *name;
	enum kind kind;
	uint64_t low, high;
	size_t offset;
	size_t width;     /* of the field */
	uint64_t plain;   /* value of a name alone */
};

#define FIELD(f) offsetof(struct sg_options, f), sizeof(((struct sg_options *)0)->f)

/* A switch is a row; docs/softgpu.md lists the same names. */
static const struct key keys[] = {
	{"vram", SIZE, 16ull << 20, 1ull << 40, FIELD(vram_bytes)},
	{"cus", NUMBER, 1, 1024, FIELD(compute_units)},
	{"threads", NUMBER, 1, 1024, FIELD(threads)},
	{"doorbell", NUMBER, 1, 2, FIELD(doorbell_type)},
	{"private-vram", FLAG, 1, 1, FIELD(private_vram), 1},
	{"reorder", FLAG, 1, 1, FIELD(reorder), 1},
	{"delay", SWITCH, 1, 1000000, FIELD(delay_us), 200},
	{"seed", NUMBER, 0, UINT64_MAX, FIELD(seed)},
};

static const char *const injections[SG_INJECTIONS] = {
	[SG_INJECT_ALLOC] = "alloc", [SG_INJECT_COPY] = "copy",
	[SG_INJECT_QUEUE] = "queue", [SG_INJECT_HANG] = "hang",
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

/* WHAT:K, each kind once. */
static bool parse_injection(const char *text, size_t length, struct sg_options *options)
{
	const char *colon = memchr(text, ':', length);
	size_t name_length = colon ? (size_t)(colon - text) : 0;
	uint64_t number;

	for (int i = 0; colon && i < SG_INJECTIONS; i++) {
		if (strlen(injections[i]) != name_length || memcmp(injections[i], text, name_length))
			continue;
		if (options->inject[i] ||
		    !parse_number(colon + 1, length - name_length - 1, NUMBER, &number) ||
		    number == 0 || number > UINT32_MAX)
			return false;
		options->inject[i] = (uint32_t)number;
		return true;
	}
	return false;
}

static bool parse_key(const struct key *key, const char *value, size_t length,
                      struct sg_options *options)
{
	enum kind kind = key->kind == SWITCH ? NUMBER : key->kind;
	uint64_t number = key->plain;

	if (!value) {
		if (key->kind != FLAG && key->kind != SWITCH)
			return false;
	} else if (key->kind == FLAG || !parse_number(value, length, kind, &number)) {
		return false;
	}
	if (number < key->low || number > key->high)
		return false;
	store(options, key, number);
	return true;
}

static bool parse_item(const char *item, size_t length, struct sg_options *options,
                       uint32_t *seen, char *reason, size_t size)
{
	const char *equals = memchr(item, '=', length);
	size_t name_length = equals ? (size_t)(equals - item) : length;

	const char *value = equals ? equals + 1 : NULL;
	size_t value_length = equals ? length - name_length - 1 : 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct key *key = &keys[i];

		if (strlen(key->name) != name_length || memcmp(key->name, item, name_length))
			continue;
		if (*seen & 1u << i) {
			snprintf(reason, size, "'%s' given twice", key->name);
			return false;
		}
		*seen |= 1u << i;
		if (parse_key(key, value, value_length, options))
			return true;
		snprintf(reason, size, "bad value in '%.*s'", (int)length, item);
		return false;
	}
	if (value && name_length == 6 && !memcmp(item, "inject", 6)) {
		if (parse_injection(value, value_length, options))
			return true;
		snprintf(reason, size,
		         "bad '%.*s': alloc:K, copy:K, queue:K or hang:K, each once, K from 1",
		         (int)length, item);
		return false;
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
