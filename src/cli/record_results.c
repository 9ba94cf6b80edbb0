/*
 * What a recording becomes: the file that is written at the end or in between, rotation, and what happens
 * when a disk is full. The data is kept until a result is whole, and where it is kept is told.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/result_file.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define NS_PER_S UINT64_C(1000000000)
#define AGAIN_NS (5 * NS_PER_S) /* after which a place is looked for again */
#define CHECK_NS 100000000u

void dt_record_tell(struct dt_record_run *run, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dt_record_progress_hide(&run->progress);
	dt_note(run->common, "%s", text);
}

static void report(struct dt_record_run *run, const struct dt_error *err)
{
	dt_record_progress_hide(&run->progress);
	dt_report(run->common, err);
}

/* That the data is not where it was to be, also with --quiet: who looks for it before the end has to know. */
static void __attribute__((format(printf, 2, 3))) complain(struct dt_record_run *run, const char *format, ...)
{
	struct dt_error err = {0};
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dt_fail(&err, DT_ERUNTIME, "%s", text);
	report(run, &err);
}

static bool is_recording(const struct dt_record_run *run)
{
	return run->command->showing.format->render == NULL;
}

static int begin(struct dt_record_run *run, struct dt_data *data, struct dt_recording **recording, struct dt_error *err)
{
	struct dt_record_options how = run->command->how;
	int code = dt_data_open(data, run->output, is_recording(run), err);

	if (code)
		return code;
	how.fd = data->fd;
	code = dt_record(&how, recording, err);
	if (code)
		dt_data_remove(data);
	else if (data->full)
		complain(run, "'%.400s' cannot be written now: %s; it is recorded to %s", run->output,
			 strerror(data->full), data->path);
	else if (run->common->verbose && !data->final)
		dt_record_tell(run, "until it ends the recording is in %s", data->path);
	return code;
}

int dt_record_begin(struct dt_record_run *run, struct dt_error *err)
{
	return begin(run, &run->data, &run->recording, err);
}

/* Our own file; NULL: not known. */
static const char *own_program(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size);

	if (length <= 0 || (size_t)length >= size)
		return NULL;
	path[length] = '\0';
	return path;
}

/* Shows the data as it is now. */
static int show(struct dt_record_run *run, const struct dt_profile_format *format, FILE *out, char *warning,
		struct dt_error *err)
{
	bool screen = out == stdout || out == stderr;
	char path[PATH_MAX];
	struct dt_profile_render render = {.color = screen ? dt_terminal_color(run->common, fileno(out))
							   : run->common->color == DT_COLOR_ALWAYS,
					   .columns = screen ? dt_terminal_columns(fileno(out)) : 0,
					   .program = own_program(path, sizeof(path))};

	lseek(run->data.fd, 0, SEEK_SET);
	return dt_show_recording(run->data.fd, run->data.path, format, &run->command->showing.view, &render, out,
				 warning, err);
}

/* From here on a second signal ends us; what is said then is where the data is. A pipe that nobody reads may keep us
 * waiting, or a page that does not come. */
static void guard(struct dt_record_run *run, const char *temporary)
{
	char words[1024];

	snprintf(words, sizeof(words), "\ndarter: not written; the recording is in %.900s\n", run->data.path);
	dt_signals_at_once(words, temporary, DT_EXIT_FAILED, run->reason != NULL);
}

/* A name that was claimed for nothing. */
static void give_up_name(struct dt_record_run *run)
{
	unlink(run->output);
	run->claimed = false;
}

static int write_output(struct dt_record_run *run, bool ended, struct dt_error *err)
{
	struct dt_result_file result;
	char warning[DT_WARNING_SIZE] = "";
	bool claimed;
	int code;

	guard(run, NULL);
	code = dt_result_open(&result, run->output, err);
	if (code == 0) {
		guard(run, result.temporary);
		code = show(run, run->command->showing.format, result.file, warning, err);
		fflush(result.file); /* what fails is told by the commit */
	}
	/* From its name on it is written, whatever comes. */
	dt_signals_not_at_once();
	claimed = code == 0 && dt_record_claim_name(run);
	if (claimed)
		code = dt_result_name(&result, run->output, err);
	if (code)
		dt_result_abandon(&result);
	else
		code = dt_result_commit(&result, err);
	if (code && claimed)
		give_up_name(run);
	if (ended && code == 0 && warning[0])
		dt_record_tell(run, "%s", warning);
	return code;
}

/* A recording that was written beside its name only has to get it. */
static int rename_output(struct dt_record_run *run, struct dt_error *err)
{
	bool claimed;

	int code;

	dt_signals_not_at_once();
	claimed = dt_record_claim_name(run);
	code = dt_result_replaceable(run->output, err);
	if (code)
		return code;
	if (dt_result_take(run->data.path, run->data.fd, run->output) < 0) {
		if (claimed)
			give_up_name(run);
		return write_output(run, true, err);
	}
	free(run->data.path);
	run->data.path = strdup(run->output);
	run->data.final = true;
	return run->data.path ? 0 : dt_fail(err, DT_EMEMORY, "out of memory");
}

static int write_stdout(struct dt_record_run *run, struct dt_error *err)
{
	char warning[DT_WARNING_SIZE] = "";
	int code, why;

	if (!dt_output_good())
		return dt_output_explain(err);
	guard(run, NULL);
	code = show(run, run->command->showing.format, stdout, warning, err);
	if (code == 0)
		fflush(stdout);
	why = errno;
	dt_signals_not_at_once();
	if (!ferror(stdout))
		return code;
	errno = why;
	dt_output_failed();
	return dt_output_explain(err);
}

/* Who removes or renames a file does not expect that it is written on without a name. The recording goes on under
 * another one; NULL: it has ended. Without any place it is still read from the open file. */
static void find_name(struct dt_record_run *run, struct dt_recording *recording)
{
	dt_auto_free char *lost = NULL;

	if (dt_data_named(&run->data))
		return;
	lost = run->data.path ? strdup(run->data.path) : NULL;
	if (dt_data_name_again(&run->data, run->output, recording) == 0)
		dt_record_tell(run, "'%.400s' was removed or renamed meanwhile: the recording is written anew",
			       lost ? lost : "the file");
	if (!recording)
		guard(run, NULL); /* it speaks of the name */
}

/* True if the data is the result, and has its name. */
static bool is_written(struct dt_record_run *run, struct dt_recording *recording)
{
	if (run->data.final)
		find_name(run, recording);
	return run->data.final && dt_data_named(&run->data);
}

void dt_record_write_now(struct dt_record_run *run)
{
	struct dt_error err = {0};
	bool text = !strcmp(run->command->showing.format->name, "text");
	int code = dt_record_flush(run->recording, &err);

	if (code == 0 && (run->to_stdout ? !text : dt_result_special(run->output)))
		dt_record_tell(run, "there is no file to write to before the end");
	else if (code == 0 && run->to_stdout)
		code = write_stdout(run, &err);
	else if (code == 0 && !is_written(run, run->recording))
		code = write_output(run, false, &err);
	run->written_so_far |= code == 0;
	/* The recording goes on behind what was read. */
	lseek(run->data.fd, 0, SEEK_END);
	if (code && err.code)
		report(run, &err);
	else if (code == 0 && run->output && !dt_result_special(run->output))
		dt_record_tell(run, "written so far to %s", run->output);
}

void dt_record_check_disk(struct dt_record_run *run)
{
	struct dt_record_status status;
	struct dt_error err;
	uint64_t now = dt_clock_ns();

	if (now - run->checked_ns < CHECK_NS)
		return;
	run->checked_ns = now;
	dt_record_status(run->recording, &status);
	if (!status.error || (run->moved_ns && now - run->moved_ns < AGAIN_NS))
		return;
	if (dt_data_elsewhere(&run->data, run->recording, &err) == 0)
		complain(run, "%s: it goes on in %s", status.error, run->data.path);
	else if (!run->moved_ns)
		complain(run, "%s, and there is no other place for it; it is kept in memory", status.error);
	run->moved_ns = now;
}

/* Ends the recording. False if the last of it could be written nowhere. */
static bool end(struct dt_record_run *run)
{
	struct dt_error err, other;

	guard(run, NULL);
	if (dt_record_end(run->recording, &err) == 0)
		return true;
	if (dt_data_elsewhere(&run->data, run->recording, &other) == 0) {
		guard(run, NULL);
		if (dt_record_end(run->recording, &err) == 0)
			return true;
	}
	report(run, &err);
	run->unwritten = true;
	return false;
}

static void keep_name(struct dt_record_run *run)
{
	char **grown = reallocarray(run->files, run->file_count + 1, sizeof(*grown));

	if (grown) {
		run->files = grown;
		run->files[run->file_count] = strdup(run->output);
		run->file_count += run->files[run->file_count] != NULL;
	}
	while (run->command->keep && run->file_count > run->command->keep) {
		unlink(run->files[0]);
		free(run->files[0]);
		memmove(run->files, run->files + 1, --run->file_count * sizeof(*run->files));
	}
}

static void summarize(struct dt_record_run *run)
{
	const struct dt_profile_format *text = dt_profile_format_by_name("text");
	char warning[DT_WARNING_SIZE] = "";

	dt_record_progress_hide(&run->progress);
	if (run->common->quiet || (run->to_stdout && run->command->showing.format == text))
		return;
	fflush(stdout);
	if (run->file_count)
		dt_record_tell(run, "the summary is of the last file alone: %s", run->output);
	show(run, text, stderr, warning, NULL);
	fflush(stderr);
}

/* One of our threads holds a thread of a process, and hangs: only our end lets that go on. So nothing is shown, and
 * nobody is waited for. */
static _Noreturn void leave(struct dt_record_run *run)
{
	struct dt_error err = {0};

	dt_fail(&err, DT_ERUNTIME, "a thread that was stopped for a look is let go by the end of darter%s",
		run->program.pid ? "; the program goes on, and is not waited for" : "");
	dt_record_tell_kept(run, false, &err);
	report(run, &err);
	fflush(stderr);
	_exit(DT_EXIT_FAILED);
}

/* Of a part of a rotation in which nobody could be looked at no file is made: with --keep it would push out one that
 * has something in it. */
static bool is_idle_part(const struct dt_record_run *run, const struct dt_record_status *status, bool last)
{
	return run->command->rotate > 0 && !status->samples && (!last || run->file_count);
}

enum ended {
	ENDED_WITH_RESULT,
	ENDED_AS_IDLE_PART,
	ENDED_WITH_NOTHING,
};

/* What is left to be done when it has ended, before there is a result. */
static enum ended settle(struct dt_record_run *run, bool whole, bool last)
{
	struct dt_record_status status;
	bool idle, something;

	find_name(run, NULL);
	dt_record_status(run->recording, &status);
	if (status.holds)
		leave(run);
	if (last)
		dt_record_tend(run->recording, 0, dt_record_member_ended, run, NULL);
	idle = whole && is_idle_part(run, &status, last);
	something = status.seen || !last || run->file_count || run->written_so_far;
	if (something && !idle)
		return ENDED_WITH_RESULT;
	if (idle && last)
		dt_record_tell(run,
			       "since %s there was no Python that could be looked at: no file is made of that time",
			       run->files[run->file_count - 1]);
	dt_signals_not_at_once();
	dt_data_remove(&run->data);
	return idle ? ENDED_AS_IDLE_PART : ENDED_WITH_NOTHING;
}

bool dt_record_finish(struct dt_record_run *run, bool last)
{
	struct dt_error err = {0};
	bool whole = end(run);
	enum ended ended = settle(run, whole, last);
	int code;

	if (ended != ENDED_WITH_RESULT)
		return ended == ENDED_AS_IDLE_PART;
	if (last)
		summarize(run);
	if (run->to_stdout)
		code = write_stdout(run, &err);
	else if (is_written(run, NULL))
		code = 0;
	else if (is_recording(run))
		code = rename_output(run, &err);
	else
		code = write_output(run, true, &err);
	if (code) {
		run->unwritten = true;
		if (!err.code)
			dt_fail(&err, code, "the result could not be written");
		dt_record_tell_kept(run, true, &err);
		report(run, &err);
	} else if (run->output) {
		keep_name(run);
		if (last || run->common->verbose)
			dt_record_tell(run, "written to %s", run->output);
		/* Nobody else knows it. */
		if (run->common->quiet && !run->common->json && !run->command->showing.output)
			fprintf(stderr, "%s\n", run->output);
	}
	dt_signals_not_at_once();
	if (code || !whole || run->data.final)
		dt_data_release(&run->data);
	else
		dt_data_remove(&run->data);
	return true;
}

void dt_record_add_status(struct dt_record_status *sum, const struct dt_record_status *status)
{
	sum->duration_ns += status->duration_ns;
	sum->rounds += status->rounds;
	sum->samples += status->samples;
	sum->late += status->late;
	sum->unseen += status->unseen;
	sum->settled += status->settled;
	sum->torn += status->torn;
	sum->lost += status->lost;
	sum->stops += status->stops;
	sum->stopped_ns += status->stopped_ns;
	sum->cpu_ns += status->cpu_ns;
}

static void keep_output(struct dt_record_run *run, const struct dt_record_run *old)
{
	free(run->output);
	run->output = old->output;
	run->claimed = old->claimed;
}

/* The next recording begins before the last one ends: nothing is missed. If it cannot, or if nobody can be in it (both
 * together need twice the descriptors), the last one goes on. */
void dt_record_rotate(struct dt_record_run *run)
{
	struct dt_recording *recording;
	struct dt_record_status status;
	struct dt_record_run old;
	struct dt_data data;
	struct dt_error err;

	dt_record_progress_hide(&run->progress);
	old = *run;
	run->rotated_ns = dt_clock_ns();
	run->output = NULL;
	if (dt_record_name_output(run, &err) || begin(run, &data, &recording, &err)) {
		report(run, &err);
		keep_output(run, &old);
		return;
	}
	if (!dt_record_join_again(run, recording)) {
		dt_record_free(recording);
		dt_data_remove(&data);
		keep_output(run, &old);
		if (run->failures.count > old.failures.count)
			dt_record_tell(run, "no new file is begun: it goes on in %s", run->output);
		return;
	}
	dt_record_finish(&old, false);
	dt_record_tend(old.recording, 0, dt_record_member_ended, run, NULL);
	dt_record_status(old.recording, &status);
	dt_record_add_status(&run->before, &status);
	dt_record_free(old.recording);
	free(old.output);
	run->files = old.files;
	run->file_count = old.file_count;
	run->unwritten |= old.unwritten;
	run->recording = recording;
	run->data = data;
	run->moved_ns = 0;
}
