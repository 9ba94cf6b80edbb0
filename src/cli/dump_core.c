/* darter dump --core: the stacks of a program that is dead. */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/dump.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/terminal.h"

int dt_dump_argument(void *options, const char *text, struct dt_error *err)
{
	const struct dt_dump_options *o = options;
	int pid;

	if (dt_value_pid(text, &pid, NULL) == 0 || (!o->core && !dt_is_file(text)))
		return dt_select_pid(options, text, err);
	if (o->core)
		return dt_fail(err, DT_EUSAGE, "'%s' is too much: one core is read at a time", text);
	dt_fail(err, DT_EUSAGE, "'%s' is not a process id", text);
	dt_hint_core(text, err);
	return DT_EUSAGE;
}

/* A core is read here and there, not from its beginning to its end. */
static int refuse_pipe(const char *file, struct dt_error *err)
{
	struct stat st;

	if (strcmp(file, "-") != 0 && (stat(file, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))))
		return 0;
	dt_fail(err, DT_EUSAGE, "--core %s: a core cannot be read from a pipe", file);
	dt_hint(err, "Write it to a file first, and give its name. A compressed core need not be decompressed.");
	return DT_EUSAGE;
}

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
	return refuse_pipe(options->core, err);
}

static int show(const struct dt_dump_options *options, struct dt_error *err)
{
	const struct dt_snapshot *snapshot;
	struct dt_options attach = options->attach;
	struct dt_progress progress;
	struct dt_target *target;
	int code;

	dt_progress_begin(&progress, options->core, options->selecting.common.quiet ? NULL : stderr);
	attach.progress = dt_progress_show;
	attach.progress_context = &progress;
	code = dt_open_core(options->core, options->root, options->exe, &attach, &target, err);
	dt_progress_end(&progress);
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
