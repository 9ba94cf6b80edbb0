/* The inside of the thread that samples. Not for other rooms. */
#ifndef DT_RECORD_WATCHER_INSIDE_H
#define DT_RECORD_WATCHER_INSIDE_H

#include <pthread.h>

#include "base/event.h"
#include "record/allowance.h"
#include "record/instants.h"
#include "record/respite.h"
#include "record/seating.h"
#include "record/watcher.h"

#define DT_GAP_NS UINT64_C(1000000000) /* who wakes so much later than it should was stopped */

/* With what a stop takes, about so many a second are allowed. */
#define DT_STOPS_RATE (1e9 / DT_STOPPED / 60000)

/* What is asked for by who looks after the recording: a stop, or a look. */
struct dt_watcher_held {
	uint64_t which;    /* 0: none */
	uint64_t asked_ns; /* the last time */
	uint64_t seen_ns;  /* how long it was seen to last */
};

struct dt_watcher {
	struct dt_watcher_options options;
	struct dt_ring *ring;
	struct dt_image_pool *pool;
	struct dt_tally tally;
	uint64_t began_ns;
	const struct dt_watchers *all;
	_Atomic int sits;   /* the CPU that it sits on, or one of: */
#define DT_SITS_FREE   (-1) /* nobody that it looks at runs */
#define DT_SITS_BESIDE (-2)
	_Atomic int seat_kind; /* most rounds were made in this one */
	_Atomic uint64_t strays;
	struct dt_seat seat;
	struct dt_stop stop;
	uint64_t rested_ns;  /* for what threads have stood until then there was a rest */
	uint64_t charged_ns; /* of what threads have stood for us, this was charged to their processes */
	struct dt_seating seating;
	struct {
		uint64_t rounds; /* that were made there */
		const char *why;
	} sat[DT_SEAT_FIFO + 1];         /* by kind */
	uint64_t seen_unseen, seen_torn; /* of the tally, before the last round */
	_Atomic(const char *) seat_why;
	_Atomic(struct dt_subject *) inbox, outbox;
	_Atomic uint64_t cpu_ns;
	struct dt_subject *subjects; /* that are looked at */
	struct dt_instants instants;
	struct dt_respite respite;                         /* of the process whose looks take longest */
	uint64_t watched_rounds, watched_late, watched_ns; /* of the tally, when the seat was last judged, and when */
	uint64_t beyond_rounds; /* since then: one process, which ran with a real-time priority */
	uint64_t took_ns;       /* by the last round, of CPU time */
	uint64_t since_ns;      /* of the time before, the next round tells nothing */
	uint64_t told_ns;       /* when the sums were told */
	uint64_t slept_ns;      /* when the last sleep began */
	pthread_t thread;
	pthread_mutex_t mutex; /* for what wakes it before its instant: */
	pthread_cond_t called;
	pid_t tid;
	atomic_bool quit;
	atomic_bool parts; /* some of its processes are gone */
	atomic_bool rests; /* it was left behind, and has come back from that look */
	bool got_up;       /* in this round, from the CPU that it sits on */
	struct dt_event ended;
	struct dt_watcher_held held, looked;
	uint64_t looks;           /* so far */
	struct dt_subject *at;    /* the process that the last one is at */
	_Atomic uint64_t look;    /* the number of the look that it is in; 0: none, or: */
#define DT_LOOK_LEFT UINT64_MAX   /* it was left behind in it: all but the look itself belongs to who did that */
	struct dt_watcher *older; /* that was left behind before */
	bool stopped;
};

/* Looks at all of its processes for the instant due_ns, and tells what was seen. Those that are of no use any more, or
 * that somebody else is to have, go to the outbox. Returns the last instant that this was for: some may have passed
 * meanwhile. */
uint64_t dt_watcher_round(struct dt_watcher *watcher, uint64_t due_ns);

/* Around each look at a process, which may hang. From the end one that was left behind does not return. */
void dt_watcher_look_begin(struct dt_watcher *watcher, struct dt_subject *subject);
void dt_watcher_look_end(struct dt_watcher *watcher);

/* Keeps one that was left behind, for ever. */
void dt_watcher_keep(struct dt_watcher *watcher);

/* Hands a process of one to another, which looks at it from its next instant on. */
void dt_watcher_hand_on(struct dt_watcher *to, struct dt_subject *subject);

/* Puts a process into a box. */
void dt_watcher_give_back(struct dt_watcher *w, struct dt_subject *subject);
void dt_watcher_push(_Atomic(struct dt_subject *) *box, struct dt_subject *subject);

#endif
