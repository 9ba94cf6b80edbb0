/* Every output of a recording is one file with one struct dt_profile_format, declared here and listed in
 * profile_formats.c. */
#ifndef DT_FORMAT_PROFILE_FORMATS_H
#define DT_FORMAT_PROFILE_FORMATS_H

#include <stdio.h>

#include "profile/view.h"

extern const struct dt_profile_format dt_profile_summary;    /* text: tables and the quality line */
extern const struct dt_profile_format dt_profile_folded;     /* stack;of;frames weight */
extern const struct dt_profile_format dt_profile_svg;        /* interactive flame graph */
extern const struct dt_profile_format dt_profile_speedscope; /* speedscope's JSON */
extern const struct dt_profile_format dt_profile_chrome;     /* Chrome trace events */

#endif
