/* darter dump, once: every process is shown or its error is told; one error does not stop the others. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/dump.h"
#include "cli/terminal.h"

#define STARTING_NS  2000000000u /* how long a Python that is just starting is waited for */
#define TRY_AGAIN_NS 10000000

void dt_failures_add(struct dt_failures *failures, const struct dt_common *common, int pid, const struct dt_error *err)
{
	unsigned bit = 1u << (-err->code & 31);
	struct dt_failure *grown;

	if (!failures->first)
		failures->first = err->code;
	if (!(common->json && common->quiet)) {
		if (failures->hinted & bit)
			dt_report_message(common, err);
		else
			dt_report(common, err);
	}
	failures->hinted |= bit;
	grown = reallocarray(failures->list, failures->count + 1, sizeof(*grown));
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

bool dt_dump_passes_over(const struct dt_pick *pick, int code, bool kin_shown)
{
	if (code == DT_ENOTPYTHON && pick->has_kin && kin_shown)
		return true;
	return !pick->asked && (code == DT_ENOTPYTHON || code == DT_ENOTFOUND || code == DT_EENDED);
}

int dt_dump_look(const struct dt_dump_options *options, int pid, struct dt_target **target,
		 const struct dt_snapshot **snapshot, struct dt_error *err)
{
	const struct timespec pause = {.tv_nsec = TRY_AGAIN_NS};
	uint64_t deadline = dt_clock_ns() + STARTING_NS;

	for (;;) {
		struct dt_target *attached;
		int code = dt_attach(pid, &options->attach, &attached, err);

		if (!code) {
			code = dt_take(attached, snapshot, err);
			if (!code) {
				*target = attached;
				return 0;
			}
			dt_release(attached);
		}
		if (code != DT_EAGAIN || dt_clock_ns() > deadline)
			return code;
		nanosleep(&pause, NULL);
	}
}

struct once {
	const struct dt_dump_options *options;
	struct dt_failures failures;
	struct dt_failure not_python; /* told only if none of its descendants can be shown */
	size_t shown;
};

static void show(struct once *once, const struct dt_pick *pick)
{
	const struct dt_common *common = &once->options->selecting.common;
	const struct dt_snapshot *snapshot;
	struct dt_target *target;
	struct dt_error err;
	int code = dt_dump_look(once->options, pick->pid, &target, &snapshot, &err);

	if (!code) {
		if (once->options->format->snapshot(snapshot, &once->options->render, once->shown == 0, stdout))
			dt_output_failed();
		dt_release(target);
		once->shown++;
	} else if (code == DT_ENOTPYTHON && pick->asked && pick->has_kin) {
		if (!once->not_python.pid)
			once->not_python = (struct dt_failure){.pid = pick->pid, .error = err};
	} else if (!dt_dump_passes_over(pick, code, false)) {
		dt_failures_add(&once->failures, common, pick->pid, &err);
	} else if (common->verbose) {
		dt_note(common, "passed over: %s", err.message);
	}
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
	if (options->format->begin && options->format->begin(stdout))
		dt_output_failed();
	if (code)
		dt_failures_add(&once.failures, common, 0, &err);
	for (size_t i = 0; i < picks.count && dt_output_good(); i++)
		show(&once, &picks.list[i]);
	if (once.not_python.pid && !once.shown)
		dt_failures_add(&once.failures, common, once.not_python.pid, &once.not_python.error);
	if (options->format->end && options->format->end(once.failures.list, once.failures.count, stdout))
		dt_output_failed();
	code = dt_exit_code(once.failures.first);
	dt_failures_release(&once.failures);
	dt_picks_release(&picks);
	return code;
}
