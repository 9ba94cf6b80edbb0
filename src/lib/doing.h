/* What a process is doing now, in one frame. The inside of src/lib. */
#ifndef DT_LIB_DOING_H
#define DT_LIB_DOING_H

#include "base/arena.h"
#include "sample/sampler.h"

/* Fills function, file, line and state of *process from one look; texts go to the arena. Nothing is paused: where the
 * innermost frame cannot be proven without, function stays NULL. */
int dt_doing(const struct dt_proc *proc, struct dt_mem *mem, const struct dt_python *python, struct dt_arena *arena,
	     struct dt_process *process, struct dt_error *err);

#endif
