/*
 * Whose stack may change while we look? Python changes frames only with the GIL in hand. A GIL's words {last holder,
 * locked, number of switches} are written by every thread state that takes it over from another one. So if they are
 * equal before and after a look, no other thread state than the last holder can have run Python meanwhile, locked or
 * not: that one is suspect, one for each GIL, and all others stood still. The suspect's own stillness needs a proof of
 * its own.
 *
 * Where switches are not counted (2.7, and 3.6 if its library is stripped) the words say who has the GIL, if anybody.
 * That one is suspect: if it stood still it had the GIL all the time, and nobody else can have run. While nobody has it
 * anybody may take it: then every thread of the process is suspect.
 *
 * Two things are not as simple as that. A thread state that is freed may be made anew at the same address, which the
 * words do not show: the look must have found the same thread there as before it, or none. And a thread state names the
 * thread that made it, which need not be the one that runs it. Signs of that are another thread state that names the
 * same thread, and a blocked thread that has nothing of the interpreter on its C stack: then every thread of the
 * process is suspect. One case has no sign: a thread without a thread state of its own that made one for another
 * thread, and computes itself whenever we look.
 *
 * Free-threaded builds have no GIL to go by: there each thread state is suspect on its own, see states.h.
 */
#ifndef DT_SAMPLE_SUSPECTS_H
#define DT_SAMPLE_SUSPECTS_H

#include "sample/tids.h"

struct dt_suspect {
	struct dt_gil_words words;
	uint64_t thread;        /* thread state; 0: nobody has had this GIL, or its last holder is gone */
	uint64_t ident, native; /* as it had them */
	int tid, ns_tid;        /* 0: cannot be told */
	bool running;           /* on a CPU or ready for one */
	uint64_t sp;            /* of its C stack, if it is blocked in a system call; else 0 */
	bool odd;               /* its thread has another thread state in the same interpreter, and may run that */
	size_t interpreter;     /* free-threaded: its index */
	bool attached;          /* free-threaded: its thread may run Python */
	bool unborn;            /* free-threaded: made for a thread that has not begun to run */
	bool shared;            /* free-threaded: its thread has other thread states */
	uint64_t runs;          /* free-threaded: the one thread state that its thread has attached; 0: none, or odd */
	bool counted;           /* slices is valid */
	uint64_t slices;
};

struct dt_suspects {
	struct dt_suspect *list; /* first one for each GIL or thread state, then, if everybody is, all other threads */
	size_t count;
	size_t gils;    /* how many of them stand for a GIL: none on free-threaded builds */
	size_t states;  /* how many stand for a thread state: those, or on free-threaded builds all there are */
	size_t running; /* how many threads among them run */
	bool everybody; /* all threads of the process are in the list */
	bool counted;   /* the interpreter counts how often a GIL changes hands */
	bool unknown;   /* one of them cannot be told: unless everybody is watched, nothing can be proven */
	bool missed;    /* a thread began while everybody was being watched: it is not in the list */
};

struct dt_suspects_wanted {
	bool everybody;   /* there is reason to watch all threads */
	size_t threads;   /* of the process, see dt_walk_all() */
	uint64_t cpu_end; /* dt_cpu_ns() after which the rest is not watched any more: it is unknown then */
};

/* Reads interpreters, GIL words and the kernel's word on each suspect, through the live reader. 0 or a negative errno.
 */
int dt_suspects_collect(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
			struct dt_tids *tids, const struct dt_suspects_wanted *wanted, struct dt_arena *arena,
			struct dt_suspects *suspects);

/* True if every GIL has the same words as then, the walk saw the same ones and no other GIL, and the last holders are
 * the threads that they were. Free-threaded: if the walk saw the same thread states. */
bool dt_suspects_equal(struct dt_mem *live, const struct dt_python *python, const struct dt_suspects *suspects,
		       const struct dt_walk *walk);

/* True if a suspect may be run by another thread than the one it names. Marks those that are odd. */
bool dt_suspects_doubt(struct dt_mem *live, const struct dt_python *python, struct dt_suspects *suspects,
		       const struct dt_walk *walk);

/* Does the C stack of a blocked thread, from sp on, lead back into the interpreter? It does if the thread runs Python:
 * the loop that runs the innermost frame is there. */
bool dt_suspect_runs_python(struct dt_mem *live, const struct dt_python *python, uint64_t sp);

/* True if a suspect that was blocked then has not been on a CPU since. */
bool dt_suspect_slept(const struct dt_proc *proc, const struct dt_suspect *suspect);

/* How often any GIL went from one thread state to another; where that is not counted, how often the suspects were put
 * on a CPU. As long as that number stays the same nothing has moved on. */
uint64_t dt_suspects_switches(const struct dt_suspects *suspects);

/* The suspect that a thread state of a walk is, or NULL. index: its place in the walk, which is the same if nothing has
 * changed. */
const struct dt_suspect *dt_suspects_find(const struct dt_suspects *suspects, uint64_t thread, size_t index);

/* Finds the thread that a suspect names, and what the kernel says of it. False, with the tid 0, if there is none. */
bool dt_suspect_watch(const struct dt_proc *proc, struct dt_mem *live, struct dt_tids *tids,
		      struct dt_suspect *suspect);

/* May a suspect run this thread of the walk? Its own, and where interpreters share a GIL those of the other ones: C
 * code changes from one to another without a trace in the GIL's words. */
bool dt_suspects_may_run(const struct dt_suspects *suspects, const struct dt_walk *walk, size_t thread);

/* Does a GIL that is taken name this thread? */
bool dt_suspects_names(const struct dt_suspects *suspects, int tid);

/* The one thread that runs and that no GIL names, 0 if there is none, or several. */
int dt_suspects_stranger(const struct dt_suspects *suspects);

/* Has the thread a GIL in hand, in its own name or in that of another thread? False also if that cannot be told. */
bool dt_suspects_has_gil(const struct dt_suspects *suspects, int tid);

/* Is the GIL of this suspect taken by another thread than it names? Can only be true where everybody is suspect. */
bool dt_suspects_borrowed(const struct dt_suspects *suspects, const struct dt_suspect *suspect);

#endif
