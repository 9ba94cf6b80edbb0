/*
 * Rung 3: one running thread is stopped for one read. PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent, and the
 * kernel lets the thread go by itself if we are killed. A thread inside a system call is left alone (an interrupted
 * epoll_wait would return EINTR). The ids are those that we see. A pause belongs to the thread that began it.
 */
#ifndef DT_SAMPLE_PAUSE_H
#define DT_SAMPLE_PAUSE_H

#include "proc/proc.h"

struct dt_pause_hold {
	int tid;    /* 0: nothing is held */
	int signal; /* that was on its way to the thread and is delivered when it goes on */
};

/* 0 when the thread stands still; -EBUSY (it is in a system call, look again), -EPERM (not allowed, or another tracer
 * has it), -ESRCH (it ended), -ETIMEDOUT (it did not stop within a second). Nothing is held unless 0 is returned. */
int dt_pause_begin(const struct dt_proc *proc, int tid, struct dt_pause_hold *hold);

/* Lets it go on. Does nothing if nothing is held. */
void dt_pause_end(const struct dt_proc *proc, struct dt_pause_hold *hold);

#endif
