/*
 * Attaching processes to a recording, behind the back of the thread that looks after it: to find Python and to take the
 * first look takes milliseconds, and the memory of a process may come late or never. Each process that takes longer
 * than one wants to wait keeps a worker of its own, the others go on. The inside of src/lib.
 */
#ifndef DT_LIB_ENLIST_H
#define DT_LIB_ENLIST_H

#include "lib/target.h"
#include "record/subject.h"
#include "sample/pause.h"

#define DT_ENLIST_MOST 64 /* processes that may keep a worker at a time */

struct dt_enlister;

/* How processes are looked at. NULL if out of memory. */
struct dt_enlister *dt_enlister_new(const struct dt_options *looking);

/* Attaches a process, takes the first look, and gives both to the caller. Waits until wait_ns have passed; DT_EAGAIN:
 * it is not over then, or Python has not begun yet: ask again. Other errors as dt_attach(). */
int dt_enlist(struct dt_enlister *enlister, int pid, uint64_t wait_ns, struct dt_target **target,
	      struct dt_subject **subject, struct dt_error *err);

/* Forgets processes that were attached too late to be waited for and have ended since. To be called now and then. */
void dt_enlister_tidy(struct dt_enlister *enlister);

/* How often threads were stopped for first looks so far, and for how long in all. */
struct dt_pause_sum dt_enlister_stops(const struct dt_enlister *enlister);

/* Workers that are not done are left behind: what they work on is freed when they are. NULL is fine. */
void dt_enlister_free(struct dt_enlister *enlister);

#endif
