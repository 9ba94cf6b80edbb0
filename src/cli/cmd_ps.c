/* darter ps: every Python process of the host, and what it is doing. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/refused.h"
#include "cli/terminal.h"

#define CPU_SECONDS 0.1

struct options {
	struct dt_common common;
	double cpu_seconds;
	bool pids;
};

static int set_cpu(void *options, const char *value, struct dt_error *err)
{
	return dt_value_seconds(value, 0, &((struct options *)options)->cpu_seconds, err);
}

static int set_pids(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct options *)options)->pids = true;
	return 0;
}

static void defaults(void *options)
{
	((struct options *)options)->cpu_seconds = CPU_SECONDS;
}

static int print_pids(const struct options *o)
{
	dt_auto_free int *pids = NULL;
	struct dt_error err;
	size_t count;
	int code = dt_find(NULL, &pids, &count, &err);

	if (code) {
		dt_report(&o->common, &err);
		return dt_exit_code(code);
	}
	for (size_t i = 0; i < count; i++)
		printf("%d\n", pids[i]);
	return DT_EXIT_OK;
}

/* For shells that show what a completion means: the command behind each, and a tab between. */
static int print_commands(const struct options *o)
{
	struct dt_process_list *list;
	struct dt_error err;
	int code = dt_survey(0, &list, &err);

	if (code) {
		dt_report(&o->common, &err);
		return dt_exit_code(code);
	}
	for (size_t i = 0; i < dt_process_list_count(list); i++) {
		const struct dt_process *process = dt_process_list_at(list, i);
		struct dt_buf command = DT_BUF_INIT;

		dt_escape(&command, process->command);
		printf("%d\t%s\n", process->pid, command.data);
		dt_buf_release(&command);
	}
	dt_process_list_free(list);
	return DT_EXIT_OK;
}

static int run(void *options)
{
	const struct options *o = options;
	const bool verbose = o->common.verbose;
	struct dt_render render = {
	    .color = dt_terminal_color(&o->common, STDOUT_FILENO),
	    .columns = verbose ? 0 : dt_terminal_columns(STDOUT_FILENO),
	    .full_names = verbose,
	};
	struct dt_process_list *list;
	struct dt_error err;
	int code;

	if (o->pids && o->common.json) {
		dt_fail(&err, DT_EUSAGE, "--pids and --json are two forms of the result: give one of them");
		dt_report(&o->common, &err);
		return DT_EXIT_USAGE;
	}
	if (o->pids)
		return verbose ? print_commands(o) : print_pids(o);
	code = dt_survey(o->cpu_seconds, &list, &err);
	if (code) {
		dt_report(&o->common, &err);
		return dt_exit_code(code);
	}
	if (o->common.json)
		code = dt_render_processes_json(list, stdout);
	else if (!dt_process_list_count(list))
		dt_note(&o->common, "no Python program is running here");
	else
		code = dt_render_processes_text(list, &render, stdout);
	if (!code && !o->common.json)
		dt_refused_tell(&o->common, list);
	dt_process_list_free(list);
	if (code)
		dt_output_failed();
	return DT_EXIT_OK;
}

static const struct dt_option table[] = {
    DT_OPTION_JSON,
    {.name = "cpu",
     .kind = DT_VALUE_SECONDS,
     .value = "SECONDS",
     .help = "How long to measure the CPU use (0.1 by default); 0 shows the average since each process began.",
     .set = set_cpu},
    {.name = "pids",
     .help = "Print the process ids alone, one per line; with -v their commands, too.",
     .set = set_pids},
    DT_OPTION_COLOR,
    DT_OPTION_QUIET("Say nothing but the result and errors."),
    DT_OPTION_VERBOSE("Cut nothing, show whole file names, and tell why a process could not be read."),
    {0},
};

static const struct dt_example examples[] = {
    {"darter ps", "The Python programs on this host, busiest first."},
    {"sudo darter ps", "The same with those of other users and in containers."},
    {"darter ps --json | jq '.processes[] | select(.cpu > 50)'", "The busy ones, for a script."},
    {0},
};

static const struct dt_exits exits = {.done = "; also when no Python program is running"};

const struct dt_command dt_command_ps = {
    .name = "ps",
    .summary = "list the Python programs on this host and what each is doing now",
    .about =
	"Lists every process with a Python interpreter in it, whatever its name: process id, Python version, threads, "
	"CPU use, memory, container or pod if it runs in one, command, and the function, file and line of the thread "
	"that runs at this moment, of the main thread where none runs. STATE says what that thread does: run, gil "
	"(waits for it), call (in a system call), sleep or stop (by a signal). Processes that may not be read are "
	"listed with the reason.\n\n"
	"On a terminal long lines are cut to its width, and a narrow one has fewer columns; in a pipe all is whole. "
	"COLUMNS in the environment sets the width in both. -v cuts nothing, shows whole file names, and tells of each "
	"process that could not be read why, and what would allow it.",
    .options = table,
    .examples = examples,
    .options_size = sizeof(struct options),
    .defaults = defaults,
    .run = run,
    .exits = &exits,
};
