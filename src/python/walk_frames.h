/* The frames of one thread; part of the walk. Not for other rooms. */
#ifndef DT_PYTHON_WALK_FRAMES_H
#define DT_PYTHON_WALK_FRAMES_H

#include "python/walk.h"

/* Fills thread->frames, frame_count, top and end; thread->address is given. Each frame that is read is a step, shown or
 * not. 0, -EFAULT (the thread state itself cannot be read), -ENOMEM. A chain that leads nowhere, or further than the
 * budget, is not an error: it is told by thread->end. */
int dt_walk_frames(struct dt_mem *mem, const struct dt_layout *layout, struct dt_code_cache *codes,
		   struct dt_arena *arena, struct dt_budget *budget, struct dt_walk_thread *thread);

#endif
