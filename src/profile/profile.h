/*
 * The one model of a recording. Strings, functions, locations and stacks are interned: each is stored once and named by
 * a number that counts up from 1 in order of appearance, so a file can be appended to and read again as it was written.
 * 0 stands for "none" everywhere: the empty string, no function, the stack without frames.
 *
 * A stack is a node of a tree that grows from the outermost frame inwards: {parent, location}. Samples are runs: a
 * thread that was seen with the same stack in the same state again and again is one run with a longer time. Runs of one
 * thread do not overlap and come in order; runs of different threads may come in any order.
 *
 * Times are nanoseconds since the recording began. All that is added may come from a hostile file or target: numbers
 * are checked here, once, so that everybody who reads the model may trust them. A profile belongs to one thread at a
 * time.
 */
#ifndef DT_PROFILE_PROFILE_H
#define DT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <darter/darter.h>

/* Bounds; -ENOMEM beyond. */
#define DT_PROFILE_STRINGS   ((size_t)16 << 20)
#define DT_PROFILE_STRING    ((size_t)1 << 20)   /* bytes of one string */
#define DT_PROFILE_TEXT      ((size_t)512 << 20) /* bytes of all strings */
#define DT_PROFILE_FUNCTIONS ((size_t)8 << 20)
#define DT_PROFILE_LOCATIONS ((size_t)16 << 20)
#define DT_PROFILE_STACKS    ((size_t)64 << 20)
#define DT_PROFILE_DEPTH     65536u
#define DT_PROFILE_PROCESSES ((size_t)1 << 20)
#define DT_PROFILE_THREADS   ((size_t)4 << 20)
#define DT_PROFILE_RUNS      ((size_t)128 << 20)

/* No time ends later, nanoseconds; -EINVAL beyond. */
#define DT_PROFILE_TIME ((uint64_t)1 << 62)

enum dt_function_kind {
	DT_FUNCTION_PYTHON,
	DT_FUNCTION_NATIVE,
	DT_FUNCTION_MARK, /* no function but a word about the stack: its name is what is shown, in brackets */
};

struct dt_profile_function {
	uint32_t name, file; /* strings */
	uint32_t first_line;
	enum dt_function_kind kind;
};

struct dt_profile_location {
	uint32_t function;
	uint32_t line; /* 0: not known */
};

struct dt_profile_stack {
	uint32_t parent;   /* the stack without its innermost frame; always a smaller number */
	uint32_t location; /* of the innermost frame */
	uint32_t depth;    /* frames: 1 and up */
};

struct dt_profile_process {
	int32_t pid, ppid;
	uint32_t command, executable, version, container; /* strings */
	uint64_t began_ns, ended_ns; /* when it joined the recording and left it; ended_ns 0: it was there at the end */
	uint64_t start_ns;           /* by CLOCK_BOOTTIME, as the kernel tells it, to a tick; 0: not known */
	uint64_t image;              /* of its program: another one after an exec; 0: not known */
};

struct dt_profile_thread {
	uint32_t process;
	uint32_t name; /* string */
	uint64_t tid;  /* as the kernel numbers it for us, 0: not known */
	uint64_t ident;
	int64_t interpreter;
	bool main;
};

enum dt_run_flags {
	DT_RUN_GIL = 1,    /* it held the GIL */
	DT_RUN_GC = 2,     /* while garbage was collected */
	DT_RUN_TORN = 4,   /* inner frames could not be proven and are left out */
	DT_RUN_UNSEEN = 8, /* it ran, but no stack was seen in time: the stack is 0 */
};

struct dt_profile_run {
	uint64_t start_ns; /* the run stands for start_ns .. start_ns + wall_ns */
	uint64_t wall_ns;
	uint64_t cpu_ns; /* that the thread was on a CPU, by the scheduler's account: in this time, and before it since
			    it was last met running */
	uint32_t samples;
	uint32_t thread;
	uint32_t stack;
	uint32_t call; /* string: the system call it was in, 0: none */
	uint8_t state; /* enum dt_state */
	uint8_t flags; /* enum dt_run_flags */
};

/* How a recording was made, and what it is worth. */
struct dt_profile_quality {
	uint64_t samples; /* looks at one thread */
	uint64_t rounds;  /* wake-ups */
	uint64_t late;    /* rounds that came too late for the stack that they found */
	uint64_t unseen;  /* samples whose stack was not seen */
	uint64_t settled; /* samples that needed a second way to be proven */
	uint64_t torn;
	uint64_t lost;              /* rounds that did not take place */
	uint64_t stops, stopped_ns; /* pauses of threads of the target, and how long they stood in all */
	uint64_t own_cpu_ns, own_rss;
	uint64_t missed; /* processes that ended before they could be looked at, as far as they were noticed */
};

struct dt_profile_meta {
	uint64_t began_realtime_ns;
	uint64_t began_boot_ns; /* by CLOCK_BOOTTIME, which nobody sets; 0: not known */
	uint64_t
	    duration_ns; /* that was recorded: less than from beginning to end if nothing is known of a part of it */
	/* What was recorded, and is in no figure any more, since a block of its file was damaged: time of which nothing
	 * at all is left, and samples. */
	uint64_t damaged_ns, damaged_samples;
	uint64_t looked_ns;      /* if several recordings lay beside each other in time, the sum of them; see
				    dt_profile_looked() */
	double rate;             /* asked for, per second */
	uint32_t mode;           /* string: "wall", "cpu", "gil" */
	uint32_t rung, rung_why; /* strings: how stacks were proven, and why in this way */
	uint32_t boot;           /* string: which run of the kernel began_boot_ns counts from; 0: not known */
	uint32_t host, darter;   /* strings: name of the host, version of darter */
	struct dt_profile_quality quality;
};

struct dt_profile;

/* What a recording says where it could not keep all: the name of a function of the kind DT_FUNCTION_MARK, which is a
 * stack of its own, and that of threads (see dt_profile_other()). */
#define DT_TOO_MANY_STACKS "too many stacks"
#define DT_OTHER_THREADS   "other threads"

struct dt_profile *dt_profile_new(void);
void dt_profile_free(struct dt_profile *profile);

/* No more stacks are taken than that, those that are there stay: less than DT_PROFILE_STACKS. */
void dt_profile_limit_stacks(struct dt_profile *profile, size_t limit);

/* ---- adding: 0 or a negative errno (-ENOMEM, -EINVAL for numbers that name nothing) ---- */

/* Any bytes but NUL. */
int dt_profile_string(struct dt_profile *profile, const char *text, size_t length, uint32_t *id);
int dt_profile_function(struct dt_profile *profile, const struct dt_profile_function *function, uint32_t *id);
int dt_profile_location(struct dt_profile *profile, const struct dt_profile_location *location, uint32_t *id);
int dt_profile_stack(struct dt_profile *profile, uint32_t parent, uint32_t location, uint32_t *id);

/* Not interned: each call makes a new one. A process or thread may be changed later (a name that becomes known). */
int dt_profile_add_process(struct dt_profile *profile, const struct dt_profile_process *process, uint32_t *id);
int dt_profile_add_thread(struct dt_profile *profile, const struct dt_profile_thread *thread, uint32_t *id);
int dt_profile_set_process(struct dt_profile *profile, uint32_t id, const struct dt_profile_process *process);
int dt_profile_set_thread(struct dt_profile *profile, uint32_t id, const struct dt_profile_thread *thread);

/* Joined with the last run of its thread if it goes on where that one ends and is of the same kind. -EINVAL if it
 * begins before the end of that one, and for an unseen one with a stack. */
int dt_profile_add_run(struct dt_profile *profile, const struct dt_profile_run *run);

/* Numbers that name no string become 0, and so does a rate that is none. */
void dt_profile_set_meta(struct dt_profile *profile, const struct dt_profile_meta *meta);

/* ---- reading: numbers run from 1 to the count; asking for another one is a mistake of the caller ---- */

struct dt_profile_counts {
	uint32_t strings, functions, locations, stacks, processes, threads;
	size_t runs;
};
struct dt_profile_counts dt_profile_counts(const struct dt_profile *profile);

/* NUL-terminated; "" for 0. Lives as long as the profile. */
const char *dt_profile_text(const struct dt_profile *profile, uint32_t string);

/* Valid until something is added; all zero for 0. */
const struct dt_profile_function *dt_profile_function_at(const struct dt_profile *profile, uint32_t id);
const struct dt_profile_location *dt_profile_location_at(const struct dt_profile *profile, uint32_t id);
const struct dt_profile_stack *dt_profile_stack_at(const struct dt_profile *profile, uint32_t id);
const struct dt_profile_process *dt_profile_process_at(const struct dt_profile *profile, uint32_t id);
const struct dt_profile_thread *dt_profile_thread_at(const struct dt_profile *profile, uint32_t id);
const struct dt_profile_meta *dt_profile_meta(const struct dt_profile *profile);

/* In the order in which they were added; index from 0. */
const struct dt_profile_run *dt_profile_runs(const struct dt_profile *profile);

/* Forgets the runs (they were written to a file) and keeps everything else. */
void dt_profile_forget_runs(struct dt_profile *profile);

/* Adds another recording, which began at the same time or later: as they lie in time, by the clock since boot if both
 * are of the same boot, else by the wall clock. A process that is in both is one process, whatever it calls itself by
 * now, and so are its threads (files of a rotation); what was recorded of a thread twice counts once, and how much that
 * was is added to *twice_ns. Figures of quality add up. 0, -ENOMEM, or -EINVAL for times that are too far apart; this
 * one is half done then, and good for nothing but to be freed. */
int dt_profile_merge(struct dt_profile *profile, const struct dt_profile *other, uint64_t *twice_ns);

/* How long somebody looked, which is what rounds and our own cost are of: the duration, or more if several did at the
 * same time. */
uint64_t dt_profile_looked(const struct dt_profile_meta *meta);

/* Is it known that both were recorded between the same start of a machine and its end? Then their clocks agree. */
bool dt_profile_same_boot(const struct dt_profile *a, const struct dt_profile *b);

/* Is a function no function but the mark DT_TOO_MANY_STACKS? */
bool dt_profile_too_many(const struct dt_profile *profile, uint32_t function);

/* Is it no thread but an entry for several, one after the other? Its ident is a number from 1
 * on, where that of a thread is an address. */
bool dt_profile_other(const struct dt_profile_thread *thread);

/* Is a thread in this state counted as idle? One that waits: for time, a lock, an event, a child, or stopped. Waiting
 * for the GIL, working in a system call and states that are not known are not idle. */
bool dt_profile_idle(enum dt_state state);

/* The same of a run. Who sleeps with the GIL in hand keeps all others from running: that is not idle. */
bool dt_profile_run_idle(const struct dt_profile_run *run);

#endif
