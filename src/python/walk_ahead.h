/* Reading ahead for the walk. Not for other rooms. */
#ifndef DT_PYTHON_WALK_AHEAD_H
#define DT_PYTHON_WALK_AHEAD_H

#include "mem/mem.h"
#include "python/layout.h"

/* Has an image fetch the frames of many threads in a few calls, instead of one call or more for each thread. What it
 * reads is thrown away: the walk reads it again, out of the image. Errors do not matter here. */
void dt_walk_ahead(struct dt_mem *mem, const struct dt_layout *layout, const uint64_t *threads, size_t count);

#endif
