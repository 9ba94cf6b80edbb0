/*
 * The threads that sample a recording: one for all processes, as long as that will do. Where processes keep several
 * CPUs busy there are more of them, one for each CPU at most, and they hand processes on to each other (watcher.h).
 * Those that are idle for some time go back to the first.
 *
 * A crew belongs to the thread that looks after the recording.
 */
#ifndef DT_RECORD_CREW_H
#define DT_RECORD_CREW_H

#include "record/collector.h"
#include "record/watcher.h"

struct dt_crew;

/* With one thread, which begins at once; began_ns as in dt_watcher_new(). */
int dt_crew_new(const struct dt_watcher_options *options, uint64_t began_ns, struct dt_crew **crew,
		struct dt_error *err);

/* Hands a process over. */
void dt_crew_add(struct dt_crew *crew, struct dt_subject *subject);

/* Those that are dt_subject.gone are given back soon, however rarely they are looked at. */
void dt_crew_let_go(struct dt_crew *crew);

/* Collects what was told, and makes another thread where one is missing. *ended: processes that have ended or cannot be
 * looked at any more, linked by next; they are the caller's. So are those that are dt_subject.left, to be left alone:
 * the thread that looks at them hangs, and another one has its other processes. 0, -ENOMEM, -EAGAIN (no other thread
 * can be made) or -EINVAL (what was told does not fit together). */
int dt_crew_collect(struct dt_crew *crew, struct dt_collector *collector, struct dt_subject **ended);

/* Collects what was told, and nothing else. */
int dt_crew_drain(struct dt_crew *crew, struct dt_collector *collector);

/* What all of them came to: rounds and late are those of one thread that is there all the time. */
struct dt_crew_tally {
	uint64_t rounds, samples, late, unseen, settled, torn, lost, stops, stopped_ns;
};
void dt_crew_tally(const struct dt_crew *crew, struct dt_crew_tally *tally);

/* The worst seat that one of them has, and why: see dt_watcher_seat(). */
enum dt_seat_kind dt_crew_seat(const struct dt_crew *crew, const char **why);

/* Does one hang that keeps a thread of a process stopped? Then only the end of our process helps. */
bool dt_crew_hangs(const struct dt_crew *crew);
/* As dt_watcher_stop(). Of a crew that was stopped the rest can be drained; all processes are the caller's again, but
 * those that are left. */
bool dt_crew_stop(struct dt_crew *crew);

/* Of one that was stopped. NULL is fine. */
void dt_crew_free(struct dt_crew *crew);

#endif
