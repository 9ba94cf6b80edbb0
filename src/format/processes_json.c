/* The Python processes of a host for programs: docs/json.md. */
#include "format/json_writer.h"
#include "format/processes.h"

#define SCHEMA "darter.ps/1"

static void put_process(struct dt_json *json, const struct dt_process *process)
{
	bool readable = process->code == 0;

	dt_json_object(json, NULL);
	dt_json_signed(json, "pid", process->pid);
	dt_json_signed(json, "ppid", process->ppid);
	dt_json_text(json, "user", process->user);
	dt_json_text(json, "python", process->version_text[0] ? process->version_text : NULL);
	dt_json_bool(json, "free_threaded", process->version.free_threaded);
	dt_json_number(json, "threads", process->threads);
	if (process->cpu >= 0)
		dt_json_decimal(json, "cpu", process->cpu);
	else
		dt_json_null(json, "cpu");
	dt_json_number(json, "rss", process->rss);
	dt_json_text(json, "container", process->container);
	dt_json_text(json, "command", process->command);
	if (process->function) {
		dt_json_object(json, "doing");
		dt_json_text(json, "function", process->function);
		dt_json_text(json, "file", process->file);
		dt_json_number(json, "line", process->line);
		dt_json_text(json, "state", dt_state_name(process->state));
		dt_json_object_end(json);
	} else {
		dt_json_null(json, "doing");
	}
	if (readable) {
		dt_json_null(json, "error");
	} else {
		dt_json_object(json, "error");
		dt_json_text(json, "code", dt_error_name(process->code));
		dt_json_text(json, "message", process->reason);
		dt_json_object_end(json);
	}
	dt_json_object_end(json);
}

int dt_processes_json(const struct dt_process *const *rows, size_t count, FILE *out)
{
	struct dt_json json = {.out = out};

	dt_json_object(&json, NULL);
	dt_json_text(&json, "schema", SCHEMA);
	dt_json_array(&json, "processes");
	for (size_t i = 0; i < count && !ferror(out); i++)
		put_process(&json, rows[i]);
	dt_json_array_end(&json);
	dt_json_object_end(&json);
	putc('\n', out);
	return ferror(out) ? DT_ERUNTIME : 0;
}
