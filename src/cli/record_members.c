/* Who is recorded: those that were asked for at the beginning, and those that come while it goes on. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define STARTING_NS  1500000000u /* how long a Python that is just starting is waited for */
#define FIRST_WAIT_S 1.0         /* that one of the first processes may take to join before the others are asked */
#define WAIT_S       0.02        /* the same while it is recorded */
#define DRAIN_EVERY  8           /* processes that join before the recording is looked after again */

/* Each process costs descriptors; a program that we start was made before this. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int dt_record_choose(struct dt_record_run *run, struct dt_error *err)
{
	const struct dt_selection *selection = &run->command->showing.selecting.selection;
	int code;

	allow_many_files();
	run->arriving = (struct dt_arrival_options){.roots = selection->pids,
						    .root_count = selection->pid_count,
						    .names = selection->names,
						    .name_count = selection->all ? 0 : selection->name_count,
						    .all = selection->all,
						    .children = selection->children};
	if (run->program.pid) {
		run->roots[0] = run->program.pid;
		run->roots[1] = getpid();
		run->arriving.roots = run->roots;
		run->arriving.root_count = run->program.adopts ? 2 : 1;
	}
	/* First what is there, then who of them is wanted: one that comes between is found by both. */
	code = dt_arrivals_new(&run->arriving, &run->arrivals, err);
	if (code)
		return code;
	code = run->program.pid ? dt_picks_add(&run->picks, run->program.pid, true, err)
				: dt_selection_pick(selection, &run->picks, err);
	return code == DT_ENOTFOUND ? dt_record_no_match(run, err) : code;
}

static void leave(struct dt_record_run *run, int pid)
{
	for (size_t i = 0; i < run->member_count; i++) {
		if (run->members[i] == pid) {
			run->members[i] = run->members[--run->member_count];
			return;
		}
	}
}

/* 0, or why it cannot be recorded. */
static int join(struct dt_record_run *run, int pid, double wait_s, struct dt_error *err)
{
	int code, *grown;

	for (size_t i = 0; i < run->member_count; i++)
		if (run->members[i] == pid)
			return 0;
	grown = reallocarray(run->members, run->member_count + 1, sizeof(*grown));
	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	run->members = grown;
	code = dt_record_add(run->recording, pid, wait_s, err);
	dt_arrivals_told(run->arrivals, pid, code);
	if (code == 0) {
		run->members[run->member_count++] = pid;
		run->joined++;
		if (pid == run->pending.pid) /* it is waited for no more */
			run->pending_ns = 0;
		if (run->picks.count && pid == run->picks.list[0].pid)
			dt_record_name_anew(run);
	}
	return code;
}

static void fail(struct dt_record_run *run, int pid, const struct dt_error *err)
{
	dt_record_progress_hide(&run->progress);
	dt_failures_add(&run->failures, run->common, pid, err);
}

/* One of all that match, which nobody has named: it may be that of many of them none may be read. */
static bool is_passed_over(const struct dt_record_run *run, bool asked, int code)
{
	return code == DT_EPERMISSION && !asked && !run->common->verbose &&
	       (run->arriving.all || run->arriving.name_count);
}

/* It is kept for the document alone, else for nothing but the exit code. */
static void pass_over(struct dt_record_run *run, int pid, const struct dt_error *err)
{
	if (!run->failures.first)
		run->failures.first = err->code;
	if (run->common->json)
		dt_failures_keep(&run->failures, pid, err);
}

/* Those that were passed over: how many, and why if it is the same for all; hints name no process then. */
struct passed {
	size_t count;
	bool differ;
	struct dt_error why; /* of the first */
};

static void count_passed(struct passed *passed, const struct dt_error *err)
{
	if (!passed->count++)
		passed->why = *err;
	else if (strcmp(passed->why.hint, err->hint) != 0)
		passed->differ = true;
}

/* Of one alone all is told; of several what would help, if nobody else is recorded. */
static void tell_passed_over(const struct dt_record_run *run, const struct passed *passed)
{
	bool nothing = !run->joined && !run->pending.pid;
	struct dt_error err = passed->why;

	if (!passed->count || (run->common->json && run->common->quiet))
		return;
	if (passed->count > 1)
		dt_fail(&err, DT_EPERMISSION,
			nothing ? "nothing was recorded: %zu processes may not be read; '-v' names each"
				: "%zu processes may not be read, and are not recorded; '-v' names each",
			passed->count);
	if (passed->count > 1 && nothing && !passed->differ && passed->why.hint[0])
		dt_hint(&err, "%s", passed->why.hint);
	dt_report(run->common, &err);
}

/* Between many that join the thread that samples must not run out of room. */
static void drain(struct dt_record_run *run, size_t i)
{
	if (i % DRAIN_EVERY == DRAIN_EVERY - 1)
		dt_record_tend(run->recording, 0, dt_record_member_ended, run, NULL);
}

void dt_record_join_all(struct dt_record_run *run)
{
	struct passed passed = {0};

	for (size_t i = 0; i < run->picks.count && !dt_signals_end(); i++) {
		const struct dt_pick *pick = &run->picks.list[i];
		struct dt_error err;
		int code = join(run, pick->pid, FIRST_WAIT_S, &err);

		drain(run, i);
		/* A program that has just been started becomes Python in a moment. */
		if (code == 0 || run->program.pid || (code == DT_EAGAIN && !pick->asked))
			continue;
		if (code == DT_EAGAIN)
			run->pending_ns = dt_clock_ns() + STARTING_NS;
		if (code == DT_EAGAIN || (code == DT_ENOTPYTHON && pick->asked && run->arriving.children))
			run->pending = (struct dt_failure){.pid = pick->pid, .error = err};
		else if (is_passed_over(run, pick->asked, code)) {
			pass_over(run, pick->pid, &err);
			count_passed(&passed, &err);
		} else if (!dt_dump_passes_over(pick, code, false))
			fail(run, pick->pid, &err);
	}
	tell_passed_over(run, &passed);
	/* A shell has children that are Python, now or later. */
	if (run->pending.error.code == DT_ENOTPYTHON && !run->member_count)
		dt_record_tell(run, "%s; its children will be recorded", run->pending.error.message);
}

void dt_record_join_new(struct dt_record_run *run)
{
	const int *pids;
	size_t count;
	struct dt_error err;

	if (dt_arrivals_ask(run->arrivals, &pids, &count, &err) < 0)
		return; /* out of memory: the next time, perhaps */
	dt_record_missed(run->recording, dt_arrivals_missed(run->arrivals));
	for (size_t i = 0; i < count && !dt_signals_end(); i++) {
		int code = join(run, pids[i], WAIT_S, &err);

		drain(run, i);
		if (is_passed_over(run, false, code))
			pass_over(run, pids[i], &err);
		else if (code == DT_EPERMISSION || code == DT_EUNSUPPORTED || code == DT_EMEMORY || code == DT_ERUNTIME)
			fail(run, pids[i], &err);
		else if (code == 0 && run->common->verbose && pids[i] != run->roots[0])
			dt_record_tell(run, "process %d joined", pids[i]);
	}
}

static bool has_ended(const struct dt_error *why)
{
	return why->code == DT_EENDED || why->code == DT_ENOTFOUND;
}

void dt_record_member_ended(void *context, int pid, const struct dt_error *why)
{
	struct dt_record_run *run = context;

	leave(run, pid);
	dt_arrivals_told(run->arrivals, pid, why->code);
	run->ended += has_ended(why);
	if (!has_ended(why) && why->code != DT_ENOTPYTHON)
		fail(run, pid, why);
	else if (run->common->verbose && pid != run->roots[0])
		dt_record_tell(run, "%s", why->message);
}

/* Meanwhile both must not run out of room. Those that cannot go on are told once it is known whether others do. */
bool dt_record_join_again(struct dt_record_run *run, struct dt_recording *recording)
{
	size_t count = run->member_count, failed = 0;
	dt_auto_free struct dt_failure *failures = calloc(count + 1, sizeof(*failures));
	bool on;

	if (!failures)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct dt_failure *failure = &failures[failed];

		failure->pid = run->members[i];
		if (dt_record_add_from(recording, run->recording, failure->pid, FIRST_WAIT_S, &failure->error) < 0)
			failed++;
		if (i % DRAIN_EVERY == DRAIN_EVERY - 1) {
			dt_record_flush(run->recording, NULL);
			dt_record_flush(recording, NULL);
		}
	}
	on = failed < count || !count;
	for (size_t i = 0; i < failed; i++) {
		if (on)
			dt_record_member_ended(run, failures[i].pid, &failures[i].error);
		else if (!has_ended(&failures[i].error))
			fail(run, failures[i].pid, &failures[i].error);
	}
	return on;
}

bool dt_record_has_children(const struct dt_record_run *run)
{
	for (size_t i = 0; i < run->member_count; i++)
		if (run->members[i] != run->roots[0])
			return true;
	return false;
}

bool dt_record_is_over(const struct dt_record_run *run)
{
	if (run->member_count || run->program.pid || (run->pending_ns && dt_clock_ns() < run->pending_ns))
		return false;
	if (run->command->wait && !run->joined && !run->failures.first)
		return false;
	return !run->arriving.children || !dt_arrivals_rooted(run->arrivals);
}
