/* darter dump --core: the stacks of a program that is dead. */
#include "base/error.h"
#include "base/util.h"
#include "cli/dump.h"
#include "cli/terminal.h"

static int check_usage(const struct dt_dump_options *options, struct dt_error *err)
{
	const struct dt_selection *selection = &options->selecting.selection;

	if (!options->core)
		return dt_fail(err, DT_EUSAGE,
			       "--exe and --root say where the files of a core are: --core FILE is missing");
	if (selection->pid_count || selection->name_count || selection->all || selection->children)
		return dt_fail(err, DT_EUSAGE, "--core looks into a file: a process cannot be given with it");
	if (options->every > 0)
		return dt_fail(err, DT_EUSAGE, "--core and --every exclude each other: a core does not change");
	return 0;
}

static int show(const struct dt_dump_options *options, struct dt_error *err)
{
	const struct dt_snapshot *snapshot;
	struct dt_target *target;
	int code = dt_open_core(options->core, options->root, options->exe, &options->attach, &target, err);

	if (code)
		return code;
	code = dt_take(target, &snapshot, err);
	if (!code && options->format->snapshot(snapshot, &options->render, true, stdout))
		dt_output_failed();
	dt_release(target);
	return code;
}

int dt_dump_core(const struct dt_dump_options *options)
{
	const struct dt_common *common = &options->selecting.common;
	struct dt_failures failures = {0};
	struct dt_error err;
	int code = check_usage(options, &err);

	if (code) {
		dt_report(common, &err);
		return dt_exit_code(code);
	}
	if (options->format->begin && options->format->begin(stdout))
		dt_output_failed();
	code = show(options, &err);
	if (code)
		dt_failures_add(&failures, common, 0, &err);
	if (options->format->end && options->format->end(failures.list, failures.count, stdout))
		dt_output_failed();
	dt_failures_release(&failures);
	return dt_exit_code(code);
}
