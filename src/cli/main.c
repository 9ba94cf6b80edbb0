/* darter: finds the command, reads its options, runs it. */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/patience.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/terminal.h"

static int no_such_command(const char *name)
{
	struct dt_nearest nearest;
	struct dt_error err;
	uint64_t pid;

	dt_nearest_init(&nearest, name);
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		dt_nearest_offer(&nearest, (*command)->name);
	dt_fail(&err, DT_EUSAGE, "there is no command '%s'", name);
	if (dt_parse_u64(name, UINT32_MAX, &pid))
		dt_hint(&err, "did you mean 'darter dump %s'?", name);
	else if (nearest.best)
		dt_hint(&err, "did you mean 'darter %s'?", nearest.best);
	dt_hint(&err, "'darter help' shows the commands");
	dt_report(NULL, &err);
	return DT_EXIT_USAGE;
}

static int run(const struct dt_command *command, int count, char *const *words)
{
	dt_auto_free void *options = calloc(1, command->options_size);
	struct dt_error err;
	int code;

	if (!options) {
		dt_fail(&err, DT_EMEMORY, "out of memory");
		dt_report(NULL, &err);
		return DT_EXIT_FAILED;
	}
	if (command->defaults)
		command->defaults(options);
	code = dt_parse(command, count, words, options, &err);
	if (code == DT_PARSE_HELP) {
		dt_help_command(command, stdout, dt_terminal_columns(STDOUT_FILENO));
		return DT_EXIT_OK;
	}
	if (code) {
		if (code == DT_EUSAGE)
			dt_hint(&err, "'darter %s --help' shows its options", command->name);
		dt_report(options, &err);
		return dt_exit_code(code);
	}
	return command->run(options);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	const struct dt_command *command;
	int code;

	/* Whoever started us may have ignored it: a reader that goes away ends us quietly, as it should. */
	signal(SIGPIPE, SIG_DFL);
#ifdef M_ARENA_MAX
	/* Our threads work one after the other: a heap for each would only cost time. */
	mallopt(M_ARENA_MAX, 1);
#endif
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		dt_help_overview(stdout, dt_terminal_columns(STDOUT_FILENO));
		return dt_output_end(DT_EXIT_OK);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = dt_command_version.name;
	command = dt_command_by_name(name);
	code = dt_output_end(command ? run(command, argc - 2, argv + 2) : no_such_command(name));
	/* All is written. A thread that is blocked for good keeps nothing from ending but what is run at exit: a
	 * checker for leaks would wait for it. */
	if (dt_patience_left_behind())
		_exit(code);
	return code;
}
