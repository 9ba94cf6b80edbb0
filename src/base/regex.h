/* Regular expressions that a user typed. */
#ifndef DT_BASE_REGEX_H
#define DT_BASE_REGEX_H

#include <regex.h>

#include "base/error.h"

/* A POSIX extended regular expression that only tells whether it matches; regfree() it on success. 0 or DT_EUSAGE with
 * what is wrong with it. */
int dt_regex_compile(const char *text, regex_t *regex, struct dt_error *err);

/* The same for who only wants to know whether it is one. */
int dt_regex_check(const char *text, struct dt_error *err);

#endif
