/* All processes of a host: what the survey, dt_find and dt_children share. The inside of src/lib. */
#ifndef DT_LIB_HOST_H
#define DT_LIB_HOST_H

#include "base/error.h"
#include "proc/proc.h"
#include "python/find.h"

enum dt_host_guess {
	DT_HOST_OTHER,   /* no Python */
	DT_HOST_PYTHON,  /* very likely Python */
	DT_HOST_REFUSED, /* its memory map may not be read, and it is named like Python */
};

enum dt_host_guess dt_host_guess(const struct dt_proc *proc, struct dt_find_cache *cache);

/* All pids, ascending; the caller frees *pids. */
int dt_host_pids(int **pids, size_t *count, struct dt_error *err);

/* Whether a program of this name (a path or a bare name) is a Python interpreter by its name alone. */
bool dt_host_python_name(const char *name);

#endif
