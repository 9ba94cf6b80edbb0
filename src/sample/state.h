/* What a thread is doing, from the kernel's word and the GIL's place; never from function names. */
#ifndef DT_SAMPLE_STATE_H
#define DT_SAMPLE_STATE_H

#include "machine/machine.h"
#include "proc/proc.h"
#include "python/walk.h"

/* gil_start and gil_end: a thread that waits on a futex between them waits for the GIL. *name is the system call, NULL:
 * none, or one without a name. */
enum dt_state dt_state_of(const struct dt_proc *proc, int tid, uint64_t gil_start, uint64_t gil_end, const char **name);

/* The same from a call that is known: the thread runs, or is in a system call of that machine. */
enum dt_state dt_state_of_call(const struct dt_machine *machine, const struct dt_thread_call *call, uint64_t gil_start,
			       uint64_t gil_end, const char **name);

/* Of a thread that is blocked in no system call: it waits for a page, if it has not been stopped or ended. */
enum dt_state dt_state_without_call(const struct dt_proc *proc, int tid);

/* The same from the letter in stat alone: what is left where the kernel does not tell the system call, and the only
 * place where it tells that a thread is stopped. */
enum dt_state dt_state_by_letter(const struct dt_proc *proc, int tid);

#endif
