/*
 * Rung 3: one running thread is stopped for one read. PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent, and the
 * kernel lets the thread go by itself if we are killed. A thread that waits in a system call is left alone, because
 * some calls (epoll_wait) return EINTR when they are interrupted. What remains is the microsecond between the last
 * question and the stop, and a thread that works inside a call (a large write to a pipe): the kernel calls it running,
 * too, and its call may return a smaller count. The ids are those that we see.
 */
#ifndef DT_SAMPLE_PAUSE_H
#define DT_SAMPLE_PAUSE_H

#include <pthread.h>
#include <semaphore.h>

#include "proc/proc.h"

struct dt_pause_hold {
	const struct dt_proc *proc;
	int tid;    /* 0: nothing is held */
	int result; /* of the attempt to stop it */
	pthread_t tracer;
	sem_t decided, go_on;
};

/* 0 when the thread stands still; -EBUSY (it is in a system call, look again), -EPERM (not allowed, or another tracer
 * has it), -ESRCH (it ended), -ETIMEDOUT (it did not stop within a second). Nothing is held unless 0 is returned. The
 * hold must stay where it is in memory until it ends. */
int dt_pause_begin(const struct dt_proc *proc, int tid, struct dt_pause_hold *hold);

/* Lets it go on. Does nothing if nothing is held. */
void dt_pause_end(struct dt_pause_hold *hold);

#endif
