/*
 * Each pause has a thread of its own that does the tracing, and ends with it. That is what makes letting go simple: a
 * thread that was seized can only be detached while it is stopped, but when its tracer ends the kernel detaches it as
 * it is, running, inside a system call, dead (its exit status goes to whoever has a right to it) or become another
 * program. So whatever happens, the target's thread is no longer ours when the tracer has ended.
 */
#include "sample/pause.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/util.h"
#include "sample/holding.h"
#include "sample/perch.h"

#define DEADLINE_NS  1000000000u /* a thread in an uninterruptible state may take long: it is not waited for */
#define LONGEST_NS   1000000000u /* that a thread stands, even if we hang */
#define SPIN_NS      200000u     /* a running thread stops within this as a rule */
#define AT_ONCE_NS   20000u      /* the same of one that need not wait for our CPU */
#define NAP_NS       50000
#define SOON_NS      10000
#define TRACER_STACK ((size_t)128 << 10)

static _Thread_local struct dt_pause_sum sum;

/* The event that tells so is not taken. A signal on its way to the thread comes as such an event, and would be lost if
 * we were killed after we took it. */
bool dt_pause_stopped(int tid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid == tid;
}

/* Waits until it stands: 0, -ESRCH or -ETIMEDOUT. The event may not be there: in a program that waits for all its
 * children (waitpid(-1)) another thread of ours may have been faster. Who has a real-time priority does not spin for
 * long: the thread may be waiting for our CPU. */
static int await_stop(const struct dt_proc *proc, int tid, bool urgent)
{
	uint64_t start = dt_clock_ns(), spin = urgent ? AT_ONCE_NS : SPIN_NS;

	for (;;) {
		struct dt_thread_stat stat;
		uint64_t waited;

		if (dt_pause_stopped(tid))
			return 0;
		waited = dt_clock_ns() - start;
		if (waited > DEADLINE_NS)
			return -ETIMEDOUT;
		if (waited > spin) {
			if (dt_thread_stat(proc, tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X')
				return -ESRCH;
			if (stat.state == 't')
				return 0;
			nanosleep(&(struct timespec){.tv_nsec = urgent ? SOON_NS : NAP_NS}, NULL);
		} else {
			sched_yield();
		}
	}
}

/* A stop that we asked for has an event number; one without is the delivery of a signal. */
int dt_pause_signal(int tid)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0 || info.si_code >> 8 == PTRACE_EVENT_STOP)
		return 0;
	return info.si_signo;
}

static int stop(const struct dt_pause_hold *hold)
{
	const struct dt_proc *proc = hold->proc;
	struct dt_thread_call call;
	int tid = hold->tid;
	int rc;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	/* Asked again as late as can be; and a thread of another process that took the id over meanwhile is not
	 * stopped. */
	rc = dt_thread_call(proc, tid, &call);
	if (rc < 0)
		return rc;
	if (!call.running || (hold->ask && !hold->ask(hold->context)))
		return -EBUSY;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return -errno;
	return await_stop(proc, tid, hold->urgent);
}

/* Where it stands, for who wants to walk its C stack. */
static void read_registers(struct dt_pause_hold *hold)
{
	const struct dt_machine *machine = dt_machine_here();
	uint8_t bytes[DT_REGISTERS_SIZE];
	struct iovec place = {bytes, sizeof(bytes)};

	hold->has_registers = ptrace(PTRACE_GETREGSET, hold->tid, (void *)NT_PRSTATUS, &place) == 0 && // NOLINT
			      place.iov_len == machine->registers_size;
	if (hold->has_registers)
		machine->registers(bytes, &hold->registers);
}

static void *trace(void *context)
{
	struct dt_pause_hold *hold = context;
	int tid = hold->tid;
	int rc = stop(hold);
	uint64_t stopped_ns = dt_clock_ns();

	hold->result = rc;
	hold->since_ns = stopped_ns;
	if (rc == 0)
		read_registers(hold);
	dt_event_happen(&hold->decided);
	if (rc < 0)
		return NULL;
	dt_event_await_until(&hold->go_on, stopped_ns + LONGEST_NS);
	atomic_store(&hold->lost, true); /* before it goes on: who asks later than that does not trust the look */
	/* If it fails the thread was killed while it stood. */
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)dt_pause_signal(tid));
	hold->until_ns = dt_clock_ns();
	dt_holding_end();
	return NULL;
}

/* The tracer begins as an ordinary thread. As long as it waits for a CPU somebody stands: so who has a real-time
 * priority lends it its own. */
static void raise_tracer(const struct dt_pause_hold *hold)
{
	const struct sched_param lowest = {.sched_priority = 1};

	if (hold->urgent)
		pthread_setschedparam(hold->tracer, SCHED_FIFO, &lowest);
}

/* Signals of the program that we are part of are not for the tracer. */
static int start_tracer(struct dt_pause_hold *hold)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int rc;

	rc = pthread_attr_init(&attributes);
	if (rc)
		return -rc;
	pthread_attr_setstacksize(&attributes, TRACER_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	hold->urgent = (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
	rc = pthread_create(&hold->tracer, &attributes, trace, hold);
	if (rc == 0)
		raise_tracer(hold);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -rc;
}

static int prepare(struct dt_pause_hold *hold)
{
	int rc = dt_event_init(&hold->decided);

	if (rc < 0)
		return rc;
	rc = dt_event_init(&hold->go_on);
	if (rc < 0)
		dt_event_destroy(&hold->decided);
	return rc;
}

static void forget(struct dt_pause_hold *hold)
{
	dt_event_destroy(&hold->decided);
	dt_event_destroy(&hold->go_on);
	hold->tid = 0;
}

static void finish(struct dt_pause_hold *hold)
{
	pthread_join(hold->tracer, NULL);
	forget(hold);
}

int dt_pause_start(const struct dt_proc *proc, int tid, dt_pause_ask_fn *ask, const void *context,
		   struct dt_pause_hold *hold)
{
	struct dt_thread_call call;
	int rc = dt_thread_call(proc, tid, &call);

	*hold = (struct dt_pause_hold){.proc = proc, .ask = ask, .context = context};
	if (rc < 0)
		return rc;
	if (!call.running)
		return -EBUSY;
	rc = prepare(hold);
	if (rc < 0)
		return rc;
	hold->tid = tid;
	rc = dt_holding_begin() ? 0 : -EBUSY;
	if (rc == 0) {
		rc = start_tracer(hold);
		if (rc < 0)
			dt_holding_end();
	}
	if (rc < 0)
		forget(hold);
	return rc;
}

bool dt_pause_decided(struct dt_pause_hold *hold, uint64_t until_ns)
{
	return dt_event_await_until(&hold->decided, until_ns);
}

int dt_pause_wait(struct dt_pause_hold *hold)
{
	int rc;

	dt_event_await(&hold->decided);
	rc = hold->result;
	if (rc < 0) {
		finish(hold);
		dt_holding_end();
	}
	return rc;
}

int dt_pause_begin(const struct dt_proc *proc, int tid, dt_pause_ask_fn *ask, const void *context,
		   struct dt_pause_hold *hold)
{
	int rc = dt_pause_start(proc, tid, ask, context, hold);

	return rc < 0 ? rc : dt_pause_wait(hold);
}

bool dt_pause_held(const struct dt_pause_hold *hold)
{
	return !atomic_load(&hold->lost);
}

void dt_pause_let_go(struct dt_pause_hold *hold)
{
	if (hold->tid)
		dt_event_happen(&hold->go_on);
}

void dt_pause_end(struct dt_pause_hold *hold)
{
	if (!hold->tid)
		return;
	dt_pause_let_go(hold);
	finish(hold);
	sum.count++;
	sum.stood_ns += hold->until_ns - hold->since_ns;
}

struct dt_pause_sum dt_pause_sum(void)
{
	return sum;
}
