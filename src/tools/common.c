/* SPDX-License-Identifier: MIT */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0 || text->failed) {
		text->failed = true;
		return;
	}
	if (text->length + (size_t)length + 1 > text->room) {
		size_t room = 2 * (text->length + (size_t)length + 1);
		char *grown = realloc(text->data, room);

		if (!grown) {
			text->failed = true;
			return;
		}
		text->data = grown;
		text->room = room;
	}
	va_start(arguments, format);
	vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	text->length += (size_t)length;
}

void text_add_json(struct text *text, const char *string)
{
	if (!string) {
		text_add(text, "null");
		return;
	}
	text_add(text, "\"");
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			text_add(text, "\\%c", *string);
		else if ((unsigned char)*string < ' ' || *string == 0x7f)
			text_add(text, "\\u%04x", (unsigned char)*string);
		else
			text_add(text, "%c", *string);
	}
	text_add(text, "\"");
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}

const char *format_bytes(char out[32], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1023.5 && unit < sizeof units / sizeof units[0] - 1) {
		value /= 1024;
		unit++;
	}
	snprintf(out, 32, "%.*f %s", unit && value < 99.95 ? value < 9.995 ? 2 : 1 : 0, value, units[unit]);
	return out;
}

const char *region_kind_name(kreplay_region_kind_t kind)
{
	switch (kind) {
	case KREPLAY_REGION_POOL:
		return "pool";
	case KREPLAY_REGION_REGION:
		return "region";
	case KREPLAY_REGION_VARIABLE:
		return "variable";
	case KREPLAY_REGION_VMEM:
		return "vmem";
	}
	return "unknown";
}

static bool find_argument(kreplay_kernel_id_t kernel, int32_t index, kreplay_kernel_argument_t *argument)
{
	*argument = (kreplay_kernel_argument_t){ .size = sizeof *argument };
	return index >= 0 &&
	       kreplay_query_kernel_argument(kernel, (uint32_t)index, argument) == KREPLAY_STATUS_SUCCESS;
}

void text_add_argument(struct text *text, kreplay_kernel_id_t kernel, int32_t index)
{
	kreplay_kernel_argument_t argument;

	if (index < 0) {
		text_add(text, "no known argument");
		return;
	}
	text_add(text, "argument %d", index);
	if (find_argument(kernel, index, &argument) && (argument.name || argument.type))
		text_add(text, " \"%s%s%s\"", argument.type ? argument.type : "",
			 argument.type && argument.name ? " " : "", argument.name ? argument.name : "");
}

void text_add_argument_json(struct text *text, kreplay_kernel_id_t kernel, int32_t index)
{
	kreplay_kernel_argument_t argument;
	bool known = find_argument(kernel, index, &argument);

	if (index < 0)
		text_add(text, "\"argument\": null, ");
	else
		text_add(text, "\"argument\": %d, ", index);
	text_add(text, "\"argument_name\": ");
	text_add_json(text, known ? argument.name : NULL);
	text_add(text, ", \"argument_type\": ");
	text_add_json(text, known ? argument.type : NULL);
	text_add(text, ", ");
}

void write_note(const kreplay_report_note_t *note)
{
	static bool said;
	kreplay_status_t status = kreplay_report_note(note);

	/* a full journal is counted and said by the report itself */
	if (status == KREPLAY_STATUS_SUCCESS || status == KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES)
		return;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr, "kreplay: %s: what was found cannot be reported: %s\n", note->topic,
			kreplay_get_status_string(status));
}

int observe(const char *tool, const kreplay_tracing_operation_t *operations, size_t count,
	    kreplay_callback_tracing_cb_t callback, void *data)
{
	kreplay_context_id_t context;
	kreplay_status_t status = kreplay_create_context(&context);

	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY,
								    operations, count, callback, data);
	if (status == KREPLAY_STATUS_SUCCESS)
		status = kreplay_start_context(context);
	if (status == KREPLAY_STATUS_SUCCESS)
		return 0;
	fprintf(stderr, "kreplay: %s: %s\n", tool, kreplay_get_status_string(status));
	return -1;
}

bool version_fits(const char *tool, uint32_t version, const char *runtime_version)
{
	if (version >= KREPLAY_VERSION)
		return true;
	fprintf(stderr, "kreplay: %s: the library is %s and older than this tool (%s)\n", tool, runtime_version,
		KREPLAY_VERSION_STRING);
	return false;
}
