/*
 * A snapshot for programs: docs/json.md and docs/dump.schema.json describe it. One document is one line, so documents
 * in a row are JSON lines.
 */
#include <inttypes.h>
#include <time.h>

#include "format/formats.h"
#include "format/json_writer.h"

#define SCHEMA "darter.dump/1"

/* RFC 3339 in UTC with nanoseconds. */
static void put_time(struct dt_json *json, const char *key, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	char day[32], text[64];
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc)) {
		dt_json_null(json, key);
		return;
	}
	snprintf(text, sizeof(text), "%s.%09uZ", day, (unsigned)(ns % 1000000000u));
	dt_json_text(json, key, text);
}

static void put_frame(struct dt_json *json, const struct dt_frame *frame)
{
	dt_json_object(json, NULL);
	dt_json_text(json, "name", frame->name);
	dt_json_text(json, "file", frame->file);
	dt_json_number(json, "line", frame->line);
	dt_json_number(json, "first_line", frame->first_line);
	dt_json_bool(json, "entry", frame->entry);
	dt_json_bool(json, "native", frame->native);
	dt_json_number(json, "address", frame->address);
	dt_json_text(json, "source", frame->source);
	dt_json_object_end(json);
}

static void put_thread(struct dt_json *json, const struct dt_thread *thread, size_t max_frames)
{
	size_t shown = max_frames && max_frames < thread->frame_count ? max_frames : thread->frame_count;

	dt_json_object(json, NULL);
	dt_json_number(json, "tid", thread->tid);
	dt_json_number(json, "ns_tid", thread->ns_tid);
	dt_json_number(json, "ident", thread->ident);
	dt_json_text(json, "name", thread->name);
	dt_json_signed(json, "interpreter", thread->interpreter);
	dt_json_bool(json, "main", thread->main);
	dt_json_text(json, "state", dt_state_name(thread->state));
	dt_json_text(json, "syscall", thread->syscall);
	dt_json_bool(json, "gil", thread->gil);
	dt_json_bool(json, "gc", thread->gc);
	dt_json_text(json, "proof", dt_proof_name(thread->proof));
	dt_json_bool(json, "torn", thread->torn);
	dt_json_bool(json, "faulting", thread->faulting);
	dt_json_bool(json, "foreign", thread->foreign);
	dt_json_text(json, "native_missing", thread->native_missing);
	dt_json_number(json, "frame_count", thread->frame_count);
	dt_json_array(json, "frames");
	for (size_t i = 0; i < shown && !ferror(json->out); i++)
		put_frame(json, &thread->frames[i]);
	dt_json_array_end(json);
	dt_json_object_end(json);
}

static void put_core(struct dt_json *json, const struct dt_core_death *core)
{
	if (!core) {
		dt_json_null(json, "core");
		return;
	}
	dt_json_object(json, "core");
	dt_json_text(json, "file", core->file);
	dt_json_signed(json, "signal", core->signal);
	dt_json_text(json, "signal_name", core->signal_name);
	dt_json_text(json, "cause", core->cause);
	if (core->has_address)
		dt_json_number(json, "address", core->address);
	else
		dt_json_null(json, "address");
	dt_json_number(json, "instruction", core->instruction);
	dt_json_text(json, "module", core->module);
	dt_json_number(json, "module_offset", core->module_offset);
	dt_json_number(json, "size", core->size);
	dt_json_number(json, "whole_size", core->whole_size);
	dt_json_object_end(json);
}

static void put_snapshot(struct dt_json *json, const struct dt_snapshot *snapshot, size_t max_frames)
{
	dt_json_object(json, NULL);
	dt_json_signed(json, "pid", snapshot->pid);
	dt_json_signed(json, "ppid", snapshot->ppid);
	dt_json_text(json, "python", snapshot->version_text);
	dt_json_bool(json, "free_threaded", snapshot->version.free_threaded);
	dt_json_text(json, "executable", snapshot->executable);
	dt_json_text(json, "library", snapshot->library);
	dt_json_text(json, "command", snapshot->command);
	dt_json_text(json, "container", snapshot->container);
	put_core(json, snapshot->core);
	put_time(json, "taken", snapshot->taken_ns);
	dt_json_number(json, "window_ns", snapshot->window_ns);
	dt_json_number(json, "interpreters", snapshot->interpreters);
	dt_json_number(json, "looks", snapshot->looks);
	dt_json_number(json, "torn", snapshot->torn);
	dt_json_array(json, "warnings");
	for (size_t i = 0; i < snapshot->warning_count; i++)
		dt_json_text(json, NULL, snapshot->warnings[i]);
	dt_json_array_end(json);
	dt_json_array(json, "threads");
	for (size_t i = 0; i < snapshot->thread_count && !ferror(json->out); i++)
		put_thread(json, &snapshot->threads[i], max_frames);
	dt_json_array_end(json);
	dt_json_object_end(json);
}

static int json_begin(FILE *out)
{
	return fputs("{\"schema\":\"" SCHEMA "\",\"snapshots\":[", out) == EOF ? DT_ERUNTIME : 0;
}

static int json_snapshot(const struct dt_snapshot *snapshot, const struct dt_render *render, bool first, FILE *out)
{
	struct dt_json json = {.out = out, .comma = !first};

	put_snapshot(&json, snapshot, render ? render->max_frames : 0);
	return ferror(out) ? DT_ERUNTIME : 0;
}

static int json_end(const struct dt_failure *failures, size_t count, FILE *out)
{
	struct dt_json json = {.out = out, .comma = true};

	putc(']', out);
	dt_json_array(&json, "errors");
	for (size_t i = 0; i < count; i++) {
		dt_json_object(&json, NULL);
		dt_json_signed(&json, "pid", failures[i].pid);
		dt_json_text(&json, "code", dt_error_name(failures[i].error.code));
		dt_json_text(&json, "message", failures[i].error.message);
		dt_json_text(&json, "hint", failures[i].error.hint[0] ? failures[i].error.hint : NULL);
		dt_json_object_end(&json);
	}
	dt_json_array_end(&json);
	fputs("}\n", out);
	return ferror(out) ? DT_ERUNTIME : 0;
}

int dt_render_json(const struct dt_snapshot *snapshot, FILE *out)
{
	int code = json_begin(out);

	if (!code)
		code = json_snapshot(snapshot, NULL, true, out);
	return code ? code : json_end(NULL, 0, out);
}

const struct dt_format dt_format_json = {
    .name = "json",
    .extension = ".json",
    .description = "everything that was seen, for programs: one document on one line",
    .begin = json_begin,
    .snapshot = json_snapshot,
    .end = json_end,
};
