/*
 * A look at a process that is dead: a core file. Nothing runs, so one look is true (proof: still). Threads are told by
 * their C library's pointer, which Python has as the ident, or by the id that Python keeps; what they did is in their
 * registers.
 */
#ifndef DT_SAMPLE_DEAD_H
#define DT_SAMPLE_DEAD_H

#include "core/core.h"
#include "sample/sampler.h"

struct dt_dead;

/* Both borrowed, and must outlive it. */
int dt_dead_new(struct dt_core *core, const struct dt_python *python, struct dt_dead **dead, struct dt_error *err);
void dt_dead_free(struct dt_dead *dead);

/* Like dt_sampler_look. Frames that lead into memory which is not there end a stack: its inner frames are shown, and
 * the thread is torn. A thread that was just entering Python has the frames that it had before, as far as they can be
 * told. extra may be NULL. */
int dt_dead_look(struct dt_dead *dead, dt_sampler_extra_fn *extra, void *context, const struct dt_look **look,
		 struct dt_error *err);

#endif
