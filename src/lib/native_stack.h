/* The C frames of a snapshot: walked from what a look has copied, and put together with those of Python. */
#ifndef DT_LIB_NATIVE_STACK_H
#define DT_LIB_NATIVE_STACK_H

#include "native/modules.h"
#include "sample/sampler.h"

/* Of one target, from one look to the next. */
struct dt_natives;

/* All borrowed. library: path of the file that holds the interpreter. NULL: out of memory. */
struct dt_natives *dt_natives_new(const struct dt_proc *proc, struct dt_mem *live, const char *library);
void dt_natives_free(struct dt_natives *natives);

/* Begins a look: modules may have come. */
int dt_natives_begin(struct dt_natives *natives);

/* Fills in frames, frame_count and native_missing of a thread, whose Python frames are there already (none of a foreign
 * one); walk is what they were made of, or NULL. 0 or -ENOMEM. */
int dt_natives_add(struct dt_natives *natives, enum dt_native which, const struct dt_c_stack *stack,
		   const struct dt_walk_thread *walk, struct dt_arena *arena, struct dt_thread *thread);

#endif
