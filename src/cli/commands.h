/* Every command's table entry. */
#ifndef DT_CLI_COMMANDS_H
#define DT_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct dt_command dt_command_ps;
extern const struct dt_command dt_command_dump;
extern const struct dt_command dt_command_record;
extern const struct dt_command dt_command_report;
extern const struct dt_command dt_command_version;
extern const struct dt_command dt_command_help;
extern const struct dt_command dt_command_completion;

#endif
