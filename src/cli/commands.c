/* The table of commands. A new one is a file of its own, a declaration in commands.h and a line here. */
#include "cli/commands.h"

#include <string.h>

const struct dt_command *const dt_commands[] = {
    &dt_command_ps,      &dt_command_dump, &dt_command_record,     &dt_command_report,
    &dt_command_version, &dt_command_help, &dt_command_completion, NULL,
};

const struct dt_variable dt_common_variables[] = {
    {"NO_COLOR", "If set and not empty, no colours are used unless --color=always asks for them."},
    {"COLUMNS", "The width for tables, help and messages on a terminal, instead of the terminal's own."},
    {0},
};

const struct dt_command *dt_command_by_name(const char *name)
{
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

int dt_exit_code(int code)
{
	switch (code) {
	case 0:
		return DT_EXIT_OK;
	case DT_EUSAGE:
		return DT_EXIT_USAGE;
	case DT_EPERMISSION:
		return DT_EXIT_PERMISSION;
	case DT_ENOTFOUND:
	case DT_ENOTPYTHON:
	case DT_EENDED:
		return DT_EXIT_NOT_FOUND;
	default:
		return DT_EXIT_FAILED;
	}
}
