/* The names of results: as they were given, or made from program, process id and time. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/result_file.h"

#define MOST 1000 /* names that are tried */

static void put_time(struct dt_buf *name, time_t now)
{
	struct tm local = {0};

	localtime_r(&now, &local);
	dt_buf_printf(name, "-%04d%02d%02d-%02d%02d%02d", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
		      local.tm_hour, local.tm_min, local.tm_sec);
}

/* A name with a time in it, which no file has and none of this run had; a number tells those of one second apart. */
static char *timed_name(struct dt_record_run *run, time_t now, const char *extension)
{
	unsigned first = now == run->named_at ? run->named + 1 : 1;
	struct dt_buf name = DT_BUF_INIT, whole = DT_BUF_INIT;
	char *copy;

	dt_buf_puts(&name, run->stem);
	put_time(&name, now);
	run->named_at = now;
	for (unsigned i = first; i < first + MOST; i++) {
		run->named = i;
		dt_buf_clear(&whole);
		if (i == 1)
			dt_buf_printf(&whole, "%s%s", name.data, extension);
		else
			dt_buf_printf(&whole, "%s-%u%s", name.data, i, extension);
		if (access(whole.data, F_OK) < 0)
			break;
	}
	copy = name.failed || whole.failed ? NULL : strdup(whole.data);
	dt_buf_release(&whole);
	dt_buf_release(&name);
	return copy;
}

/* What the name of the output ends with: the extension of its format, or whatever it has. */
static const char *extension_of(const struct dt_record_run *run)
{
	const struct dt_profile_format *format = run->command->showing.format;
	const char *output = run->command->showing.output, *slash, *dot;
	size_t length = output ? strlen(output) : 0;

	if (!output)
		return format->extensions[0];
	for (const char *const *extension = format->extensions; *extension; extension++) {
		size_t size = strlen(*extension);

		if (size < length && !strcasecmp(output + length - size, *extension))
			return output + length - size;
	}
	slash = strrchr(output, '/');
	dot = strrchr(slash ? slash : output, '.');
	return dot ? dot : output + length;
}

static char *make_stem(const struct dt_record_run *run)
{
	const char *output = run->command->showing.output;
	struct dt_buf command = DT_BUF_INIT, stem = DT_BUF_INIT;
	char name[64], *copy;
	int pid = run->picks.count ? run->picks.list[0].pid : 0;

	if (output)
		return strndup(output, (size_t)(extension_of(run) - output));
	for (char *const *word = run->command->program; word && *word; word++)
		dt_buf_printf(&command, "%s%s", word == run->command->program ? "" : " ", *word);
	dt_process_name(pid, run->command->program ? command.data : NULL, name, sizeof(name));
	dt_buf_printf(&stem, "%s-%d", name, pid);
	copy = stem.failed || command.failed ? NULL : strdup(stem.data);
	dt_buf_release(&command);
	dt_buf_release(&stem);
	return copy;
}

int dt_record_name_output(struct dt_record_run *run, struct dt_error *err)
{
	const struct dt_record_command *command = run->command;
	const char *output = command->showing.output;
	bool text = !strcmp(command->showing.format->name, "text");
	int code;

	run->to_stdout = output ? !strcmp(output, "-") : text;
	if (run->to_stdout)
		return 0;
	free(run->output);
	run->claimed = false;
	if (!run->stem)
		run->stem = make_stem(run);
	if (output && command->rotate == 0)
		run->output = strdup(output);
	else
		run->output = run->stem ? timed_name(run, time(NULL), extension_of(run)) : NULL;
	if (!run->output)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	code = dt_result_check(run->output, err);
	return code ? code : dt_result_replaceable(run->output, err);
}

void dt_record_name_anew(struct dt_record_run *run)
{
	char *stem, *output;

	if (run->to_stdout || run->command->showing.output || run->command->program)
		return;
	stem = make_stem(run);
	if (!stem || !run->stem || !strcmp(stem, run->stem)) {
		free(stem);
		return;
	}
	free(run->stem);
	run->stem = stem;
	run->named_at = 0;
	output = timed_name(run, time(NULL), extension_of(run));
	if (!output)
		return;
	free(run->output);
	run->output = output;
	run->claimed = false;
	run->data.final = false; /* it gets its name at the end */
}

/* Another darter may have made the same name in the same second, and have written its result meanwhile: who makes the
 * file first has the name. */
bool dt_record_claim_name(struct dt_record_run *run)
{
	const struct dt_record_command *command = run->command;

	if (run->to_stdout || run->claimed || run->data.final || (command->showing.output && command->rotate == 0))
		return false;
	for (unsigned i = 0; i < MOST; i++) {
		int fd = open(run->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		char *next;

		if (fd >= 0) {
			close(fd);
			run->claimed = true;
			return true;
		}
		next = errno == EEXIST ? timed_name(run, run->named_at, extension_of(run)) : NULL;
		if (!next)
			return false; /* who writes the result finds out why */
		free(run->output);
		run->output = next;
	}
	return false;
}
