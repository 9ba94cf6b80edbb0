/* The inside of the recorder: its threads from one look to the next. Not for other rooms. */
#ifndef DT_SAMPLE_RECORDER_INSIDE_H
#define DT_SAMPLE_RECORDER_INSIDE_H

#include "base/index.h"
#include "sample/imprint.h"
#include "sample/recorder.h"

/* How a look is taken, by what the process has. */
enum dt_way {
	DT_WAY_LADDER, /* lists that make no sense, or more interpreters than are asked in each look */
	DT_WAY_GIL,    /* its words tell who can have run: short_look.c */
	DT_WAY_EACH,   /* each thread is asked: each_look.c */
};

/* What one attempt of the short way came to. */
enum dt_attempt {
	DT_ATTEMPT_DONE,
	DT_ATTEMPT_AGAIN, /* something moved */
	DT_ATTEMPT_LATER, /* it stands where a stack cannot be followed: look again when it has got on */
	DT_ATTEMPT_AWAY,  /* it runs on another CPU */
	DT_ATTEMPT_HARD,  /* it is not for the short way */
};

struct dt_away {
	uint64_t address; /* of its thread state; 0: there is none */
	uint64_t slices;  /* how often it had been put on a CPU */
	uint64_t ran_ns;  /* what it had run, as far as that was booked */
	uint64_t seen_ns; /* dt_clock_ns() then */
};

/* An interpreter. */
struct dt_home {
	struct dt_walk_interpreter interpreter; /* only its places and its id are used */
	uint64_t newest;                        /* thread state, when all were met */
	struct dt_pulse pulse;                  /* of the look that is being taken, where each thread is asked */
	size_t attached;                        /* thread states, where that is told */
};
#define DT_HOMES 256 /* one call to the kernel for each, in each look */

/* All threads of the process but those that are known to stand: see runner.c. */
struct dt_crowd {
	struct {
		int tid;
		uint64_t slices;
	} list[32];
	size_t count;
	bool stands; /* all of them were blocked */
};

/* A stack that a thread was met with while it had not the GIL. */
struct dt_stay {
	uint64_t digest;
	bool sleeps;
	enum dt_state state; /* in which it was met blocked there; unknown: it never was */
	const char *call;
};

struct dt_recorder {
	const struct dt_proc *proc;
	struct dt_mem *live;
	const struct dt_python *python;
	struct dt_sampler *sampler;  /* the long way, and the code cache of both */
	struct dt_mem *lane;         /* an image of what the suspect's stack needs */
	struct dt_arena arena;       /* of a look at the suspect alone */
	struct dt_budget budget;     /* of a look, for the stacks that are read one by one */
	struct dt_recorded *threads; /* in the order of their serials */
	size_t count, capacity;
	struct dt_index by_address; /* the place of each */
	struct dt_index by_ident;   /* or id: of threads, while they are compared */
	uint32_t last_serial;
	struct dt_touched touched;        /* in this look; so far */
	struct dt_touched touched_before; /* in the one before */
	uint64_t marked;                  /* thread state that alone may be shown to have the GIL; 0: not known */
	enum dt_way way;
	bool going_on;                          /* the look that is being taken has begun */
	bool together;                          /* some thread has several thread states */
	bool crowded;                           /* some stacks are only proven if nobody runs */
	bool has_clock;                         /* see below */
	struct dt_walk_interpreter interpreter; /* the first one; only its places are used */
	struct dt_home *homes;                  /* all of them, oldest first */
	size_t home_count;
	uint64_t newest_home;  /* its address */
	uint64_t maps_ns;      /* dt_clock_ns() from when on C stacks may be looked for again */
	struct dt_pulse pulse; /* of the last look by the short way; zero: there was none */
	uint64_t suspect;      /* thread state that had the GIL then */
	uint64_t slices;       /* how often its thread had been put on a CPU */
	bool blocked;          /* it was */
	bool single;           /* the process had no other thread then */
	bool presumed;         /* it ran on our CPU with the GIL in hand, and most likely still does */
	int cpu;               /* that it was on */
	unsigned met_so;       /* how often it was, before that was worth to be learnt */
	unsigned mistaken;     /* how often in a row it was not */
	bool real_time;        /* a thread was met with such a priority since that was last asked */
	clockid_t clock;       /* of the process */
	uint64_t clock_ns;     /* that it told last */
	struct dt_imprint imprint;
	uint64_t others_ns; /* that all threads but the suspect had been on a CPU, at the last look; 0: not known */
	size_t asked;       /* the thread that was last asked for its state though none of them seemed to have run */
	uint64_t seen_ns;   /* dt_clock_ns() when the threads of the last look stood */
	uint64_t taken_ns;  /* dt_clock_ns() when the last look that was done was over; 0: there was none */
	struct dt_away away;
	struct dt_stay stays[64]; /* by their digests; one that is pushed out is learnt again */
	uint64_t random;
	uint64_t climb_ns;         /* dt_clock_ns() from when on the long way may be taken again */
	enum dt_attempt attempt;   /* what the last one came to */
	unsigned passed;           /* looks in a row for which there was no time */
	uint64_t all_ns;           /* that the last look at all threads at once took */
	size_t all_count;          /* of so many */
	bool asked_all;            /* in this look, for accounts and states */
	uint64_t up_ns, up_cpu_ns; /* dt_clock_ns() and dt_cpu_ns() since when we do not sit */
	uint64_t waited_ns;        /* in this look, beside, for a CPU */
	uint64_t beside_ns;        /* in this look, beside, in all */
	unsigned doubts;           /* looks in a row in which two thread states named the same thread */
	bool replaced;             /* another program was met: this recorder is of no use any more */
};

/* One attempt. last: nothing more is tried after it, what cannot be followed is unseen. *taken is valid if done. */
enum dt_attempt dt_short_look(struct dt_recorder *recorder, const struct dt_moment *moment, bool last,
			      enum dt_taken *taken);

/* Is a look at all threads at once so long that it must not be taken in a perch? */
bool dt_recorder_has_many(const struct dt_recorder *recorder);

/* As dt_seat_stand_up() and dt_seat_sit_down(). How long we had to wait for a CPU between them is added up. */
void dt_recorder_stand_up(struct dt_recorder *recorder, const struct dt_seat *seat);
void dt_recorder_sit_down(struct dt_recorder *recorder, const struct dt_seat *seat);

/* The threads but the suspect, which was looked at (NULL: there is none): see others_look.c. then: the pulse while it
 * stood. False if some of those that ran are unseen, and all are to be looked at again. */
bool dt_others_look(struct dt_recorder *recorder, const struct dt_moment *moment, const struct dt_pulse *then,
		    const struct dt_recorded *suspect);

/* The same, for DT_WAY_EACH. Threads that were seen are not looked at again in the same look, and those that never are
 * become unseen with dt_each_give_up(). */
enum dt_attempt dt_each_look(struct dt_recorder *recorder, const struct dt_moment *moment, bool last,
			     enum dt_taken *taken);
void dt_each_give_up(struct dt_recorder *recorder);

/* A suspect that is found on another CPU, once for each look: see away.c. Later in the look, with its account then: has
 * it been put on a CPU since (what it did at the moment is not known), had it been put there only after the moment
 * (then it slept), or has it run on without a break? Then it is met as it was at the moment, though it took a while to
 * get there or to stop it: a look is late for who may have slept. */
void dt_away_note(struct dt_recorder *recorder, const struct dt_recorded *suspect, const struct dt_thread_sched *sched);
bool dt_away_was(const struct dt_recorder *recorder, const struct dt_recorded *suspect);
bool dt_away_has_begun(const struct dt_recorder *recorder, const struct dt_recorded *suspect,
		       const struct dt_thread_sched *now);
bool dt_away_came_late(const struct dt_recorder *recorder, const struct dt_moment *moment,
		       const struct dt_thread_sched *now);
void dt_away_ran_on(struct dt_recorder *recorder, const struct dt_recorded *suspect, const struct dt_thread_sched *now);

/* When was it where it is seen, at the earliest that is known? seen_ns, or earlier: see struct dt_early. now: its
 * account in the look, which must still be that behind it. runs: it is on a CPU, or waits for one. */
uint64_t dt_seen_since(const struct dt_recorder *recorder, const struct dt_moment *moment,
		       const struct dt_recorded *thread, const struct dt_thread_sched *now, bool runs,
		       uint64_t seen_ns);

/* The thread whose thread state lies at an address, one that has ended only if there is no other; NULL if there is
 * none. */
struct dt_recorded *dt_recorder_find(struct dt_recorder *recorder, uint64_t address);

/* The thread is gone, though its thread state may be there, or be another one's. */
void dt_recorded_ended(struct dt_recorder *recorder, struct dt_recorded *thread);

/* Who changes what is kept of a thread touches it; or of any: see touched.c. */
void dt_recorder_touch(struct dt_recorder *recorder, const struct dt_recorded *thread);
void dt_recorder_touch_all(struct dt_recorder *recorder);

/* A look begins: nothing is fresh. */
void dt_recorder_begin(struct dt_recorder *recorder);

/* Takes the threads of a look over: those that are new get a number, those that are gone are dropped. look is NULL for
 * a walk that is not one of the ladder; stacks: it was proven, they are taken over as well. 0 or -ENOMEM. */
int dt_recorder_meet(struct dt_recorder *recorder, const struct dt_walk *walk, const struct dt_look *look, bool stacks);

/* How to look at what a walk has found. */
enum dt_way dt_recorder_way(struct dt_recorder *recorder, const struct dt_walk *walk);

/* The interpreters of a walk become those of the recorder. 0 or -ENOMEM. */
int dt_recorder_homes(struct dt_recorder *recorder, const struct dt_walk *walk);

/* Their words, for the look that is being taken. False if an interpreter or a thread state has begun or ended since all
 * were met, as far as that shows. */
bool dt_recorder_pulses(struct dt_recorder *recorder);

/* Has the thread state the GIL of its interpreter, by those words? */
bool dt_recorded_has_gil(const struct dt_recorder *recorder, const struct dt_recorded *thread);

/* Notes which thread states have a thread in common: after each change of threads. */
void dt_recorder_group(struct dt_recorder *recorder);

/* A look is over: of several thread states of one thread only the one that it runs may be shown to run, and has its
 * time. See together.c. */
void dt_recorder_settle(struct dt_recorder *recorder);

/* The thread on whose C stack a place lies: any of its thread states that is not lent. NULL: that is not known. */
struct dt_recorded *dt_recorder_runner(struct dt_recorder *recorder, uint64_t place);

/* Watches all threads but some; later: has none of them run since, and has none begun? */
void dt_crowd_begin(struct dt_crowd *crowd, const struct dt_recorder *recorder, const int *standing, size_t count);
bool dt_crowd_stood(const struct dt_crowd *crowd, const struct dt_recorder *recorder);

/* Its thread is another one from now on. */
void dt_recorded_set_tid(struct dt_recorder *recorder, struct dt_recorded *thread, int tid, int ns_tid);

/* Does no thread state of a walk name the same thread as another one? */
bool dt_recorder_all_differ(struct dt_recorder *recorder, const struct dt_walk *walk);

/* The thread that a walk has found, NULL if it is new. likely: where it is if nothing has changed. */
struct dt_recorded *dt_recorder_known(struct dt_recorder *recorder, const struct dt_walk_thread *walk, size_t likely);

/* Adds a thread that the next look at all threads will meet, or drop. NULL: it cannot be told which thread it is. */
struct dt_recorded *dt_recorder_adopt(struct dt_recorder *recorder, const struct dt_walk_thread *walk);

/* Takes over the stack of one thread; of one of which only outer frames were proven, those are told after that. */
void dt_recorded_stack(struct dt_recorded *thread, const struct dt_walk_thread *walk);
void dt_recorded_tear(struct dt_recorded *thread, const struct dt_walk_thread *walk);

/* Looks several times at the thread whose thread state lies at walk->address, while it runs: what all looks agree on is
 * kept. *torn: they did not agree on the inner frames. 0; -EAGAIN if they agreed on nothing, -ENOMEM. */
int dt_recorder_agree(struct dt_recorder *recorder, struct dt_walk_thread *walk, bool *torn);

/* The state of a thread, or of the suspect: the call it is in, NULL if it runs; has it the GIL, or what stands for it;
 * and the scheduler's account of it, with dt_clock_ns() when that was asked for. */
void dt_recorded_state(const struct dt_recorder *recorder, struct dt_recorded *thread,
		       const struct dt_thread_call *call, bool gil);
void dt_recorder_suspect_state(struct dt_recorder *recorder, struct dt_recorded *suspect,
			       const struct dt_thread_call *call, const struct dt_thread_sched *sched,
			       uint64_t asked_ns);

/* It is ready to run. Had it a CPU at the moment, or did it wait for one? If it has only just woken it slept: see
 * waking.c. seat: it stands on our CPU; NULL: it was put on another one so often, and may have it. */
void dt_recorded_ready(struct dt_recorder *recorder, struct dt_recorded *thread, const struct dt_seat *seat,
		       uint64_t slices, bool gil);

/* Only the suspect can have the GIL, by the words of the look; NULL: there is none. */
void dt_recorder_mark(struct dt_recorder *recorder, const struct dt_recorded *suspect);

/* Has it run, or been ready to, all the time since its account was last taken? now_ns: when this one was. */
bool dt_recorded_ran_on(const struct dt_recorded *thread, const struct dt_thread_sched *now, uint64_t now_ns);

/* It sleeps, or runs without the GIL, where it is. */
void dt_recorded_stays(struct dt_recorder *recorder, const struct dt_recorded *thread, bool sleeps);

/* The states of those threads that have been on a CPU since they were last asked for. seat: of the calling thread,
 * which gets up from it if there are many to be asked; NULL: it does not. */
void dt_recorder_other_states(struct dt_recorder *recorder, const struct dt_seat *seat);

/* Between 0 and 1. */
double dt_recorder_chance(struct dt_recorder *recorder);

/* Asks for the scheduler's account of all threads, after the long way. */
void dt_recorder_account(struct dt_recorder *recorder);
void dt_recorded_account(struct dt_recorded *thread, const struct dt_thread_sched *now, uint64_t asked_ns);

/* If the look came too late, threads that ran since the last one were not seen where they were at the moment: see
 * recorder.h for who is, if we were punctual. */
enum dt_lateness {
	DT_IN_TIME,
	DT_LATE,      /* because looking takes long: those that are blocked now are believed to have been */
	DT_NO_LOOK,   /* there was none: the same, but their stacks are not known */
	DT_OVERSLEPT, /* because we were kept from our CPU: who ran on it until we came ran at the moment */
};
void dt_recorder_judge(struct dt_recorder *recorder, const struct dt_seat *seat, enum dt_lateness late, bool punctual);

/* It was not seen at the moment. ran: it is known to have run then; else that is as likely as it did since the last
 * look. */
void dt_recorded_unseen(struct dt_recorder *recorder, struct dt_recorded *thread, bool ran);

/* Asks for the account of a thread, and for its state if it has run. */
void dt_recorded_ask(struct dt_recorder *recorder, struct dt_recorded *thread);

/* What is known is not what was told: the next look is a whole one, though nobody may have run until then. */
void dt_recorder_ask_again(struct dt_recorder *recorder);

#endif
