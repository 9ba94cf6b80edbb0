/*
 * Attaching behind the back: see enlist.h.
 *
 * A worker has one order at a time. Its mutex guards the state, and while the state is DONE or IDLE everything else is
 * the caller's; from ORDERED until DONE it is the worker's.
 */
#include "lib/enlist.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"

#define NS_PER_S UINT64_C(1000000000)
#define STACK    ((size_t)512 << 10)

enum state { IDLE, ORDERED, DONE, QUIT };

struct worker {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum state state;
	bool orphan; /* nobody waits for it any more: it frees itself */
	pthread_t thread;
	struct dt_options looking;
	int pid;
	int code;
	struct dt_error err;
	struct dt_target *target;
	struct dt_subject *subject;
	struct dt_find_cache *cache; /* what was learnt of files serves the next process */
	struct dt_image_pool *pool;
	_Atomic uint64_t stops, stopped_ns; /* read by others at any time */
};

struct dt_enlister {
	struct dt_options looking;
	struct worker *workers[DT_ENLIST_MOST];
	size_t count;
};

static void drop_result(struct worker *worker)
{
	dt_subject_free(worker->subject);
	dt_release(worker->target);
	worker->subject = NULL;
	worker->target = NULL;
}

static void free_worker(struct worker *worker)
{
	drop_result(worker);
	dt_find_cache_free(worker->cache);
	dt_image_pool_free(worker->pool);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->mutex);
	free(worker);
}

static void attach(struct worker *worker)
{
	struct dt_pause_sum sum;
	struct dt_target *target;
	int rc = dt_attach_recorded(worker->pid, worker->cache, &worker->target, &worker->err);

	target = worker->target;
	if (rc == 0)
		rc = dt_subject_new(&target->proc, target->live, &target->python, &worker->looking, &worker->subject,
				    &worker->err);
	if (rc == 0)
		rc = dt_subject_meet(worker->subject, worker->pool, &worker->err);
	if (rc < 0)
		drop_result(worker);
	worker->code = rc;
	sum = dt_pause_sum();
	atomic_store_explicit(&worker->stops, sum.count, memory_order_relaxed);
	atomic_store_explicit(&worker->stopped_ns, sum.stood_ns, memory_order_relaxed);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	bool orphan;

	pthread_mutex_lock(&worker->mutex);
	for (;;) {
		while (worker->state != ORDERED && worker->state != QUIT)
			pthread_cond_wait(&worker->changed, &worker->mutex);
		if (worker->state == QUIT)
			break;
		pthread_mutex_unlock(&worker->mutex);
		attach(worker);
		pthread_mutex_lock(&worker->mutex);
		if (worker->orphan)
			break;
		worker->state = DONE;
		pthread_mutex_unlock(&worker->mutex);
		pthread_cond_broadcast(&worker->changed); /* who is woken finds the mutex free */
		pthread_mutex_lock(&worker->mutex);
	}
	orphan = worker->orphan;
	pthread_mutex_unlock(&worker->mutex);
	if (orphan)
		free_worker(worker);
	return NULL;
}

static int start(struct worker *worker)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&worker->thread, &attributes, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc;
}

static struct worker *new_worker(struct dt_enlister *enlister)
{
	struct worker *worker = enlister->count < DT_ENLIST_MOST ? calloc(1, sizeof(*worker)) : NULL;
	pthread_condattr_t attributes;

	if (!worker)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&worker->mutex, NULL);
	worker->looking = enlister->looking;
	worker->cache = dt_find_cache_new(); /* without one it is only slower */
	worker->pool = dt_image_pool_new();
	if (!worker->pool || start(worker)) {
		free_worker(worker);
		return NULL;
	}
	enlister->workers[enlister->count++] = worker;
	return worker;
}

static enum state state_of(struct worker *worker)
{
	enum state state;

	pthread_mutex_lock(&worker->mutex);
	state = worker->state;
	pthread_mutex_unlock(&worker->mutex);
	return state;
}

/* A process that has ended since it was attached is of no use to anybody, and its number may be another one's by now.
 */
static void drop_ended(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	if (worker->state == DONE && worker->target && dt_proc_ended(&worker->target->proc)) {
		drop_result(worker);
		worker->state = IDLE;
	}
	pthread_mutex_unlock(&worker->mutex);
}

void dt_enlister_tidy(struct dt_enlister *enlister)
{
	for (size_t i = 0; i < enlister->count; i++)
		drop_ended(enlister->workers[i]);
}

/* The one that has the order already, or one that is free. A failure that nobody has asked for is forgotten. */
static struct worker *find_worker(struct dt_enlister *enlister, int pid)
{
	struct worker *found = NULL;

	dt_enlister_tidy(enlister);
	for (size_t i = 0; i < enlister->count; i++) {
		struct worker *worker = enlister->workers[i];
		enum state state = state_of(worker);

		if (state != IDLE && worker->pid == pid)
			return worker;
		if (!found && (state == IDLE || (state == DONE && worker->code < 0)))
			found = worker;
	}
	return found ? found : new_worker(enlister);
}

static void order(struct worker *worker, int pid)
{
	worker->pid = pid;
	worker->state = ORDERED;
	pthread_cond_broadcast(&worker->changed);
}

/* True if it is done by then. */
static bool await(struct worker *worker, uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};

	while (worker->state == ORDERED)
		if (pthread_cond_timedwait(&worker->changed, &worker->mutex, &until))
			break;
	return worker->state == DONE;
}

static int fail_waiting(int pid, struct dt_error *err)
{
	dt_fail(err, DT_EAGAIN, "process %d has not let itself be looked at yet", pid);
	dt_hint(err, "its memory does not come, or the machine is too busy; it is waited for, the others are recorded");
	return DT_EAGAIN;
}

int dt_enlist(struct dt_enlister *enlister, int pid, uint64_t wait_ns, struct dt_target **target,
	      struct dt_subject **subject, struct dt_error *err)
{
	struct worker *worker = find_worker(enlister, pid);
	bool done;

	if (!worker)
		return fail_waiting(pid, err);
	pthread_mutex_lock(&worker->mutex);
	if (worker->state == IDLE || worker->pid != pid)
		order(worker, pid);
	done = await(worker, dt_clock_ns() + wait_ns);
	if (done)
		worker->state = IDLE;
	pthread_mutex_unlock(&worker->mutex);
	if (!done)
		return fail_waiting(pid, err);
	if (worker->code < 0) {
		if (err)
			*err = worker->err;
		return worker->code;
	}
	*target = worker->target;
	*subject = worker->subject;
	worker->target = NULL;
	worker->subject = NULL;
	return 0;
}

struct dt_pause_sum dt_enlister_stops(const struct dt_enlister *enlister)
{
	struct dt_pause_sum sum = {0};

	for (size_t i = 0; i < enlister->count; i++) {
		sum.count += atomic_load_explicit(&enlister->workers[i]->stops, memory_order_relaxed);
		sum.stood_ns += atomic_load_explicit(&enlister->workers[i]->stopped_ns, memory_order_relaxed);
	}
	return sum;
}

struct dt_enlister *dt_enlister_new(const struct dt_options *looking)
{
	struct dt_enlister *enlister = calloc(1, sizeof(*enlister));

	if (enlister)
		enlister->looking = *looking;
	return enlister;
}

static void dismiss(struct worker *worker)
{
	pthread_t thread = worker->thread;
	bool busy;

	pthread_mutex_lock(&worker->mutex);
	busy = worker->state == ORDERED;
	if (busy)
		worker->orphan = true;
	else
		worker->state = QUIT;
	pthread_cond_broadcast(&worker->changed);
	if (busy)
		pthread_detach(thread);
	pthread_mutex_unlock(&worker->mutex);
	if (busy)
		return;
	pthread_join(thread, NULL);
	free_worker(worker);
}

void dt_enlister_free(struct dt_enlister *enlister)
{
	if (!enlister)
		return;
	for (size_t i = 0; i < enlister->count; i++)
		dismiss(enlister->workers[i]);
	free(enlister);
}
