/*
 * The look at many threads. To read all their stacks takes milliseconds, for which nobody is to be kept from a CPU: so
 * only the suspect is looked at in the perch (short_look.c), and then, beside and with an ordinary priority, the
 * others.
 *
 * What must stay true: a stack is told only if its thread had it, whole. It had, if while it was read
 *  - the words of the GIL stayed the same: only the last holder can have changed its own, and that one is the suspect,
 *    which was seen, or is not looked at; or
 *  - it was blocked, and has not been on a CPU, by the scheduler's account: the proof of each_look.c.
 * A thread that was blocked when it was asked for, whose stack was read after that, and that has not been on a CPU
 * since, is as it was then (`stands`): nothing is read. That takes a thread that runs its thread state itself.
 *
 * If the words are those of the perch, too, what is found is of the moment; else it comes late, and who does not block
 * now is unseen. The list of threads must have been read between equal words. The suspect may change it all the same:
 * but who has not run has not left it, and if one such is missing, the list is not believed.
 */
#include <errno.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"

#define MANY_NS UINT64_C(300000) /* of a look at all threads at once */
#define FEW     16               /* threads are looked at together: what takes long then is a deep stack */
#define DOUBTS  20               /* in a row: by then two thread states that name the same thread are believed */

struct others {
	struct dt_recorder *r;
	uint64_t suspect; /* thread state, 0: none */
	const struct dt_pulse *then;
	struct dt_pulse now; /* before all that is read here */
	bool *wanted;        /* of the walk: its stack is read */
	bool still;          /* the words were the same after that */
};

bool dt_recorder_has_many(const struct dt_recorder *r)
{
	return r->all_ns > MANY_NS && r->count > FEW && r->count >= r->all_count / 2;
}

void dt_recorder_stand_up(struct dt_recorder *r, const struct dt_seat *seat)
{
	dt_seat_stand_up(seat);
	r->up_ns = dt_clock_ns();
	r->up_cpu_ns = dt_cpu_ns();
}

void dt_recorder_sit_down(struct dt_recorder *r, const struct dt_seat *seat)
{
	uint64_t used = dt_cpu_ns() - r->up_cpu_ns, passed = dt_clock_ns() - r->up_ns;

	r->beside_ns += passed;
	r->waited_ns += passed - DT_MIN(used, passed);
	dt_seat_sit_down(seat);
}

/* Can only the last holder have run Python between the two? Whether it gave the GIL away and took it again does not
 * matter. */
static bool same_holder(const struct dt_pulse *a, const struct dt_pulse *b)
{
	return a->words.holder == b->words.holder && a->words.switches == b->words.switches &&
	       a->interpreters == b->interpreters && a->threads == b->threads;
}

static bool plain(const struct dt_gil_words *words)
{
	return words->locked == 0 || (words->locked == 1 && (!words->current || words->current == words->holder));
}

/* Accounts and states. They are asked for before stacks are read: who has not run until the next time has not since
 * then. */
static void ask_all(const struct others *o)
{
	for (size_t i = 0; i < o->r->count; i++)
		if (o->r->threads[i].address != o->suspect)
			dt_recorded_ask(o->r, &o->r->threads[i]);
}

/* Is somebody missing who has not run? */
static bool is_whole(struct dt_recorder *r, const struct dt_walk *walk)
{
	size_t standing = 0, found = 0;

	for (size_t i = 0; i < r->count; i++)
		standing += r->threads[i].stands && !r->threads[i].ended;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_recorded *thread = dt_recorder_known(r, &walk->threads[i], i);

		found += thread && thread->stands;
	}
	return found == standing;
}

/* Is it still so that nobody but the last holder can have run Python since? */
static bool is_still(const struct others *o)
{
	struct dt_pulse after;

	return dt_walk_pulse(o->r->live, o->r->python, &o->r->interpreter, &after) == 0 && plain(&after.words) &&
	       same_holder(&after, &o->now);
}

/* The threads that there are. */
static bool read_list(struct others *o)
{
	struct dt_recorder *r = o->r;
	struct dt_sampler *s = r->sampler;
	struct dt_arena *arena = &s->arenas[s->current];
	struct dt_walk *walk = &s->look.walk;

	if (dt_walk_pulse(r->live, r->python, &r->interpreter, &o->now) < 0 || !plain(&o->now.words))
		return false;
	dt_arena_reset(arena);
	dt_image_begin(s->image);
	dt_tids_begin(s->tids);
	dt_image_prefetch(s->image);
	return dt_walk_threads(s->image, r->python, dt_proc_thread_count(r->proc), arena, walk) == 0 &&
	       walk->lists_whole && walk->interpreter_count == 1 &&
	       walk->interpreters[0].address == r->interpreter.address && is_still(o) && is_whole(r, walk);
}

/* The stacks of those that do not stand, and names. */
static bool read_stacks(struct others *o)
{
	struct dt_recorder *r = o->r;
	struct dt_sampler *s = r->sampler;
	struct dt_arena *arena = &s->arenas[s->current];
	struct dt_walk *walk = &s->look.walk;

	o->wanted = dt_arena_calloc(arena, walk->thread_count + 1, sizeof(*o->wanted));
	if (!o->wanted)
		return false;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_recorded *thread = dt_recorder_known(r, &walk->threads[i], i);

		o->wanted[i] = walk->threads[i].address != o->suspect &&
			       walk->threads[i].address != o->now.words.holder && !(thread && thread->stands);
	}
	dt_code_cache_go_on(s->codes);
	dt_code_cache_generation(s->codes, o->now.code_generation);
	if (dt_walk_some(s->image, r->python, s->codes, arena, walk, o->wanted) < 0 ||
	    (s->extra && s->extra(s->context, s->image, walk, arena) < 0))
		return false;
	o->still = is_still(o);
	if (o->still)
		dt_code_cache_confirm(s->codes);
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	return !r->replaced;
}

/* Was it blocked from when it was asked for until now? */
static bool stood(struct dt_recorded *thread)
{
	struct dt_thread_sched now;

	return thread->off && !thread->began && dt_thread_sched_now(&thread->files, &now) == 0 &&
	       now.slices == thread->sched.slices;
}

/* Is it blocked inside of Python, and so the one that runs its thread state? See suspects.h. */
static bool is_itself(const struct dt_recorder *r, struct dt_recorded *thread, const struct dt_walk_thread *walk)
{
	struct dt_thread_call call;

	return walk->top && r->python->code_end && dt_thread_call_now(&thread->files, &call) == 0 && !call.running &&
	       call.sp && dt_suspect_runs_python(r->live, r->python, call.sp);
}

/* Did it run since the last look, and does not block now? */
static bool is_moving(const struct dt_recorded *thread)
{
	return thread->ran && !thread->began &&
	       (thread->state == DT_STATE_RUNNING || thread->state == DT_STATE_UNKNOWN);
}

/* Takes over a stack that was read. False: it is not known to be one that the thread had at the moment. */
static bool keep(const struct others *o, struct dt_recorded *thread, const struct dt_walk_thread *walk, bool late)
{
	bool stands = stood(thread);

	if (!stands && (!o->still || (late && is_moving(thread))))
		return false;
	dt_recorded_stack(thread, walk);
	thread->stands = stands && !thread->unseen && is_itself(o->r, thread, walk);
	return !thread->unseen;
}

/* The threads that there are, and their stacks. Who is new is asked for now, behind its stack, and so does not stand
 * yet. */
static bool keep_all(const struct others *o)
{
	struct dt_recorder *r = o->r;
	const struct dt_walk *walk = &r->sampler->look.walk;
	bool late = !same_holder(o->then, &o->now), all = !late;

	if (dt_recorder_meet(r, walk, NULL, false) < 0)
		return false;
	for (size_t i = 0; i < walk->thread_count; i++) {
		struct dt_recorded *thread = dt_recorder_known(r, &walk->threads[i], i);
		bool seen;

		if (!thread || thread->address == o->suspect)
			continue;
		seen = o->wanted[i] ? keep(o, thread, &walk->threads[i], late) : thread->stands;
		if (thread->began)
			dt_recorded_ask(r, thread);
		if (!seen)
			dt_recorded_unseen(r, thread, false);
		all = all && seen;
	}
	return all;
}

/* Nothing can be said of those that ran; nor of the suspect, if it may be somebody else who runs it. */
static void lose(const struct others *o)
{
	struct dt_recorder *r = o->r;
	struct dt_recorded *suspect = r->doubts && o->suspect ? dt_recorder_find(r, o->suspect) : NULL;

	if (suspect)
		dt_recorded_unseen(r, suspect, false);
	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].address != o->suspect && r->threads[i].ran && !r->threads[i].stands)
			dt_recorded_unseen(r, &r->threads[i], false);
}

/* A thread state names its maker until its own thread runs: two that name the same thread are mostly one that is just
 * beginning. As long as that may be they are looked at again; else the way is another one. */
static bool is_doubtful(struct dt_recorder *r)
{
	if (dt_recorder_all_differ(r, &r->sampler->look.walk))
		r->doubts = 0;
	else
		r->doubts++;
	return r->doubts > 0 && r->doubts <= DOUBTS;
}

bool dt_others_look(struct dt_recorder *r, const struct dt_moment *moment, const struct dt_pulse *then,
		    const struct dt_recorded *suspect)
{
	struct others o = {.r = r, .suspect = suspect ? suspect->address : 0, .then = then};
	bool whole = false;

	r->asked_all = true;
	dt_recorder_touch_all(r);
	dt_recorder_stand_up(r, moment->seat);
	ask_all(&o);
	if (read_list(&o) && !is_doubtful(r) && read_stacks(&o))
		whole = keep_all(&o);
	else
		lose(&o);
	dt_recorder_sit_down(r, moment->seat);
	return whole;
}
