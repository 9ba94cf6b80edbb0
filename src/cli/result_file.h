/*
 * A file that a result goes to. It is written under another name in the same directory and gets its own when it is
 * whole, so that what was there before is there until then. What is no ordinary file (a pipe, a device) is written to
 * directly.
 */
#ifndef DT_CLI_RESULT_FILE_H
#define DT_CLI_RESULT_FILE_H

#include "cli/command.h"

struct dt_result_file {
	char *path;      /* behind links */
	char *temporary; /* NULL: it is written to directly */
	FILE *file;
};

/* Whether a name makes sense as that of a result, without changing anything: DT_EUSAGE for a directory, or one that is
 * not there; DT_ERUNTIME where nothing may be written. */
int dt_result_check(const char *path, struct dt_error *err);

/* True for what is there and is no ordinary file. */
bool dt_result_special(const char *path);

/* A link stays what it is: the file behind it is written, also one that is not there yet. The name of that, which the
 * caller frees; of what is special the name itself. NULL with errno: out of memory, the links lead in a circle, or the
 * kernel does not follow them. */
char *dt_result_behind(const char *path);

int dt_result_open(struct dt_result_file *result, const char *path, struct dt_error *err);

/* It gets another name, in the same directory. */
int dt_result_name(struct dt_result_file *result, const char *path, struct dt_error *err);

/* What is said if it could not be written, and what can be done; why: an errno. Returns DT_ERUNTIME. */
int dt_result_fail(const struct dt_result_file *result, int why, struct dt_error *err);

/* Whether there is a file of that name that another darter is still writing. 0, or DT_ERUNTIME: it must not be
 * replaced, its recording would be lost. */
int dt_result_replaceable(const char *path, struct dt_error *err);

/* It is whole. On failure it is abandoned. */
int dt_result_commit(struct dt_result_file *result, struct dt_error *err);

/* Makes a result of a file that is whole, and open as fd, by giving it the name. 0, or -errno where that is not
 * possible: it is on another disk, or has no name any more, or the result is no ordinary file. */
int dt_result_take(const char *from, int fd, const char *path);

/* Whether it is this open file that has the name: it may have been removed, renamed or replaced since. */
bool dt_result_is(const char *path, int fd);

/* Takes away what was written. Does nothing after a commit. */
void dt_result_abandon(struct dt_result_file *result);

#endif
