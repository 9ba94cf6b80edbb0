/*
 * The thread that samples: see watcher.h.
 *
 * Instants are jittered: the time from one to the next is between half a period and one and a half, so that a program
 * with a rhythm of its own is not met in step. An instant that has passed while we looked, or while the machine was
 * suspended, is not made up for.
 *
 * A round: every process is looked at by the short way first. Those whose thread runs on another CPU are visited there,
 * one after the other, as long as the moment lasts; the rest is stopped for a look where that is allowed, or counted as
 * not seen.
 */
#include "record/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/event.h"
#include "base/util.h"

#define RING_BYTES      ((size_t)2 << 20) /* some seconds at 1,000 samples a second */
#define LATE_NS         200000u           /* after which a look is not one of its moment any more */
#define PERCH_RATE      5000.0            /* above, we would take the CPU away from the target */
#define NS_PER_S        1000000000u
#define LET_GO_NS       UINT64_C(20000000)
#define LET_GO_NAP_NS   50000
#define SEAT_ROUNDS     100 /* after which the seat is judged */
#define SEAT_LATE       5   /* one in so many may be late */
#define LONGEST_STOP_NS NS_PER_S
#define END_NS          UINT64_C(3000000000) /* in which a round is over, whatever happens */
#define MOVES           2                    /* to the CPU of a thread that goes from one to another */
#define OVER_NS         2000000u /* a round that is over by so much is not made longer by looks that stop threads */

struct dt_watcher {
	struct dt_watcher_options options;
	struct dt_ring *ring;
	struct dt_image_pool *pool;
	struct dt_tally tally;
	uint64_t began_ns;
	struct dt_seat seat;
	struct dt_stop stop;
	_Atomic int seat_kind;
	_Atomic(const char *) seat_why;
	_Atomic(struct dt_subject *) inbox, outbox;
	_Atomic uint64_t cpu_ns;
	atomic_bool quit;
	struct dt_subject *subjects; /* that are looked at */
	uint64_t random;
	uint64_t watched_rounds, watched_late; /* of the tally, when the seat was last judged */
	pthread_t thread;
	struct dt_event ended;
	bool stopped;
};

static void push(_Atomic(struct dt_subject *) *box, struct dt_subject *subject)
{
	struct dt_subject *first = atomic_load(box);

	do
		subject->next = first;
	while (!atomic_compare_exchange_weak(box, &first, subject));
}

static void take_in(struct dt_watcher *w)
{
	struct dt_subject *list, *next;

	if (!atomic_load_explicit(&w->inbox, memory_order_relaxed))
		return;
	for (list = atomic_exchange(&w->inbox, NULL); list; list = next) {
		next = list->next;
		list->next = w->subjects;
		w->subjects = list;
	}
}

/* Between 0 and 1. */
static double chance(struct dt_watcher *w)
{
	w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(w->random >> 11) / 9007199254740992.0;
}

static void sleep_until(uint64_t when)
{
	struct timespec at = {.tv_sec = (time_t)(when / NS_PER_S), .tv_nsec = (long)(when % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

struct moment {
	struct dt_watcher *w;
	uint64_t woke_ns, late_ns;
};

enum way { SHORT, FOLLOW, WHOLE, STOP, OUTER, LADDER };

/* One look. False if the process is to be dropped. */
static bool take(const struct moment *m, struct dt_subject *subject, enum way way, enum dt_taken *taken)
{
	const struct dt_moment moment = {.seat = &m->w->seat,
					 .stop = way == STOP ? &m->w->stop : NULL,
					 .agree = way == WHOLE   ? DT_AGREE_WHOLE
						  : way == OUTER ? DT_AGREE_OUTER
								 : DT_AGREE_NOT,
					 .ladder = way == LADDER,
					 .more = way != SHORT,
					 .late_ns = m->late_ns};

	subject->code = dt_recorder_take(subject->recorder, &moment, taken, &subject->err);
	return subject->code == 0;
}

/* Goes where the thread runs, if there is time. */
static bool follow(const struct moment *m, struct dt_subject *subject, enum dt_taken *taken)
{
	for (int i = 0; i < MOVES && *taken == DT_TAKEN_AWAY && dt_clock_ns() < m->late_ns; i++) {
		if (!dt_seat_move(&m->w->seat, dt_recorder_cpu(subject->recorder)))
			return true;
		if (!take(m, subject, FOLLOW, taken))
			return false;
	}
	return true;
}

/* What the short way could not see. */
static bool settle(const struct moment *m, struct dt_subject *subject, enum dt_taken *taken)
{
	const struct dt_watcher_options *options = &m->w->options;

	m->w->tally.settled++;
	if (!options->pause_always && !follow(m, subject, taken))
		return false;
	for (enum way way = WHOLE; way < LADDER && *taken == DT_TAKEN_AWAY && dt_clock_ns() < m->late_ns; way++) {
		if (!options->pause ? way != OUTER : way == WHOLE && options->pause_always)
			continue;
		if (!take(m, subject, way, taken))
			return false;
	}
	if (*taken != DT_TAKEN_AWAY && *taken != DT_TAKEN_HARD)
		return true;
	if (dt_clock_ns() < m->late_ns + OVER_NS)
		return take(m, subject, LADDER, taken);
	dt_recorder_pass(subject->recorder);
	return true;
}

static void look_at(const struct moment *m, struct dt_subject *subject)
{
	enum dt_taken taken = DT_TAKEN_HARD;

	if (take(m, subject, SHORT, &taken) && (taken == DT_TAKEN_AWAY || taken == DT_TAKEN_HARD))
		settle(m, subject, &taken);
}

static void round_of_all(struct dt_watcher *w, uint64_t due_ns)
{
	struct moment m = {w, dt_clock_ns(), due_ns + LATE_NS};
	struct dt_subject **link = &w->subjects;

	w->tally.rounds++;
	w->tally.late += m.woke_ns > m.late_ns;
	while (*link) {
		struct dt_subject *subject = *link;

		look_at(&m, subject);
		if (subject->code == 0) {
			dt_subject_tell(subject, w->ring, w->began_ns, m.woke_ns, &w->tally);
			link = &subject->next;
			continue;
		}
		*link = subject->next;
		push(&w->outbox, subject);
	}
}

/* The next instant: never one that has passed. */
static uint64_t next_instant(struct dt_watcher *w, uint64_t due_ns)
{
	double period = NS_PER_S / w->options.rate;
	uint64_t next = due_ns + (uint64_t)(period * (0.5 + chance(w)));
	uint64_t now = dt_clock_ns();

	return next > now ? next : now;
}

/* A thread that is to stop and has not is let go as soon as it has. */
static void let_go(struct dt_watcher *w)
{
	uint64_t until = dt_clock_ns() + LET_GO_NS;

	while (w->stop.tid && dt_clock_ns() < until) {
		dt_stop_poll(&w->stop);
		if (w->stop.tid)
			nanosleep(&(struct timespec){.tv_nsec = LET_GO_NAP_NS}, NULL);
	}
}

static void tell_seat(struct dt_watcher *w)
{
	atomic_store(&w->seat_why, w->seat.why);
	atomic_store(&w->seat_kind, (int)w->seat.kind);
}

/* A short time slice is worth nothing where the kernel does not give us the CPU for it (a cgroup of little weight, for
 * one): then we wait until the target blocks, and see it where it sleeps. */
static void watch_seat(struct dt_watcher *w)
{
	uint64_t rounds = w->tally.rounds - w->watched_rounds, late = w->tally.late - w->watched_late;

	if (rounds < SEAT_ROUNDS)
		return;
	w->watched_rounds = w->tally.rounds;
	w->watched_late = w->tally.late;
	if (w->seat.kind != DT_SEAT_SLICE || late * SEAT_LATE < rounds)
		return;
	dt_seat_lower(&w->seat, DT_SEAT_BESIDE, "with a short time slice we came too late too often");
	tell_seat(w);
}

static void *watch(void *argument)
{
	struct dt_watcher *w = argument;
	uint64_t due;

	dt_seat_take(&w->seat, w->options.perch && !w->options.pause_always && w->options.rate <= PERCH_RATE);
	if (w->options.perch && w->options.rate > PERCH_RATE)
		w->seat.why = "at more than 5,000 samples per second there is no perch";
	tell_seat(w);
	due = dt_clock_ns();
	while (!atomic_load_explicit(&w->quit, memory_order_relaxed)) {
		due = next_instant(w, due);
		if (due > dt_clock_ns())
			sleep_until(due);
		take_in(w);
		dt_stop_poll(&w->stop);
		round_of_all(w, due);
		let_go(w);
		watch_seat(w);
		atomic_store_explicit(&w->cpu_ns, dt_cpu_ns(), memory_order_relaxed);
	}
	dt_seat_leave(&w->seat);
	dt_event_happen(&w->ended);
	return NULL;
}

int dt_watcher_new(const struct dt_watcher_options *options, uint64_t began_ns, struct dt_watcher **result,
		   struct dt_error *err)
{
	struct dt_watcher *w = calloc(1, sizeof(*w));
	sigset_t all, before;
	int rc;

	if (!w)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	w->options = *options;
	w->began_ns = began_ns;
	w->random = began_ns ^ (uint64_t)getpid() << 32;
	w->ring = dt_ring_new(RING_BYTES);
	w->pool = dt_image_pool_new();
	if (!w->ring || !w->pool || dt_event_init(&w->ended) < 0) {
		dt_image_pool_free(w->pool);
		dt_ring_free(w->ring);
		free(w);
		return dt_fail(err, DT_EMEMORY, "out of memory");
	}
	/* Signals are for the thread that looks after the recording. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		dt_event_destroy(&w->ended);
		dt_image_pool_free(w->pool);
		dt_ring_free(w->ring);
		free(w);
		return dt_fail(err, DT_ERUNTIME, "no thread can be made: %s", strerror(rc));
	}
	*result = w;
	return 0;
}

void dt_watcher_add(struct dt_watcher *w, struct dt_subject *subject)
{
	push(&w->inbox, subject);
}

struct dt_subject *dt_watcher_ended(struct dt_watcher *w)
{
	return atomic_exchange(&w->outbox, NULL);
}

struct dt_image_pool *dt_watcher_pool(struct dt_watcher *w)
{
	return w->pool;
}

struct dt_ring *dt_watcher_ring(struct dt_watcher *w)
{
	return w->ring;
}

const struct dt_tally *dt_watcher_tally(const struct dt_watcher *w)
{
	return &w->tally;
}

enum dt_seat_kind dt_watcher_seat(const struct dt_watcher *w, const char **why)
{
	*why = atomic_load(&w->seat_why);
	return (enum dt_seat_kind)atomic_load(&w->seat_kind);
}

uint64_t dt_watcher_cpu_ns(const struct dt_watcher *w)
{
	return atomic_load(&w->cpu_ns);
}

bool dt_watcher_hangs(const struct dt_watcher *w)
{
	uint64_t began = atomic_load_explicit(&w->stop.began_ns, memory_order_relaxed);

	return began && dt_clock_ns() > began + LONGEST_STOP_NS;
}

bool dt_watcher_stop(struct dt_watcher *w)
{
	if (w->stopped)
		return true;
	atomic_store(&w->quit, true);
	if (!dt_event_await_until(&w->ended, dt_clock_ns() + (uint64_t)(NS_PER_S * 2 / w->options.rate) + END_NS))
		return false;
	pthread_join(w->thread, NULL);
	w->stopped = true;
	take_in(w);
	while (w->subjects) {
		struct dt_subject *subject = w->subjects;

		w->subjects = subject->next;
		push(&w->outbox, subject);
	}
	return true;
}

void dt_watcher_free(struct dt_watcher *w)
{
	if (!w)
		return;
	dt_event_destroy(&w->ended);
	dt_image_pool_free(w->pool);
	dt_ring_free(w->ring);
	free(w);
}
