/* Every output of a recording is one file with one struct dt_profile_format, declared here and listed in
 * profile_formats.c. */
#ifndef DT_FORMAT_PROFILE_FORMATS_H
#define DT_FORMAT_PROFILE_FORMATS_H

#include <stdio.h>

#include "profile/view.h"

struct dt_profile_render {
	bool color;        /* for a terminal */
	size_t columns;    /* width of the terminal; 0: not known */
	size_t rows;       /* of each table; 0: the usual number */
	const char *title; /* of the document; NULL: made from the profile */
};

struct dt_profile_format {
	const char *name;
	const char *alias;             /* another name that is accepted; NULL: none */
	const char *const *extensions; /* with the dot, longest first, ended by NULL: ".trace.json" */
	const char *description;
	/* 0, DT_EMEMORY, or DT_ERUNTIME with errno set when out does not take it. */
	int (*render)(struct dt_view *view, const struct dt_profile_render *render, FILE *out);
};

extern const struct dt_profile_format dt_profile_summary;    /* text: tables and the quality line */
extern const struct dt_profile_format dt_profile_folded;     /* stack;of;frames weight */
extern const struct dt_profile_format dt_profile_svg;        /* interactive flame graph */
extern const struct dt_profile_format dt_profile_speedscope; /* speedscope's JSON */
extern const struct dt_profile_format dt_profile_chrome;     /* Chrome trace events */

/* All of them, ended by NULL. */
const struct dt_profile_format *const *dt_profile_formats(void);

/* By name or alias; by the ending of a file's name, the longest extension that fits. NULL: none. */
const struct dt_profile_format *dt_profile_format_by_name(const char *name);
const struct dt_profile_format *dt_profile_format_by_file(const char *file);

#endif
