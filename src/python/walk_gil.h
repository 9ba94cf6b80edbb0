/* The GIL of an interpreter: shared by walk.c and its like, not for other rooms. */
#ifndef DT_PYTHON_WALK_GIL_H
#define DT_PYTHON_WALK_GIL_H

#include "python/walk.h"

/* Finds the GIL that interpreter->address uses; fills its words, and where threads wait for it. 0 or a negative errno.
 */
int dt_walk_find_gil(struct dt_mem *mem, const struct dt_python *python, struct dt_walk_interpreter *interpreter);

#endif
