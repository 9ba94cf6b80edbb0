/*
 * Short file names that stay unambiguous among those that are shown together: what follows site-packages/,
 * dist-packages/ or the directory of the standard library, else the last part of the path; as many parts more as it
 * takes to tell two files apart.
 */
#ifndef DT_BASE_SHORT_NAMES_H
#define DT_BASE_SHORT_NAMES_H

#include <stddef.h>

/* Above so many files nothing is shortened: sorting them all is not worth it. Neither is a path of more bytes. */
#define DT_SHORT_NAMES_LIMIT 16384
#define DT_SHORT_NAMES_PATH  4096

struct dt_short_name {
	const char *path;
	const char *name; /* points into path */
};

/* All zero is an empty one. */
struct dt_short_names {
	struct dt_short_name *names; /* sorted by path, once it is finished */
	size_t count, capacity;
};

/* Adds a path, which is borrowed; repeats do no harm. Once all are there, finish: nothing is short before. 0 or
 * DT_EMEMORY. */
int dt_short_names_add(struct dt_short_names *names, const char *path);
int dt_short_names_finish(struct dt_short_names *names);
void dt_short_names_release(struct dt_short_names *names);

/* The path itself if it is not known. */
const char *dt_short_name(const struct dt_short_names *names, const char *path);

#endif
