/*
 * Does a source file fit the code that runs? Times tell whether a file was changed after a process began, but not of a
 * core, of a file that was changed before a fork, nor of one that got its old times back. The code does: where a
 * frame's function begins, its definition must stand in the file. What is not seen is a change that leaves all of these
 * lines where they were.
 */
#ifndef DT_LIB_SOURCE_FIT_H
#define DT_LIB_SOURCE_FIT_H

#include "sample/sampler.h"

/* One for each code object that has frames in the look. */
struct dt_source_user {
	const struct dt_code *code;
	uint32_t line; /* the largest that a frame of it is at */
};

struct dt_source_users {
	struct dt_source_user *users; /* by file, then by first line */
	size_t count;
};

/* Borrows the code objects of the look. 0 or -ENOMEM. */
int dt_source_users_init(struct dt_source_users *users, const struct dt_look *look);
void dt_source_users_release(struct dt_source_users *users);

/* Whether the text fits all code that is of the file at path. */
bool dt_source_fits(const struct dt_source_users *users, const char *path, const char *text, size_t size);

#endif
