/*
 * The look at each thread on its own, where no GIL tells who can have run: free-threaded builds, and Pythons that do
 * not count how often the GIL changes hands. A thread that was blocked and has not been on a CPU since is as it was.
 * One that is blocked, or was put aside on the CPU that is ours, is looked at, and its count of time slices must be the
 * same afterwards. Those that run elsewhere are left for another pass: on their CPU, stopped, or by agreement.
 *
 * A thread's frames keep their codes alive, so a thread that stands is enough to believe what was read of it, whatever
 * the others do. The list of threads may change at any time: who is not in it yet is met by a later look.
 */
#include <errno.h>
#include <sched.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"
#include "sample/state.h"

struct one {
	struct dt_recorded *thread;
	struct dt_thread_sched before;
	struct dt_thread_call call;
	struct dt_walk_thread walk;
	bool running, stopped, agreed, torn;
	uint64_t seen_ns;
};

struct pass {
	struct dt_recorder *r;
	const struct dt_moment *moment;
	struct dt_pulse pulse;
	struct one *list; /* those that stand */
	size_t count;
	bool last;
	bool away;   /* somebody runs elsewhere */
	bool moved;  /* somebody does not stand, or did not until the end */
	bool failed; /* a thread state that is not what it was */
};

/* The threads that there are. Their stacks are for the pass to look at: nothing is known of what ran meanwhile. */
static enum dt_attempt meet_all(struct pass *p)
{
	struct dt_recorder *r = p->r;
	struct dt_sampler *s = r->sampler;
	const struct dt_walk *walk = &s->look.walk;

	s->threads = dt_proc_thread_count(r->proc);
	if (dt_look_once(s) < 0 || !walk->lists_whole)
		return DT_ATTEMPT_AGAIN;
	if (walk->interpreter_count != 1 || walk->interpreters[0].address != r->interpreter.address)
		return DT_ATTEMPT_HARD;
	if (dt_recorder_meet(r, walk, NULL, false) < 0 || r->way != DT_WAY_EACH)
		return DT_ATTEMPT_HARD;
	r->interpreter = walk->interpreters[0];
	r->pulse = p->pulse;
	return DT_ATTEMPT_DONE;
}

static void set_aside(struct pass *p, const struct dt_thread_stat *stat)
{
	p->r->cpu = stat->rt_priority ? -1 : stat->processor;
	p->away = true;
}

/* Does the thread stand? Then it is to be looked at. */
static void ask_kernel(struct pass *p, struct dt_recorded *thread)
{
	const struct dt_seat *seat = p->moment->seat;
	struct one one = {.thread = thread, .seen_ns = dt_clock_ns()};
	struct dt_thread_stat stat;

	if (!thread->tid || dt_thread_sched_now(&thread->files, &one.before) < 0) {
		/* It has ended, or its thread is not known: the list tells more the next time. */
		dt_recorded_ended(p->r, thread);
		thread->seen = true;
		return;
	}
	if (thread->stands && thread->sched.slices == one.before.slices) {
		thread->seen = true;
		return;
	}
	if (dt_thread_stat_now(&thread->files, &stat) < 0) {
		p->moved = true;
		return;
	}
	one.running = stat.state == 'R';
	if (one.running && (seat->kind == DT_SEAT_BESIDE || stat.processor != seat->cpu || stat.rt_priority != 0)) {
		set_aside(p, &stat);
		return;
	}
	if (!one.running && (dt_thread_call_now(&thread->files, &one.call) < 0 || one.call.running)) {
		p->moved = true;
		return;
	}
	p->list[p->count++] = one;
}

struct may_stop {
	const struct dt_recorder *r;
	uint64_t thread;
};

/* Only who runs Python is stopped: another one may be in the middle of a system call. */
static bool may_stop(const void *context)
{
	const struct may_stop *asked = context;
	const struct dt_recorder *r = asked->r;
	const struct dt_layout *layout = &r->python->layout;
	struct dt_pulse now;
	uint32_t state;

	if (layout->free_threaded)
		return dt_mem_read_u32(r->live, asked->thread + layout->thread.state, &state) == 0 &&
		       state == DT_THREAD_ATTACHED;
	return dt_walk_pulse(r->live, r->python, &r->interpreter, &now) == 0 &&
	       dt_walk_runs(&now.words) == asked->thread;
}

static bool read_one(struct pass *p, struct one *one)
{
	struct dt_recorder *r = p->r;

	one->walk = (struct dt_walk_thread){.address = one->thread->address};
	if (dt_walk_one(r->lane, r->python, r->sampler->codes, &r->arena, &one->walk) < 0)
		return false;
	if (one->walk.ident == one->thread->ident && one->walk.native == one->thread->native)
		return true;
	dt_recorder_refresh(r);
	return false;
}

/* Is it run by the thread that it names? Asked of those that block: see suspects.h. */
static bool is_itself(const struct dt_recorder *r, const struct one *one)
{
	return one->running || !one->walk.top || !one->call.sp || !r->python->code_end ||
	       dt_suspect_runs_python(r->live, r->python, one->call.sp);
}

/* Did it stand until now? */
static bool stood(const struct one *one, struct dt_thread_sched *after)
{
	return dt_thread_sched_now(&one->thread->files, after) == 0 && after->slices == one->before.slices;
}

static void keep(struct pass *p, struct one *one, const struct dt_thread_sched *after)
{
	struct dt_recorded *thread = one->thread;
	bool gil = one->walk.attached || dt_walk_runs(&p->pulse.words) == thread->address;

	dt_recorded_stack(thread, &one->walk);
	if (one->torn)
		dt_recorded_tear(thread, &one->walk);
	dt_recorded_state(p->r, thread, one->running ? NULL : &one->call, gil);
	dt_recorded_account(thread, after);
	if (one->running && !one->stopped && !one->agreed)
		dt_recorded_ready(p->r, thread, p->moment->seat, after->slices, gil);
	else if (!one->running && !gil)
		dt_recorded_stays(p->r, thread, true);
	thread->attached = one->walk.attached;
	thread->stands = !one->running && !thread->unseen;
	thread->seen = true;
	if (one->seen_ns > p->moment->late_ns && thread->ran && !thread->began)
		dt_recorded_unseen(p->r, thread, false);
}

/* Codes that were known when as many had ended as now are still there: if that is asked while those stand that use
 * them. Until then one of them may have ended, and another one taken its place. */
static void know_codes(struct dt_recorder *r)
{
	struct dt_pulse now;
	bool told = dt_walk_pulse(r->live, r->python, &r->interpreter, &now) == 0;

	dt_code_cache_generation(r->sampler->codes, told ? now.code_generation : 0);
}

/* Looks at those that stand. */
static void look(struct pass *p)
{
	struct dt_recorder *r = p->r;
	bool all = true;

	know_codes(r);
	dt_image_begin(r->lane);
	dt_image_prefetch(r->lane);
	for (size_t i = 0; i < p->count; i++) {
		struct one *one = &p->list[i];

		if (!read_one(p, one))
			one->thread = NULL;
		else if (!is_itself(r, one))
			p->failed = true;
	}
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	if (p->failed || r->replaced)
		return;
	for (size_t i = 0; i < p->count; i++) {
		struct one *one = &p->list[i];
		struct dt_thread_sched after;
		bool here = !one->running || sched_getcpu() == p->moment->seat->cpu;

		if (one->thread && here && stood(one, &after) && (one->walk.end == DT_WALK_WHOLE || p->last))
			keep(p, one, &after);
		else
			all = false;
	}
	if (all)
		dt_code_cache_confirm(r->sampler->codes);
	p->moved = p->moved || !all;
}

/* One that runs elsewhere: stopped for the look, or looked at several times. */
static void look_at_running(struct pass *p, struct dt_recorded *thread)
{
	struct dt_recorder *r = p->r;
	const struct may_stop asked = {r, thread->address};
	struct one one = {.thread = thread, .running = true, .seen_ns = dt_clock_ns()};
	struct dt_thread_sched after;
	bool seen = false;

	dt_code_cache_go_on(r->sampler->codes);
	dt_code_cache_generation(r->sampler->codes, 0);
	if (p->moment->stop && dt_stop_begin(p->moment->stop, &thread->files, may_stop, &asked) == 0) {
		one.stopped = true;
		one.seen_ns = dt_clock_ns();
		know_codes(r);
		dt_image_begin(r->lane);
		dt_image_prefetch(r->lane);
		seen = dt_thread_sched_now(&thread->files, &one.before) == 0 && read_one(p, &one);
	} else if (p->moment->agree) {
		one.agreed = true;
		one.walk.address = thread->address;
		seen = dt_thread_sched_now(&thread->files, &one.before) == 0 &&
		       dt_recorder_agree(r, &one.walk, &one.torn) == 0 &&
		       (!one.torn || p->moment->agree == DT_AGREE_OUTER) && one.walk.ident == thread->ident &&
		       one.walk.native == thread->native;
	}
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	if (seen && !r->replaced && stood(&one, &after))
		keep(p, &one, &after);
	if (one.stopped)
		dt_stop_end(p->moment->stop);
}

/* Who has the GIL, where there is one, and who collects garbage. */
static void mark(struct pass *p)
{
	struct dt_recorder *r = p->r;
	struct dt_pulse now;
	size_t attached = 0;
	bool told = dt_walk_pulse(r->live, r->python, &r->interpreter, &now) == 0 &&
		    dt_walk_runs(&now.words) == dt_walk_runs(&p->pulse.words);
	uint64_t runs = told && now.words.address ? dt_walk_runs(&now.words) : 0;

	for (size_t i = 0; i < r->count; i++)
		attached += r->threads[i].attached;
	for (size_t i = 0; i < r->count; i++) {
		struct dt_recorded *thread = &r->threads[i];

		thread->gil = runs && runs == thread->address;
		thread->gc = told && now.collecting && (thread->gil || (!runs && attached == 1 && thread->attached));
	}
}

static bool begin(struct pass *p)
{
	struct dt_recorder *r = p->r;

	if (r->going_on) {
		dt_code_cache_go_on(r->sampler->codes);
	} else {
		dt_arena_reset(&r->arena);
		dt_code_cache_begin(r->sampler->codes);
		r->going_on = true;
	}
	p->list = dt_arena_alloc(&r->arena, (r->count + 1) * sizeof(*p->list));
	return p->list != NULL;
}

enum dt_attempt dt_each_look(struct dt_recorder *r, const struct dt_moment *moment, bool last, enum dt_taken *taken)
{
	struct pass p = {.r = r, .moment = moment, .last = last};
	enum dt_attempt rc = DT_ATTEMPT_DONE;

	*taken = DT_TAKEN_PROVEN;
	if (dt_walk_pulse(r->live, r->python, &r->interpreter, &p.pulse) < 0)
		return DT_ATTEMPT_HARD;
	if (!r->going_on && (p.pulse.interpreters != r->pulse.interpreters || p.pulse.threads != r->pulse.threads))
		rc = meet_all(&p);
	if (rc != DT_ATTEMPT_DONE)
		return last ? DT_ATTEMPT_HARD : rc;
	if (!begin(&p))
		return DT_ATTEMPT_HARD;
	for (size_t i = 0; i < r->count; i++)
		if (!r->threads[i].seen)
			ask_kernel(&p, &r->threads[i]);
	if (p.count)
		look(&p);
	for (size_t i = 0; p.away && (moment->stop || moment->agree) && !r->replaced && i < r->count; i++)
		if (!r->threads[i].seen && dt_clock_ns() < moment->late_ns)
			look_at_running(&p, &r->threads[i]);
	if (p.failed)
		return DT_ATTEMPT_HARD;
	if (r->replaced)
		return DT_ATTEMPT_AGAIN;
	mark(&p);
	for (size_t i = 0; i < r->count; i++)
		if (!r->threads[i].seen)
			return p.away ? DT_ATTEMPT_AWAY : DT_ATTEMPT_AGAIN;
	return DT_ATTEMPT_DONE;
}

void dt_each_give_up(struct dt_recorder *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->threads[i].seen)
			continue;
		dt_recorded_ask(r, &r->threads[i]);
		dt_recorded_unseen(r, &r->threads[i], false);
	}
}
