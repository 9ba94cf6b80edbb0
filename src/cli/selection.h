/*
 * Which processes a command is about: by number, by name, all, and their descendants. A command's options begin with
 * struct dt_selecting and its table holds DT_OPTIONS_SELECTION.
 */
#ifndef DT_CLI_SELECTION_H
#define DT_CLI_SELECTION_H

#include "cli/command.h"

struct dt_selection {
	int *pids; /* by number, in the order given */
	size_t pid_count;
	const char **names; /* regular expressions over the command line: any of them */
	size_t name_count;
	bool all;
	bool children;
};

struct dt_selecting {
	struct dt_common common;
	struct dt_selection selection;
};

struct dt_pick {
	int pid;
	bool asked;   /* by number: the user wants to know if there is nothing to see */
	bool has_kin; /* its descendants follow: it need not be Python itself */
};

struct dt_picks {
	struct dt_pick *list;
	size_t count, capacity;
};

int dt_select_pid(void *options, const char *value, struct dt_error *err); /* also the commands' argument function */
int dt_select_name(void *options, const char *value, struct dt_error *err);
int dt_select_all(void *options, const char *value, struct dt_error *err);
int dt_select_children(void *options, const char *value, struct dt_error *err);

void dt_selection_release(struct dt_selection *selection);

/* True if the set can grow while we look. */
bool dt_selection_open(const struct dt_selection *selection);

/* The processes of this moment, each once. DT_EUSAGE if nothing was asked for, DT_ENOTFOUND if nothing matches. */
int dt_selection_pick(const struct dt_selection *selection, struct dt_picks *picks, struct dt_error *err);
/* Adds a process; one that is there already stays where it is. 0 or DT_EMEMORY. */
int dt_picks_add(struct dt_picks *picks, int pid, bool asked, struct dt_error *err);
void dt_picks_release(struct dt_picks *picks);

/* Clang-format would tear the rows apart. */
/* clang-format off */
#define DT_OPTIONS_SELECTION                                                                                           \
	{.letter = 'p', .name = "pid", .kind = DT_VALUE_PID, .value = "PID", .several = true,                          \
	 .help = "A process; may be given several times, or as a plain argument.", .set = dt_select_pid},              \
	{.name = "name", .kind = DT_VALUE_TEXT, .value = "REGEX", .several = true,                                     \
	 .help = "Every Python process whose command line matches (POSIX extended); may be given several times.",      \
	 .set = dt_select_name},                                                                                       \
	{.name = "all", .help = "Every Python process of this host.", .set = dt_select_all},                           \
	{.letter = 's', .name = "children", .help = "Their child processes too, and the children's children.",         \
	 .set = dt_select_children},                                                                                   \
	{.name = "subprocesses", .help = "The same as --children.", .hidden = true, .set = dt_select_children}
/* clang-format on */

#endif
