/* The inside of the recorder: its threads from one look to the next. Not for other rooms. */
#ifndef DT_SAMPLE_RECORDER_INSIDE_H
#define DT_SAMPLE_RECORDER_INSIDE_H

#include "sample/recorder.h"

struct dt_recorder {
	const struct dt_proc *proc;
	struct dt_mem *live;
	const struct dt_python *python;
	struct dt_sampler *sampler; /* the long way, and the code cache of both */
	struct dt_mem *lane;        /* an image of what the suspect's stack needs */
	struct dt_arena arena;      /* of a look at the suspect alone */
	struct dt_recorded *threads;
	size_t count, capacity;
	uint32_t last_serial;
	bool
	    simple; /* one interpreter with a GIL, and no two thread states name the same thread: the short way holds */
	struct dt_walk_interpreter interpreter; /* that one; only its places are used */
	struct dt_pulse pulse;                  /* of the last look by the short way; zero: there was none */
	uint64_t suspect;                       /* thread state that had the GIL then */
	uint64_t slices;                        /* how often its thread had been put on a CPU */
	bool blocked;                           /* it was */
	bool single;                            /* the process had no other thread then */
	int cpu;                                /* that it was on */
	clockid_t clock;                        /* of the process */
	bool has_clock;
	uint64_t others_ns; /* that all threads but the suspect had been on a CPU, at the last look; 0: not known */
	size_t asked;       /* the thread that was last asked for its state though none of them seemed to have run */
	uint64_t seen_ns;   /* dt_clock_ns() when the threads of the last look stood */
	bool replaced;      /* another program was met: this recorder is of no use any more */
};

/* What one attempt of the short way came to. */
enum dt_attempt {
	DT_ATTEMPT_DONE,
	DT_ATTEMPT_AGAIN, /* something moved */
	DT_ATTEMPT_LATER, /* it stands where a stack cannot be followed: look again when it has got on */
	DT_ATTEMPT_AWAY,  /* it runs on another CPU */
	DT_ATTEMPT_HARD,  /* it is not for the short way */
};

/* One attempt. last: nothing more is tried after it, what cannot be followed is unseen. *taken is valid if done. */
enum dt_attempt dt_short_look(struct dt_recorder *recorder, const struct dt_moment *moment, bool last,
			      enum dt_taken *taken);

/* The thread whose thread state lies at an address; NULL if there is none. */
struct dt_recorded *dt_recorder_find(struct dt_recorder *recorder, uint64_t address);

/* A look begins: nothing is fresh. */
void dt_recorder_begin(struct dt_recorder *recorder);

/* Takes the threads of a look over: those that are new get a number, those that are gone are dropped. look is NULL for
 * a walk of the short way. 0 or -ENOMEM. */
int dt_recorder_meet(struct dt_recorder *recorder, const struct dt_walk *walk, const struct dt_look *look);

/* Adds a thread that the next look at all threads will meet, or drop. NULL: it cannot be told which thread it is. */
struct dt_recorded *dt_recorder_adopt(struct dt_recorder *recorder, const struct dt_walk_thread *walk);

/* Takes over the stack of one thread. */
void dt_recorded_stack(struct dt_recorded *thread, const struct dt_walk_thread *walk);

/* The state of the suspect: the call it is in, NULL if it runs; and the scheduler's account of it. */
void dt_recorder_suspect_state(struct dt_recorder *recorder, struct dt_recorded *suspect,
			       const struct dt_thread_call *call, const struct dt_thread_sched *sched);

/* The states of those threads that have been on a CPU since they were last asked for. */
void dt_recorder_other_states(struct dt_recorder *recorder);

/* Asks for the scheduler's account of all threads, after the long way. */
void dt_recorder_account(struct dt_recorder *recorder);
void dt_recorded_account(struct dt_recorded *thread, const struct dt_thread_sched *now);

/* If the look came too late: threads that ran since the last one were not seen where they were at the moment. */
void dt_recorder_judge(struct dt_recorder *recorder, bool late);
void dt_recorded_unseen(struct dt_recorded *thread);

#endif
