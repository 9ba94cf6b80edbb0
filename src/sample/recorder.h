/*
 * Looks at one process again and again, for a recording. What a look has learnt serves the next one: which thread may
 * have run since (the last holder of the GIL, see suspects.h), where its frames lie, which thread has which number.
 * Where nobody has run Python since the last look a look is one read of a file and one of memory; where only the last
 * holder has, its stack alone is read again. What that way cannot prove goes up the ladder of sampler.h, for a bounded
 * time.
 *
 * The way of the short look: the scheduler's account of the suspect, the words of the GIL and its stack in one call,
 * its state, its account again. A thread that is blocked, or was put aside on the CPU that is ours, does not run when
 * it is asked for its state; had it run when the account was first read, its time on a CPU would have gone on until
 * then, and had it begun since, the count of its time slices. So equal accounts prove that it stood all the time. If it
 * has the GIL nobody else ran Python either; if not, the words must be the same after the look.
 */
#ifndef DT_SAMPLE_RECORDER_H
#define DT_SAMPLE_RECORDER_H

#include "proc/thread_files.h"
#include "sample/sampler.h"
#include "sample/seat.h"
#include "sample/stop.h"

struct dt_recorder;

/*
 * A thread of the process, as of the last look. What each look asks of each thread, whether it has run or not, stands
 * first and close together: a process may have hundreds of them, and at a hundred looks a second nothing of this is in
 * the cache of the CPU when the next one comes.
 */
struct dt_recorded {
	uint32_t serial; /* no other thread of this process has or had the same */
	int tid;         /* of the thread that runs it; 0: not known */
	uint64_t address;
	bool main;
	bool lent;   /* its thread is not the one that it names */
	bool behind; /* its thread runs another thread state: this one waits for that, and has no time of its own */
	bool began;  /* this look is the first that has it */
	bool fresh;  /* frames are those of this look; else the stack is the one it had before */
	bool torn;   /* inner frames are left out; never without fresh */
	bool unseen; /* it ran, and its stack could not be proven in time: it has no frames */
	bool gil, gc;
	bool waits; /* it is ready to run, and somebody else had the CPU at the moment */

	/* For the recorder itself. */
	bool counted;      /* sched is valid */
	bool ran;          /* it was on a CPU since the last look */
	bool waited;       /* somebody else had the CPU at the last look, or that is not known */
	bool off;          /* it was on none when it was asked for: its account is whole */
	bool met;          /* in the look that is being taken */
	bool seen;         /* by the look that is being taken, where each thread is looked at on its own */
	bool stands;       /* it was blocked when its stack was seen: until it is put on a CPU that is true */
	bool attached;     /* it may run Python, where that is told */
	bool shared;       /* its thread has other thread states as well */
	bool twin;         /* among them an older one of the same interpreter */
	bool frames_there; /* its stack was not empty when it was last seen */
	bool ended;        /* its thread is gone: the next look at all threads drops it */
	bool asked;        /* where each is looked at on its own: in this look it was asked for, */
	bool blocked;      /* was blocked then, */
	bool elsewhere;    /* or was on another CPU than ours, */
	uint64_t first;    /* had been put on a CPU so often */
	uint64_t first_ns; /* and had run for so long, as far as that was booked */

	/* For who uses the recorder: zero when the thread is new, and then left alone. */
	struct {
		bool known;
		bool stack; /* the one that it has */
		bool named; /* with a name */
		uint8_t state, flags;
		uint8_t sought; /* how often there was none for it when names were read */
		uint8_t counts; /* as what it is counted: a bit for each, of who uses the recorder */
		int tid;
		uint64_t name; /* hash */
		const char *call;
	} told;

	enum dt_state state;
	enum dt_state before; /* its state at the last look */
	const char *syscall;
	const char *call_before; /* the one that it was in at the last look */
	uint64_t spent_ns;       /* on a CPU, by the scheduler's account, since who uses the recorder made it 0 */
	uint64_t span_ns;        /* since the account before the last one, in this look; 0: it was not asked for */
	uint64_t ready_ns;       /* of that it ran, or was ready to, as far as that has been booked */

	/* What only those are asked for that may have run. */
	const struct dt_walk_frame *frames; /* innermost first; only valid until the next look, and if fresh */
	size_t frame_count;
	uint64_t ident, native;
	int64_t interpreter; /* its id */
	int ns_tid;
	unsigned between; /* looks in a row in which it was just entering Python */
	struct dt_thread_files files;
	struct dt_thread_sched sched;
	uint64_t asked_ns;               /* when its account was last asked for */
	uint64_t since_ns;               /* the look before the first one that has it; 0: there was none */
	uint64_t digest[2];              /* of the stack */
	size_t home;                     /* index of its interpreter */
	uint64_t c_stack;                /* see struct dt_walk_thread */
	uint64_t stack_start, stack_end; /* of the C stack of its thread; 0: not known */
	struct dt_thread_booked booked;  /* when it was last asked for; zero: it never was */
	uint64_t aside;                  /* how often we have put it aside since */
};

/* Is there a thread that has it? Not yet before one has taken it: until then it has no frames and no number, or (up to
 * 3.11) the number of the thread that made it. And not any more when that has ended. Who was told of it once is told
 * until then. */
bool dt_recorded_lives(const struct dt_recorded *thread);

enum dt_taken {
	DT_TAKEN_SAME,   /* nobody has run Python: no stack has changed */
	DT_TAKEN_PROVEN, /* by the short way */
	DT_TAKEN_LADDER, /* by the long one */
	DT_TAKEN_AWAY,   /* the thread that has to be seen runs on another CPU: nothing was taken */
	DT_TAKEN_HARD,   /* the long way is needed: nothing was taken */
};

/* May several looks at a thread that runs be compared? */
enum dt_agreement {
	DT_AGREE_NOT,
	DT_AGREE_WHOLE, /* if all of them find the same */
	DT_AGREE_OUTER, /* else the outer frames that they have in common are kept */
};

/* The account of the only thread of a process, asked for when the moment had not passed. Where it is the same in a
 * later look the thread has stood ever since, and is where it was. One that has only got more time on a CPU in the same
 * slice was on it at the moment, and has run on. */
struct dt_early {
	int tid;
	struct dt_thread_sched sched;
	uint64_t asked_ns; /* dt_clock_ns() before that */
};

struct dt_moment {
	const struct dt_seat *seat; /* of the calling thread */
	struct dt_stop *stop;       /* NULL: nobody may be stopped in this look */
	enum dt_agreement agree;
	bool ladder;      /* may the long way be taken? The first look takes it in any case */
	uint64_t hold_ns; /* for so long threads may stand in that, all together; DT_HOLD_LONG: as long as it takes */
	bool more;        /* the look before this one was not done: it is gone on with */
	bool hurry;       /* others are to be looked at in this moment */
	bool overslept;   /* we were woken, or got our CPU, after late_ns: most likely because the target ran */
	bool punctual;    /* nobody did anything on our CPU from the moment on until we came, however late that was: */
	uint64_t due_ns;  /* dt_clock_ns() of the moment */
	uint64_t woke_ns; /* when we came */
	uint64_t late_ns; /* dt_clock_ns() after which a stack that is found is not that of the moment: threads
			     that ran since the last look are unseen then, but for: */
	const struct dt_early *early; /* NULL: it was not asked for */
	uint64_t on_ns;               /* until then who has run on without a break since may be met */
};

/* All borrowed, and must outlive the recorder. Those that are looked at by one thread may share a pool. */
int dt_recorder_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		    const struct dt_options *options, struct dt_image_pool *pool, struct dt_recorder **recorder,
		    struct dt_error *err);
void dt_recorder_free(struct dt_recorder *recorder);

/* One look. 0 or an error of dt_sampler_look(); DT_EAGAIN also if another program runs in the process. */
int dt_recorder_take(struct dt_recorder *recorder, const struct dt_moment *moment, enum dt_taken *taken,
		     struct dt_error *err);

/* After a look that was not done and for which there is no time: who was to be seen, and all that have run, are unseen.
 */
void dt_recorder_pass(struct dt_recorder *recorder);

/* The next look is at all threads. */
void dt_recorder_refresh(struct dt_recorder *recorder);

/* All stacks are fresh at the next look: what was told of them is lost. */
void dt_recorder_forget(struct dt_recorder *recorder);

/* Called in each look at all threads while its proof stands: see dt_sampler_set_extra(). */
void dt_recorder_set_extra(struct dt_recorder *recorder, dt_sampler_extra_fn *extra, void *context);

/* After DT_TAKEN_AWAY, and for the next moment: the CPU of the thread that matters. -1: not known. */
int dt_recorder_cpu(const struct dt_recorder *recorder);

/* Was a thread met with a real-time priority since this was last asked? Who has one is not put aside for a look. */
bool dt_recorder_real_time(struct dt_recorder *recorder);

/* dt_clock_ns() when a look last left the seat, to come back to it. */
uint64_t dt_recorder_up_ns(const struct dt_recorder *recorder);

/* Has it spent time on a CPU since this was last asked, as far as the kernel has booked that? */
bool dt_recorder_ran(struct dt_recorder *recorder);

/* How long the last look had to wait for a CPU, having left the perch: nobody was kept from one meanwhile. */
uint64_t dt_recorder_waited(const struct dt_recorder *recorder);

/* For how long the last look was not in the perch, in all. */
uint64_t dt_recorder_beside(const struct dt_recorder *recorder);

/* How much CPU time the process has spent, its ended threads included, by its own clock. False: that is not known, or
 * not all threads that it has now are. */
bool dt_recorder_spent(struct dt_recorder *recorder, uint64_t *spent_ns);

/* Threads of a recorder, by their places. */
struct dt_touched {
	uint32_t list[32];
	size_t count;
	bool few; /* it has all that are meant; else that may be any */
};

/* Threads that may differ from what was told after the look before this one. False: any may. Each look has to be told,
 * or dt_recorder_forget() called; so has it by whoever changes one of them in a way that is to be told. */
bool dt_recorder_changed(const struct dt_recorder *recorder, struct dt_touched *changed);

/* The threads of the last look, in the order of their serials. */
struct dt_recorded *dt_recorder_threads(struct dt_recorder *recorder, size_t *count);

#endif
