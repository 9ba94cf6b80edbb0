/*
 * Short file names that stay unambiguous within one snapshot: what follows site-packages/, dist-packages/ or the
 * directory of the standard library, else the last part of the path; as many parts more as it takes to tell two files
 * apart.
 */
#ifndef DT_FORMAT_SHORT_NAMES_H
#define DT_FORMAT_SHORT_NAMES_H

#include <darter/darter.h>

/* Above so many files nothing is shortened: sorting them all is not worth it. */
#define DT_SHORT_NAMES_LIMIT 16384

struct dt_short_name {
	const char *path;
	const char *name; /* points into path */
};

struct dt_short_names {
	struct dt_short_name *names; /* sorted by path */
	size_t count;
};

/* Borrows the snapshot's strings. 0 or DT_EMEMORY. */
int dt_short_names_init(struct dt_short_names *names, const struct dt_snapshot *snapshot);
void dt_short_names_release(struct dt_short_names *names);

/* The path itself if it is not known. */
const char *dt_short_name(const struct dt_short_names *names, const char *path);

#endif
