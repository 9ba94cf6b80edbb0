/*
 * Holding the suspects that run, by perch or by pause, and what was learnt about either way: refused for good, missed
 * for now. A hold lasts for one look; whoever began one ends it.
 */
#ifndef DT_SAMPLE_HOLD_H
#define DT_SAMPLE_HOLD_H

#include "sample/pause.h"
#include "sample/perch.h"
#include "sample/suspects.h"

#define DT_HOLDS 1024 /* threads stopped at once */
#define DT_MET   32   /* threads that are remembered as met with or without the GIL */

enum dt_verdict {
	DT_PROVEN,
	DT_AGAIN,    /* something moved */
	DT_HOPELESS, /* there is no way to hold a suspect here */
};

/* How often a thread was met with the GIL, less how often without; of the last meetings only. */
struct dt_met {
	int tid, balance;
};

struct dt_attached {
	struct dt_mem *live;
	uint64_t state; /* where the state of a thread state lies */
};

/* A thread that must have its GIL until it is stopped, and what was known of the GILs. */
struct dt_asked {
	const struct dt_holds *holds;
	const struct dt_suspects *suspects;
	int tid;
};

struct dt_paused {
	struct dt_pause_hold hold;
	struct dt_asked asked;
	struct dt_attached attached; /* free-threaded: what it must have attached until then */
};

struct dt_holds {
	const struct dt_proc *proc;
	struct dt_mem *live;
	const struct dt_python *python;
	bool perch_refused;
	bool pause_refused;                                /* by the caller or by the kernel */
	uint64_t refused_ns;                               /* when the kernel did, 0: it did not; asked again later */
	int seen;                                          /* the thread that traces a suspect at the moment, 0: none */
	uint64_t seen_ns;                                  /* since when */
	unsigned perch_misses, pause_denials, without_gil; /* in this look */
	uint64_t without_gil_sign;                         /* of all GILs, or of where such threads are */
	uint64_t without_gil_ns;                           /* since when */
	struct dt_met met[DT_MET];                         /* threads that ran, in this look; a ring */
	size_t met_count;
	bool anybody; /* C stacks are wanted: who runs without the GIL is stopped as well, if in no system call */
	bool insist;  /* stop whoever has the GIL, even if it goes in and out of calls: nothing else has helped */
	unsigned loose_waits; /* free-threaded: for threads that run without their thread state, in this look */
	int tracer;           /* another process that traces the target, 0: none was met */
	int perched;          /* tid */
	struct dt_perch perch;
	uint64_t most_ns;  /* that threads may stand in a look, all together: then no pause begins; DT_HOLD_LONG */
	uint64_t stood_ns; /* dt_pause_sum() when the look began */
	bool hurry; /* a real-time priority is taken while threads stand, where that may be: they do not wait for our
		       CPU */
	bool hurries;
	struct dt_sched saved;    /* how we were scheduled before */
	struct dt_paused *pauses; /* DT_HOLDS of them, made when the first is needed */
	size_t pause_count;
};

/* Nothing may be held. */
void dt_holds_release(struct dt_holds *holds);

/* Forgets what held for the last look only. */
void dt_holds_begin(struct dt_holds *holds);

/* Holds every suspect that runs. Nothing is held unless DT_PROVEN is returned. Only a thread that has the GIL is
 * stopped by a pause, and mostly had it when it was met in this look: one that gave it away may be in the middle of a
 * system call, which a stop would cut short, and one that goes in and out of calls is about to begin the next. On
 * free-threaded builds the thread state that it has attached stands for the GIL, and a single other thread may be
 * perched on besides. window_ns: how long the last look took, 0 if there was none; a perch must be short. */
enum dt_verdict dt_holds_take(struct dt_holds *holds, const struct dt_suspects *suspects, uint64_t window_ns);

/* Free-threaded: stops those that may be stopped, as far as that goes, and lets the others run. */
void dt_holds_take_some(struct dt_holds *holds, const struct dt_suspects *suspects);

bool dt_holds_any(const struct dt_holds *holds);
bool dt_holds_has(const struct dt_holds *holds, int tid);

/* Of a thread that is stopped; NULL: it is not. */
const struct dt_registers *dt_holds_registers(const struct dt_holds *holds, int tid);

/* The one thread that is held, 0 if there are none or several. */
int dt_holds_single(const struct dt_holds *holds);

/* True if everything that was held stood until now. */
bool dt_holds_kept(const struct dt_holds *holds);

/* Lets everybody go. */
void dt_holds_end(struct dt_holds *holds);

#endif
