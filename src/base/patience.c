/*
 * Steps that may never come back: see patience.h.
 *
 * A worker and the thread that waits for it share a struct worker. Its mutex decides who was first: the worker that
 * reports the end of a step, or the waiting thread that leaves it behind. A worker that was left behind touches nothing
 * but its work and its struct worker, so these two are kept for ever.
 */
#include "base/patience.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/event.h"
#include "base/small_file.h"
#include "base/util.h"

#define STACK ((size_t)1 << 20) /* below the size of a huge page: clearing one would take longer than a whole look */
#define TICKS 20                /* the waiting thread looks this many times within the limit */

struct worker {
	const struct dt_patience *patience; /* the waiting thread's: not touched once left is set */
	void (*step)(void *work, size_t i);
	void *work;
	size_t first, count;
	pthread_t thread;
	struct dt_event ended;
	pthread_mutex_t mutex;
	/* Under the mutex: */
	pid_t tid;
	size_t at;     /* which step */
	bool stepping; /* it is inside of step() */
	bool left;
	struct worker *older; /* in left_behind */
};

/* Kept reachable, so that checkers for leaks see them as what they are. */
static _Atomic(struct worker *) left_behind;
static atomic_size_t left_count;

size_t dt_patience_left_behind(void)
{
	return atomic_load(&left_count);
}

static void keep(struct worker *worker)
{
	worker->older = atomic_load(&left_behind);
	while (!atomic_compare_exchange_weak(&left_behind, &worker->older, worker))
		;
	atomic_fetch_add(&left_count, 1);
}

static bool begin(const struct dt_patience *patience, void *work, size_t i)
{
	return !patience->begin || patience->begin(patience->context, work, i);
}

/* False if the worker was left behind meanwhile. */
static bool step(struct worker *worker, size_t i)
{
	bool left;

	pthread_mutex_lock(&worker->mutex);
	worker->at = i;
	worker->stepping = true;
	pthread_mutex_unlock(&worker->mutex);
	worker->step(worker->work, i);
	pthread_mutex_lock(&worker->mutex);
	worker->stepping = false;
	left = worker->left;
	pthread_mutex_unlock(&worker->mutex);
	return !left;
}

static void *run_worker(void *argument)
{
	struct worker *worker = argument;
	const struct dt_patience *patience = worker->patience;

	worker->tid = gettid();
	for (size_t i = worker->first; i < worker->count && begin(patience, worker->work, i); i++)
		if (!step(worker, i) || !patience->done(patience->context, worker->work, i))
			break;
	dt_event_happen(&worker->ended);
	return NULL;
}

static void run_here(const struct dt_patience *patience, void *work, size_t next, size_t count)
{
	for (; next < count && begin(patience, work, next); next++) {
		patience->step(work, next);
		if (!patience->done(patience->context, work, next))
			break;
	}
}

bool dt_thread_blocked(int tid)
{
	char path[64], text[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	if (dt_small_file(path, text, sizeof(text)) <= 0)
		return true;
	end = strrchr(text, ')');
	return !end || strncmp(end, ") R", 3) != 0;
}

/* True when the worker has ended. *passed is a tick at most: when we are stopped (Ctrl-Z) or the machine sleeps, that
 * is not a worker that waits. */
static bool await_tick(struct worker *worker, uint64_t *passed)
{
	uint64_t now = dt_clock_ns(), tick = worker->patience->limit_ns / TICKS + 1;
	bool ended = dt_event_await_until(&worker->ended, now + tick);

	*passed = DT_MIN(dt_clock_ns() - now, tick);
	return ended;
}

/* The step that the worker is inside of, SIZE_MAX if it is in none. */
static size_t where(struct worker *worker, pid_t *tid)
{
	size_t at;

	pthread_mutex_lock(&worker->mutex);
	at = worker->stepping ? worker->at : SIZE_MAX;
	*tid = worker->tid;
	pthread_mutex_unlock(&worker->mutex);
	return at;
}

/* False if the worker has got on meanwhile. */
static bool leave(struct worker *worker, size_t at)
{
	bool left;

	pthread_mutex_lock(&worker->mutex);
	left = worker->left = worker->stepping && worker->at == at;
	pthread_mutex_unlock(&worker->mutex);
	return left;
}

/* Waits until the worker has ended (true) or one of its steps was blocked for too long: then it is left behind. */
static bool await(struct worker *worker)
{
	uint64_t limit = worker->patience->limit_ns, waited = 0, passed;
	size_t at = SIZE_MAX;

	while (!await_tick(worker, &passed)) {
		pid_t tid;
		size_t now = where(worker, &tid);

		if (now == SIZE_MAX || now != at)
			waited = 0;
		else if (dt_thread_blocked(tid))
			waited += passed;
		at = now;
		if (waited >= limit && leave(worker, at))
			return false;
	}
	return true;
}

/* Signals are for the thread that called us, whose handlers and waits know of them; those that a thread brings upon
 * itself stay its own (a write to a pipe that nobody reads). */
static int start(struct worker *worker)
{
	static const int own[] = {SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	pthread_attr_t attributes;
	sigset_t all, before;
	int rc = pthread_attr_init(&attributes);

	if (rc)
		return -rc;
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	for (size_t i = 0; i < DT_COUNT(own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&worker->thread, &attributes, run_worker, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -rc;
}

static void dismiss(struct worker *worker)
{
	dt_event_destroy(&worker->ended);
	free(worker);
}

/* A worker that runs, NULL if there is none to be had. */
static struct worker *hire(const struct dt_patience *patience, void *work, size_t next, size_t count)
{
	struct worker *worker = malloc(sizeof(*worker));

	if (!worker)
		return NULL;
	*worker = (struct worker){patience, patience->step, work, next, count, .mutex = PTHREAD_MUTEX_INITIALIZER};
	if (dt_event_init(&worker->ended) < 0) {
		free(worker);
		return NULL;
	}
	if (start(worker) < 0) {
		dismiss(worker);
		return NULL;
	}
	return worker;
}

/* A stop by the terminal (Ctrl-Z) takes all our threads along, those too that hold a thread of the target at this
 * moment: it has to wait until the steps are done. */
static void delay_terminal_stops(sigset_t *before)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stops, before);
}

void *dt_patiently(const struct dt_patience *patience, void *work, size_t count)
{
	size_t next = 0;
	sigset_t before;

	delay_terminal_stops(&before);
	while (work && next < count) {
		struct worker *worker = hire(patience, work, next, count);

		if (!worker) {
			run_here(patience, work, next, count);
			break;
		}
		if (await(worker)) {
			pthread_join(worker->thread, NULL);
			dismiss(worker);
			break;
		}
		pthread_detach(worker->thread);
		keep(worker);
		work = patience->stuck(patience->context, work, worker->at);
		next = worker->at + 1;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return work;
}
