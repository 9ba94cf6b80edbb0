/*
 * darter dump --every: looks again and again until Ctrl-C or until nothing is left to look at. As text the first look
 * at a program is shown whole, and later ones only where something changed; in any other format each round is one whole
 * document, so a round that has begun is not broken off. What was shown is looked at until it ends, also when the
 * selection does not find it any more: its end is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/patience.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cli/dump.h"
#include "cli/terminal.h"
#include "cli/watch.h"

struct watched {
	int pid;
	struct dt_target *target; /* NULL: could not be attached */
	struct dt_seen seen;
	bool told;    /* its error was told once */
	bool present; /* in this round's selection */
};

struct every {
	const struct dt_dump_options *options;
	struct watched *list;
	size_t count, attached;
	const struct dt_pick *picks; /* of this round */
	size_t shown;                /* in this round */
	bool ever;                   /* anything was shown at all */
	struct dt_failures failures;
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static void put_time(uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000u);
	struct tm local = {0};

	localtime_r(&seconds, &local);
	printf("[%02d:%02d:%02d.%03u] ", local.tm_hour, local.tm_min, local.tm_sec,
	       (unsigned)(ns % 1000000000u / 1000000u));
}

static void put_ended(const struct dt_seen_thread *thread)
{
	struct dt_buf buf = DT_BUF_INIT;

	dt_buf_printf(&buf, "Thread %" PRIu64, thread->tid ? thread->tid : thread->ident);
	if (thread->name) {
		dt_buf_puts(&buf, " \"");
		dt_escape(&buf, thread->name);
		dt_buf_putc(&buf, '"');
	}
	dt_buf_puts(&buf, " ended\n");
	fputs(buf.data, stdout);
	dt_buf_release(&buf);
}

static int show_change(const struct every *every, const struct dt_snapshot *snapshot, const struct dt_change *change)
{
	struct dt_snapshot part = *snapshot;
	int code;

	part.threads = change->threads;
	part.thread_count = change->count;
	putchar('\n');
	put_time(snapshot->taken_ns);
	printf("Process %d: %zu of %zu threads changed", snapshot->pid, change->count - change->fresh,
	       snapshot->thread_count);
	if (change->fresh)
		printf(", %zu new", change->fresh);
	if (change->ended_count)
		printf(", %zu ended", change->ended_count);
	putchar('\n');
	code = dt_render_threads_text(&part, &every->options->render, stdout);
	for (size_t i = 0; i < change->ended_count; i++)
		put_ended(&change->ended[i]);
	return code;
}

static int show(struct every *every, struct watched *watched, const struct dt_snapshot *snapshot)
{
	struct dt_change change;
	int code;

	if (strcmp(every->options->format->name, "text") != 0)
		return every->options->format->snapshot(snapshot, &every->options->render, every->shown == 0, stdout);
	code = dt_seen_update(&watched->seen, snapshot, &change);
	if (code)
		return code;
	if (change.whole) {
		if (every->ever)
			putchar('\n');
		put_time(snapshot->taken_ns);
		code = dt_render_text(snapshot, &every->options->render, stdout);
	} else if (change.count || change.ended_count) {
		code = show_change(every, snapshot, &change);
	}
	dt_change_release(&change);
	return code;
}

static void let_go(struct watched *watched)
{
	dt_release(watched->target);
	watched->target = NULL;
	dt_seen_release(&watched->seen);
}

static struct watched *watch(struct every *every, int pid)
{
	struct watched *grown;

	for (size_t i = 0; i < every->count; i++)
		if (every->list[i].pid == pid)
			return &every->list[i];
	grown = reallocarray(every->list, every->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	every->list = grown;
	every->list[every->count] = (struct watched){.pid = pid};
	return &every->list[every->count++];
}

static bool in_documents(const struct every *every)
{
	return every->options->format->begin != NULL;
}

/* A process whose error was told is passed over: it has no pid in the look. */
static bool begin(void *context, void *work, size_t i)
{
	struct every *every = context;
	struct dt_dump_look *look = work;
	struct watched *watched;

	if ((stopped && !in_documents(every)) || !dt_output_good())
		return false;
	watched = watch(every, every->picks[i].pid);
	if (watched)
		watched->present = true;
	look->target = watched ? watched->target : NULL;
	look->pid = watched && !watched->told ? watched->pid : 0;
	return true;
}

static void step(void *work, size_t i)
{
	const struct dt_dump_look *look = work;

	(void)i;
	if (look->pid)
		dt_dump_look(work);
}

/* What has been shown and is gone now has not failed. */
static void tell_end(struct every *every, int pid)
{
	struct dt_error err;

	dt_fail(&err, DT_EENDED, "process %d ended", pid);
	dt_note(&every->options->selecting.common, "%s", err.message);
	dt_failures_keep(&every->failures, pid, &err);
}

static bool done(void *context, void *work, size_t i)
{
	struct every *every = context;
	const struct dt_dump_look *look = work;
	const struct dt_pick *pick = &every->picks[i];
	const struct dt_common *common = &every->options->selecting.common;
	struct watched *watched;
	bool known;

	if (!look->pid)
		return true;
	watched = watch(every, look->pid);
	known = watched->target != NULL;
	if (!look->code) {
		watched->target = look->target;
		if (show(every, watched, look->snapshot))
			dt_output_failed();
		every->shown++;
		every->ever = true;
	} else if (look->code == DT_EAGAIN && known) {
		dt_failures_keep(&every->failures, pick->pid, &look->err);
	} else {
		if (known && (look->code == DT_EENDED || look->code == DT_ENOTFOUND))
			tell_end(every, pick->pid);
		else if (!dt_dump_passes_over(pick, look->code, true))
			dt_failures_add(&every->failures, common, pick->pid, &look->err);
		let_go(watched);
		watched->told = true;
	}
	return true;
}

/* The target stays with the look that was left behind. */
static void *stuck(void *context, void *work, size_t i)
{
	struct every *every = context;
	struct watched *watched = watch(every, every->picks[i].pid);
	struct dt_error err;

	(void)work;
	watched->target = NULL;
	let_go(watched);
	watched->told = true;
	dt_dump_fail_stuck(watched->pid, &err);
	dt_failures_add(&every->failures, &every->options->selecting.common, watched->pid, &err);
	return dt_dump_look_new(every->options);
}

/* Forgets what is no longer there, so that its number may come back as another process. */
static void forget(struct every *every)
{
	size_t kept = 0;

	every->attached = 0;
	for (size_t i = 0; i < every->count; i++) {
		if (every->list[i].present) {
			every->list[i].present = false;
			every->attached += every->list[i].target != NULL;
			every->list[kept++] = every->list[i];
		} else {
			let_go(&every->list[i]);
		}
	}
	every->count = kept;
}

/* The processes of this round: those that are selected now, and those that were shown. */
static int choose(struct every *every, struct dt_picks *picks, struct dt_error *err)
{
	int code = dt_selection_pick(&every->options->selecting.selection, picks, err);

	for (size_t i = 0; i < every->count && code != DT_EMEMORY; i++)
		if (every->list[i].target && dt_picks_add(picks, every->list[i].pid, false, err))
			code = DT_EMEMORY;
	return code;
}

/* One look at everything. False when there is no point in going on. */
static bool look_round(struct every *every)
{
	const struct dt_dump_options *options = every->options;
	const struct dt_common *common = &options->selecting.common;
	const struct dt_patience patience = {DT_DUMP_PATIENCE_NS, every, begin, step, done, stuck};
	struct dt_picks picks = {0};
	struct dt_error err;
	size_t count;
	int code = choose(every, &picks, &err);

	every->failures.count = every->shown = 0;
	if (code == DT_EUSAGE) {
		dt_report(common, &err);
		every->failures.first = code;
	}
	if (code == DT_EUSAGE || stopped || (every->ever && !picks.count)) {
		dt_picks_release(&picks);
		return false;
	}
	dt_dump_open(options);
	if (code && !every->ever)
		dt_failures_add(&every->failures, common, 0, &err);
	every->picks = picks.list;
	free(dt_patiently(&patience, dt_dump_look_new(options), picks.count));
	dt_dump_close(options, &every->failures);
	if (fflush(stdout))
		dt_output_failed();
	forget(every);
	count = picks.count;
	dt_picks_release(&picks);
	return every->attached || (every->ever && dt_selection_open(&options->selecting.selection) && count);
}

static void add_seconds(struct timespec *when, double seconds)
{
	when->tv_sec += (time_t)seconds;
	when->tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (when->tv_nsec >= 1000000000) {
		when->tv_sec++;
		when->tv_nsec -= 1000000000;
	}
}

int dt_dump_every(const struct dt_dump_options *options)
{
	struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
	struct every every = {.options = options};
	struct timespec next, now;
	int code;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!stopped && look_round(&every) && dt_output_good()) {
		add_seconds(&next, options->every);
		clock_gettime(CLOCK_MONOTONIC, &now);
		/* A round that took longer than the interval is not made up for. */
		if (next.tv_sec < now.tv_sec || (next.tv_sec == now.tv_sec && next.tv_nsec < now.tv_nsec))
			next = now;
		while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
	code = dt_exit_code(every.failures.first);
	for (size_t i = 0; i < every.count; i++)
		let_go(&every.list[i]);
	free(every.list);
	dt_failures_release(&every.failures);
	return code;
}
