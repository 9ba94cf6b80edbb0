/*
 * Rung 3 for a recording: the calling thread itself stops a thread of the target, looks, and lets it go. See pause.h
 * for what a stop does, and for the way that a single look takes: that one has a thread for the tracing, which lets go
 * even if the look hangs. Here there is no time for it; who looks after the recording sees that a stop lasts too long
 * (dt_stop.began_ns) and ends the process, which ends the stop.
 *
 * A thread can only be let go while it is stopped. One that did not stop in time is traced until it does: the stop is
 * `pending` then, and dt_stop_poll() must be called until it is not.
 */
#ifndef DT_SAMPLE_STOP_H
#define DT_SAMPLE_STOP_H

#include <stdatomic.h>

#include "proc/thread_files.h"
#include "sample/pause.h"

struct dt_stop {
	_Atomic int tid;           /* that is traced, 0: none */
	int pid;                   /* its process, the number of which it has after an exec */
	bool child;                /* which we started: its end is for who awaits it */
	bool pending;              /* it has not stopped yet */
	bool in_vain;              /* the last one that was asked to did not in time: it may be waiting for a CPU */
	uint64_t polled_ns;        /* when it was last seen to be pending */
	_Atomic uint64_t began_ns; /* dt_clock_ns() since when it stands; 0: it does not */
	uint64_t count, stood_ns;  /* stops so far, and how long they were in all */
};

/* 0 when the thread stands; -EBUSY (not now), -EPERM (not allowed, or another tracer has it), -ESRCH (also if its
 * number is another thread's by now). ask is asked as late as can be: may it be stopped? */
int dt_stop_begin(struct dt_stop *stop, struct dt_thread_files *thread, dt_pause_ask_fn *ask, const void *context);

/* Lets it go on. */
void dt_stop_end(struct dt_stop *stop);

/* Lets go of a thread that was asked to stop and has done so by now. */
void dt_stop_poll(struct dt_stop *stop);

/* The thread that did the tracing has ended, and the kernel has let go of what it still traced. */
void dt_stop_forget(struct dt_stop *stop);

#endif
