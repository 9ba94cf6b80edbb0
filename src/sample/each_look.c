/*
 * The look at each thread on its own, where no GIL tells who can have run: free-threaded builds, Pythons that do not
 * count how often the GIL changes hands, and processes with several interpreters, where there may be several GILs, and
 * C code goes from one thread state to another. A thread that was blocked and has not been on a CPU since is as it was.
 * One that is blocked, or was put aside on the CPU that is ours, is looked at, and its count of time slices must be the
 * same afterwards. Those that run elsewhere are left for another pass: on their CPU, stopped, or by agreement.
 *
 * A thread's frames keep their codes alive, so a thread that stands is enough to believe what was read of it, whatever
 * the others do. The list of threads may change at any time: who is not in it yet is met by a later look.
 *
 * That takes the thread which runs a thread state, and it is not always the one that is named. Of a thread that has
 * several thread states with frames none is believed but by the C stack that they lie on, or if nobody ran at all:
 * see runner.c.
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
	struct dt_thread_sched after;
	bool doubtful; /* it may be run by another thread: it is proven if nobody ran */
	uint64_t seen_ns;
	uint64_t asked_ns; /* for the account that it is told with */
};

struct pass {
	struct dt_recorder *r;
	const struct dt_moment *moment;
	struct one *list; /* those that stand */
	size_t count;
	struct dt_crowd crowd; /* all others, where they matter */
	bool last;
	bool away;   /* somebody runs elsewhere */
	bool moved;  /* somebody does not stand, or did not until the end */
	bool failed; /* a thread state that is not what it was */
	bool anew;   /* one that is another thread's than when all were met, its maker's mostly: they are met again */
	bool begun;  /* what stacks took the last time was fetched */
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
	if (walk->interpreters[0].address != r->interpreter.address || dt_recorder_meet(r, walk, NULL, false) < 0)
		return DT_ATTEMPT_HARD;
	r->interpreter = walk->interpreters[0];
	if (r->way != DT_WAY_EACH)
		return r->way == DT_WAY_GIL ? DT_ATTEMPT_AGAIN : DT_ATTEMPT_HARD;
	dt_recorder_pulses(r);
	r->pulse = r->homes[0].pulse;
	return DT_ATTEMPT_DONE;
}

static void set_aside(struct pass *p, const struct dt_thread_stat *stat)
{
	p->r->cpu = stat->rt_priority ? -1 : stat->processor;
	p->r->real_time = p->r->real_time || stat->rt_priority != 0;
	p->away = true;
}

/* Does the thread stand? Then it is to be looked at. */
static void ask_kernel(struct pass *p, struct dt_recorded *thread)
{
	const struct dt_seat *seat = p->moment->seat;
	struct one one = {.thread = thread, .seen_ns = dt_clock_ns()};
	struct dt_thread_stat stat;
	bool elsewhere;

	if (dt_thread_sched_now(&thread->files, &one.before) < 0) {
		/* It has ended: the list tells more the next time. */
		dt_recorded_ended(p->r, thread);
		thread->seen = true;
		return;
	}
	/* One of several thread states may meanwhile be run by another thread. */
	if (thread->stands && !thread->shared && thread->sched.slices == one.before.slices) {
		thread->seen = true;
		return;
	}
	if (dt_thread_stat_now(&thread->files, &stat) < 0) {
		p->moved = true;
		return;
	}
	one.running = stat.state == 'R';
	elsewhere = one.running &&
		    (seat->kind == DT_SEAT_BESIDE || stat.processor != seat->cpu || stat.rt_priority != 0);
	if (!thread->asked) {
		thread->asked = true;
		thread->blocked = !one.running;
		thread->elsewhere = elsewhere;
		thread->first = one.before.slices;
		thread->first_ns = one.before.ran_ns;
	}
	if (elsewhere) {
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
	int tid;
};

static bool runs_python(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	const struct dt_layout *layout = &r->python->layout;
	struct dt_gil_words words;
	uint32_t state;

	if (layout->free_threaded)
		return dt_mem_read_u32(r->live, thread->address + layout->thread.state, &state) == 0 &&
		       state == DT_THREAD_ATTACHED;
	return dt_walk_gil(r->live, r->python, r->homes[thread->home].interpreter.gil.address, &words) == 0 &&
	       dt_walk_runs(&words) == thread->address;
}

/* Only who runs Python is stopped: another one may be in the middle of a system call. */
static bool may_stop(const void *context)
{
	const struct may_stop *asked = context;
	const struct dt_recorder *r = asked->r;

	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].tid == asked->tid && runs_python(r, &r->threads[i]))
			return true;
	return false;
}

static bool read_one(struct pass *p, struct one *one)
{
	struct dt_recorder *r = p->r;

	one->walk = (struct dt_walk_thread){.address = one->thread->address};
	if (dt_walk_one(r->lane, r->python, r->sampler->codes, &r->arena, &r->budget, &one->walk) < 0)
		return false;
	if (one->walk.ident == one->thread->ident && one->walk.native == one->thread->native)
		return true;
	dt_recorder_refresh(r);
	p->anew = true;
	return false;
}

/* Does the C stack say so, of one that blocks? See suspects.h. */
static bool has_python(const struct dt_recorder *r, const struct one *one)
{
	return one->running || !one->walk.top || !one->call.sp || !r->python->code_end ||
	       dt_suspect_runs_python(r->live, r->python, one->call.sp);
}

/* Has its thread another thread state with frames? */
static bool has_rival(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	for (size_t i = 0; i < r->count; i++)
		if (&r->threads[i] != thread && r->threads[i].tid == thread->tid && r->threads[i].frames_there)
			return true;
	return false;
}

/* It is run by another thread than it names, or has been until now. */
static void lend(struct dt_recorder *r, struct dt_recorded *thread, const struct dt_recorded *runner)
{
	dt_recorded_set_tid(r, thread, runner->tid, runner->ns_tid);
	thread->lent = runner->lent || thread->ident != runner->ident;
	dt_recorder_group(r);
}

/* Is it run by the thread that we think? */
static void ask_runner(struct pass *p, struct one *one)
{
	struct dt_recorder *r = p->r;
	struct dt_recorded *thread = one->thread, *runner;

	if (!one->walk.frame_count || (!thread->shared && !thread->lent && has_python(r, one)))
		return;
	runner = one->walk.c_stack ? dt_recorder_runner(r, one->walk.c_stack) : NULL;
	if (runner && runner->tid == thread->tid)
		return;
	if (runner) {
		lend(r, thread, runner);
		one->thread = NULL;
	} else if (thread->lent || has_rival(r, thread)) {
		r->crowded = one->doubtful = true;
	} else {
		p->failed = p->failed || !has_python(r, one);
	}
}

/* Nobody runs but one, and one that blocks has the GIL: it is run by the other, unless that has a thread state of its
 * own in the same interpreter. */
static bool is_lent(struct pass *p, const struct one *one)
{
	const struct dt_recorder *r = p->r;
	struct dt_recorded *runner = NULL;

	if (one->running || !dt_recorded_has_gil(r, one->thread))
		return false;
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].thread && p->list[i].running)
			runner = p->list[i].thread;
	if (!runner)
		return false;
	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].tid == runner->tid && r->threads[i].home == one->thread->home)
			return false;
	lend(p->r, one->thread, runner);
	return true;
}

/* Did it stand until now? */
static bool stood(struct one *one, struct dt_thread_sched *after)
{
	one->asked_ns = dt_clock_ns();
	return dt_thread_sched_now(&one->thread->files, after) == 0 && after->slices == one->before.slices;
}

/* It was put on a CPU after it was first asked for, so it is not met where it was at the moment. Of one that was
 * blocked it is known what it did; to look again would show the work that it has gone on to. */
static void lose(struct dt_recorder *r, struct dt_recorded *thread)
{
	dt_recorded_unseen(r, thread, false);
	if (!thread->blocked)
		return;
	thread->state = DT_STATE_SLEEPING;
	thread->syscall = NULL;
}

/* As dt_away_came_late(), of a thread that cannot have waited for a GIL. */
static bool came_late(const struct pass *p, const struct one *one, const struct dt_thread_sched *after)
{
	const struct dt_recorded *thread = one->thread;
	uint64_t ran_ns = after->ran_ns - DT_MIN(thread->first_ns, after->ran_ns);

	return p->r->python->layout.free_threaded && one->running && !one->stopped && !one->agreed && thread->asked &&
	       thread->elsewhere && thread->counted && !thread->began && after->slices == thread->first && ran_ns &&
	       thread->first > thread->sched.slices + !thread->stands &&
	       p->moment->seat->since_ns > p->moment->due_ns + ran_ns;
}

static void keep(struct pass *p, struct one *one, const struct dt_thread_sched *after)
{
	struct dt_recorded *thread = one->thread;
	bool late = came_late(p, one, after);
	bool gil = one->walk.attached || dt_recorded_has_gil(p->r, thread);

	dt_recorded_stack(thread, &one->walk);
	if (one->torn)
		dt_recorded_tear(thread, &one->walk);
	dt_recorded_state(p->r, thread, one->running ? NULL : &one->call, gil);
	dt_recorded_account(thread, after, one->asked_ns);
	if (one->running && !one->stopped)
		dt_recorded_ready(p->r, thread, one->agreed ? NULL : p->moment->seat, after->slices, gil);
	else if (!one->running && !gil)
		dt_recorded_stays(p->r, thread, true);
	thread->attached = one->walk.attached;
	thread->stands = !one->running && !thread->unseen;
	thread->seen = true;
	one->seen_ns = dt_seen_since(p->r, p->moment, thread, after, one->running, one->seen_ns);
	if (late)
		thread->blocked = true; /* at the moment it was */
	if (late || (thread->asked && after->slices != thread->first && !thread->began))
		lose(p->r, thread);
	else if (one->seen_ns > p->moment->late_ns && thread->ran && !thread->began)
		dt_recorded_unseen(p->r, thread, false);
}

/* Codes that were known when as many had ended as now are still there: if that is asked while those stand that use
 * them. Until then one of them may have ended, and another one taken its place. */
static void know_codes(struct dt_recorder *r)
{
	struct dt_pulse now;
	bool told = r->home_count == 1 && dt_walk_pulse(r->live, r->python, &r->interpreter, &now) == 0;

	dt_code_cache_generation(r->sampler->codes, told ? now.code_generation : 0);
}

/* Watches everybody else, if looks at these threads have needed that. */
static void watch_others(struct pass *p)
{
	int *standing = p->r->crowded ? dt_arena_alloc(&p->r->arena, (p->count + 1) * sizeof(*standing)) : NULL;

	if (!standing)
		return;
	for (size_t i = 0; i < p->count; i++)
		standing[i] = p->list[i].thread->tid;
	dt_crowd_begin(&p->crowd, p->r, standing, p->count);
}

/* Keeps those that stood. One that is doubtful takes all of them. */
static bool keep_all(struct pass *p)
{
	bool all = true, nobody;

	for (size_t i = 0; i < p->count; i++) {
		struct one *one = &p->list[i];
		bool here = !one->running || sched_getcpu() == p->moment->seat->cpu;

		if (one->thread && (!here || !stood(one, &one->after)))
			one->thread = NULL;
		all = all && one->thread;
	}
	nobody = all && dt_crowd_stood(&p->crowd, p->r);
	for (size_t i = 0; i < p->count; i++) {
		struct one *one = &p->list[i];

		if (one->thread && (!one->doubtful || (nobody && !is_lent(p, one))) &&
		    (one->walk.end == DT_WALK_WHOLE || p->last))
			keep(p, one, &one->after);
		else
			all = false;
	}
	return all;
}

static void fetch(struct pass *p)
{
	dt_image_begin(p->r->lane);
	dt_image_prefetch(p->r->lane);
	p->begun = true;
}

/* Looks at those that stand. */
static void look(struct pass *p)
{
	struct dt_recorder *r = p->r;
	bool all;

	know_codes(r);
	watch_others(p);
	fetch(p);
	for (size_t i = 0; i < p->count; i++)
		if (!read_one(p, &p->list[i]))
			p->list[i].thread = NULL;
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].thread)
			p->list[i].thread->frames_there = p->list[i].walk.frame_count != 0;
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].thread)
			ask_runner(p, &p->list[i]);
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	if (p->failed || r->replaced)
		return;
	all = keep_all(p);
	if (all)
		dt_code_cache_confirm(r->sampler->codes);
	p->moved = p->moved || !all;
}

/* A thread state that no thread of the process has made: one whose maker has ended, or that is being made. If it has no
 * frames nobody runs it; else it is lent, and looked at again when it is known to whom. */
static void look_at_orphan(struct pass *p, struct dt_recorded *thread)
{
	struct dt_recorder *r = p->r;
	struct one one = {.thread = thread};
	struct dt_recorded *runner;

	if (!p->begun)
		fetch(p);
	thread->seen = true;
	if (!read_one(p, &one))
		return;
	if (!one.walk.frame_count && one.walk.end == DT_WALK_WHOLE) {
		dt_recorded_stack(thread, &one.walk);
		thread->state = DT_STATE_SLEEPING;
		return;
	}
	runner = one.walk.c_stack ? dt_recorder_runner(r, one.walk.c_stack) : NULL;
	if (runner)
		lend(r, thread, runner);
	if (runner || is_lent(p, &one)) {
		thread->seen = false;
		return;
	}
	dt_recorded_unseen(r, thread, false);
	thread->state = DT_STATE_UNKNOWN;
}

/* One whose thread is stopped. */
static void look_at_stopped(struct pass *p, struct dt_recorded *thread)
{
	struct one one = {.thread = thread, .running = true, .stopped = true, .seen_ns = dt_clock_ns()};

	if (dt_thread_sched_now(&thread->files, &one.before) < 0 || !read_one(p, &one))
		return;
	thread->frames_there = one.walk.frame_count != 0;
	ask_runner(p, &one);
	p->r->replaced = dt_live_replaced(p->r->live, p->r->python->runtime);
	if (one.thread && (!one.doubtful || dt_crowd_stood(&p->crowd, p->r)) && !p->failed && !p->r->replaced &&
	    stood(&one, &one.after))
		keep(p, &one, &one.after);
}

/* One that may not be stopped: several looks at it must agree. */
static void look_at_changing(struct pass *p, struct dt_recorded *thread)
{
	struct dt_recorder *r = p->r;
	struct one one = {.thread = thread, .running = true, .agreed = true, .seen_ns = dt_clock_ns()};
	bool seen;

	dt_code_cache_generation(r->sampler->codes, 0);
	one.walk.address = thread->address;
	seen = dt_thread_sched_now(&thread->files, &one.before) == 0 &&
	       dt_recorder_agree(r, &one.walk, &one.torn) == 0 && (!one.torn || p->moment->agree == DT_AGREE_OUTER) &&
	       one.walk.ident == thread->ident && one.walk.native == thread->native;
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	if (seen && !r->replaced && stood(&one, &one.after))
		keep(p, &one, &one.after);
}

/* One that runs elsewhere: stopped for the look, with all thread states that its thread has, or looked at several
 * times. */
static void look_at_running(struct pass *p, struct dt_recorded *thread)
{
	struct dt_recorder *r = p->r;
	const struct may_stop asked = {r, thread->tid};

	dt_code_cache_go_on(r->sampler->codes);
	if (p->moment->stop && dt_stop_begin(p->moment->stop, &thread->files, may_stop, &asked) == 0) {
		if (r->crowded)
			dt_crowd_begin(&p->crowd, r, &asked.tid, 1);
		know_codes(r);
		fetch(p);
		for (size_t i = 0; i < r->count; i++)
			if (r->threads[i].tid == asked.tid && !r->threads[i].seen)
				look_at_stopped(p, &r->threads[i]);
		dt_stop_end(p->moment->stop);
	} else if (p->moment->agree) {
		look_at_changing(p, thread);
	}
}

/* Who has the GIL, where there is one, and who collects garbage. */
static void mark(struct pass *p)
{
	struct dt_recorder *r = p->r;

	for (size_t i = 0; i < r->home_count; i++) {
		struct dt_home *home = &r->homes[i];
		uint64_t runs = dt_walk_runs(&home->pulse.words);

		home->attached = 0;
		if (dt_walk_pulse(r->live, r->python, &home->interpreter, &home->pulse) < 0 ||
		    dt_walk_runs(&home->pulse.words) != runs)
			home->pulse = (struct dt_pulse){0};
	}
	for (size_t i = 0; i < r->count; i++)
		r->homes[r->threads[i].home].attached += r->threads[i].attached;
	for (size_t i = 0; i < r->count; i++) {
		struct dt_recorded *thread = &r->threads[i];
		const struct dt_home *home = &r->homes[thread->home];

		thread->gil = dt_recorded_has_gil(r, thread);
		thread->gc = home->pulse.collecting && (thread->gil || (!dt_walk_runs(&home->pulse.words) &&
									home->attached == 1 && thread->attached));
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
		dt_budget_begin(&r->budget, DT_WALK_FRAMES);
		r->going_on = true;
	}
	p->list = dt_arena_alloc(&r->arena, (r->count + 1) * sizeof(*p->list));
	return p->list != NULL;
}

/* What was seen so far is not kept: whoever meets all threads goes another way perhaps, and gives its memory back. */
static void begin_anew(struct dt_recorder *r)
{
	dt_recorder_forget(r);
	for (size_t i = 0; i < r->count; i++) {
		r->threads[i].seen = r->threads[i].fresh = r->threads[i].torn = false;
		r->threads[i].frames = NULL;
		r->threads[i].frame_count = 0;
	}
	r->going_on = false;
}

enum dt_attempt dt_each_look(struct dt_recorder *r, const struct dt_moment *moment, bool last, enum dt_taken *taken)
{
	struct pass p = {.r = r, .moment = moment, .last = last};
	enum dt_attempt rc = DT_ATTEMPT_DONE;

	*taken = DT_TAKEN_PROVEN;
	dt_recorder_touch_all(r);
	if ((!dt_recorder_pulses(r) || !r->pulse.interpreters) && !r->going_on)
		rc = meet_all(&p);
	if (rc != DT_ATTEMPT_DONE)
		return last ? DT_ATTEMPT_HARD : rc;
	if (!begin(&p))
		return DT_ATTEMPT_HARD;
	for (size_t i = 0; i < r->count; i++)
		if (!r->threads[i].seen && r->threads[i].tid)
			ask_kernel(&p, &r->threads[i]);
	if (p.count)
		look(&p);
	for (size_t i = 0; i < r->count; i++)
		if (!r->threads[i].tid)
			look_at_orphan(&p, &r->threads[i]);
	for (size_t i = 0; p.away && (moment->stop || moment->agree) && !r->replaced && i < r->count; i++)
		if (!r->threads[i].seen && r->threads[i].tid && dt_clock_ns() < moment->late_ns)
			look_at_running(&p, &r->threads[i]);
	if (p.anew && !r->replaced) {
		begin_anew(r);
		return DT_ATTEMPT_AGAIN;
	}
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
