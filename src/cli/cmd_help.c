/* darter help: what there is, and how it is used. */
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/terminal.h"

struct options {
	struct dt_common common;
	const struct dt_command *command;
	bool man;
};

static int set_man(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct options *)options)->man = true;
	return 0;
}

static int argument(void *options, const char *text, struct dt_error *err)
{
	struct options *o = options;
	struct dt_nearest nearest;

	o->command = dt_command_by_name(text);
	if (o->command)
		return 0;
	dt_nearest_init(&nearest, text);
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		dt_nearest_offer(&nearest, (*command)->name);
	dt_fail(err, DT_EUSAGE, "there is no command '%s'", text);
	if (nearest.best)
		dt_hint(err, "did you mean 'darter help %s'?", nearest.best);
	dt_hint(err, "'darter help' shows the commands");
	return DT_EUSAGE;
}

static int run(void *options)
{
	const struct options *o = options;
	size_t columns = dt_terminal_columns(STDOUT_FILENO);

	if (o->man)
		dt_help_man(o->command, stdout);
	else if (o->command)
		dt_help_command(o->command, stdout, columns);
	else
		dt_help_overview(stdout, columns);
	return DT_EXIT_OK;
}

static const struct dt_option table[] = {
    {.name = "man", .help = "The man page's source, for scdoc.", .hidden = true, .set = set_man},
    {0},
};

static const struct dt_example examples[] = {
    {"darter help", "The commands, and where to begin."},
    {"darter help dump", "All about one command."},
    {0},
};

const struct dt_command dt_command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .argument_kind = DT_VALUE_COMMAND,
    .summary = "explain a command",
    .about = "Explains a command with its options and examples; without one it lists the commands.",
    .options = table,
    .examples = examples,
    .options_size = sizeof(struct options),
    .argument = argument,
    .run = run,
};
