/* The parser of command lines: it knows tables, not commands. */
#ifndef DT_CLI_OPTIONS_H
#define DT_CLI_OPTIONS_H

#include "cli/command.h"

/* What dt_parse says besides DT_EUSAGE and the other codes that a table's functions return. */
enum { DT_PARSE_RUN = 0, DT_PARSE_HELP = 1 };

/* Reads the words behind the command's name into options, which must be zeroed and have its defaults. Understands
 * --name=value, --name value, -x value, -xvalue, clusters of letters, and -- before words that are no options. A value
 * that would silently replace another one is refused. */
int dt_parse(const struct dt_command *command, int count, char *const *words, void *options, struct dt_error *err);

/* Whether a word ("--json", "-j", "--every=1") is an option of the command. */
bool dt_is_option(const struct dt_command *command, const char *word);

/* Whether a word that is no option means a file: it is one, or has a slash. */
bool dt_is_file(const char *word);

/* How the stacks in a core file are shown. */
void dt_hint_core(const char *file, struct dt_error *err);

/* Values. Each fails with DT_EUSAGE and a sentence that quotes the text. */
int dt_value_pid(const char *text, int *pid, struct dt_error *err);
/* "10", "0.5", "500ms", "2m", "1h30m": units get smaller. */
int dt_value_seconds(const char *text, double min, double *seconds, struct dt_error *err);
int dt_value_count(const char *text, size_t *count, struct dt_error *err);

/* The word among those of the table that is nearest to a mistyped one, NULL if none is near. */
struct dt_nearest {
	const char *wanted;
	const char *best;
	size_t distance;
};
void dt_nearest_init(struct dt_nearest *nearest, const char *wanted);
void dt_nearest_offer(struct dt_nearest *nearest, const char *word);

#endif
