/*
 * UTF-8 read one character at a time, without trusting it, and text made harmless for a terminal. What a target calls
 * its functions, files and threads is its own choice: nothing of it reaches a terminal that could move the cursor,
 * change a colour or turn the reading direction.
 */
#ifndef DT_BASE_UTF8_H
#define DT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define DT_UTF8_INVALID UINT32_MAX

/* The character at text, which has length > 0 bytes left. Returns how many bytes it takes; *code is DT_UTF8_INVALID for
 * a byte that starts no well-formed character (then 1 is returned). Surrogates and overlong forms are not well-formed.
 */
size_t dt_utf8_next(const char *text, size_t length, uint32_t *code);

/* Invisible, or with a will of its own on a terminal: what dt_escape() does not leave as it is. */
bool dt_utf8_unsafe(uint32_t code);

/* Appends text with everything that is not plainly visible written as \n, \t, \r, \x1b, \u202e or \U000e0001; bytes
 * that are no UTF-8 as \xff. NULL adds nothing. */
void dt_escape(struct dt_buf *buf, const char *text);
void dt_escape_part(struct dt_buf *buf, const char *text, size_t length);

/* Appends text as it is, but no more than so many bytes (at least 3) of it: cut between characters, with an ellipsis
 * behind. No more than that is looked at, however long it is. */
void dt_cut(struct dt_buf *buf, const char *text, size_t most);

/* Columns that well-formed, escaped text takes on a terminal. */
size_t dt_columns(const char *text);
size_t dt_columns_part(const char *text, size_t length);

/* Appends escaped text cut to at most `columns` columns, the last of them an ellipsis where something was cut. */
void dt_escape_cut(struct dt_buf *buf, const char *text, size_t columns);

/* The same, with the ellipsis in the middle: both ends are shown. */
void dt_escape_cut_middle(struct dt_buf *buf, const char *text, size_t columns);

#endif
