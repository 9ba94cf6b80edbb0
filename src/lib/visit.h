/*
 * One process of a survey: what it is and what it does now. All that is learnt lies in the visit, which may be left
 * behind with the worker that makes it (base/patience.h). The inside of src/lib.
 */
#ifndef DT_LIB_VISIT_H
#define DT_LIB_VISIT_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"
#include "doctor/refusal.h"
#include "proc/proc.h"
#include "python/find.h"

/* What is remembered of a process between the passes. */
struct dt_reading {
	uint64_t start_ticks, cpu_ticks;
	uint64_t cpu_ns; /* the same as cpu_ticks, which is too coarse for a short interval; 0: unknown */
	uint64_t at;     /* CLOCK_MONOTONIC */
};

/* What can be used again for the next one stays. */
struct dt_visit {
	int pid;
	struct dt_process process; /* without its user */
	struct dt_reading reading;
	uid_t uid;
	bool keep; /* false: no Python after all, or gone */
	int code;
	struct dt_error err;
	struct dt_arena arena; /* the texts of this visit */
	struct dt_find_cache *cache;
	struct dt_evidence evidence; /* its self is filled at the first refusal */
	bool evidence_known;
	/* How far it came, for the case that it stays there: */
	atomic_bool likely;
	_Atomic(const char *) command;
};

/* NULL if out of memory. */
struct dt_visit *dt_visit_new(void);
void dt_visit_free(struct dt_visit *visit);

/* Forgets the last process; the next one is pid. */
void dt_visit_begin(struct dt_visit *visit, int pid);

/* Fills process, reading, uid and keep. code and err are set only where going on with others makes no sense. */
void dt_visit(struct dt_visit *visit);

/* What is known of a process without its memory, also after a visit that did not come back. */
void dt_visit_outside(struct dt_process *process, struct dt_reading *reading, int pid, const struct dt_proc_info *info);

/* The first thread of a process may end before the others: then the process goes on as a zombie with threads. */
bool dt_visit_ended(const struct dt_proc_info *info);

/* To be called right after info was read. */
struct dt_reading dt_reading_take(int pid, const struct dt_proc_info *info);

/* Nanoseconds of CPU time from one reading to the next. From a reading of zeros: since the process began. */
uint64_t dt_reading_spent(const struct dt_reading *from, const struct dt_reading *to);

/* Percent of one CPU. A process's start is known in ticks: the time is never taken as less than one of them. */
double dt_cpu_percent(uint64_t ns, double seconds);

#endif
