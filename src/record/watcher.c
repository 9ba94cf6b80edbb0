/*
 * The thread that samples: see watcher.h.
 *
 * Instants are those of instants.h. One that has passed while we looked, or while the machine was
 * suspended, is not made up for. A process that comes is looked at from the next instant on, and that look stands for
 * the time since the one before as it does of all others; without any process there are no instants.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/util.h"
#include "record/watcher_inside.h"

#define RING_BYTES  ((size_t)2 << 20)  /* some seconds at 1,000 samples a second */
#define MOST_BYTES  ((size_t)64 << 20) /* for who has more frames than that, or while nobody collects */
#define PERCH_REST  4                  /* times as long as a round in a perch took there is none */
#define NATIVE_REST 25 /* the same of how long threads stood in a round for copies of their C stacks, all together */
#define NEW_ROUNDS  10 /* of a process that has just come */
#define LONG_PART   8  /* of the time from one look to the next: a look that takes long */
#define NS_PER_S    1000000000u
#define LET_GO_NS   UINT64_C(20000000)
#define SOON_NS     50000
#define LATER_NS    1000000
#define SEAT_ROUNDS 100 /* after which the seat is judged */
#define NEAR_NS     10000
#define CALLED_RATE 50.0 /* below, who calls would wait for too long */
#define SEAT_FEW    5    /* or, in a second, after so few */
#define SUMS_NS     UINT64_C(50000000)
#define SEAT_LATE   5 /* one in so many may be late, or beyond a perch */
#define ASK_NS      UINT64_C(100000000)
#define END_NS      UINT64_C(3000000000) /* in which a round is over, whatever happens */

void dt_watcher_push(_Atomic(struct dt_subject *) *box, struct dt_subject *subject)
{
	struct dt_subject *first = atomic_load(box);

	do
		subject->next = first;
	while (!atomic_compare_exchange_weak(box, &first, subject));
}

void dt_watcher_give_back(struct dt_watcher *w, struct dt_subject *subject)
{
	dt_image_pool_lend(subject->pool, NULL);
	dt_watcher_push(&w->outbox, subject);
	if (w->options.bell >= 0)
		eventfd_write(w->options.bell, 1);
}

/* Those that have come, linked by next. */
static struct dt_subject *take_in(struct dt_watcher *w)
{
	struct dt_subject *list;

	if (!atomic_load_explicit(&w->inbox, memory_order_relaxed))
		return NULL;
	list = atomic_exchange(&w->inbox, NULL);
	for (struct dt_subject *subject = list; subject; subject = subject->next)
		dt_image_pool_lend(subject->pool, w->pool);
	return list;
}

static void add_all(struct dt_watcher *w, struct dt_subject *list)
{
	struct dt_subject **link = &w->subjects;

	while (*link)
		link = &(*link)->next;
	*link = list;
}

/* For how long the last round kept a process from its CPU that ran: the one of which that is most. The first looks at a
 * process read all that is kept of it from then on, and are few. */
static uint64_t kept_ns(const struct dt_watcher *w)
{
	uint64_t most = 0;

	for (const struct dt_subject *subject = w->subjects; subject; subject = subject->next)
		if (subject->active && subject->rounds > NEW_ROUNDS)
			most = DT_MAX(most, subject->took_ns -
						DT_MIN(subject->took_ns, dt_recorder_beside(subject->recorder)));
	return DT_MIN(most, w->took_ns);
}

/* How long threads stood since this was last asked. */
static uint64_t stood_since(struct dt_watcher *w)
{
	uint64_t before_ns = w->rested_ns;

	w->rested_ns = dt_pause_sum().stood_ns;
	return w->rested_ns - before_ns;
}

/* The next instant. Where a look takes a good part of the time between two, the target waits for as long, and is to
 * get on; so are all, where looks at many of them do. */
static uint64_t next_instant(struct dt_watcher *w, uint64_t due_ns)
{
	uint64_t now = dt_clock_ns(), next = dt_instants_next(&w->instants, due_ns, now), rest_ns = 0;

	if (w->seat.kind != DT_SEAT_BESIDE)
		rest_ns = dt_respite_after(&w->respite, w->options.rate, kept_ns(w), now);
	if (w->seat.kind != DT_SEAT_BESIDE && w->took_ns * LONG_PART * w->options.rate > NS_PER_S)
		rest_ns = DT_MAX(rest_ns, PERCH_REST * w->took_ns);
	if (w->options.native)
		rest_ns = NATIVE_REST * stood_since(w);
	/* Behind the rest the next instant is as far as ever: at its end it would mostly be there already, and find
	 * what comes so long after a look like this. */
	dt_instants_put_off(&w->instants, rest_ns);
	return next + rest_ns;
}

static bool is_called(struct dt_watcher *w)
{
	return atomic_load(&w->quit) || atomic_load(&w->inbox) || atomic_load(&w->parts);
}

/* A thread that is to stop and has not is let go as soon as it has: until then, or the instant, nobody sleeps for long.
 * With nobody to look at there is no instant. */
static void let_go(struct dt_watcher *w, uint64_t due)
{
	uint64_t began = dt_clock_ns();

	while (w->stop.tid && (!w->subjects || dt_clock_ns() < due) && !is_called(w)) {
		nanosleep(&(struct timespec){.tv_nsec = dt_clock_ns() < began + LET_GO_NS ? SOON_NS : LATER_NS}, NULL);
		dt_stop_poll(&w->stop);
	}
}

/* Until then, or somebody calls; with nobody to look at for ever. Where the instant is near anyway it is awaited: that
 * costs less; and without sleep where it is nearer than the end of any sleep, unless we keep somebody from a CPU. */
static void sleep_until(struct dt_watcher *w, uint64_t when)
{
	struct timespec at = {.tv_sec = (time_t)(when / NS_PER_S), .tv_nsec = (long)(when % NS_PER_S)};
	int rc = 0;

	if (w->subjects && w->options.rate > DT_PERCH_RATE && when < dt_clock_ns() + NEAR_NS) {
		while (dt_clock_ns() < when)
			;
		return;
	}
	if (w->subjects && w->options.rate >= CALLED_RATE) {
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		return;
	}
	pthread_mutex_lock(&w->mutex);
	while (!is_called(w) && rc != ETIMEDOUT)
		rc = w->subjects ? pthread_cond_timedwait(&w->called, &w->mutex, &at)
				 : pthread_cond_wait(&w->called, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
}

/* It sleeps by then or sees what it is called for, and who is woken finds the mutex free. */
static void call(struct dt_watcher *w)
{
	pthread_mutex_lock(&w->mutex);
	pthread_mutex_unlock(&w->mutex);
	pthread_cond_signal(&w->called);
}

/* Up to when time counts as told where nobody was looked at until now. If nobody was because a process had ended
 * there would have been instants all the same: the last one half a period ago where they are even, and a whole one else
 * (where each moment is as likely as any other the way back is as long as the one to the next). */
static uint64_t told_before(const struct dt_watcher *w, const struct dt_subject *list)
{
	uint64_t back_ns = (uint64_t)(w->instants.period_ns / (w->instants.even ? 2 : 1)), now = dt_clock_ns();

	return list->lived_ns && !list->rounds ? DT_MAX(now - DT_MIN(back_ns, now), w->began_ns) : now;
}

/* What is new is told, and looked at from the next instant on. True while that has not come. */
static bool greet(struct dt_watcher *w, uint64_t *due)
{
	bool first = !w->subjects;
	struct dt_subject *list = take_in(w), *next;

	if (first && list)
		dt_instants_begin(&w->instants, told_before(w, list));
	for (; list; list = next) {
		next = list->next;
		list->next = NULL;
		if (!list->rounds)
			dt_subject_begin(list, w->ring, w->began_ns, w->instants.told_ns, &w->tally);
		add_all(w, list);
	}
	if (first && w->subjects) /* there were no instants before */
		*due = next_instant(w, dt_clock_ns());
	return dt_clock_ns() < *due;
}

/* Who has ended is not looked at any more. */
static void part(struct dt_watcher *w)
{
	struct dt_subject **link = &w->subjects;

	if (!atomic_load_explicit(&w->parts, memory_order_relaxed) || !atomic_exchange(&w->parts, false))
		return;
	while (*link) {
		struct dt_subject *subject = *link;

		if (!atomic_load(&subject->gone)) {
			link = &subject->next;
			continue;
		}
		*link = subject->next;
		subject->code = dt_fail(&subject->err, DT_EENDED, "process %d ended", subject->pid);
		dt_watcher_give_back(w, subject);
	}
}

/* Of two that had as many rounds, the one that we sit in. */
static void tell_seat(struct dt_watcher *w)
{
	enum dt_seat_kind most = w->seat.kind;

	w->sat[most].why = w->seat.why;
	for (enum dt_seat_kind kind = DT_SEAT_BESIDE; kind <= DT_SEAT_FIFO; kind++)
		if (w->sat[kind].rounds > w->sat[most].rounds)
			most = kind;
	atomic_store(&w->seat_why, w->sat[most].why);
	atomic_store(&w->seat_kind, (int)most);
}

static bool anybody_ran(const struct dt_watcher *w)
{
	bool ran = false;

	for (const struct dt_subject *subject = w->subjects; subject; subject = subject->next)
		ran = ran || subject->active;
	return ran;
}

static bool met_real_time(const struct dt_watcher *w)
{
	bool met = false;

	for (const struct dt_subject *subject = w->subjects; subject; subject = subject->next)
		met = dt_recorder_real_time(subject->recorder) || met;
	return met;
}

/* A short time slice is worth nothing where the kernel does not give us the CPU for it (a cgroup of little weight, for
 * one): then we wait until the target blocks, and see it where it sleeps. */
static void watch_slice(struct dt_watcher *w)
{
	bool unseen = w->tally.unseen != w->seen_unseen || w->tally.torn != w->seen_torn;

	w->seen_unseen = w->tally.unseen;
	w->seen_torn = w->tally.torn;
	if (w->seat.kind == DT_SEAT_SLICE && !w->seating.last_ns)
		dt_seating_begin(&w->seating, w->options.rate, w->options.pause ? DT_STOPS_RATE : 0, dt_clock_ns());
	if (!w->seating.last_ns || dt_seating_next(&w->seating, anybody_ran(w), unseen, dt_clock_ns()) == w->seat.kind)
		return;
	if (w->seating.kind == DT_SEAT_BESIDE)
		dt_seat_lower(&w->seat, DT_SEAT_BESIDE,
			      strstr(w->seat.why, DT_RIGHT) ? DT_WHY_LATE ", and there is no right to a real-time "
									  "priority (" DT_RIGHT ")"
							    : DT_WHY_LATE);
	else if (!dt_seat_return(&w->seat))
		w->seating.last_ns = 0;
}

/* Has the only process run with such a priority in this round? Nothing of that is seen in a perch, on whichever CPU we
 * sit. */
static bool is_beyond(const struct dt_watcher *w)
{
	return w->subjects && !w->subjects->next && dt_recorder_real_time(w->subjects->recorder);
}

/* The same is true of the lowest real-time priority where the target has a higher one. */
static void watch_fifo(struct dt_watcher *w)
{
	uint64_t rounds = w->tally.rounds - w->watched_rounds, late = w->tally.late - w->watched_late, beyond;
	bool met;

	w->beyond_rounds += is_beyond(w);
	if (rounds < SEAT_ROUNDS && (rounds < SEAT_FEW || dt_clock_ns() < w->watched_ns + NS_PER_S))
		return;
	beyond = w->beyond_rounds;
	met = met_real_time(w) || beyond;
	w->watched_ns = dt_clock_ns();
	w->watched_rounds = w->tally.rounds;
	w->watched_late = w->tally.late;
	w->beyond_rounds = 0;
	if (met && DT_MAX(late, beyond) * SEAT_LATE >= rounds)
		dt_seat_lower(&w->seat, DT_SEAT_BESIDE,
			      "the target has a real-time priority, and kept us from its CPU");
}

static void watch_seat(struct dt_watcher *w)
{
	w->sat[w->seat.kind].rounds++;
	tell_seat(w);
	if (w->seat.kind == DT_SEAT_FIFO)
		watch_fifo(w);
	else
		watch_slice(w);
}

/* Stops, and the CPU time that we have used: now and then, for who looks after the recording. */
static void tell_sums(struct dt_watcher *w)
{
	const struct dt_pause_sum ladder = dt_pause_sum();

	w->tally.stops = w->stop.count + ladder.count;
	w->tally.stopped_ns = w->stop.stood_ns + ladder.stood_ns;
	if (dt_clock_ns() < w->told_ns + SUMS_NS)
		return;
	w->told_ns = dt_clock_ns();
	atomic_store_explicit(&w->cpu_ns, dt_cpu_ns(), memory_order_relaxed);
}

/* Beside, the one who runs is left alone on its CPU. With several there is nothing to choose. */
static void keep_off(struct dt_watcher *w)
{
	if (w->seat.kind == DT_SEAT_BESIDE && w->subjects && !w->subjects->next &&
	    dt_recorder_cpu(w->subjects->recorder) == sched_getcpu())
		dt_seat_avoid(&w->seat, sched_getcpu());
}

/* Where the others find it. */
static void tell_place(struct dt_watcher *w)
{
	int sits = DT_SITS_FREE;

	for (const struct dt_subject *subject = w->subjects; subject && sits == DT_SITS_FREE; subject = subject->next)
		if (subject->active)
			sits = w->seat.cpu >= 0 ? w->seat.cpu : DT_SITS_BESIDE;
	atomic_store_explicit(&w->sits, sits, memory_order_relaxed);
}

static void *watch(void *argument)
{
	struct dt_watcher *w = argument;
	uint64_t due, last, next;

	w->tid = gettid();
	dt_seat_take(&w->seat, w->options.perch && !w->options.pause_always && w->options.rate <= DT_PERCH_RATE,
		     w->options.rate <= DT_PERCH_RATE);
	if (w->options.perch && w->options.rate > DT_PERCH_RATE)
		w->seat.why = DT_WHY_RATE;
	if (w->options.pause_always)
		w->seat.why = "threads are to be stopped instead";
	tell_seat(w);
	due = dt_clock_ns();
	while (!atomic_load_explicit(&w->quit, memory_order_relaxed)) {
		let_go(w, due);
		w->slept_ns = dt_clock_ns();
		if (due > w->slept_ns || !w->subjects)
			sleep_until(w, due);
		dt_stop_poll(&w->stop);
		part(w);
		if (greet(w, &due) || !w->subjects)
			continue;
		last = dt_watcher_round(w, due);
		tell_place(w);
		keep_off(w);
		next = next_instant(w, last);
		w->tally.watched_ns += next - due;
		due = next;
		watch_seat(w);
		tell_sums(w);
	}
	dt_seat_leave(&w->seat);
	dt_event_happen(&w->ended);
	return NULL;
}

static int init(struct dt_watcher *w)
{
	pthread_condattr_t attributes;

	w->ring = dt_ring_new(RING_BYTES, MOST_BYTES);
	w->pool = dt_image_pool_new();
	if (!w->ring || !w->pool || dt_event_init(&w->ended) < 0)
		return -ENOMEM;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->called, &attributes); /* can only fail for attributes that are not these */
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&w->mutex, NULL);
	return 0;
}

/* Signals are for the thread that looks after the recording. */
static int start(struct dt_watcher *w)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void release(struct dt_watcher *w)
{
	dt_image_pool_free(w->pool);
	dt_ring_free(w->ring);
	free(w);
}

int dt_watcher_new(const struct dt_watcher_options *options, uint64_t began_ns, const struct dt_watchers *all,
		   struct dt_watcher **result, struct dt_error *err)
{
	struct dt_watcher *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	w->options = *options;
	w->began_ns = began_ns;
	w->all = all;
	atomic_init(&w->sits, DT_SITS_FREE);
	dt_instants_init(&w->instants, options->rate, dt_clock_ns() ^ (uint64_t)getpid() << 32);
	if (init(w) < 0) {
		release(w);
		return dt_fail(err, DT_EMEMORY, "out of memory");
	}
	rc = start(w);
	if (rc) {
		w->stopped = true;
		dt_watcher_free(w);
		return dt_fail(err, DT_ERUNTIME, "no thread can be made: %s", strerror(rc));
	}
	*result = w;
	return 0;
}

void dt_watcher_add(struct dt_watcher *w, struct dt_subject *subject)
{
	dt_watcher_push(&w->inbox, subject);
	call(w);
}

void dt_watcher_let_go(struct dt_watcher *w)
{
	atomic_store(&w->parts, true);
	call(w);
}

void dt_watcher_hand_on(struct dt_watcher *to, struct dt_subject *subject)
{
	dt_image_pool_lend(subject->pool, NULL);
	atomic_store(&subject->first, to == to->all->list[0]);
	atomic_store(&subject->back, false);
	dt_watcher_add(to, subject);
}

struct dt_subject *dt_watcher_ended(struct dt_watcher *w)
{
	return atomic_exchange(&w->outbox, NULL);
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

uint64_t dt_watcher_strays(const struct dt_watcher *w)
{
	return atomic_load(&w->strays);
}

uint64_t dt_watcher_cpu_ns(const struct dt_watcher *w)
{
	return atomic_load(&w->cpu_ns);
}

/* False if it hangs, or does not end within the time that a round may take. */
static bool await_end(struct dt_watcher *w)
{
	uint64_t end = dt_clock_ns() + (uint64_t)(NS_PER_S * 2 / w->options.rate) + END_NS;

	while (!dt_event_await_until(&w->ended, dt_clock_ns() + ASK_NS))
		if (dt_watcher_hangs(w) || dt_clock_ns() > end)
			return false;
	return true;
}

bool dt_watcher_stop(struct dt_watcher *w)
{
	if (w->stopped || atomic_load(&w->look) == DT_LOOK_LEFT)
		return true;
	atomic_store(&w->quit, true);
	call(w);
	if (!await_end(w))
		return false;
	pthread_join(w->thread, NULL);
	dt_stop_forget(&w->stop);
	w->stopped = true;
	add_all(w, take_in(w));
	while (w->subjects) {
		struct dt_subject *subject = w->subjects;

		w->subjects = subject->next;
		dt_watcher_give_back(w, subject);
	}
	return true;
}

void dt_watcher_free(struct dt_watcher *w)
{
	if (!w)
		return;
	if (atomic_load(&w->look) == DT_LOOK_LEFT) {
		dt_watcher_keep(w);
		return;
	}
	pthread_cond_destroy(&w->called);
	pthread_mutex_destroy(&w->mutex);
	dt_event_destroy(&w->ended);
	release(w);
}
