/*
 * A perch is short: it ends after one look, and does not count if it took longer than DT_PERCH_NS. The real-time
 * priority is the lowest there is, is not inherited by a child, and is never taken against a target that is itself
 * real-time: it would not be put aside.
 */
#include "sample/perch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/util.h"

#define SLICE_NS 100000u /* the shortest that the kernel grants */
#define NAP_NS   60000

/* The kernel's numbers for sched_attr. */
#define POLICY_DEADLINE 6u

int dt_perch_sched(struct dt_sched *sched)
{
	return (int)syscall(SYS_sched_getattr, 0, sched, sizeof(*sched), 0);
}

static int set_sched(struct dt_sched sched)
{
	sched.size = sizeof(sched);
	return (int)syscall(SYS_sched_setattr, 0, &sched, 0);
}

bool dt_perch_fifo(void)
{
	return set_sched((struct dt_sched){.policy = SCHED_FIFO, .flags = DT_SCHED_RESET_ON_FORK, .priority = 1}) == 0;
}

/* An ordinary priority with a short slice gets the CPU soon after it wakes (6.12 and later; others refuse or ignore it:
 * read back). */
bool dt_perch_slice(const struct dt_sched *saved)
{
	struct dt_sched wanted = *saved;
	struct dt_sched got;

	wanted.runtime = SLICE_NS;
	return set_sched(wanted) == 0 && dt_perch_sched(&got) == 0 && got.runtime == SLICE_NS;
}

/* *nap is set if the priority only works for somebody who has just slept. */
static int raise_priority(struct dt_perch *perch, bool *nap)
{
	*nap = false;
	if (dt_perch_sched(&perch->saved) < 0)
		return -EPERM;
	if (perch->saved.policy == SCHED_FIFO || perch->saved.policy == SCHED_RR)
		return 0;
	if (perch->saved.policy != SCHED_OTHER)
		return -EPERM;
	perch->policy_changed = true;
	if (dt_perch_fifo())
		return 0;
	*nap = true;
	return dt_perch_slice(&perch->saved) ? 0 : -EPERM;
}

/* Is there a CPU with nothing to do? /proc/loadavg counts the threads that run or want to: "0.10 0.20 0.30 2/150 1234".
 */
static bool room_elsewhere(void)
{
	char text[128];
	const char *slash;
	ssize_t got;
	dt_auto_close int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);

	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return false;
	text[got] = '\0';
	slash = strchr(text, '/');
	if (!slash)
		return false;
	while (slash > text && slash[-1] != ' ')
		slash--;
	return strtol(slash, NULL, 10) <= sysconf(_SC_NPROCESSORS_ONLN);
}

/* Who has a real-time priority by RLIMIT_RTPRIO alone may not take the flag off again: then it stays, and matters to
 * nobody. */
void dt_perch_give_back(const struct dt_sched *saved)
{
	struct dt_sched flagged = *saved;

	flagged.flags |= DT_SCHED_RESET_ON_FORK;
	if (set_sched(*saved) < 0)
		set_sched(flagged);
}

/* Where there is a free CPU we move there before we give the priority back: as an ordinary thread on the watched one's
 * CPU we would have to wait until its time slice ends, some milliseconds. On a busy machine we would only wait
 * elsewhere. */
void dt_perch_end(struct dt_perch *perch)
{
	if (perch->affinity_changed) {
		cpu_set_t others = perch->affinity;

		CPU_CLR((size_t)perch->cpu, &others);
		if (CPU_COUNT(&others) > 0 && room_elsewhere())
			sched_setaffinity(0, sizeof(others), &others);
	}
	if (perch->policy_changed)
		dt_perch_give_back(&perch->saved);
	if (perch->affinity_changed)
		sched_setaffinity(0, sizeof(perch->affinity), &perch->affinity);
	*perch = (struct dt_perch){0};
}

/* Is the thread ready to run on the given CPU, which is ours at this moment? Then it does not run. */
static bool put_aside(const struct dt_proc *proc, int tid, int cpu)
{
	struct dt_thread_stat stat;

	return dt_thread_stat(proc, tid, &stat) == 0 && stat.state == 'R' && stat.processor == cpu &&
	       sched_getcpu() == cpu;
}

int dt_perch_begin(const struct dt_proc *proc, int tid, struct dt_perch *perch)
{
	struct dt_thread_stat stat;
	cpu_set_t only;
	bool nap;
	int rc;

	*perch = (struct dt_perch){0};
	rc = dt_thread_stat(proc, tid, &stat);
	if (rc < 0 || stat.state != 'R')
		return -EAGAIN;
	if (stat.rt_priority > 0 || stat.policy == POLICY_DEADLINE || stat.processor < 0 ||
	    stat.processor >= CPU_SETSIZE)
		return -EPERM;
	if (sched_getaffinity(0, sizeof(perch->affinity), &perch->affinity) < 0)
		return -EPERM;
	rc = raise_priority(perch, &nap);
	if (rc < 0) {
		dt_perch_end(perch);
		return rc;
	}
	CPU_ZERO(&only);
	CPU_SET(stat.processor, &only);
	if (sched_setaffinity(0, sizeof(only), &only) < 0) { /* a CPU outside of our cpuset */
		dt_perch_end(perch);
		return -EPERM;
	}
	perch->affinity_changed = true;
	perch->cpu = stat.processor;
	if (nap)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	/* First the count, then the proof that it does not run: in this order a count that stays equal means that it
	 * never ran. */
	if (dt_thread_slices(proc, tid, &perch->slices) < 0 || !put_aside(proc, tid, perch->cpu)) {
		dt_perch_end(perch);
		return -EAGAIN;
	}
	perch->began_ns = dt_clock_ns();
	return 0;
}

bool dt_perch_held(const struct dt_proc *proc, int tid, const struct dt_perch *perch)
{
	uint64_t slices;

	return put_aside(proc, tid, perch->cpu) && dt_thread_slices(proc, tid, &slices) == 0 &&
	       slices == perch->slices && dt_clock_ns() - perch->began_ns < DT_PERCH_NS;
}
