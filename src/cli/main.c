/* darter: finds the command, reads its options, runs it. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/patience.h"
#include "base/shell.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "cli/terminal.h"

/* The first of the words that is a command with this option, else the first command that has it. */
static const struct dt_command *meant_by(const char *option, int count, char *const *words, int *at)
{
	for (*at = 0; *at < count; ++*at) {
		const struct dt_command *command = dt_command_by_name(words[*at]);

		if (command && dt_is_option(command, option))
			return command;
	}
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		if (dt_is_option(*command, option))
			return *command;
	return NULL;
}

/* An option that stands before the command. The line is shown as it should be, unless it holds what cannot be pasted.
 */
static int option_first(const struct dt_command *command, int count, char *const *words, int command_at)
{
	struct dt_buf line = DT_BUF_INIT;
	struct dt_error err;
	bool good = true;

	dt_buf_printf(&line, "darter %s", command->name);
	for (int i = 0; i < count && good; i++) {
		if (i == command_at)
			continue;
		dt_buf_putc(&line, ' ');
		good = dt_shell_quote(&line, words[i]);
	}
	dt_fail(&err, DT_EUSAGE, "%s stands before the command: options follow it", words[0]);
	if (good && !line.failed)
		dt_hint(&err, "Type:\n    %s", line.data);
	else
		dt_hint(&err, "'darter help' shows the commands");
	dt_buf_release(&line);
	dt_report(NULL, &err);
	return DT_EXIT_USAGE;
}

/* words: from the name on. */
static int no_such_command(int count, char *const *words)
{
	int command_at;
	const char *name = words[0];
	const struct dt_command *meant = meant_by(name, count, words, &command_at);
	struct dt_nearest nearest;
	struct dt_error err;
	uint64_t pid;

	if (meant)
		return option_first(meant, count, words, command_at);
	dt_nearest_init(&nearest, name);
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		dt_nearest_offer(&nearest, (*command)->name);
	dt_fail(&err, DT_EUSAGE, "there is no command '%s'", name);
	if (dt_parse_u64(name, UINT32_MAX, &pid))
		dt_hint(&err, "did you mean 'darter dump %s'?", name);
	else if (!strcmp(name, "core") && count > 1 && words[1][0] != '-')
		dt_hint_core(words[1], &err);
	else if (!strcmp(name, "core") || dt_is_file(name))
		dt_hint_core(dt_is_file(name) ? name : "FILE", &err);
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
	if (code && command->notes_signals)
		dt_signals_give_up();
	if (code == DT_PARSE_HELP) {
		dt_help_command(command, stdout, dt_terminal_columns(STDOUT_FILENO));
		return DT_EXIT_OK;
	}
	if (code) {
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

	dt_signals_main();
	command = dt_command_by_name(name);
	if (command && command->notes_signals)
		dt_signals_begin();
#ifdef M_ARENA_MAX
	/* Our threads work one after the other: a heap for each would only cost time. */
	mallopt(M_ARENA_MAX, 1);
#endif
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		dt_help_overview(stdout, dt_terminal_columns(STDOUT_FILENO));
		return dt_output_end(DT_EXIT_OK);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		command = &dt_command_version;
	code = dt_output_end(command ? run(command, argc - 2, argv + 2) : no_such_command(argc - 1, argv + 1));
	/* All is written. A thread that is blocked for good keeps nothing from ending but what is run at exit: a
	 * checker for leaks would wait for it. */
	if (dt_patience_left_behind())
		_exit(code);
	return code;
}
