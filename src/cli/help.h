/* What the tables say, for people: help on the screen, man pages, shell completions. */
#ifndef DT_CLI_HELP_H
#define DT_CLI_HELP_H

#include "cli/command.h"

void dt_help_overview(FILE *out, size_t columns);
void dt_help_command(const struct dt_command *command, FILE *out, size_t columns);

/* Where to begin. Ended by one without a line. */
extern const struct dt_example dt_help_first[];

/* The names of all output formats of one of the two kinds of values, with something between them. */
void dt_help_formats(FILE *out, enum dt_value_kind kind, const char *between);

/* scdoc source of darter(1) (NULL) or darter-COMMAND(1). */
void dt_help_man(const struct dt_command *command, FILE *out);

/* A completion script; false if the shell is not known. */
bool dt_complete(const char *shell, FILE *out);
#define DT_SHELLS "bash zsh fish"

#endif
