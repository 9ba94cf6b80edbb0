/*
 * Errors carry their text from the place where the cause is known. Every function that can fail takes a struct dt_error
 * as its last parameter; it may be NULL, and it is untouched on success.
 */
#ifndef DT_BASE_ERROR_H
#define DT_BASE_ERROR_H

#include <darter/darter.h>

/* Fills *err (if there is one) with code and message, clears the hint, and returns code: `return dt_fail(err, ...)`. */
int dt_fail(struct dt_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a line to the hint; earlier lines stay. What does not fit is cut at a line's end. */
void dt_hint(struct dt_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
