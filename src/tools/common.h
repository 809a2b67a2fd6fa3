/* SPDX-License-Identifier: MIT */
/* What the bundled tools share: growing text, names, and the steps of becoming an observer. */
#ifndef KR_TOOLS_COMMON_H
#define KR_TOOLS_COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <kreplay/kreplay.h>

struct text {
	char *data;
	size_t length, room;
	bool failed;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As a JSON string; NULL becomes null. What is no printable ASCII is escaped or, from 0x80 on, kept. */
void text_add_json(struct text *text, const char *string);
void text_free(struct text *text);

/* "12.0 KiB" and so on, at most 32 bytes. */
const char *format_bytes(char out[32], uint64_t bytes);
const char *region_kind_name(kreplay_region_kind_t kind);

/* `argument 1 "float* y"` of a kernel, or "no known argument". */
void text_add_argument(struct text *text, kreplay_kernel_id_t kernel, int32_t index);
/* The members "argument", "argument_name", "argument_type" of a JSON object, each with a comma behind it. */
void text_add_argument_json(struct text *text, kreplay_kernel_id_t kernel, int32_t index);

/* Writes a note, or says once on standard error that it cannot. */
void write_note(const kreplay_report_note_t *note);

/* Subscribes one started context to these operations of KERNEL_REPLAY. Returns what `initialize` is to return. */
int observe(const char *tool, const kreplay_tracing_operation_t *operations, size_t count,
	    kreplay_callback_tracing_cb_t callback, void *data);

/* Whether the running library is one that this tool can work with; says so when it is not. */
bool version_fits(const char *tool, uint32_t version, const char *runtime_version);

#endif
