/*
 * The C frames of a look: walked from the copies that it has (c_stack.h), and put among the Python frames of each
 * thread. Threads that Python does not know are added to the look. From then on a frame may be of either kind:
 * dt_code.native tells which.
 *
 * Files are opened here, and tables and names are read the first time: that takes from milliseconds to a second for a
 * large library, and nobody must be held meanwhile.
 */
#ifndef DT_SAMPLE_NATIVE_STACK_H
#define DT_SAMPLE_NATIVE_STACK_H

#include "sample/sampler.h"

/* Of one process, from one look to the next. */
struct dt_natives;

/* All borrowed; codes are those of the looks. NULL: out of memory. */
struct dt_natives *dt_natives_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
				  struct dt_code_cache *codes, enum dt_native which);
void dt_natives_free(struct dt_natives *natives);

/* In the arena of the look. 0 or -ENOMEM. */
int dt_natives_add(struct dt_natives *natives, struct dt_look *look, struct dt_arena *arena);

#endif
