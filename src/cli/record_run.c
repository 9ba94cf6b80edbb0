/*
 * One run of 'darter record', from the first signal handler to the exit code. What can be wrong is found first: who is
 * to be recorded, then whether the output can be written; only then a program is started and the recording begins.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/result_file.h"
#include "cli/signals.h"
#include "cli/standing.h"
#include "cli/terminal.h"

#define NS_PER_S    1e9
#define STEP_S      0.2   /* between two looks at how it goes, when nobody is awaited */
#define END_S       0.02  /* when a program that we started may end: its user waits for us */
#define HASTE_S     0.002 /* while a program is starting */
#define HASTE_NS    300000000u
#define OUTLIVED_NS 500000000u

static double since(uint64_t ns)
{
	return (double)(dt_clock_ns() - ns) / NS_PER_S;
}

/* How long may be slept now. */
static double step(const struct dt_record_run *run)
{
	const struct dt_record_command *command = run->command;
	bool starting = run->program.pid && !run->joined && dt_clock_ns() - run->began_ns < HASTE_NS;
	double most = starting ? HASTE_S : run->command->program ? END_S : STEP_S;

	most = DT_MIN(most, dt_arrivals_rest(run->arrivals));
	if (command->duration > 0)
		most = DT_MIN(most, command->duration - since(run->began_ns));
	if (command->rotate > 0)
		most = DT_MIN(most, command->rotate - since(run->rotated_ns));
	return DT_MAX(most, 0.0);
}

static void tend(struct dt_record_run *run)
{
	double seconds = step(run);
	struct dt_error err;
	bool alone = !run->member_count;
	int code = dt_record_tend(run->recording, seconds, dt_record_member_ended, run, &err);

	if (code) {
		struct dt_record_status status;

		dt_record_status(run->recording, &status);
		dt_failures_add(&run->failures, run->common, 0, &err);
		run->reason = code == DT_EMEMORY ? "memory" : status.holds ? "hangs" : "error";
	}
	/* Without processes there is nothing to look after, and it does not wait. Where the last one has just ended it
	 * may be over. */
	if (alone && !run->member_count)
		nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * NS_PER_S)}, NULL);
}

/* Helpers end a moment after their program: nothing is said of those. */
static void tell_outlived(struct dt_record_run *run)
{
	uint64_t now = dt_clock_ns();

	if (!run->outlived_ns)
		run->outlived_ns = now;
	if (run->outlived_told || now - run->outlived_ns < OUTLIVED_NS)
		return;
	dt_record_tell(run, "the program has ended; its children are recorded until they end (Ctrl-C ends it)");
	run->outlived_told = true;
}

/* Whether the program has ended, and with --children those that it has left behind; these are not waited for if a
 * signal that the program got has asked for the end. */
static bool program_over(struct dt_record_run *run)
{
	bool ended = dt_program_ended(&run->program);
	bool heirs = dt_program_has_heirs(&run->program) || (!run->program.adopts && dt_record_has_children(run));

	if (!ended)
		return false;
	if (!heirs || !run->arriving.children || dt_signals_handed_on())
		return true;
	tell_outlived(run);
	return false;
}

/* Why it ends now; NULL: it goes on. */
static const char *over(struct dt_record_run *run)
{
	if (run->reason)
		return run->reason;
	if (dt_signals_end())
		return "signal";
	if (run->command->program && program_over(run))
		return "program";
	if (run->command->duration > 0 && since(run->began_ns) >= run->command->duration)
		return "duration";
	if (dt_record_is_over(run))
		return "ended";
	return NULL;
}

static void record(struct dt_record_run *run)
{
	while (!(run->reason = over(run))) {
		tend(run);
		dt_standing_retry();
		dt_record_join_new(run);
		dt_record_check_disk(run);
		if (dt_signals_write())
			dt_record_write_now(run);
		if (run->command->rotate > 0 && since(run->rotated_ns) >= run->command->rotate)
			dt_record_rotate(run);
		dt_record_progress_show(&run->progress, run->recording, run->before.duration_ns);
	}
	dt_record_progress_hide(&run->progress);
}

static void tell_beginning(struct dt_record_run *run)
{
	const struct dt_record_command *command = run->command;
	struct dt_buf line = DT_BUF_INIT;

	if (command->program || !run->member_count)
		return;
	if (run->member_count == 1)
		dt_buf_printf(&line, "recording process %d", run->members[0]);
	else
		dt_buf_printf(&line, "recording %zu processes", run->member_count);
	if (command->duration > 0) {
		dt_buf_puts(&line, " for ");
		dt_put_number(&line, command->duration);
		dt_buf_puts(&line, " s");
	}
	dt_buf_puts(&line, ", ");
	if (command->how.rate > 1)
		dt_put_number(&line, command->how.rate);
	dt_buf_printf(&line, "%s a second; Ctrl-C ends it%s", command->how.rate > 1 ? " times" : "once",
		      command->duration > 0 ? " earlier" : "");
	if (!line.failed)
		dt_record_tell(run, "%s", line.data);
	dt_buf_release(&line);
}

static bool has_old_output(const struct dt_record_run *run)
{
	return run->output && !run->data.final && !dt_result_special(run->output) && access(run->output, F_OK) == 0;
}

static const char *why_nothing(const struct dt_record_run *run)
{
	if (!strcmp(run->reason, "ended"))
		return "the processes ended";
	if (run->command->wait && !run->picks.count)
		return "no process matched before the waiting was ended";
	return "it ended before a process could be looked at";
}

static const char old_output[] = "'%.400s' is from before, and is left as it was";

/* It is an error, which is told in any case; the exit code of a program stays its own. Where it was told of a process
 * why it is not recorded, that is the reason. Who finds a file under the name of the output must not take it for a
 * result of this run. */
static void tell_nothing(struct dt_record_run *run)
{
	struct dt_error err = run->pending.error;
	bool told = !run->command->program && !run->pending.pid && run->failures.first;

	if (told && has_old_output(run)) {
		dt_fail(&err, run->failures.first, old_output, run->output);
		dt_report(run->common, &err);
	}
	if (told)
		return;
	if (run->command->program)
		dt_fail(&err, DT_ENOTFOUND,
			"nothing was recorded: no Python was found in '%.400s', or it ended before it could be looked "
			"at%s",
			run->command->program[0],
			run->arriving.children ? "" : "; --children records what it starts, too");
	else if (!run->pending.pid)
		dt_fail(&err, DT_ENOTFOUND, "nothing was recorded: %s", why_nothing(run));
	if (has_old_output(run))
		dt_hint(&err, old_output, run->output);
	if (run->command->program)
		dt_report(run->common, &err);
	else
		dt_failures_add(&run->failures, run->common, run->pending.pid, &err);
}

/* Of nobody who was there a sample was taken: the first one was not due yet, or a process was too quick. */
static void tell_no_sample(struct dt_record_run *run)
{
	struct dt_record_status status;
	struct dt_error err;

	dt_record_status(run->recording, &status);
	dt_fail(&err, DT_ENOTFOUND, "nothing was recorded: no sample was taken in the %.3g s that it lasted",
		(double)status.duration_ns / NS_PER_S);
	dt_hint(&err, "a higher --rate takes the first one sooner");
	if (has_old_output(run))
		dt_hint(&err, old_output, run->output);
	if (run->command->program)
		dt_report(run->common, &err);
	else
		dt_failures_add(&run->failures, run->common, 0, &err);
}

static void tell_end(struct dt_record_run *run)
{
	if (!run->joined)
		tell_nothing(run);
	else if (strcmp(run->reason, "ended") != 0)
		return;
	else if (run->ended < run->joined && run->joined == 1)
		dt_record_tell(run, "the process is no longer recorded");
	else if (run->ended < run->joined)
		dt_record_tell(run, "no process is recorded any more; %zu of %zu ended", run->ended, run->joined);
	else
		dt_record_tell(run, run->joined == 1 ? "the process ended" : "all %zu processes ended", run->joined);
}

static void put_json(struct dt_record_run *run)
{
	struct dt_record_result result = {.rate = run->command->how.rate,
					  .format = run->command->showing.format->name,
					  .reason = run->reason,
					  .files = (const char **)run->files,
					  .file_count = run->file_count,
					  .failures = run->failures.list,
					  .failure_count = run->failures.count};
	struct dt_record_status *status = &result.status;

	dt_record_status(run->recording, status);
	status->joined = run->joined;
	dt_record_add_status(status, &run->before);
	dt_signals_at_once("", NULL, DT_EXIT_FAILED, true);
	if (dt_render_record_json(&result, stdout) || fflush(stdout))
		dt_output_failed();
	dt_signals_not_at_once();
}

/* Everything before the first look. */
static int prepare(struct dt_record_run *run, struct dt_error *err)
{
	int code = 0;

	if (run->command->program && run->command->showing.selecting.selection.children)
		dt_program_adopt(&run->program);
	if (run->command->program)
		code = dt_program_prepare(&run->program, err, run->command->program);
	if (!code)
		code = dt_record_choose(run, err);
	if (!code)
		code = dt_record_name_output(run, err);
	if (!code)
		code = dt_record_await(run, err);
	if (!code)
		code = dt_record_begin(run, err);
	if (code) {
		dt_program_drop(&run->program);
		return code;
	}
	if (run->command->program)
		code = dt_program_go(&run->program, run->command->program[0], err);
	return code;
}

static int exit_code(const struct dt_record_run *run)
{
	if (run->command->program)
		return run->program.exit_code;
	if (run->unwritten)
		return DT_EXIT_FAILED;
	return dt_exit_code(run->failures.first);
}

static void release(struct dt_record_run *run)
{
	for (size_t i = 0; i < run->file_count; i++)
		free(run->files[i]);
	free(run->files);
	free(run->output);
	free(run->stem);
	free(run->members);
	dt_picks_release(&run->picks);
	dt_failures_release(&run->failures);
	dt_arrivals_free(run->arrivals);
	dt_record_free(run->recording);
}

int dt_record_run(const struct dt_record_command *command)
{
	struct dt_record_run run = {
	    .command = command, .common = &command->showing.selecting.common, .data = {.fd = -1}};
	struct dt_error err;
	int code;

	code = prepare(&run, &err);
	if (code) {
		dt_report(run.common, &err);
		dt_data_remove(&run.data);
		release(&run);
		return dt_exit_code(code);
	}
	run.began_ns = run.rotated_ns = dt_clock_ns();
	dt_record_join_all(&run);
	tell_beginning(&run);
	dt_record_progress_begin(&run.progress, run.common->quiet || command->program ? NULL : stderr);
	record(&run);
	tell_end(&run);
	if (!run.joined)
		dt_data_remove(&run.data);
	else if (!dt_record_finish(&run, true))
		tell_no_sample(&run);
	if (run.common->json)
		put_json(&run);
	if (command->program && run.program.pid) {
		dt_program_adopt_no_more(&run.program);
		dt_record_tell(&run, "'%s' goes on; it is waited for", command->program[0]);
		dt_program_await(&run.program);
	}
	code = exit_code(&run);
	release(&run);
	return code;
}
