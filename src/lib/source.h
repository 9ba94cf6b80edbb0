/*
 * Source lines, read from the files as the target sees them. Files are the target's: size, length of lines and number
 * of files are bounded, and only regular files are opened. A file is kept for one snapshot.
 */
#ifndef DT_LIB_SOURCE_H
#define DT_LIB_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "lib/source_fit.h"

struct dt_source_file;

struct dt_source {
	struct dt_source_file *files;
	size_t bytes; /* of the files */
	struct dt_source_users users;
	uint64_t began_ns; /* when the process began, by the time of day; 0: not asked yet */
	/* Opens a regular file as the target sees it: a descriptor, or a negative errno. */
	int (*open)(void *context, const char *path);
	uint64_t (*began)(void *context); /* what began_ns is to be */
	/* Whose files are shown though not everybody may read them; (uid_t)-1: nobody's. */
	uid_t (*owner)(void *context);
	void *context;
};

/* Begins a snapshot of this look, which is borrowed until dt_source_clear(). 0 or -ENOMEM. */
int dt_source_begin(struct dt_source *source, const struct dt_look *look);

/* The line without leading and trailing blanks, in the arena; NULL if it cannot be had. Relative paths are taken from
 * the target's working directory, names like "<string>" have no file. A file that was written, moved or replaced after
 * the process began counts as none: the line would be another one than the program is at. So does a file that does not
 * fit a frame of the look, in whatever thread, and one that a target names to have its secrets shown: neither readable
 * by everybody, nor named like Python source, nor the owner's. */
const char *dt_source_line(struct dt_source *source, const char *path, uint32_t line, struct dt_arena *arena);

/* Forgets the files and the look. */
void dt_source_clear(struct dt_source *source);

#endif
