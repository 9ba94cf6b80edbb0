/*
 * Errors carry their text from the place where the cause is known. Every function that can fail takes a struct dt_error
 * as its last parameter; it may be NULL, and it is untouched on success.
 */
#ifndef DT_BASE_ERROR_H
#define DT_BASE_ERROR_H

#include <darter/darter.h>

/* Fills *err (if there is one) with code and message, clears the hint, and returns code: `return dt_fail(err, ...)`. */
int dt_fail(struct dt_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a line to the hint; earlier lines stay. What does not fit is cut at a line's end. One style for all of them:
 * what is typed stands in single quotes; a single sentence begins small and has no full stop, several are written as
 * prose; what is to be pasted has lines of its own, which begin with four spaces, behind a line that ends with a colon.
 */
void dt_hint(struct dt_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* There are no descriptors left for a process: each of a recording takes some. Returns DT_ERUNTIME. */
int dt_fail_files(struct dt_error *err, int pid);

#endif
