/* Sentences in lines that fit. */
#ifndef DT_BASE_WRAP_H
#define DT_BASE_WRAP_H

#include "base/buf.h"

/* Appends escaped text, broken at spaces so that no line is wider than columns (0: not broken). Of the first line `at`
 * columns are taken already, each further one begins with `indent` spaces. What stands in single quotes is to be typed:
 * it stays in one piece, as does a word that is too long. There is no newline at the end. */
void dt_wrap(struct dt_buf *out, const char *text, size_t length, size_t at, size_t indent, size_t columns);

#endif
