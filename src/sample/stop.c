/* Stops of a recording: see stop.h. */
#include "sample/stop.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/util.h"
#include "sample/holding.h"

#define AT_ONCE_NS 20000u
#define NAP_NS     10000
#define SOON_NS    500000u /* in which a running thread stops as a rule */

/* Has it ended? Of a thread that is traced its stops are told as well, asked for or not. Nobody else learns of its end
 * before we have. */
static bool is_gone(const struct dt_stop *stop)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)stop->tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return true;
	if (info.si_pid != stop->tid ||
	    (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED))
		return false;
	if (!stop->child || stop->tid != stop->pid)
		waitid(P_PID, (id_t)stop->tid, &info, WEXITED | WNOHANG | __WALL);
	return true;
}

/* A thread that becomes another program gets the number of its process, and is traced on. */
static bool follow(struct dt_stop *stop)
{
	if (stop->tid == stop->pid || ptrace(PTRACE_INTERRUPT, stop->pid, NULL, NULL) < 0)
		return false;
	stop->tid = stop->pid;
	return true;
}

void dt_stop_forget(struct dt_stop *stop)
{
	if (stop->tid)
		dt_holding_end();
	stop->tid = 0;
}

static void detach(struct dt_stop *stop)
{
	uint64_t began = atomic_load_explicit(&stop->began_ns, memory_order_relaxed);
	bool killed = ptrace(PTRACE_DETACH, stop->tid, NULL, (void *)(intptr_t)dt_pause_signal(stop->tid)) < 0;

	if (began)
		stop->stood_ns += dt_clock_ns() - began;
	atomic_store_explicit(&stop->began_ns, 0, memory_order_relaxed);
	stop->pending = killed; /* then its end is awaited */
	if (!killed)
		dt_stop_forget(stop);
}

/* A thread that is on another CPU stops at once. One that waits for ours needs it first, and to yield it is not enough
 * where our priority is the higher one. */
static void wait_a_moment(uint64_t began)
{
	if (dt_clock_ns() > began + AT_ONCE_NS)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Is its number still its own? Its files are bound to the thread. This is asked before it is seized, not
 * after as in pause.c: from then on it could only be let go by interrupting it. */
static bool is_same(struct dt_thread_files *thread)
{
	struct dt_thread_sched sched;

	return dt_thread_sched_now(thread, &sched) == 0;
}

int dt_stop_begin(struct dt_stop *stop, struct dt_thread_files *thread, dt_pause_ask_fn *ask, const void *context)
{
	const struct dt_proc *proc = thread->proc;
	struct dt_proc_info info;
	int tid = thread->tid;
	uint64_t began;

	if (stop->tid)
		return -EBUSY;
	stop->child = dt_proc_info(proc, &info) == 0 && info.ppid == getpid();
	/* As late as can be: it may be about to block in a system call, which would be cut short. */
	if (!ask(context))
		return -EBUSY;
	if (!dt_holding_begin())
		return -EBUSY;
	if (!is_same(thread)) {
		dt_holding_end();
		return -ESRCH;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		int code = -errno;

		dt_holding_end();
		return code;
	}
	stop->tid = tid;
	stop->pid = proc->pid;
	stop->pending = true;
	stop->polled_ns = dt_clock_ns();
	/* From here on it can only be let go after it has stopped. */
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		dt_stop_poll(stop);
		return -ESRCH;
	}
	began = dt_clock_ns();
	while (!dt_pause_stopped(tid)) {
		if (dt_clock_ns() > began + SOON_NS) {
			stop->in_vain = true;
			dt_stop_poll(stop);
			return -EBUSY;
		}
		wait_a_moment(began);
	}
	atomic_store_explicit(&stop->began_ns, dt_clock_ns(), memory_order_relaxed);
	stop->pending = stop->in_vain = false;
	stop->count++;
	return 0;
}

void dt_stop_end(struct dt_stop *stop)
{
	if (stop->tid && !stop->pending)
		detach(stop);
}

void dt_stop_poll(struct dt_stop *stop)
{
	if (!stop->tid)
		return;
	if (dt_pause_stopped(stop->tid)) {
		stop->count++;
		atomic_store_explicit(&stop->began_ns, stop->polled_ns, memory_order_relaxed); /* at the earliest */
		detach(stop);
	} else if (is_gone(stop)) {
		stop->pending = follow(stop);
		if (!stop->pending)
			dt_stop_forget(stop);
	} else {
		stop->polled_ns = dt_clock_ns();
	}
}
