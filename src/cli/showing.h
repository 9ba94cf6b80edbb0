/*
 * How a recording is shown: the options that 'record' and 'report' share. A command's options begin with struct
 * dt_showing and its table holds DT_OPTIONS_SHOWING.
 */
#ifndef DT_CLI_SHOWING_H
#define DT_CLI_SHOWING_H

#include "cli/selection.h"

struct dt_showing {
	struct dt_selecting selecting;
	struct dt_view_options view;
	const struct dt_profile_format *format; /* NULL: none was given */
	const char *output;                     /* NULL: none was given; "-": stdout */
};

int dt_show_cpu(void *options, const char *value, struct dt_error *err);
int dt_show_format(void *options, const char *value, struct dt_error *err);
int dt_show_full_names(void *options, const char *value, struct dt_error *err);
int dt_show_function(void *options, const char *value, struct dt_error *err);
int dt_show_gc(void *options, const char *value, struct dt_error *err);
int dt_show_gil(void *options, const char *value, struct dt_error *err);
int dt_show_hide(void *options, const char *value, struct dt_error *err);
int dt_show_idle(void *options, const char *value, struct dt_error *err);
int dt_show_main_thread(void *options, const char *value, struct dt_error *err);
int dt_show_no_lines(void *options, const char *value, struct dt_error *err);
int dt_show_output(void *options, const char *value, struct dt_error *err);
int dt_show_thread_name(void *options, const char *value, struct dt_error *err);
int dt_show_threads(void *options, const char *value, struct dt_error *err);

/* Sets a format that was not given: by the output's name, or the one that is usual where there is no output. DT_EUSAGE
 * if the name does not tell, or as dt_result_check() if it cannot be written. */
int dt_showing_settle(struct dt_showing *showing, const char *usual, struct dt_error *err);

void dt_showing_release(struct dt_showing *showing);

/* Clang-format would tear the rows apart. */
/* clang-format off */
#define DT_OPTIONS_SHOWING                                                                                             \
	{.name = "cpu", .help = "Count time on a CPU, as the scheduler measures it, instead of wall time.",            \
	 .set = dt_show_cpu},                                                                                          \
	{.letter = 'g', .name = "gil", .help = "Count the time in which a thread holds the GIL.", .set = dt_show_gil}, \
	{.letter = 'i', .name = "idle", .help = "Show threads that only wait, too.", .set = dt_show_idle},             \
	{.letter = 't', .name = "threads",                                                                             \
	 .help = "Show each thread on its own, and each process if there are several.", .set = dt_show_threads},       \
	{.name = "thread-name", .kind = DT_VALUE_TEXT, .value = "REGEX",                                               \
	 .help = "Show only threads whose name matches (POSIX extended).", .set = dt_show_thread_name},                \
	{.name = "main-thread", .help = "Show only main threads.", .set = dt_show_main_thread},                        \
	{.name = "gc", .help = "Show only what runs during a garbage collection.", .set = dt_show_gc},                 \
	{.name = "hide", .kind = DT_VALUE_TEXT, .value = "REGEX", .several = true,                                     \
	 .help = "Leave functions out of stacks whose name, or file:name, matches; the file is as it is shown, its "   \
		 "name alone or its whole path. May be given several times.",                                         \
	 .set = dt_show_hide},                                                                                         \
	{.letter = 'F', .name = "function", .help = "Do not tell the lines of a function apart: show its first.",      \
	 .set = dt_show_function},                                                                                     \
	{.name = "no-lines", .help = "Show functions without any line.", .set = dt_show_no_lines},                     \
	{.name = "nolineno", .help = "The same as --no-lines.", .hidden = true, .set = dt_show_no_lines},              \
	{.name = "full-filenames", .help = "Do not shorten the names of files.", .set = dt_show_full_names}
/* clang-format on */

#endif
