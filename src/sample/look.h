/* The inside of the sampler: what its rungs share. Not for other rooms. */
#ifndef DT_SAMPLE_LOOK_H
#define DT_SAMPLE_LOOK_H

#include "sample/hold.h"
#include "sample/native_stack.h"
#include "sample/sampler.h"
#include "sample/suspects.h"

struct dt_sampler {
	const struct dt_proc *proc;
	struct dt_mem *live, *image;
	const struct dt_python *python;
	struct dt_options options;
	struct dt_code_cache *codes;
	struct dt_tids *tids;
	struct dt_arena arenas[2]; /* of the look that is shown and the one before it */
	unsigned current;
	struct dt_arena scratch; /* of one attempt */
	dt_sampler_extra_fn *extra;
	void *context;
	bool warm;      /* there was a look: codes and pages are known */
	bool everybody; /* thread states may be run by other threads than they name: all threads are suspect */
	unsigned between, broken, unknown, ambiguous, skewed;
	bool labelled; /* the look has its ids and states */
	struct dt_suspects suspects;
	uint64_t began_ns, began_cpu_ns;
	uint64_t limit_ns; /* after which nothing more is tried; 0: the usual time */
	size_t threads;    /* that the process had then; 0: not known */
	uint64_t random;
	uint64_t unknown_switches; /* of all GILs, when a suspect could not be told */
	struct dt_holds holds;
	struct dt_natives *natives; /* NULL: no C frames are asked for */
	struct dt_look look;
};

/* One look at everything into the current arena. What it is worth is for the caller to know. */
int dt_look_once(struct dt_sampler *s);

/* Has this snapshot taken so long that nothing more is tried? dt_look_clock() begins the count. */
void dt_look_clock(struct dt_sampler *s);
bool dt_look_late(const struct dt_sampler *s);

/* Finds the suspects anew. */
int dt_look_collect(struct dt_sampler *s);

/* Makes look.threads, one for each thread of the walk. */
int dt_look_threads(struct dt_sampler *s);

bool dt_look_has_gil(const struct dt_look *look, const struct dt_walk_thread *thread);

/* Ids and states, which cost a file each. */
int dt_look_label(struct dt_sampler *s);

/* The proofs of a look during which everything stood still, and still does; of few threads their states as well. */
int dt_look_judge(struct dt_sampler *s);

/* Keeps the outer frames of a thread and marks it torn. */
void dt_look_tear(struct dt_look *look, struct dt_look_thread *thread, size_t outer_frames);

/* Rung 4: see agree.h. */
int dt_look_until_agreed(struct dt_sampler *s);

#endif
