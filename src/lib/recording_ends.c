/*
 * The end of a process, as the kernel tells it (pidfd): at the moment, however rarely it is looked at. It is from then
 * on that there is nothing to record. Where the kernel does not tell, the looks find out, and it is asked more often.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "lib/recording.h"

#define NS_PER_MS    UINT64_C(1000000)
#define SOON_NS      NS_PER_MS        /* until one that has ended is given back by who looks at it */
#define BLIND_NS     (20 * NS_PER_MS) /* where the kernel does not tell */
#define MOST_AT_ONCE 64

/* Each may fail: it is asked for instead. */
void dt_ends_open(struct dt_recording *r)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	r->ends = epoll_create1(EPOLL_CLOEXEC);
	r->bell = r->ends < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->bell >= 0)
		epoll_ctl(r->ends, EPOLL_CTL_ADD, r->bell, &event);
}

/* When nobody is left who could ring. */
void dt_ends_close(struct dt_recording *r)
{
	if (r->ends >= 0)
		close(r->ends);
	if (r->bell >= 0)
		close(r->bell);
	r->ends = r->bell = -1;
}

void dt_ends_watch(struct dt_recording *r, struct dt_member *member)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = member};

	member->end = r->ends < 0 ? -1 : (int)syscall(SYS_pidfd_open, member->pid, 0);
	if (member->end < 0 && r->ends >= 0 && errno == ESRCH) {
		member->gone_ns = dt_clock_ns();
	} else if (member->end >= 0 && epoll_ctl(r->ends, EPOLL_CTL_ADD, member->end, &event) < 0) {
		close(member->end);
		member->end = -1;
	}
}

void dt_ends_forget(struct dt_member *member)
{
	if (member->end >= 0)
		close(member->end);
	member->end = -1;
}

bool dt_ends_told(const struct dt_member *member)
{
	return member->target && member->end >= 0 && !member->gone_ns;
}

/* How long may be slept: who has ended is to come back, who has become another program is asked for, and so is who
 * cannot be watched. */
static uint64_t most_ns(struct dt_recording *r, uint64_t ns)
{
	bool calm = true;

	for (const struct dt_member *member = r->members; member && !r->calm; member = member->next) {
		if (dt_ends_told(member))
			continue;
		ns = DT_MIN(ns, member->gone_ns ? SOON_NS : BLIND_NS);
		calm = false;
	}
	r->calm = calm;
	return ns;
}

/* Takes note of those that have ended. How many, or -1 if a signal came. epoll_wait() alone would end by signals that
 * nobody notes, too: one comes with each thread that we stop. */
static int take_note(struct dt_recording *r, int timeout_ms)
{
	struct pollfd ends = {.fd = r->ends, .events = POLLIN};
	struct epoll_event events[MOST_AT_ONCE];
	int count = poll(&ends, 1, timeout_ms);
	uint64_t now = dt_clock_ns();

	if (count > 0)
		count = epoll_wait(r->ends, events, MOST_AT_ONCE, 0);
	for (int i = 0; i < count; i++) {
		struct dt_member *member = events[i].data.ptr;
		eventfd_t rung;

		if (!member) {
			eventfd_read(r->bell, &rung);
			continue;
		}
		member->gone_ns = now;
		r->calm = false;
		if (member->subject)
			atomic_store(&member->subject->gone, true);
	}
	if (count > 0)
		dt_crew_let_go(r->crew);
	return count;
}

bool dt_ends_await(struct dt_recording *r, uint64_t ns)
{
	ns = most_ns(r, ns);
	if (r->ends >= 0)
		return take_note(r, (int)((ns + NS_PER_MS - 1) / NS_PER_MS)) < 0;
	return nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL) < 0;
}

uint64_t dt_ends_last(struct dt_recording *r)
{
	uint64_t last_ns = r->gone_ns;

	for (int left = 1; r->ends >= 0 && left;)
		left = take_note(r, 0) > 0;
	for (const struct dt_member *member = r->members; member; member = member->next) {
		if (!member->gone_ns)
			return 0;
		last_ns = DT_MAX(last_ns, member->gone_ns);
	}
	return last_ns;
}
