/* The processes of a recording: how they join, what becomes of them when they end or become another program. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "lib/recording.h"

#define NS_PER_S    UINT64_C(1000000000)
#define BECOMING_NS (10 * NS_PER_S) /* for Python to come back after an exec, through a shell say */
#define RETRY_NS    (NS_PER_S / 50)
#define HASTE_NS    (NS_PER_S / 5)   /* after an exec Python is mostly back within that: it is asked for each time */
#define BECOME_NS   (NS_PER_S / 100) /* that is waited for one that comes back, while others are to be looked after */
#define MOST_WAIT   600.0
#define UNSEEN_NS   (NS_PER_S / 2) /* at most so much of a life before the first look is the recording's */

/* How long it has lived before it can be looked at, and how much of that on a CPU. The kernel tells when it began in
 * hundredths of a second; a thread that was never blocked has run, or was ready to, since it began. */
static void note_life(const struct dt_recording *r, struct dt_member *member, uint64_t start_ticks)
{
	const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct dt_subject *subject = member->subject;
	uint64_t clock_ns = dt_clock_ns(),
		 slept_ns = dt_clock_boot_ns() - clock_ns; /* the machine, which ticks count */
	uint64_t start_ns = start_ticks * tick_ns - DT_MIN(slept_ns, start_ticks * tick_ns);
	uint64_t busy_ns = 0, since_ns = start_ns + tick_ns / 2, now;
	struct dt_thread_sched sched = {0};

	if (start_ns < r->began_ns) /* it was there, or another program before */
		return;
	now = dt_proc_ended(&member->target->proc) ? subject->met_ns : dt_clock_ns();
	if (dt_thread_sched(&member->target->proc, member->pid, &sched) == 0)
		busy_ns = sched.ran_ns + sched.waited_ns;
	if (now - DT_MIN(busy_ns, now) < start_ns + tick_ns)
		since_ns = DT_MAX(now - DT_MIN(busy_ns, now), start_ns);
	since_ns = DT_MAX(DT_MAX(since_ns, r->began_ns), member->told_ns);
	/* One that joins so late was another program before. */
	if (since_ns >= now || now - since_ns > UNSEEN_NS)
		return;
	subject->lived_ns = now - since_ns;
	subject->until_ns = now;
	subject->ran_ns = DT_MIN(sched.ran_ns, subject->lived_ns);
}

/* Makes a process known to the profile, and hands it to the threads that sample. */
static int hand_over(struct dt_recording *r, struct dt_member *member, struct dt_error *err)
{
	const struct dt_target *target = member->target;
	struct dt_profile_process told = {.pid = member->pid, .began_ns = dt_clock_ns() - r->began_ns};
	struct dt_proc_info info = {0};
	char version[24];

	dt_proc_stat_image(&target->proc, &info, &told.image);
	told.ppid = info.ppid;
	told.start_ns = info.start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	if (member->late)
		note_life(r, member, info.start_ticks);
	dt_version_text(&target->python.version, version);
	if (dt_recording_intern(r, target->command, &told.command) < 0 ||
	    dt_recording_intern(r, target->executable, &told.executable) < 0 ||
	    dt_recording_intern(r, version, &told.version) < 0 ||
	    dt_recording_intern(r, target->container, &told.container) < 0 ||
	    dt_collector_join(r->collector, (uint32_t)r->joined + 1, &told) < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	member->number = (uint32_t)++r->joined;
	member->subject->number = member->number;
	member->subject->owner = member;
	r->living++;
	dt_crew_add(r->crew, member->subject);
	return 0;
}

/* Whether Python may be there in a moment. */
static bool comes_back(int code)
{
	return code == DT_EAGAIN || code == DT_ENOTPYTHON;
}

static int join(struct dt_recording *r, struct dt_member *member, uint64_t wait_ns, struct dt_error *err)
{
	int rc = dt_enlist(r->enlister, member->pid, wait_ns, &member->target, &member->subject, err);

	if (rc < 0)
		return rc;
	rc = hand_over(r, member, err);
	if (rc < 0) {
		dt_subject_free(member->subject);
		dt_release(member->target);
		member->subject = NULL;
		member->target = NULL;
	}
	return rc;
}

static struct dt_member *find(const struct dt_recording *r, int pid)
{
	struct dt_member *member = r->members;

	while (member && member->pid != pid)
		member = member->next;
	return member;
}

static struct dt_member *new_member(int pid, struct dt_error *err)
{
	struct dt_member *member = calloc(1, sizeof(*member));

	if (!member)
		dt_fail(err, DT_EMEMORY, "out of memory");
	else
		*member = (struct dt_member){.pid = pid, .end = -1};
	return member;
}

static void enter(struct dt_recording *r, struct dt_member *member)
{
	member->next = r->members;
	r->members = member;
	r->gone_ns = 0;
	dt_ends_watch(r, member);
	r->calm = r->calm && dt_ends_told(member);
}

static uint64_t wait_of(double seconds)
{
	return (uint64_t)(DT_MIN(DT_MAX(seconds, 0.0), MOST_WAIT) * (double)NS_PER_S);
}

int dt_record_add(struct dt_recording *r, int pid, double seconds, struct dt_error *err)
{
	struct dt_member *member;
	int rc;

	if (pid <= 0)
		return dt_fail(err, DT_EUSAGE, "%d is not a process id", pid);
	if (find(r, pid))
		return 0;
	member = new_member(pid, err);
	if (!member)
		return DT_EMEMORY;
	member->late = r->joined != 0;
	rc = join(r, member, wait_of(seconds), err);
	if (rc < 0)
		free(member);
	else
		enter(r, member);
	return rc;
}

int dt_record_add_from(struct dt_recording *r, const struct dt_recording *last, int pid, double seconds,
		       struct dt_error *err)
{
	const struct dt_member *before = find(last, pid);
	struct dt_member *member;
	int rc;

	if (!before || find(r, pid))
		return dt_record_add(r, pid, seconds, err);
	member = new_member(pid, err);
	if (!member)
		return DT_EMEMORY;
	if (before->target) {
		rc = join(r, member, wait_of(seconds), &member->err);
		member->lost_ns = dt_clock_ns();
	} else { /* it is asked for already, since then */
		rc = DT_EAGAIN;
		member->err = before->err;
		member->lost_ns = before->lost_ns;
	}
	if (rc == 0 || comes_back(rc)) {
		enter(r, member);
		return 0;
	}
	if (err)
		*err = member->err;
	free(member);
	return rc;
}

void dt_record_missed(struct dt_recording *r, size_t count)
{
	r->missed += count;
}

/* Takes a member out of the list. */
static void drop(struct dt_recording *r, struct dt_member *member)
{
	struct dt_member **link = &r->members;

	while (*link && *link != member)
		link = &(*link)->next;
	if (*link)
		*link = member->next;
	if (!r->members && (member->gone_ns || member->err.code == DT_EENDED || member->err.code == DT_ENOTFOUND))
		r->gone_ns = member->gone_ns ? member->gone_ns : dt_clock_ns();
	dt_ends_forget(member);
	free(member);
}

static void fail_left(int pid, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "process %d is not recorded any more: its memory does not come", pid);
	dt_hint(err,
		"A page of it may lie in a file on a network or FUSE file system that does not answer, behind a "
		"userfaultfd that nobody serves, or in swap on a disk that is very slow. Others were not looked at for "
		"about a second, which is counted as lost, and go on being recorded.");
}

/* What the thread that hangs may still touch is never freed. */
static void release(struct dt_member *member)
{
	if (!member->subject || !member->subject->left) {
		dt_subject_free(member->subject);
		dt_release(member->target);
	}
	member->subject = NULL;
	member->target = NULL;
}

/* A process has come back from the crew. */
static int let_go(struct dt_recording *r, struct dt_subject *subject, struct dt_member *member)
{
	uint64_t end_ns = member->gone_ns ? member->gone_ns : subject->last_ns;
	uint64_t last_ns = end_ns ? end_ns - r->began_ns : 0;
	int rc = dt_collector_leave(r->collector, member->number, last_ns);

	if (subject->left)
		fail_left(member->pid, &member->err);
	else
		member->err = subject->err;
	member->told_ns = subject->last_ns;
	release(member);
	r->living--;
	return rc;
}

int dt_members_ended(struct dt_recording *r, struct dt_subject *list, dt_record_ended_fn *ended, void *context)
{
	struct dt_subject *next;
	int rc = 0;

	for (; list; list = next) {
		struct dt_member *member = list->owner;
		int code = list->left ? DT_ERUNTIME : list->code, left;

		next = list->next;
		left = let_go(r, list, member);
		r->calm = false;
		rc = rc ? rc : left;
		if (code == DT_EAGAIN) { /* another program has begun, or Python is on its way in or out */
			member->lost_ns = dt_clock_ns();
			continue;
		}
		if (ended)
			ended(context, member->pid, &member->err);
		drop(r, member);
	}
	return rc;
}

bool dt_members_any_left(const struct dt_recording *r)
{
	for (const struct dt_member *member = r->members; member; member = member->next)
		if (member->subject && member->subject->left)
			return true;
	return false;
}

void dt_members_left(struct dt_recording *r, dt_record_ended_fn *ended, void *context)
{
	struct dt_member *member, *next;

	for (member = r->members; member; member = next) {
		next = member->next;
		if (!member->subject || !member->subject->left)
			continue;
		fail_left(member->pid, &member->err);
		if (ended)
			ended(context, member->pid, &member->err);
		release(member);
		r->living--;
		drop(r, member);
	}
}

void dt_members_retry(struct dt_recording *r, dt_record_ended_fn *ended, void *context)
{
	uint64_t now = dt_clock_ns();
	struct dt_member *member, *next;
	bool all = now - r->retried_ns >= RETRY_NS;

	if (r->calm) /* of hundreds of members to ask each would cost more than all else that is done here */
		return;
	if (all)
		r->retried_ns = now;
	for (member = r->members; member; member = next) {
		int rc;

		next = member->next;
		if (member->target || (!all && !member->gone_ns && now - member->lost_ns > HASTE_NS))
			continue;
		rc = join(r, member, BECOME_NS, &member->err);
		if (rc == 0 || (comes_back(rc) && now - member->lost_ns < BECOMING_NS))
			continue;
		if (ended)
			ended(context, member->pid, &member->err);
		drop(r, member);
	}
}

void dt_members_release(struct dt_recording *r)
{
	struct dt_member *member, *next;

	for (member = r->members; member; member = next) {
		next = member->next;
		release(member);
		dt_ends_forget(member);
		free(member);
	}
	r->members = NULL;
}
