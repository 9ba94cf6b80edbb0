/* Where words for people go: stderr, escaped, in colour only where that is wanted; and whether stdout took the result.
 */
#ifndef DT_CLI_TERMINAL_H
#define DT_CLI_TERMINAL_H

#include "cli/command.h"

/* Of a terminal behind fd: COLUMNS, else what the terminal says; 0 if neither does. */
size_t dt_terminal_columns(int fd);
/* The same for a line that is written again and again, while the window may be resized: as before if it is not known.
 */
size_t dt_terminal_columns_now(int fd, size_t before);

/* --color, then NO_COLOR, then whether fd is a terminal that is not "dumb". */
bool dt_terminal_color(const struct dt_common *common, int fd);

/* "darter: message" and the lines of the hint. */
void dt_report(const struct dt_common *common, const struct dt_error *err);
void dt_report_message(const struct dt_common *common, const struct dt_error *err); /* without the hint */

/* "darter: ..." that is no error; nothing with --quiet. */
void dt_note(const struct dt_common *common, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From hold to go what is said is kept, and told by go behind all that was written to stdout: words never stand in the
 * middle of a document, wherever stdout and stderr lead. */
void dt_words_hold(void);
void dt_words_go(void);

/* To be called when writing to stdout failed: keeps errno for dt_output_end. */
void dt_output_failed(void);

/* Flushes stdout. Returns exit_code, or DT_EXIT_FAILED after having told what went wrong. A reader who went away is no
 * error. */
int dt_output_end(int exit_code);

/* Whether stdout can be written at all, for who has much to do before: DT_ERUNTIME if it is closed or only to be read.
 */
int dt_output_check(struct dt_error *err);

/* Why writing to stdout failed, for who has more to say about it: dt_output_end() does not tell it again. 0: its reader
 * went away. */
int dt_output_explain(struct dt_error *err);

/* True until a write to stdout failed. */
bool dt_output_good(void);

#endif
