/*
 * Suspects of a free-threaded build: without a GIL every thread state is one, for its thread may change its frames
 * whenever it runs. Nobody else does: frames are changed by the thread that runs them, a thread state is put into the
 * list or taken out of it by a thread that has one or is just getting its first. So if every thread that has a thread
 * state was blocked or held during a look, each of them between two equal counts of its own, and the list was the same
 * before and in the look, no stack and no list changed meanwhile. A thread that got its first thread state during the
 * look makes the lists differ, or was not seen at all.
 *
 * A GIL that such a build uses now and then (PYTHON_GIL=1, modules that need it) changes nothing: the proof does not go
 * by it. That a thread state may be run by another thread than it names is as with a GIL, see suspects.h; here it
 * matters for each of them.
 *
 * Where the GIL says who may be stopped, here the thread state does: attached means that its thread runs Python, and
 * not a system call that may take long.
 */
#ifndef DT_SAMPLE_STATES_H
#define DT_SAMPLE_STATES_H

#include "sample/suspects.h"

/* The entry of dt_suspects_collect for each thread state of the walk, in its order. Room for them must be there. Ends
 * early, with an unknown suspect, when cpu_end is passed. */
void dt_states_collect(const struct dt_proc *proc, struct dt_mem *live, struct dt_tids *tids,
		       const struct dt_walk *walk, uint64_t cpu_end, struct dt_suspects *suspects);

/* What is told of the threads behind them: which run, and which of several thread states of one thread it runs. 0 or
 * -ENOMEM. */
int dt_states_settle(struct dt_arena *arena, struct dt_suspects *suspects);

/* If everybody is suspect and one thread runs, which has no thread state attached, while another one's is attached that
 * is blocked: then it runs that one. */
void dt_states_lend(struct dt_suspects *suspects);

/* True if the walk found the same thread states, of the same threads, and those that had no thread have none now. */
bool dt_states_equal(struct dt_mem *live, const struct dt_layout *layout, const struct dt_suspects *suspects,
		     const struct dt_walk *walk);

#endif
