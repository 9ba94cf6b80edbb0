/* Ids and states: see label.h. */
#include "sample/label.h"

#include <errno.h>
#include <pthread.h>

#include "base/util.h"
#include "sample/state.h"

#define MANY_THREADS 100 /* for which a second thread of ours pays */

struct labels {
	const struct dt_holds *holds;
	const struct dt_proc *proc;
	struct dt_tids *tids;
	struct dt_mem *image;
	struct dt_arena *arena;
	struct dt_look *look;
};

static int by_tid_then_age(const void *a, const void *b)
{
	const struct dt_look_thread *x = *(const struct dt_look_thread *const *)a;
	const struct dt_look_thread *y = *(const struct dt_look_thread *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x < y ? -1 : 1; /* grouped by interpreter, oldest first */
}

/* An id that comes twice in an interpreter belongs to the older thread state: the newer one names its maker until its
 * own thread runs. A thread that calls into another interpreter has a thread state in each; but if it has the GIL in
 * the older one, the newer one is not what it runs, and names its maker, too. */
static bool not_its_own(const struct dt_look_thread *newer, const struct dt_look_thread *older)
{
	return newer->tid == older->tid &&
	       (newer->walk->interpreter == older->walk->interpreter || (older->gil && newer->walk->top));
}

static int settle_ids(const struct labels *labels)
{
	struct dt_look *look = labels->look;
	struct dt_look_thread **sorted;

	sorted = dt_arena_alloc(labels->arena, (look->thread_count + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < look->thread_count; i++) {
		struct dt_look_thread *thread = &look->threads[i];

		if (!thread->tid) /* of a suspect it is known */
			thread->tid = dt_tids_of(labels->tids, labels->image, thread->walk->ident, thread->walk->native,
						 &thread->ns_tid);
		sorted[i] = thread;
	}
	qsort(sorted, look->thread_count, sizeof(*sorted), by_tid_then_age);
	for (size_t i = look->thread_count; i-- > 1;)
		if (not_its_own(sorted[i], sorted[i - 1]))
			sorted[i]->tid = sorted[i]->ns_tid = 0;
	return 0;
}

/* Is the thread named by another thread state of the same interpreter? Then it runs that one. */
static bool has_own(const struct dt_look *look, const struct dt_look_thread *than, int tid)
{
	for (size_t i = 0; i < look->thread_count; i++)
		if (&look->threads[i] != than && look->threads[i].tid == tid &&
		    look->threads[i].walk->interpreter == than->walk->interpreter)
			return true;
	return false;
}

/* A thread state that has the GIL while the thread that it names is blocked is run by the one that runs, unless that
 * one has a thread state of its own: then it computes without the GIL, and the blocked one has it. */
static void find_runners(const struct labels *labels)
{
	for (size_t i = 0; i < labels->look->thread_count; i++) {
		struct dt_look_thread *thread = &labels->look->threads[i];

		if (!thread->runner || has_own(labels->look, thread, thread->runner))
			continue;
		thread->tid = thread->runner;
		thread->state = DT_STATE_RUNNING;
		if (dt_thread_ns_tid(labels->proc, thread->tid, &thread->ns_tid) < 0)
			thread->ns_tid = 0;
	}
}

static void read_state(const struct labels *labels, struct dt_look_thread *thread)
{
	const struct dt_walk_interpreter *interpreter = &labels->look->walk.interpreters[thread->walk->interpreter];

	thread->syscall = NULL;
	if (dt_holds_has(labels->holds, thread->tid))
		thread->state = DT_STATE_RUNNING;
	if (thread->state != DT_STATE_RUNNING)
		thread->state = dt_state_of(labels->proc, thread->tid, interpreter->wait_start, interpreter->wait_end,
					    &thread->syscall);
}

/* Some of the threads of a look, whose states one of us reads. */
struct part {
	const struct labels *labels;
	size_t begin, end;
};

static void *read_part(void *argument)
{
	const struct part *part = argument;

	for (size_t i = part->begin; i < part->end; i++)
		read_state(part->labels, &part->labels->look->threads[i]);
	return NULL;
}

/* Of many threads, two of us read a half each. */
static void read_states(const struct labels *labels)
{
	size_t count = labels->look->thread_count;
	size_t half = count >= MANY_THREADS ? count / 2 : 0;
	struct part mine = {labels, half, count};
	struct part other = {labels, 0, half};
	pthread_t thread;

	if (half && pthread_create(&thread, NULL, read_part, &other) != 0)
		mine.begin = half = 0;
	read_part(&mine);
	if (half)
		pthread_join(thread, NULL);
}

/* A thread that the kernel does not know has ended, or its number is from before a fork that Python did not see. */
static void second_try(const struct labels *labels)
{
	for (size_t i = 0; i < labels->look->thread_count; i++) {
		struct dt_look_thread *thread = &labels->look->threads[i];

		if (thread->state != DT_STATE_UNKNOWN)
			continue;
		if (thread->tid)
			thread->tid = dt_tids_by_ident(labels->tids, labels->image, thread->walk->ident,
						       &thread->ns_tid);
		if (thread->tid)
			read_state(labels, thread);
		if (thread->state == DT_STATE_UNKNOWN)
			thread->tid = thread->ns_tid = 0;
	}
}

/* A stopped thread looks blocked, in the call that it was in if any. A signal stops all threads of a process, and a
 * debugger as a rule: only where one is stopped and none runs the others are asked, for a file each. */
static void find_stopped(const struct labels *labels)
{
	const struct dt_look *look = labels->look;

	for (size_t i = 0; i < look->thread_count; i++)
		if (look->threads[i].state == DT_STATE_RUNNING)
			return;
	if (dt_state_by_letter(labels->proc, labels->proc->living) != DT_STATE_STOPPED)
		return;
	for (size_t i = 0; i < look->thread_count; i++)
		if (look->threads[i].tid && dt_state_by_letter(labels->proc, look->threads[i].tid) == DT_STATE_STOPPED)
			look->threads[i].state = DT_STATE_STOPPED;
}

int dt_label(const struct dt_holds *holds, struct dt_tids *tids, struct dt_mem *image, struct dt_arena *arena,
	     struct dt_look *look)
{
	const struct labels labels = {holds, holds->proc, tids, image, arena, look};
	int rc = settle_ids(&labels);

	if (rc < 0)
		return rc;
	find_runners(&labels);
	read_states(&labels);
	second_try(&labels);
	find_stopped(&labels);
	return 0;
}
