/* darter dump, once: every process is shown or its error is told; one error does not stop the others. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/patience.h"
#include "base/util.h"
#include "cli/dump.h"
#include "cli/terminal.h"

#define STARTING_NS  1500000000u /* how long a Python that is just starting is waited for */
#define TRY_AGAIN_NS 10000000

void dt_failures_add(struct dt_failures *failures, const struct dt_common *common, int pid, const struct dt_error *err)
{
	unsigned bit = 1u << (-err->code & 31);

	if (!failures->first)
		failures->first = err->code;
	if (!(common->json && common->quiet)) {
		if (failures->hinted & bit)
			dt_report_message(common, err);
		else
			dt_report(common, err);
	}
	failures->hinted |= bit;
	dt_failures_keep(failures, pid, err);
}

void dt_failures_keep(struct dt_failures *failures, int pid, const struct dt_error *err)
{
	struct dt_failure *grown = reallocarray(failures->list, failures->count + 1, sizeof(*grown));

	if (!grown)
		return;
	failures->list = grown;
	failures->list[failures->count++] = (struct dt_failure){.pid = pid, .error = *err};
}

void dt_failures_release(struct dt_failures *failures)
{
	free(failures->list);
	*failures = (struct dt_failures){0};
}

void dt_dump_open(const struct dt_dump_options *options)
{
	if (!options->format->begin)
		return;
	dt_words_hold();
	if (options->format->begin(stdout))
		dt_output_failed();
}

void dt_dump_close(const struct dt_dump_options *options, const struct dt_failures *failures)
{
	if (options->format->end && options->format->end(failures->list, failures->count, stdout))
		dt_output_failed();
	dt_words_go();
}

bool dt_dump_passes_over(const struct dt_pick *pick, int code, bool kin_shown)
{
	if (code == DT_ENOTPYTHON && pick->has_kin && kin_shown)
		return true;
	return !pick->asked && (code == DT_ENOTPYTHON || code == DT_ENOTFOUND || code == DT_EENDED);
}

struct dt_dump_look *dt_dump_look_new(const struct dt_dump_options *options)
{
	struct dt_dump_look *look = calloc(1, sizeof(*look));

	if (look)
		look->attach = options->attach;
	return look;
}

static int attach_and_take(struct dt_dump_look *look)
{
	const struct timespec pause = {.tv_nsec = TRY_AGAIN_NS};
	uint64_t deadline = dt_clock_ns() + STARTING_NS;

	for (;;) {
		struct dt_target *attached;
		int code = dt_attach(look->pid, &look->attach, &attached, &look->err);

		if (!code) {
			code = dt_take(attached, &look->snapshot, &look->err);
			if (!code) {
				look->target = attached;
				return 0;
			}
			dt_release(attached);
		}
		if (code != DT_EAGAIN || dt_clock_ns() > deadline)
			return code;
		nanosleep(&pause, NULL);
	}
}

void dt_dump_look(struct dt_dump_look *look)
{
	look->code = look->target ? dt_take(look->target, &look->snapshot, &look->err) : attach_and_take(look);
}

int dt_dump_fail_stuck(int pid, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "process %d cannot be read: its memory has not answered for %d seconds", pid,
		DT_DUMP_PATIENCE_SECONDS);
	dt_hint(err,
		"A page of it does not come, and the program itself would wait for it too. It may lie in a file on a "
		"network or FUSE file system that does not answer, behind a userfaultfd that nobody serves, or in swap "
		"on a disk that is very slow.");
	dt_hint(err, "When such a file system answers again, so does the process. They are listed by:");
	dt_hint(err, "    grep -E 'nfs|cifs|fuse' /proc/%d/mountinfo", pid);
	dt_hint(err, "if only its source files lie there, --no-source does without them");
	return DT_ERUNTIME;
}

struct once {
	const struct dt_dump_options *options;
	struct dt_failures failures;
	struct dt_failure not_python; /* told only if none of its descendants can be shown */
	const struct dt_pick *picks;
	size_t shown;
};

static bool begin(void *context, void *work, size_t i)
{
	struct once *once = context;
	struct dt_dump_look *look = work;

	look->pid = once->picks[i].pid;
	look->target = NULL;
	return dt_output_good();
}

static void step(void *work, size_t i)
{
	(void)i;
	dt_dump_look(work);
}

static bool show(void *context, void *work, size_t i)
{
	struct once *once = context;
	struct dt_dump_look *look = work;
	const struct dt_pick *pick = &once->picks[i];
	const struct dt_common *common = &once->options->selecting.common;

	if (!look->code) {
		if (once->options->format->snapshot(look->snapshot, &once->options->render, once->shown == 0, stdout))
			dt_output_failed();
		dt_release(look->target);
		once->shown++;
	} else if (look->code == DT_ENOTPYTHON && pick->asked && pick->has_kin) {
		if (!once->not_python.pid)
			once->not_python = (struct dt_failure){.pid = pick->pid, .error = look->err};
	} else if (!dt_dump_passes_over(pick, look->code, false)) {
		dt_failures_add(&once->failures, common, pick->pid, &look->err);
	} else if (common->verbose) {
		dt_note(common, "passed over: %s", look->err.message);
	}
	return true;
}

static void *stuck(void *context, void *work, size_t i)
{
	struct once *once = context;
	struct dt_error err;

	(void)work;
	dt_dump_fail_stuck(once->picks[i].pid, &err);
	dt_failures_add(&once->failures, &once->options->selecting.common, once->picks[i].pid, &err);
	return dt_dump_look_new(once->options);
}

static void look_at_all(struct once *once, const struct dt_picks *picks)
{
	const struct dt_patience patience = {DT_DUMP_PATIENCE_NS, once, begin, step, show, stuck};
	struct dt_dump_look *look = dt_dump_look_new(once->options);
	struct dt_error err;

	once->picks = picks->list;
	look = dt_patiently(&patience, look, picks->count);
	if (!look) {
		dt_fail(&err, DT_EMEMORY, "out of memory");
		dt_failures_add(&once->failures, &once->options->selecting.common, 0, &err);
	}
	free(look);
}

int dt_dump_once(const struct dt_dump_options *options)
{
	const struct dt_common *common = &options->selecting.common;
	struct once once = {.options = options};
	struct dt_picks picks = {0};
	struct dt_error err;
	int code = dt_selection_pick(&options->selecting.selection, &picks, &err);

	if (code == DT_EUSAGE) {
		dt_report(common, &err);
		return dt_exit_code(code);
	}
	dt_dump_open(options);
	if (code)
		dt_failures_add(&once.failures, common, 0, &err);
	look_at_all(&once, &picks);
	if (once.not_python.pid && !once.shown)
		dt_failures_add(&once.failures, common, once.not_python.pid, &once.not_python.error);
	dt_dump_close(options, &once.failures);
	code = dt_exit_code(once.failures.first);
	dt_failures_release(&once.failures);
	dt_picks_release(&picks);
	return code;
}
