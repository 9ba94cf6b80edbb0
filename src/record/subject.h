/*
 * One process of a recording. It is made by a thread that attaches, handed to one that samples, and handed back when
 * the process has ended or another thread is to sample it: at any time it belongs to one of them. Each round is told to
 * the collector as messages (message.h), whole or not at all.
 */
#ifndef DT_RECORD_SUBJECT_H
#define DT_RECORD_SUBJECT_H

#include <stdatomic.h>

#include "base/index.h"
#include "record/allowance.h"
#include "record/ring.h"
#include "record/strays.h"
#include "record/told.h"
#include "sample/recorder.h"

/* What looks came to, over all processes of a sampling thread. Read by others while it goes on. */
struct dt_tally {
	_Atomic uint64_t rounds, samples, late, unseen, settled, torn, lost, stops, stopped_ns;
	_Atomic uint64_t watched_ns; /* in which there was somebody to look at */
};

/* How far a round has come with a process. */
enum dt_stage {
	DT_STAGE_NEXT, /* it has not been looked at */
	DT_STAGE_AWAY, /* its thread runs on another CPU */
	DT_STAGE_HARD, /* the long way is needed */
	DT_STAGE_DONE,
};

/* Names that one interpreter's threads have there. */
struct dt_subject_names {
	int64_t interpreter; /* its id */
	struct dt_thread_name *names;
	size_t count;
};

struct dt_subject {
	uint32_t number; /* within the recording, from 1 on; given when it is handed over */
	int pid;
	struct dt_recorder *recorder;
	const struct dt_python *python;
	struct dt_subject *next;    /* in the list of whoever has it */
	void *owner;                /* for who made it */
	uint64_t met_ns;            /* dt_clock_ns() at the end of the first look */
	uint64_t lived_ns, ran_ns;  /* before it could be looked at, as far as that time is the recording's; on a CPU */
	uint64_t until_ns;          /* dt_clock_ns() to which lived_ns goes */
	struct dt_image_pool *pool; /* empty: has that of the thread that looks */

	/* For the thread that samples. */
	enum dt_stage stage;
	unsigned tries;   /* in this round */
	uint64_t took_ns; /* by looks in this round */
	bool active;      /* a thread of it ran in the last round */
	bool asked;       /* its account was read when the moment was not over yet: */
	struct dt_early early;
	struct dt_allowance allowance; /* for stops */
	uint64_t stood_ns;             /* how long its threads have stood for looks, all together, the first included */

	/* For the crew: crew.h. */
	struct dt_subject *beside; /* the next of all */
	uint64_t busy_ns;          /* dt_clock_ns() when it was last busy */
	uint64_t spent_before;     /* spent_ns when it was last asked */
	_Atomic uint64_t spent_ns; /* CPU time, as far as it was seen */
	atomic_bool first;         /* is it with the first thread of the crew? */
	atomic_bool back;          /* it is to go there */
	atomic_bool gone;          /* the process has ended: it is given back before the next look */

	bool left; /* who looks at it does not come back: it, its code and its err are to be left alone for ever */

	uint32_t rounds;     /* that were told */
	uint64_t last_ns;    /* dt_clock_ns() up to which time was told: the next round stands for what follows */
	uint64_t since_ns;   /* of the time before, the next one tells nothing; 0: there is no such time */
	uint64_t names_ns;   /* when it was last decided to read names */
	uint64_t names_took; /* how long that took */
	bool names_wanted;   /* in the next look at all threads */
	bool names_read;     /* in this one */
	uint8_t *told_codes; /* a bit for each id of a code that was told, from the oldest on */
	uint32_t oldest_code;
	size_t told_bytes;
	struct dt_subject_names *names; /* of each interpreter, of the last look that read them, in its arena */
	size_t name_groups;
	struct dt_index by_ident; /* places in names */
	uint32_t *threads;        /* serials that were told, in order, to tell which are gone */
	size_t thread_count, thread_capacity;
	unsigned counts[DT_TOLD_COUNTS]; /* how many threads are counted as what, as they were told */
	unsigned sought;                 /* how often the name of the newest thread without one was looked for */
	struct dt_strays strays;

	int code; /* why it left, DT_E*; 0 while it is here */
	struct dt_error err;
};

/* All borrowed, and must outlive the subject. */
int dt_subject_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		   const struct dt_options *options, struct dt_subject **subject, struct dt_error *err);
void dt_subject_free(struct dt_subject *subject);

/* The first look, which takes longer than any other, before it is handed to a thread that samples. It may block for
 * good: see base/patience.h. It stands for no time: nobody chose its moment but the process, by its beginning. */
int dt_subject_meet(struct dt_subject *subject, struct dt_image_pool *pool, struct dt_error *err);

/* The time that a look stands for: from the end of that of the last one, or from since_ns on if that is later (0: it is
 * not, and nothing is missing), to to_ns. All by dt_clock_ns(). */
struct dt_span {
	uint64_t began_ns; /* when the recording did */
	uint64_t since_ns, to_ns;
	uint64_t half_ns; /* until then it is as the last look found it */
	uint64_t at_ns;   /* when the look took place */
};

/* What it is at before its first instant: up to told_ns (all else is told up to then, dt_instants) it has the time that
 * it lived before it could be looked at, lived_ns, without a stack. So the look at the first instant stands for as much
 * as any other, and what follows the last instant of its life has been made up for: on average that is right, however
 * short the life is. False if the ring had no room. */
bool dt_subject_begin(struct dt_subject *subject, struct dt_ring *ring, uint64_t began_ns, uint64_t told_ns,
		      struct dt_tally *tally);

/* Nobody looked at it until now, or what was seen was not told: nothing will be told of that time. */
void dt_subject_missed(struct dt_subject *subject, uint64_t now_ns);

/* Tells the last look. False if the ring had no room: the round is lost, and its time is added to the next one. */
bool dt_subject_tell(struct dt_subject *subject, struct dt_ring *ring, const struct dt_span *span,
		     struct dt_tally *tally);

#endif
