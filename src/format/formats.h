/* Every output format is one file with one struct dt_format, declared here and listed in format.c. */
#ifndef DT_FORMAT_FORMATS_H
#define DT_FORMAT_FORMATS_H

#include <darter/darter.h>

extern const struct dt_format dt_format_text;
extern const struct dt_format dt_format_json;

#endif
