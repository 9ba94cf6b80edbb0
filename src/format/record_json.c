/* A recording that was made, for programs: docs/json.md. */
#include "format/json_writer.h"

#include <darter/darter.h>

#define SCHEMA "darter.record/1"

static void put_status(struct dt_json *json, const struct dt_record_status *status)
{
	dt_json_number(json, "duration_ns", status->duration_ns);
	dt_json_number(json, "processes", status->joined);
	dt_json_number(json, "rounds", status->rounds);
	dt_json_number(json, "samples", status->samples);
	dt_json_number(json, "late", status->late);
	dt_json_number(json, "unseen", status->unseen);
	dt_json_number(json, "settled", status->settled);
	dt_json_number(json, "torn", status->torn);
	dt_json_number(json, "lost", status->lost);
	dt_json_number(json, "stops", status->stops);
	dt_json_number(json, "stopped_ns", status->stopped_ns);
	dt_json_number(json, "damaged_ns", status->damaged_ns);
	dt_json_number(json, "damaged_samples", status->damaged_samples);
	dt_json_text(json, "rung", status->rung);
	dt_json_text(json, "rung_why", status->why && *status->why ? status->why : NULL);
	dt_json_number(json, "own_cpu_ns", status->cpu_ns);
	dt_json_number(json, "own_rss", status->rss);
}

int dt_render_record_json(const struct dt_record_result *result, FILE *out)
{
	struct dt_json json = {.out = out};

	dt_json_object(&json, NULL);
	dt_json_text(&json, "schema", SCHEMA);
	dt_json_array(&json, "files");
	for (size_t i = 0; i < result->file_count; i++)
		dt_json_text(&json, NULL, result->files[i]);
	dt_json_array_end(&json);
	dt_json_text(&json, "format", result->format);
	dt_json_text(&json, "reason", result->reason);
	dt_json_decimal(&json, "rate", result->rate);
	put_status(&json, &result->status);
	dt_json_array(&json, "errors");
	for (size_t i = 0; i < result->failure_count; i++) {
		const struct dt_failure *failure = &result->failures[i];

		dt_json_object(&json, NULL);
		if (failure->pid)
			dt_json_signed(&json, "pid", failure->pid);
		else
			dt_json_null(&json, "pid");
		dt_json_text(&json, "code", dt_error_name(failure->error.code));
		dt_json_text(&json, "message", failure->error.message);
		dt_json_text(&json, "hint", failure->error.hint[0] ? failure->error.hint : NULL);
		dt_json_object_end(&json);
	}
	dt_json_array_end(&json);
	dt_json_object_end(&json);
	putc('\n', out);
	return ferror(out) ? DT_ERUNTIME : 0;
}
