/* All processes of a host: what the survey, dt_find and dt_children share. The inside of src/lib. */
#ifndef DT_LIB_HOST_H
#define DT_LIB_HOST_H

#include "base/error.h"
#include "proc/proc.h"

/* All pids, ascending; the caller frees *pids. */
int dt_host_pids(int **pids, size_t *count, struct dt_error *err);

#endif
