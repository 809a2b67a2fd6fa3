/* SPDX-License-Identifier: MIT */
/*
 * A timeline in the Trace Event Format ("JSON Object Format"), which ui.perfetto.dev and chrome://tracing open. A process of
 * the run is a process; each of its agents is a thread that shows windows and their phases, each of its queues a thread that
 * shows executions. Complete events ("X") of one thread must nest or not touch, so executions that overlap on a queue get
 * further threads.
 */
#include <stdlib.h>
#include <string.h>

#include "reports.h"

#define QUEUE_TRACKS 100000 /* threads from here on are queues; below it agents */
#define MOST_LANES 16

struct event {
	uint32_t process;
	uint32_t track;
	uint64_t start_ns, end_ns;
	unsigned depth; /* in its window: 0 the window, 1 its phases */
	const struct kr_report_execution *execution;
	const struct kr_report_window *window;
	const struct kr_report_note *note;
};

/* One thread of the trace: an agent, or a queue, or one more lane of a queue. */
struct track {
	uint32_t process;
	bool is_queue;
	uint64_t id; /* agent's node or queue's id */
	unsigned lane;
	uint64_t busy_until;
	const struct kr_report_window *example; /* NULL: of executions of which no window is known */
};

struct trace {
	struct kr_text *out;
	const struct kr_report *report;
	struct kr_cli_windows windows;
	struct event *events;
	size_t event_count;
	struct track *tracks;
	size_t track_count;
	uint64_t base_ns;
	bool failed;
};

static void add_event(struct trace *trace, const struct event *event)
{
	struct event *place = kr_report_append((void **)&trace->events, &trace->event_count, sizeof(*place));

	if (place)
		*place = *event;
	else
		trace->failed = true;
}

static uint32_t find_track(struct trace *trace, uint32_t process, bool is_queue, uint64_t id, unsigned lane,
			   const struct kr_report_window *example)
{
	struct track *place;

	for (size_t i = 0; i < trace->track_count; i++) {
		const struct track *track = &trace->tracks[i];

		if (track->process == process && track->is_queue == is_queue && track->id == id && track->lane == lane)
			return (uint32_t)i;
	}
	place = kr_report_append((void **)&trace->tracks, &trace->track_count, sizeof(*place));
	if (!place) {
		trace->failed = true;
		return 0;
	}
	*place = (struct track){ .process = process, .is_queue = is_queue, .id = id, .lane = lane, .example = example };
	return (uint32_t)trace->track_count - 1;
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static void gather(struct trace *trace)
{
	const struct kr_report *report = trace->report;

	for (size_t i = 0; i < report->execution_count; i++) {
		const struct kr_report_execution *one = &report->executions[i];

		if (!one->no_length)
			add_event(trace, &(struct event){ .process = one->process, .start_ns = one->start_ns,
							  .end_ns = one->start_ns + one->ns, .execution = one,
							  .window = kr_cli_window_of(&trace->windows, one->process,
										     one->dispatch_id) });
	}
	for (size_t i = 0; i < report->window_count; i++) {
		const struct kr_report_window *one = &report->windows[i];

		if (one->opened_ns && one->window_ns)
			add_event(trace, &(struct event){ .process = one->process, .start_ns = one->opened_ns,
							  .end_ns = one->opened_ns + one->window_ns, .window = one });
	}
	for (size_t i = 0; i < report->note_count; i++) {
		const struct kr_report_note *one = &report->notes[i];
		const struct kr_report_window *window = one->end_ns && one->dispatch_id
				? kr_cli_window_of(&trace->windows, one->process, one->dispatch_id) : NULL;
		struct event event = { .process = one->process, .start_ns = one->start_ns, .end_ns = one->end_ns,
				       .depth = 1, .window = window, .note = one };

		if (!window || !window->window_ns)
			continue;
		/* two clocks are read for the window, so a phase may stick out of it by nanoseconds */
		if (event.start_ns < window->opened_ns)
			event.start_ns = window->opened_ns;
		if (event.end_ns > window->opened_ns + window->window_ns)
			event.end_ns = window->opened_ns + window->window_ns;
		if (event.end_ns >= event.start_ns)
			add_event(trace, &event);
	}
	if (!trace->failed && trace->event_count > 0)
		qsort(trace->events, trace->event_count, sizeof(*trace->events), compare_events);
	trace->base_ns = trace->event_count > 0 ? trace->events[0].start_ns : 0;
}

/* In order of time, so the first lane that is free by then will do. */
static void give_tracks(struct trace *trace)
{
	for (size_t i = 0; i < trace->event_count && !trace->failed; i++) {
		struct event *event = &trace->events[i];
		unsigned lane = 0;

		if (!event->execution) {
			event->track = find_track(trace, event->process, false, event->window->agent, 0, event->window);
			continue;
		}
		do
			event->track = find_track(trace, event->process, true, event->window ? event->window->queue : 0,
						  lane, event->window);
		while (!trace->failed && trace->tracks[event->track].busy_until > event->start_ns && ++lane < MOST_LANES);
		if (!trace->failed && event->end_ns > trace->tracks[event->track].busy_until)
			trace->tracks[event->track].busy_until = event->end_ns;
	}
}

static unsigned thread_of(const struct trace *trace, uint32_t index)
{
	return (trace->tracks[index].is_queue ? QUEUE_TRACKS : 0) + index + 1;
}

static void print_metadata(struct trace *trace)
{
	struct kr_text name = { 0 };

	for (size_t i = 0; i < trace->report->process_count; i++) {
		const struct kr_report_process *process = &trace->report->processes[i];

		name.length = 0;
		kr_text_addf(&name, "%s (", process->program ? process->program : "program");
		if (process->rank >= 0)
			kr_text_addf(&name, "rank %d, ", (int)process->rank);
		kr_text_addf(&name, "pid %lu%s%s)", (unsigned long)process->pid, process->host ? " on " : "",
			     process->host ? process->host : "");
		kr_text_addf(trace->out, "%s{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %zu, \"tid\": 0, \"args\": {\"name\": ",
			     i ? ",\n" : "\n", i + 1);
		kr_cli_add_json_string(trace->out, name.data ? name.data : "");
		kr_text_add(trace->out, "}}");
	}
	for (size_t i = 0; i < trace->track_count; i++) {
		const struct track *track = &trace->tracks[i];

		name.length = 0;
		if (!track->is_queue)
			kr_text_addf(&name, "agent %llu %s", (unsigned long long)track->id, track->example->agent_name);
		else if (!track->example)
			kr_text_add(&name, "queue not known");
		else
			kr_text_addf(&name, "queue %llu of agent %lu", (unsigned long long)track->id,
				     (unsigned long)track->example->agent);
		if (track->lane > 0)
			kr_text_addf(&name, " (%u)", track->lane + 1);
		kr_text_addf(trace->out, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %lu, \"tid\": %u, \"args\": {\"name\": ",
			     (unsigned long)track->process + 1, thread_of(trace, (uint32_t)i));
		kr_cli_add_json_string(trace->out, name.data ? name.data : "");
		kr_text_add(trace->out, "}}");
	}
	trace->failed = trace->failed || name.failed;
	kr_text_finish(&name);
}

/* Microseconds, as the format has them. */
static void add_time(struct kr_text *out, const char *name, uint64_t ns)
{
	kr_text_addf(out, "\"%s\": %llu.%03llu, ", name, (unsigned long long)(ns / 1000), (unsigned long long)(ns % 1000));
}

static const char *name_of(const struct trace *trace, const struct event *event)
{
	return event->note	  ? event->note->text ? event->note->text : event->note->topic
	       : event->execution ? trace->report->kernels[event->execution->kernel].name
				  : trace->report->kernels[event->window->kernel].name;
}

static void print_event(struct trace *trace, const struct event *event)
{
	struct kr_text *out = trace->out;
	uint64_t dispatch = event->execution ? event->execution->dispatch_id : event->window->dispatch_id;

	kr_text_add(out, ",\n{\"ph\": \"X\", \"name\": ");
	kr_cli_add_json_string(out, name_of(trace, event));
	kr_text_addf(out, ", \"cat\": \"%s\", \"pid\": %lu, \"tid\": %u, ",
		     event->note ? "phase" : event->execution ? "execution" : "window",
		     (unsigned long)event->process + 1, thread_of(trace, event->track));
	add_time(out, "ts", event->start_ns - trace->base_ns);
	add_time(out, "dur", event->end_ns - event->start_ns);
	kr_text_addf(out, "\"args\": {\"dispatch\": %llu", (unsigned long long)dispatch);
	if (event->execution)
		kr_text_addf(out, ", \"pass\": %llu", (unsigned long long)event->execution->pass);
	else if (event->note && event->note->pass != UINT64_MAX)
		kr_text_addf(out, ", \"pass\": %llu", (unsigned long long)event->note->pass);
	else if (!event->note)
		kr_text_addf(out, ", \"passes\": %llu, \"snapshot_bytes\": %llu, \"restored_bytes\": %llu",
			     (unsigned long long)event->window->passes,
			     (unsigned long long)event->window->snapshot_bytes,
			     (unsigned long long)event->window->restored_bytes);
	kr_text_add(out, "}}");
}

void kr_cli_perfetto(struct kr_text *out, const struct kr_report *report)
{
	struct trace trace = { .out = out, .report = report };

	if (!kr_cli_windows_init(&trace.windows, report)) {
		out->failed = true;
		return;
	}
	gather(&trace);
	give_tracks(&trace);
	kr_text_add(out, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"made by\": \"kreplay\"}, \"traceEvents\": [");
	if (!trace.failed)
		print_metadata(&trace);
	for (size_t i = 0; i < trace.event_count && !trace.failed; i++)
		print_event(&trace, &trace.events[i]);
	kr_text_add(out, "\n]}\n");
	out->failed = out->failed || trace.failed;
	free(trace.events);
	free(trace.tracks);
	kr_cli_windows_finish(&trace.windows);
}
