/* darter completion: scripts for the shells. */
#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/terminal.h"

struct options {
	struct dt_common common;
	const char *shell;
};

static int argument(void *options, const char *text, struct dt_error *err)
{
	struct options *o = options;

	if (o->shell)
		return dt_fail(err, DT_EUSAGE, "one shell at a time: '%s' is too much", text);
	o->shell = text;
	return 0;
}

static int run(void *options)
{
	const struct options *o = options;
	struct dt_error err;

	if (o->shell && dt_complete(o->shell, stdout))
		return DT_EXIT_OK;
	if (o->shell)
		dt_fail(&err, DT_EUSAGE, "there is no completion for '%s', only for: " DT_SHELLS, o->shell);
	else
		dt_fail(&err, DT_EUSAGE, "for which shell? One of: " DT_SHELLS);
	dt_report(&o->common, &err);
	return DT_EXIT_USAGE;
}

static const struct dt_example examples[] = {
    {"source <(darter completion bash)", "Complete darter's commands and options in this bash."},
    {"source <(darter completion zsh)", "The same in this zsh, where compinit has run."},
    {"mkdir -p ~/.config/fish/completions && darter completion fish > ~/.config/fish/completions/darter.fish",
     "The same for fish, for good."},
    {0},
};

const struct dt_command dt_command_completion = {
    .name = "completion",
    .arguments = "SHELL",
    .argument_kind = DT_VALUE_CHOICE,
    .argument_choices = DT_SHELLS,
    .summary = "print a completion script for bash, zsh or fish",
    .about =
	"Prints a script that completes commands, options and process ids in bash, zsh or fish. An installed darter "
	"brings these scripts along.",
    .examples = examples,
    .options_size = sizeof(struct options),
    .argument = argument,
    .run = run,
};
