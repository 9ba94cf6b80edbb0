/* Stops of a recording: see stop.h. */
#include "sample/stop.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/util.h"

#define SOON_NS 500000u /* in which a running thread stops as a rule */

static bool is_gone(int tid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || info.si_pid == tid;
}

static void detach(struct dt_stop *stop)
{
	uint64_t began = atomic_load_explicit(&stop->began_ns, memory_order_relaxed);

	ptrace(PTRACE_DETACH, stop->tid, NULL, (void *)(intptr_t)dt_pause_signal(stop->tid));
	if (began)
		stop->stood_ns += dt_clock_ns() - began;
	atomic_store_explicit(&stop->began_ns, 0, memory_order_relaxed);
	stop->tid = 0;
	stop->pending = false;
}

int dt_stop_begin(struct dt_stop *stop, int tid, dt_pause_ask_fn *ask, const void *context)
{
	uint64_t until;

	if (stop->tid)
		return -EBUSY;
	if (!ask(context))
		return -EBUSY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	stop->tid = tid;
	stop->pending = true;
	/* From here on it can only be let go after it has stopped. */
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		dt_stop_poll(stop);
		return -ESRCH;
	}
	until = dt_clock_ns() + SOON_NS;
	while (!dt_pause_stopped(tid)) {
		if (dt_clock_ns() > until) {
			dt_stop_poll(stop);
			return -EBUSY;
		}
		sched_yield();
	}
	atomic_store_explicit(&stop->began_ns, dt_clock_ns(), memory_order_relaxed);
	stop->pending = false;
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
		detach(stop);
	} else if (is_gone(stop->tid)) {
		stop->tid = 0;
		stop->pending = false;
	}
}
