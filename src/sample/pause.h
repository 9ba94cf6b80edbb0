/*
 * Rung 3: one running thread is stopped for one read. PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent, and the
 * kernel lets the thread go by itself if we are killed. A stop cuts a system call short: some return EINTR
 * (epoll_wait), a write or a read of much data returns less. So a thread that the kernel says to be in a call is left
 * alone, and of one that runs, in the kernel or not, the caller must know that it computes: it has the GIL, which is
 * given away before a call that may take long. What remains is the microsecond between the last question and the stop.
 * A thread stands for a second at most, even if we hang; only where we are stopped ourselves (SIGSTOP, a frozen cgroup)
 * it waits until we go on. The ids are those that we see.
 */
#ifndef DT_SAMPLE_PAUSE_H
#define DT_SAMPLE_PAUSE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/event.h"
#include "machine/machine.h"
#include "proc/proc.h"

#define DT_HOLD_LONG UINT64_MAX /* where it is limited for how long threads may stand: for as long as it takes */

/* Asked just before the stop, by another thread while the caller of dt_pause_begin waits: may it be stopped? */
typedef bool dt_pause_ask_fn(const void *context);

struct dt_pause_hold {
	const struct dt_proc *proc;
	int tid;           /* 0: nothing is held */
	int result;        /* of the attempt to stop it */
	bool urgent;       /* by who has a real-time priority */
	uint64_t since_ns; /* dt_clock_ns() when it stood, */
	uint64_t until_ns; /* and when it went on */
	bool has_registers;
	struct dt_registers registers; /* as it stands */
	dt_pause_ask_fn *ask;
	const void *context;
	pthread_t tracer;
	struct dt_event decided, go_on;
	atomic_bool lost; /* it was let go because it stood too long */
};

/* 0 when the thread stands still; -EBUSY (it is in a system call or may not be stopped now, look again), -EPERM (not
 * allowed, or another tracer has it), -ESRCH (it ended), -ETIMEDOUT (it did not stop within a second). Nothing is held
 * unless 0 is returned. The hold must stay where it is in memory until it ends. */
int dt_pause_begin(const struct dt_proc *proc, int tid, dt_pause_ask_fn *ask, const void *context,
		   struct dt_pause_hold *hold);

/* The same in two steps, to stop several threads at once: those that wait for a CPU get one as soon as others stand.
 * After 0 of the first, which holds nothing yet, the second must follow. */
int dt_pause_start(const struct dt_proc *proc, int tid, dt_pause_ask_fn *ask, const void *context,
		   struct dt_pause_hold *hold);
int dt_pause_wait(struct dt_pause_hold *hold);

/* Between the two: is it known by then (dt_clock_ns()) whether it stands? */
bool dt_pause_decided(struct dt_pause_hold *hold, uint64_t until_ns);

/* True if it has stood still until now. */
bool dt_pause_held(const struct dt_pause_hold *hold);

/* Of a thread that the calling thread traces: does it stand? And the signal to hand on when it goes on, 0: none. */
bool dt_pause_stopped(int tid);
int dt_pause_signal(int tid);

/* Lets it go on, or has that done as soon as it stands, and does not wait for it. dt_pause_end() must follow, and
 * before that dt_pause_wait() where it has not been called. */
void dt_pause_let_go(struct dt_pause_hold *hold);

/* Lets it go on. Does nothing if nothing is held. */
void dt_pause_end(struct dt_pause_hold *hold);

/* What the calling thread has held so far, and let go: how often, and for how long in all. */
struct dt_pause_sum {
	uint64_t count, stood_ns;
};
struct dt_pause_sum dt_pause_sum(void);

#endif
