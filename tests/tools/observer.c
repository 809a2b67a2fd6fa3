/* SPDX-License-Identifier: MIT */
/* A user's observer: counts passes, and writes to the report what it has counted and how its bad notes were answered. */
#include <kreplay/kreplay.h>

#include <stdio.h>
#include <string.h>

static unsigned passes, good, answers[8];

static void on_replay(kreplay_callback_tracing_record_t record, kreplay_user_data_t *user_data, void *data)
{
	(void)user_data;
	(void)data;
	if (record.phase == KREPLAY_CALLBACK_PHASE_EXIT)
		__atomic_add_fetch(&passes, 1, __ATOMIC_RELAXED);
}

static int initialize(kreplay_client_finalize_t finalize_func, void *data)
{
	static const kreplay_tracing_operation_t pass = KREPLAY_KERNEL_REPLAY_PASS;
	kreplay_context_id_t context;

	(void)finalize_func;
	(void)data;
	return kreplay_create_context(&context) ||
	       kreplay_configure_callback_tracing_service(context, KREPLAY_CALLBACK_TRACING_KERNEL_REPLAY, &pass, 1,
							  on_replay, NULL) ||
	       kreplay_start_context(context);
}

/* Whether a note is answered so. */
static void expect(kreplay_status_t status, const kreplay_report_note_t *note)
{
	kreplay_status_t got = kreplay_report_note(note);

	good += got == status;
	answers[(unsigned)(got == status ? 0 : got) % 8]++;
}

static void finalize(void *data)
{
	static char long_text[1 << 20];
	char text[64];
	kreplay_report_note_t note = { .size = sizeof note, .topic = "my-observer", .pass = KREPLAY_NO_PASS };

	(void)data;
	snprintf(text, sizeof text, "%u passes\nsecond line \"quoted\" \x01", passes);
	note.text = text;
	note.data = "{\"passes\": [1, 2.5e3, null, \"\\u00e9\"]}";
	expect(KREPLAY_STATUS_SUCCESS, &note);
	expect(KREPLAY_STATUS_ERROR_INVALID_ARGUMENT, NULL);
	note.data = "{\"passes\": 01}";
	expect(KREPLAY_STATUS_ERROR_INVALID_ARGUMENT, &note);
	note.data = "[]";
	expect(KREPLAY_STATUS_ERROR_INVALID_ARGUMENT, &note);
	note.data = NULL;
	note.topic = "My Observer";
	expect(KREPLAY_STATUS_ERROR_INVALID_ARGUMENT, &note);
	note.topic = "my-observer";
	note.size = 8;
	expect(KREPLAY_STATUS_ERROR_INCOMPATIBLE_ABI, &note);
	note.size = sizeof note;
	note.kernel_id = 12345;
	expect(KREPLAY_STATUS_ERROR_KERNEL_NOT_FOUND, &note);
	note.kernel_id = 0;
	memset(long_text, 'x', sizeof long_text - 1);
	note.text = long_text;
	expect(KREPLAY_STATUS_ERROR_OUT_OF_RESOURCES, &note);
	snprintf(text, sizeof text, "%u answers of 8 as they should be", good);
	note.text = text;
	kreplay_report_note(&note);
}

KREPLAY_TOOL_EXPORT kreplay_tool_configure_result_t *
kreplay_configure(uint32_t version, const char *runtime_version, uint32_t priority, kreplay_client_id_t *client_id)
{
	static kreplay_tool_configure_result_t result = { sizeof result, initialize, finalize, NULL };

	(void)version;
	(void)runtime_version;
	(void)priority;
	client_id->name = "observer";
	return &result;
}
