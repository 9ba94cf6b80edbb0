/*
 * One look: interpreters, their GILs and threads, the frames of each thread, with names and lines. The walk believes
 * nothing: loops, lengths and pointers are bounded. What it yields is true only if the target stood still meanwhile,
 * which src/sample proves.
 */
#ifndef DT_PYTHON_WALK_H
#define DT_PYTHON_WALK_H

#include "base/arena.h"
#include "mem/mem.h"
#include "python/budget.h"
#include "python/code.h"
#include "python/find.h"

#define DT_WALK_INTERPRETERS 4096
#define DT_WALK_THREADS      65536
#define DT_WALK_SPARE        4096   /* thread states without a thread of their own: see dt_walk_all() */
#define DT_WALK_FRAMES       500000 /* of all threads together, those that are not shown included */

struct dt_gil_words {
	uint64_t address; /* of the GIL; 0: there is none, or nobody needs it now (free-threaded builds) */
	uint64_t holder;  /* thread state that has it, or had it last */
	uint64_t current; /* that runs now, where the runtime keeps it (up to 3.11): C code may have changed from the
			     one that took the GIL to another one; else 0 */
	uint64_t switches;
	int32_t locked; /* -1 not yet made, 0, 1 */
};

struct dt_walk_frame {
	const struct dt_code *code;
	uint64_t address; /* of the frame */
	uint64_t ip;      /* as found in memory */
	uint64_t place; /* on the C stack, in the call of the interpreter's loop that runs it, if it is an entry; 0: not
			   known (up to 3.10, and in 3.11 before dt_walk_places()) */
	uint32_t line;
	bool entry;
};

enum dt_walk_end {
	DT_WALK_WHOLE,   /* the chain ended where it should */
	DT_WALK_BROKEN,  /* a pointer led nowhere, a loop, a frame without code, or the budget was used up */
	DT_WALK_BETWEEN, /* the thread is just entering or leaving: look again */
};

struct dt_walk_thread {
	uint64_t address;             /* of the thread state */
	uint64_t ident, native;       /* native: id in the target's PID namespace, 0 if Python does not keep it */
	size_t interpreter;           /* index */
	bool attached;                /* its thread may run Python; false where Python does not tell */
	struct dt_walk_frame *frames; /* innermost first */
	size_t frame_count;
	uint64_t top;     /* innermost frame's address */
	uint64_t c_stack; /* a place on the C stack of the thread that runs them, which was left there when Python was
			     last entered; 0: no frames, or a version that leaves nothing there (up to 3.10) */
	enum dt_walk_end end;
};

struct dt_walk_interpreter {
	uint64_t address;
	int64_t id;
	struct dt_gil_words gil;
	uint64_t wait_start, wait_end; /* a futex in there is a wait for its GIL; equal: not known */
	bool collecting;
};

struct dt_walk {
	struct dt_walk_interpreter *interpreters; /* oldest (main) first */
	size_t interpreter_count;
	struct dt_walk_thread *threads; /* of all interpreters, oldest first within each */
	size_t thread_count;
	bool lists_whole;        /* interpreter and thread lists ended properly */
	uint64_t main_ident;     /* of the runtime's first thread, 0 if unknown */
	struct dt_budget budget; /* what is left of it: whoever reads more in the same look goes by it */
};

/* Interpreters and their GIL words alone: what the sampler compares before and after. Arena memory. 0 or a negative
 * errno; -EAGAIN while there is no interpreter (Python is starting or ending). */
int dt_walk_interpreters(struct dt_mem *mem, const struct dt_python *python, struct dt_arena *arena,
			 struct dt_walk *walk);

/* Reads the words of one GIL again. */
int dt_walk_gil(struct dt_mem *mem, const struct dt_python *python, uint64_t address, struct dt_gil_words *words);

/* The thread state that runs with this GIL, 0 if nobody has it. */
uint64_t dt_walk_runs(const struct dt_gil_words *words);

/* Does the interpreter count how often its GIL changes hands? Where it does not, or nobody can tell where it does,
 * words that are equal before and after a look say nothing of what was between. */
bool dt_walk_gil_counted(const struct dt_python *python);

/* Threads as well, without their frames. threads: see dt_walk_all(). */
int dt_walk_threads(struct dt_mem *mem, const struct dt_python *python, size_t threads, struct dt_arena *arena,
		    struct dt_walk *walk);

/* Everything, within the budget of a look. Frames that it was not enough for are left out: their threads are there,
 * with the end DT_WALK_BROKEN. threads: how many the process has (0: not known). Each of them may have a thread state
 * in every interpreter; some more are there for threads that are about to begin, or were left behind: by threads that
 * ended, by a fork that Python did not see. A list that is longer by far was made up, and every thread state costs the
 * kernel a good deal of work: such a list is cut, and not whole. */
int dt_walk_all(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes, size_t threads,
		struct dt_arena *arena, struct dt_walk *walk);

/* The frames of some of the threads that dt_walk_threads() found: wanted has an entry for each. The code cache has
 * begun a look. A thread that cannot be read any more has the end DT_WALK_BROKEN. 0, -ENOMEM. */
int dt_walk_some(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes,
		 struct dt_arena *arena, struct dt_walk *walk, const bool *wanted);

/* What tells cheaply whether anything can have changed since the last time: the words of a GIL, and the heads of the
 * lists, in one call to the kernel. interpreter is one that a walk found. 0 or a negative errno. */
struct dt_pulse {
	struct dt_gil_words words;
	uint64_t interpreters, threads; /* first interpreter, first thread state of this one: new ones are put first */
	uint64_t code_generation;       /* 0 where it is not counted */
	bool collecting;
};
int dt_walk_pulse(struct dt_mem *mem, const struct dt_python *python, const struct dt_walk_interpreter *interpreter,
		  struct dt_pulse *pulse);

/* One thread state and its frames. thread->address and ->interpreter are given; the code cache has begun a look. 0,
 * -EFAULT, -ENOMEM. */
int dt_walk_one(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes, struct dt_arena *arena,
		struct dt_budget *budget, struct dt_walk_thread *thread);

/* Fills in the places of the entries of 3.11, which are found by another way than the frames. Nothing is changed where
 * the two do not fit, or of other versions. */
void dt_walk_places(struct dt_mem *mem, const struct dt_python *python, struct dt_walk_thread *thread);

/* Where a thread that enters Python has a C frame which is made current before it is filled in: the frames from the one
 * before it on, which are those that the thread had until then. Fills thread like dt_walk_all, from thread->address on;
 * *cframe is the place of the current C frame. -ENOENT where there are no C frames, -EFAULT, -ENOMEM. */
int dt_walk_before(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes,
		   struct dt_arena *arena, struct dt_budget *budget, struct dt_walk_thread *thread, uint64_t *cframe);

#endif
