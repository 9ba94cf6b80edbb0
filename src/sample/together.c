/*
 * Several interpreters in one process, and several thread states of one thread. A thread that runs code of another
 * interpreter has a thread state in each of them and runs one at a time: the one that it entered last. The others are
 * behind that one, as a caller is behind what it calls. So of all that a thread has only one is shown to run, and the
 * thread's time is that one's.
 *
 * Which one it is: the one that has a GIL, or else the innermost on the C stack, which grows downwards. Where nothing
 * is left there (up to 3.10), the one that had the GIL last, or was it so far.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"

enum dt_way dt_recorder_way(struct dt_recorder *r, const struct dt_walk *walk)
{
	/* C stacks are copied while all stand. */
	if (walk->interpreter_count > DT_HOMES || !walk->lists_whole || r->sampler->natives)
		return DT_WAY_LADDER;
	if (r->python->layout.free_threaded || (walk->thread_count > 1 && !dt_walk_gil_counted(r->python)))
		return DT_WAY_EACH;
	if (walk->interpreter_count > 1 || !dt_recorder_all_differ(r, walk))
		return DT_WAY_EACH;
	return walk->interpreters[0].gil.address ? DT_WAY_GIL : DT_WAY_LADDER;
}

int dt_recorder_homes(struct dt_recorder *r, const struct dt_walk *walk)
{
	if (walk->interpreter_count > 1)
		dt_code_cache_several(r->sampler->codes);
	if (walk->interpreter_count != r->home_count) {
		struct dt_home *homes = reallocarray(r->homes, walk->interpreter_count, sizeof(*homes));

		if (!homes)
			return -ENOMEM;
		r->homes = homes;
		r->home_count = walk->interpreter_count;
	}
	for (size_t i = 0; i < r->home_count; i++)
		r->homes[i] = (struct dt_home){.interpreter = walk->interpreters[i]};
	for (size_t i = 0; i < walk->thread_count; i++) /* oldest first */
		r->homes[walk->threads[i].interpreter].newest = walk->threads[i].address;
	r->newest_home = r->homes[r->home_count - 1].interpreter.address;
	return 0;
}

bool dt_recorder_pulses(struct dt_recorder *r)
{
	bool same = r->home_count != 0;

	for (size_t i = 0; i < r->home_count; i++) {
		struct dt_home *home = &r->homes[i];

		same = dt_walk_pulse(r->live, r->python, &home->interpreter, &home->pulse) == 0 && same;
		same = same && home->pulse.threads == home->newest && home->pulse.interpreters == r->newest_home;
	}
	return same;
}

bool dt_recorded_has_gil(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	return thread->home < r->home_count && dt_walk_runs(&r->homes[thread->home].pulse.words) == thread->address;
}

void dt_recorder_group(struct dt_recorder *r)
{
	r->together = r->crowded = false;
	for (size_t i = 0; i < r->count; i++)
		r->threads[i].shared = r->threads[i].twin = false;
	if (r->way == DT_WAY_GIL) /* each has a thread of its own */
		return;
	dt_index_clear(&r->by_ident, r->count);
	for (size_t i = 0; i < r->count; i++) {
		size_t step = 0, at;

		if (!r->threads[i].tid)
			continue;
		while (dt_index_next(&r->by_ident, (uint64_t)r->threads[i].tid, &step, &at)) {
			r->together = r->threads[i].shared = r->threads[at].shared = true;
			r->threads[i].twin = r->threads[i].twin || r->threads[at].home == r->threads[i].home;
		}
		dt_index_put(&r->by_ident, (uint64_t)r->threads[i].tid, i);
	}
	for (size_t i = 0; i < r->count; i++)
		r->threads[i].behind = r->threads[i].behind && r->threads[i].shared;
}

/* Had it the GIL last, and nobody has it now? */
static bool had_gil(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	const struct dt_gil_words *words = &r->homes[thread->home].pulse.words;

	return words->locked == 0 && words->holder == thread->address;
}

/* The more, the likelier is it the one that its thread runs. */
static uint64_t likelihood(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	if (thread->gil || thread->attached)
		return UINT64_MAX;
	if (thread->c_stack && thread->frames_there)
		return UINT64_MAX - thread->c_stack;
	return (had_gil(r, thread) ? 4u : 0u) + (thread->frames_there ? 2u : 0u) + (thread->behind ? 0u : 1u);
}

/* All of its thread states have the same account: that of the one which was asked last. */
static void share_account(struct dt_recorder *r, const struct dt_recorded *last)
{
	for (size_t i = 0; i < r->count; i++) {
		struct dt_recorded *other = &r->threads[i];

		if (other != last && other->tid == last->tid && last->counted && other->asked_ns < last->asked_ns)
			dt_recorded_account(other, &last->sched, last->asked_ns);
	}
}

/* The thread states of one thread, from the first on. */
static void settle_thread(struct dt_recorder *r, size_t first)
{
	struct dt_recorded *runs = &r->threads[first], *last = runs, *before = NULL;
	uint64_t spent_ns = 0;

	for (size_t i = first; i < r->count; i++) {
		struct dt_recorded *thread = &r->threads[i];

		if (thread->tid != r->threads[first].tid)
			continue;
		if (likelihood(r, thread) >= likelihood(r, runs))
			runs = thread;
		if (thread->asked_ns > last->asked_ns)
			last = thread;
		if (!thread->behind && !before)
			before = thread;
	}
	share_account(r, last);
	if (before && runs->behind && !runs->ran) { /* it was shown to wait, and was not asked for its state since */
		runs->state = before->state;
		runs->syscall = before->syscall;
	}
	for (size_t i = first; i < r->count; i++) {
		struct dt_recorded *thread = &r->threads[i];

		if (thread->tid != runs->tid)
			continue;
		spent_ns = DT_MAX(spent_ns, thread->spent_ns);
		thread->spent_ns = 0;
		thread->behind = thread != runs;
		if (thread->behind && thread->state != DT_STATE_UNKNOWN && thread->state != DT_STATE_STOPPED) {
			thread->state = DT_STATE_SLEEPING;
			thread->syscall = NULL;
		}
	}
	runs->spent_ns = spent_ns;
}

void dt_recorder_settle(struct dt_recorder *r)
{
	for (size_t i = 0; r->together && i < r->count; i++) {
		bool first = r->threads[i].shared;

		for (size_t j = 0; first && j < i; j++)
			first = r->threads[j].tid != r->threads[i].tid;
		if (first)
			settle_thread(r, i);
	}
}
