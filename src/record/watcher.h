/*
 * The thread that samples. It sleeps until the next instant, looks at each of its processes, tells the rounds into its
 * ring and sleeps again; it never waits for anybody and allocates nothing while nothing is new. Processes come and go
 * through boxes. Without processes it only sleeps.
 */
#ifndef DT_RECORD_WATCHER_H
#define DT_RECORD_WATCHER_H

#include "record/subject.h"

/* Samples per second: above, we would take the CPU away from the target. And what is told then of a perch that was
 * asked for. */
#define DT_PERCH_RATE 5000.0
#define DT_WHY_RATE   "at more than 5,000 samples per second there is no perch"

/* That a word about a seat speaks of where the right to a real-time priority would make it a better one. */
#define DT_RIGHT    "CAP_SYS_NICE"
#define DT_WHY_LATE "with a short time slice we came too late too often"

struct dt_watcher_options {
	int bell;          /* an eventfd that is written to when a process is given back; -1: none */
	double rate;       /* instants per second */
	bool perch;        /* may a perch be taken? */
	bool pause;        /* may threads be stopped? */
	bool pause_always; /* threads are stopped rather than perched on */
	bool native;       /* C stacks are copied: a look takes longer */
};

struct dt_watcher;

/* All that sample one recording. A thread can sit on one CPU only, and going to another one takes a good part of the
 * moment that a look is good for; so a process that is found on a CPU on which another one sits goes to that one, after
 * the round. The list belongs to who made it; while they are at work it only grows, and one that hangs is replaced. */
#define DT_WATCHERS 8
struct dt_watchers {
	_Atomic(struct dt_watcher *) list[DT_WATCHERS];
	_Atomic size_t count;
};

/* Begins at once; began_ns is the beginning of the recording, by dt_clock_ns(). It is not put into the list. */
int dt_watcher_new(const struct dt_watcher_options *options, uint64_t began_ns, const struct dt_watchers *all,
		   struct dt_watcher **watcher, struct dt_error *err);

/* Hands a process over, which was met (dt_subject_meet()). It is looked at from the next instant on. */
void dt_watcher_add(struct dt_watcher *watcher, struct dt_subject *subject);

/* Those that are dt_subject.gone are not looked at any more: they are among dt_watcher_ended() soon. */
void dt_watcher_let_go(struct dt_watcher *watcher);

/* Processes that have ended, or cannot be looked at any more, linked by next; NULL: none. They are the caller's. All
 * that was told of them is in the rings of those that had them. */
struct dt_subject *dt_watcher_ended(struct dt_watcher *watcher);

struct dt_ring *dt_watcher_ring(struct dt_watcher *watcher);
const struct dt_tally *dt_watcher_tally(const struct dt_watcher *watcher);

/* The seat that it made most of its rounds in, and a word about why it was no better one. */
enum dt_seat_kind dt_watcher_seat(const struct dt_watcher *watcher, const char **why);

/* How often it would have handed a process to another thread, had there been one. */
uint64_t dt_watcher_strays(const struct dt_watcher *watcher);

/* Nanoseconds of CPU time that the thread has used. */
uint64_t dt_watcher_cpu_ns(const struct dt_watcher *watcher);

/* Has a look taken longer than a second, all the time blocked? Then it hangs in memory that does not come. If a thread
 * of a process is kept stopped by it, for that look or any other, only the end of our process helps. To be asked again
 * and again, by who looks after the recording: time in which nobody asked does not count, for our process may have been
 * stopped then. */
enum dt_hang {
	DT_HANG_NOT,
	DT_HANG_LOOK,
	DT_HANG_HOLD, /* and a thread of a process is stopped */
};
enum dt_hang dt_watcher_hangs(struct dt_watcher *watcher);

/* Leaves one behind that is DT_HANG_LOOK. It may come back from its look at any time, but not further. *stuck is the
 * process that it looks at, which is dt_subject.left; *rest are its other processes, linked by next: they are the
 * caller's, and the time since they were looked at is missed. What it has told stays in its ring. False if it has come
 * back meanwhile, and nothing was done. */
bool dt_watcher_leave(struct dt_watcher *watcher, struct dt_subject **stuck, struct dt_subject **rest);

/* What others have handed to one that was left behind, linked by next; they are the caller's. Of any other: NULL. */
struct dt_subject *dt_watcher_strayed(struct dt_watcher *watcher);

/* Ends the thread after the round that it is in; the rest of the processes come out of dt_watcher_ended(). False if it
 * does not come back: then it, its processes and its ring are to be left alone for ever, unless it can be left behind.
 */
bool dt_watcher_stop(struct dt_watcher *watcher);

/* Of one that was stopped, or left behind: then its thread may still use it, and only its ring is freed. NULL is fine.
 */
void dt_watcher_free(struct dt_watcher *watcher);

#endif
