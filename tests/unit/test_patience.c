/* Steps that may never come back: blocked ones wait for a semaphore, which nobody posts until the test is over. */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/patience.h"
#include "base/util.h"

#define SHORT_NS UINT64_C(50000000)    /* for steps that shall be left behind */
#define LONG_NS  UINT64_C(60000000000) /* for steps that shall not */
#define STEPS    6

struct work {
	size_t said; /* what begin() wrote */
	pthread_t thread;
	atomic_size_t ended; /* steps */
};

struct told {
	struct work works[STEPS]; /* the first is given, others are for those that get stuck */
	size_t used;
	size_t begun[STEPS], done[STEPS], stuck[STEPS];
	pthread_t threads[STEPS];
	size_t stop_at; /* done() says that it is enough */
	size_t refuse;  /* begin() does */
	bool no_more;   /* stuck() has no other work */
};

static sem_t gate;
static bool no_threads;
static size_t threads_made;
static size_t block_from, block_to;

/* Stands before the library's own. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (no_threads)
		return EAGAIN;
	threads_made++;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attributes, run, argument);
}

static bool begin(void *context, void *work, size_t i)
{
	struct told *told = context;

	if (i == told->refuse)
		return false;
	told->begun[i]++;
	((struct work *)work)->said = i;
	return true;
}

static void step(void *work, size_t i)
{
	struct work *mine = work;

	assert_int_equal(mine->said, i);
	mine->thread = pthread_self();
	if (i >= block_from && i < block_to)
		while (sem_wait(&gate) < 0)
			;
	atomic_fetch_add(&mine->ended, 1);
}

static bool done(void *context, void *work, size_t i)
{
	struct told *told = context;

	told->done[i]++;
	told->threads[i] = ((struct work *)work)->thread;
	return i != told->stop_at;
}

static void *stuck(void *context, void *work, size_t i)
{
	struct told *told = context;

	assert_ptr_equal(work, &told->works[told->used]);
	told->stuck[i]++;
	return told->no_more ? NULL : &told->works[++told->used];
}

static struct told *told_new(void)
{
	struct told *told = calloc(1, sizeof(*told));

	assert_non_null(told);
	told->stop_at = told->refuse = SIZE_MAX;
	block_from = block_to = 0;
	no_threads = false;
	threads_made = 0;
	return told;
}

static struct work *run(struct told *told, uint64_t limit)
{
	const struct dt_patience patience = {limit, told, begin, step, done, stuck};

	return dt_patiently(&patience, &told->works[0], STEPS);
}

static void one_thread_runs_all_steps(void **state)
{
	struct told *told = told_new();
	size_t before = dt_patience_left_behind();

	(void)state;
	assert_ptr_equal(run(told, LONG_NS), &told->works[0]);
	for (size_t i = 0; i < STEPS; i++) {
		assert_int_equal(told->begun[i], 1);
		assert_int_equal(told->done[i], 1);
		assert_int_equal(told->stuck[i], 0);
		assert_true(pthread_equal(told->threads[i], told->threads[0]));
	}
	assert_false(pthread_equal(told->threads[0], pthread_self()));
	assert_int_equal(threads_made, 1);
	assert_int_equal(dt_patience_left_behind(), before);
	free(told);
}

static void it_ends_when_told(void **state)
{
	struct told *told = told_new();

	(void)state;
	told->stop_at = 2;
	assert_ptr_equal(run(told, LONG_NS), &told->works[0]);
	assert_int_equal(told->done[2], 1);
	assert_int_equal(told->begun[3], 0);
	free(told);
	told = told_new();
	told->refuse = 3;
	assert_ptr_equal(run(told, LONG_NS), &told->works[0]);
	assert_int_equal(told->done[2], 1);
	assert_int_equal(told->begun[3] + told->begun[4], 0);
	free(told);
}

static void without_threads_they_are_run_here(void **state)
{
	struct told *told = told_new();

	(void)state;
	no_threads = true;
	told->stop_at = 4;
	assert_ptr_equal(run(told, LONG_NS), &told->works[0]);
	for (size_t i = 0; i <= 4; i++) {
		assert_int_equal(told->done[i], 1);
		assert_true(pthread_equal(told->threads[i], pthread_self()));
	}
	assert_int_equal(told->begun[5], 0);
	no_threads = false;
	free(told);
}

/* Lets those that are left behind go on, and waits until each has come back. */
static void open_gate(struct told *told, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sem_post(&gate);
	for (size_t i = 0; i < count; i++)
		while (atomic_load(&told->works[i].ended) == 0)
			usleep(1000);
}

static void blocked_steps_are_left_behind(void **state)
{
	static struct told *told; /* never freed: those that are left behind write there */
	size_t before = dt_patience_left_behind();

	(void)state;
	told = told_new();
	block_from = 0, block_to = 2;
	assert_ptr_equal(run(told, SHORT_NS), &told->works[2]);
	assert_int_equal(threads_made, 3);
	assert_int_equal(dt_patience_left_behind(), before + 2);
	for (size_t i = 0; i < STEPS; i++) {
		assert_int_equal(told->begun[i], 1);
		assert_int_equal(told->stuck[i], i < 2);
		assert_int_equal(told->done[i], i >= 2);
	}
	open_gate(told, 2);
	assert_int_equal(told->done[0] + told->done[1], 0);
	assert_int_equal(atomic_load(&told->works[2].ended), STEPS - 2);
}

static void the_last_one_may_be_blocked(void **state)
{
	static struct told *told;

	(void)state;
	told = told_new();
	block_from = STEPS - 1, block_to = STEPS;
	assert_ptr_equal(run(told, SHORT_NS), &told->works[1]);
	assert_int_equal(told->stuck[STEPS - 1], 1);
	assert_int_equal(told->done[STEPS - 2], 1);
	sem_post(&gate);
	while (atomic_load(&told->works[0].ended) < STEPS)
		usleep(1000);
	assert_int_equal(told->done[STEPS - 1], 0);
}

static void without_other_work_it_ends(void **state)
{
	static struct told *told;

	(void)state;
	told = told_new();
	told->no_more = true;
	block_from = 0, block_to = 1;
	assert_null(run(told, SHORT_NS));
	assert_int_equal(told->stuck[0], 1);
	assert_int_equal(told->begun[1], 0);
	open_gate(told, 1);
	assert_int_equal(told->done[0], 0);
}

static void compute(void *work, size_t i)
{
	uint64_t until = dt_clock_ns() + 10 * SHORT_NS;

	(void)i;
	while (dt_clock_ns() < until)
		;
	atomic_fetch_add(&((struct work *)work)->ended, 1);
}

static void one_that_computes_is_waited_for(void **state)
{
	struct told *told = told_new();
	const struct dt_patience patience = {SHORT_NS, told, NULL, compute, done, stuck};

	(void)state;
	assert_ptr_equal(dt_patiently(&patience, &told->works[0], 1), &told->works[0]);
	assert_int_equal(told->done[0], 1);
	assert_int_equal(told->stuck[0], 0);
	free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_thread_runs_all_steps),         cmocka_unit_test(it_ends_when_told),
	    cmocka_unit_test(without_threads_they_are_run_here), cmocka_unit_test(blocked_steps_are_left_behind),
	    cmocka_unit_test(the_last_one_may_be_blocked),       cmocka_unit_test(without_other_work_it_ends),
	    cmocka_unit_test(one_that_computes_is_waited_for),
	};

	sem_init(&gate, 0, 0);
	return cmocka_run_group_tests_name("patience", tests, NULL, NULL);
}
