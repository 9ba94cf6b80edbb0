/*
 * Stopping and letting go. What must stay true: whatever happens between SEIZE and DETACH (signals, exit, exec, SIGKILL
 * of the target), the thread is no longer ours when dt_pause_end, or a dt_pause_begin that failed, returns; and the
 * exit status of a process reaches whoever has a right to it.
 */
#include "sample/pause.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/util.h"

#define DEADLINE_NS 1000000000u /* a thread in an uninterruptible state may take long: it is not waited for */
#define SPIN_NS     200000u     /* a running thread stops within this as a rule */

enum wait_result { STOPPED, ENDED, LATE };

/* Takes the exit status of a traced thread, which would stay a zombie until its tracer looks. The status of our own
 * child is left where it is: it belongs to whoever started it. */
static void bury(const struct dt_proc *proc, int tid)
{
	struct dt_proc_info info;
	siginfo_t status;

	if (tid == proc->pid && dt_proc_info(proc, &info) == 0 && info.ppid == getpid())
		return;
	while (waitid(P_PID, (id_t)tid, &status, WEXITED | WNOHANG | __WALL) < 0 && errno == EINTR)
		;
}

/* Waits for a stop without touching an exit status. */
static enum wait_result await_stop(const struct dt_proc *proc, int tid, int *status)
{
	uint64_t start = dt_clock_ns();

	for (;;) {
		siginfo_t info = {0};
		struct dt_thread_stat stat;
		uint64_t waited;

		if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) == 0 && info.si_pid == tid) {
			*status = info.si_status;
			return STOPPED;
		}
		waited = dt_clock_ns() - start;
		if (waited > SPIN_NS) {
			if (dt_thread_stat(proc, tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X')
				return ENDED;
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		} else {
			sched_yield();
		}
		if (waited > DEADLINE_NS)
			return LATE;
	}
}

/* The signal to hand on when a thread that stopped with this status goes on. A stop that we asked for has an event
 * number; a stop without one is the delivery of a signal. */
static int signal_of(int status)
{
	return status >> 8 ? 0 : status & 0x7f;
}

/* Detaches a thread that may be running: stops it again first, since only a stopped one can be let go. */
static void let_go(const struct dt_proc *proc, int tid)
{
	int status;

	for (int tries = 0; tries < 20; tries++) {
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
			break;
		switch (await_stop(proc, tid, &status)) {
		case STOPPED:
			if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_of(status)) == 0)
				return;
			break;
		case ENDED:
			bury(proc, tid);
			return;
		case LATE:
			break;
		}
	}
	bury(proc, tid);
}

/* A thread that execs takes the id of its process, and is still ours under that. */
static void let_go_of_successor(const struct dt_proc *proc, int tid)
{
	struct dt_proc_info info;

	if (tid != proc->pid && dt_proc_info(proc, &info) == 0 && info.tracer == gettid())
		let_go(proc, proc->pid);
}

int dt_pause_begin(const struct dt_proc *proc, int tid, struct dt_pause_hold *hold)
{
	struct dt_thread_call call;
	int status;
	int rc;

	*hold = (struct dt_pause_hold){0};
	rc = dt_thread_call(proc, tid, &call);
	if (rc < 0)
		return rc;
	if (!call.running)
		return -EBUSY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	/* The id was looked up in the target's own directory before; a thread that took it over meanwhile must not be
	 * stopped. */
	if (dt_thread_call(proc, tid, &call) < 0 || !call.running || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		let_go(proc, tid);
		let_go_of_successor(proc, tid);
		return -EBUSY;
	}
	switch (await_stop(proc, tid, &status)) {
	case STOPPED:
		hold->tid = tid;
		hold->signal = signal_of(status);
		return 0;
	case ENDED:
		bury(proc, tid);
		let_go_of_successor(proc, tid);
		return -ESRCH;
	case LATE:
		break;
	}
	let_go(proc, tid);
	return -ETIMEDOUT;
}

void dt_pause_end(const struct dt_proc *proc, struct dt_pause_hold *hold)
{
	int tid = hold->tid;

	if (!tid)
		return;
	hold->tid = 0;
	if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)hold->signal) == 0)
		return;
	/* It was killed while it stood. */
	bury(proc, tid);
	let_go_of_successor(proc, tid);
}
