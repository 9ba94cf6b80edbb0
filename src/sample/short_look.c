/*
 * The short look: see recorder.h for the proof. One attempt either proves a look, or says what is in the way; nothing
 * that is kept of the process is touched unless it was proven.
 */
#include <errno.h>
#include <sched.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"

#define SWITCHES      3      /* of suspects that are followed in one attempt */
#define BETWEEN_LOOKS 20     /* in a row at a thread that is entering Python: by then it is believed to be there */
#define MET_SO        8      /* looks in which the suspect ran on our CPU: then it is worth to learn how that shows */
#define MISTAKES      8      /* in a row, and nothing is presumed any more */
#define BEGIN_NS      60000u /* in which a thread that was woken on another CPU is put on it as a rule */

static bool same_lists(const struct dt_pulse *a, const struct dt_pulse *b)
{
	return a->interpreters == b->interpreters && a->threads == b->threads;
}

static bool same_words(const struct dt_gil_words *a, const struct dt_gil_words *b)
{
	return a->holder == b->holder && a->locked == b->locked && a->switches == b->switches &&
	       a->current == b->current;
}

struct attempt_state {
	struct dt_recorded *suspect;
	struct dt_thread_sched before, after;
	struct dt_pulse pulse;
	struct dt_thread_call call;
	bool gathered;  /* what its stack took the last time was fetched with the pulse */
	bool imprinted; /* and, behind all of that, its imprint: */
	struct dt_imprint_copy imprint;
	uint64_t calls;    /* of the lane until then */
	uint64_t since_ns; /* the account was read after that, and all is of one who stood since; 0: it was not */
	bool running;
	bool presumed; /* on our CPU, which is proven at the end */
	bool halted;   /* by a signal or a debugger */
	bool stopped;  /* by us */
	bool waking;   /* it is to be proven that it has yet to be put on another CPU */
	bool agree;    /* it runs, and looks at it must agree */
	bool torn;     /* they did not, on the inner frames */
	bool last;     /* nothing more is tried after this: what cannot be followed is unseen */
};

/* A thread state that has taken the GIL for the first time since the last look. */
static struct dt_recorded *adopt(struct dt_recorder *r, uint64_t address)
{
	const struct dt_layout *layout = &r->python->layout;
	struct dt_walk_thread walk = {.address = address};
	uint64_t interpreter;

	if (dt_mem_read_u64(r->live, address + layout->thread.interp, &interpreter) < 0 ||
	    interpreter != r->interpreter.address ||
	    dt_mem_read_u64(r->live, address + layout->thread.thread_id, &walk.ident) < 0 ||
	    (layout->thread.native_thread_id != DT_ABSENT &&
	     dt_mem_read_u64(r->live, address + layout->thread.native_thread_id, &walk.native) < 0))
		return NULL;
	return dt_recorder_adopt(r, &walk);
}

/* May the words be believed by the short way? Where C code changed from one thread state to another they are of no use,
 * nor before there is a GIL. */
static bool plain(const struct dt_gil_words *words)
{
	return words->locked == 0 || (words->locked == 1 && (!words->current || words->current == words->holder));
}

/* Who had the GIL last. 2.7 tells only who has it: if nobody does it was the only thread that there is. */
static uint64_t last_holder(const struct dt_recorder *r, const struct dt_gil_words *words)
{
	return !words->holder && r->count == 1 ? r->threads[0].address : words->holder;
}

/* The pulse. Of a suspect that has been on a CPU since the last look the stack is needed as well: it comes with it, in
 * one call, and is worth something if the suspect turns out to have stood all the time. Variables have to be read in a
 * certain order, on their own. */
static int take_pulse(struct dt_recorder *r, struct attempt_state *a, bool stack)
{
	a->gathered = stack && r->python->layout.gil_place != DT_GIL_IN_VARIABLES;
	a->imprinted = false;
	if (!a->gathered)
		return dt_walk_pulse(r->live, r->python, &r->interpreter, &a->pulse);
	dt_image_begin(r->lane);
	if (r->presumed && r->imprint.known) {
		struct dt_range ranges[DT_IMPRINT_RANGES];

		dt_imprint_ranges(&r->imprint, a->suspect->ident, &a->imprint, ranges);
		a->imprinted = dt_image_prefetch_and(r->lane, ranges, DT_IMPRINT_RANGES);
		a->calls = dt_mem_stats(r->lane).calls;
	} else {
		dt_image_prefetch(r->lane);
	}
	return dt_walk_pulse(r->lane, r->python, &r->interpreter, &a->pulse);
}

/* Who is to be watched, counted before anything else is asked. If the last holder has ended, nobody is: whoever takes
 * the GIL then changes the words. */
static enum dt_attempt find_suspect(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	const struct dt_gil_words *words = &a->pulse.words;
	bool perched = moment->seat->kind != DT_SEAT_BESIDE && !moment->stop && !moment->agree;

	a->suspect = dt_recorder_find(r, r->suspect);
	for (int i = 0; i < SWITCHES; i++) {
		uint64_t began = dt_clock_ns();
		int counted = a->suspect && a->suspect->tid ? dt_thread_sched_now(&a->suspect->files, &a->before)
							    : -ESRCH;
		uint64_t holder;

		if (take_pulse(r, a, perched && counted == 0 && a->before.slices != r->slices) < 0 || !plain(words) ||
		    (counted < 0 && counted != -ESRCH))
			return DT_ATTEMPT_HARD;
		a->since_ns = a->gathered ? began : 0;
		holder = last_holder(r, words);
		if (counted == 0 && holder == a->suspect->address)
			return DT_ATTEMPT_DONE;
		if (a->suspect && holder == a->suspect->address && !words->locked && a->suspect->tid) {
			a->suspect = NULL;
			return DT_ATTEMPT_DONE;
		}
		a->suspect = dt_recorder_find(r, holder);
		if (!a->suspect || !a->suspect->tid)
			a->suspect = adopt(r, holder);
		if (!a->suspect)
			return DT_ATTEMPT_HARD;
	}
	return DT_ATTEMPT_HARD;
}

/* Most often the thread that had the GIL in the last look has computed on our CPU ever since. Its account tells that it
 * slept for next to no time, if at all; that it stands is proven when its stack was read, and nothing has to
 * be asked before. */
static bool presume(const struct dt_recorder *r, const struct dt_moment *moment, const struct attempt_state *a)
{
	return r->presumed && r->imprint.known && a->gathered && !moment->stop && a->suspect && !a->suspect->lent &&
	       a->suspect->address == r->suspect && a->pulse.words.locked == 1 && r->cpu == moment->seat->cpu &&
	       sched_getcpu() == moment->seat->cpu && dt_recorded_ran_on(a->suspect, &a->before, a->since_ns);
}

/* After a look in which it was seen there: will that do the next time? */
static void learn_presumption(struct dt_recorder *r, const struct dt_moment *moment, const struct attempt_state *a)
{
	r->presumed = a->suspect && a->running && !a->stopped && !a->agree && !a->waking &&
		      moment->seat->kind != DT_SEAT_BESIDE && a->pulse.words.locked == 1;
	if (a->presumed)
		r->mistaken = 0;
	else if (r->presumed && !r->imprint.tried && ++r->met_so == MET_SO)
		dt_imprint_learn(&r->imprint, r->proc, r->live);
}

/* Does it stand, and for how long will it? */
static enum dt_attempt ask_kernel(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	struct dt_thread_stat stat;

	r->seen_ns = a->since_ns ? a->since_ns : dt_clock_ns();
	if (!a->suspect)
		return DT_ATTEMPT_DONE;
	if (presume(r, moment, a)) {
		a->presumed = a->running = true;
		return DT_ATTEMPT_DONE;
	}
	if (dt_thread_stat_now(&a->suspect->files, &stat) < 0)
		return DT_ATTEMPT_HARD;
	r->cpu = stat.rt_priority ? -1 : stat.processor; /* who has a real-time priority is not put aside */
	r->real_time = r->real_time || stat.rt_priority != 0;
	a->running = stat.state == 'R';
	if (a->running) {
		bool perched = moment->seat->kind != DT_SEAT_BESIDE && stat.processor == moment->seat->cpu &&
			       stat.rt_priority == 0;

		return perched && sched_getcpu() == moment->seat->cpu ? DT_ATTEMPT_DONE : DT_ATTEMPT_AWAY;
	}
	a->halted = stat.state == 'T' || stat.state == 't';
	if (stat.state != 'S' && stat.state != 'D' && !a->halted)
		return DT_ATTEMPT_HARD;
	if (dt_thread_call_now(&a->suspect->files, &a->call) < 0)
		return DT_ATTEMPT_HARD;
	return a->call.running ? DT_ATTEMPT_AGAIN : DT_ATTEMPT_DONE;
}

struct still_has_gil {
	const struct dt_recorder *r;
	const struct dt_pulse *then;
};

static bool still_has_gil(const void *context)
{
	const struct still_has_gil *asked = context;
	struct dt_pulse now;

	return dt_walk_pulse(asked->r->live, asked->r->python, &asked->r->interpreter, &now) == 0 &&
	       now.words.locked == 1 && now.words.holder == asked->then->words.holder;
}

/* Stops a suspect that runs elsewhere, if it has the GIL: one that has not may be in the middle of a system call. What
 * was read before that does not count any more. */
static enum dt_attempt stop_it(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	const struct still_has_gil asked = {r, &a->pulse};
	uint64_t holder = a->pulse.words.holder;

	if (!moment->stop || a->pulse.words.locked != 1)
		return DT_ATTEMPT_AWAY;
	if (dt_stop_begin(moment->stop, &a->suspect->files, still_has_gil, &asked) < 0)
		return DT_ATTEMPT_AWAY;
	a->stopped = true;
	a->gathered = false;
	r->seen_ns = a->since_ns = dt_clock_ns();
	/* Another one may have got its number. */
	if (dt_thread_sched_now(&a->suspect->files, &a->before) < 0)
		return DT_ATTEMPT_AGAIN;
	if (dt_walk_pulse(r->live, r->python, &r->interpreter, &a->pulse) < 0 || !plain(&a->pulse.words) ||
	    a->pulse.words.locked != 1 || a->pulse.words.holder != holder)
		return DT_ATTEMPT_AGAIN;
	return DT_ATTEMPT_DONE;
}

/* Is a blocked suspect the thread that runs its thread state? See suspects.h. Asked once for each place where it
 * blocks. */
static bool is_itself(struct dt_recorder *r, const struct attempt_state *a, const struct dt_walk_thread *walk)
{
	if (a->running || !a->suspect)
		return true;
	if (!walk->top || !a->call.sp || !r->python->code_end)
		return a->pulse.words.locked != 1;
	return dt_suspect_runs_python(r->live, r->python, a->call.sp);
}

static bool asked_again(struct attempt_state *a)
{
	return dt_thread_sched_now(&a->suspect->files, &a->after) == 0 && a->after.ran_ns == a->before.ran_ns;
}

/* A thread that slept wakes together with us, and as its CPU is ours now it has to wait for another one. If it is put
 * on that now, its account being as it was until then, it stood until now: had it been on a CPU before, it would have
 * had to leave that first, and its time would have gone on. The kernel tells the time before the count, so it is asked
 * for once more. */
static bool begins_now(struct attempt_state *a)
{
	uint64_t until = dt_clock_ns() + BEGIN_NS;
	bool stood = false;

	while (asked_again(a)) {
		if (a->after.slices != a->before.slices)
			return stood && asked_again(a) && a->after.slices == a->before.slices + 1;
		stood = true;
		if (dt_clock_ns() > until)
			break;
	}
	return false;
}

/* Most often nothing but the imprint was read last. */
static bool imprint_holds(struct dt_recorder *r, const struct attempt_state *a, int cpu)
{
	if (a->imprinted && a->calls == dt_mem_stats(r->lane).calls)
		return dt_imprint_fits(&r->imprint, &a->imprint, cpu);
	return dt_imprint_holds(&r->imprint, r->live, a->suspect->ident, cpu);
}

/* Is it still the program that is known, and on our CPU the thread that was presumed to be? */
static bool is_there(struct dt_recorder *r, const struct dt_moment *moment, const struct attempt_state *a)
{
	if (a->presumed && a->suspect && imprint_holds(r, a, moment->seat->cpu))
		return true;
	if (a->presumed) {
		r->presumed = false;
		r->imprint.known = ++r->mistaken < MISTAKES;
		return false;
	}
	r->replaced = dt_live_replaced(r->live, r->python->runtime);
	return !r->replaced;
}

/* Did nothing move since find_suspect()? And is it still the program that is known? An exec may leave every address as
 * it was. */
static bool stood(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	struct dt_pulse now;

	/* Who runs and is held has the GIL if it is taken. Not so one that blocks: a thread that takes it tells so
	 * first, and then who it is. */
	if ((a->agree || !a->running || a->pulse.words.locked != 1) &&
	    (dt_walk_pulse(r->live, r->python, &r->interpreter, &now) < 0 || !same_words(&now.words, &a->pulse.words) ||
	     !same_lists(&now, &a->pulse)))
		return false;
	if (a->running && !a->stopped && !a->agree && !a->waking && sched_getcpu() != moment->seat->cpu)
		return false;
	if (!is_there(r, moment, a))
		return false;
	if (a->waking && !begins_now(a))
		return false;
	/* If it ran when it was first counted, its time has gone on since. */
	if (a->suspect && !a->waking &&
	    (dt_thread_sched_now(&a->suspect->files, &a->after) < 0 || a->after.slices != a->before.slices ||
	     (!a->agree && !a->stopped && a->after.ran_ns != a->before.ran_ns)))
		return false;
	if (!a->agree)
		dt_code_cache_confirm(r->sampler->codes);
	return true;
}

/* A thread that is just entering Python has the frames that it had until then. One that seems to be entering for good
 * (a greenlet may leave its C frames like that) is believed. */
static void settle_between(struct dt_recorder *r, struct dt_mem *mem, struct dt_arena *arena,
			   struct dt_recorded *thread, struct dt_walk_thread *walk)
{
	struct dt_walk_thread before = *walk;
	struct dt_budget budget;
	uint64_t cframe;

	if (walk->end != DT_WALK_BETWEEN) {
		thread->between = 0;
		return;
	}
	if (++thread->between > BETWEEN_LOOKS) {
		walk->end = DT_WALK_WHOLE;
		return;
	}
	dt_budget_begin(&budget, DT_WALK_FRAMES);
	if (dt_walk_before(mem, r->python, r->sampler->codes, arena, &budget, &before, &cframe) == 0 &&
	    before.end == DT_WALK_WHOLE)
		*walk = before;
}

/* Reads the stack of the suspect. */
static int read_suspect(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a,
			struct dt_walk_thread *walk)
{
	int rc;

	dt_arena_reset(&r->arena);
	dt_budget_begin(&r->budget, DT_WALK_FRAMES);
	if (a->agree) {
		rc = dt_recorder_agree(r, walk, &a->torn);
		return rc == 0 && a->torn && moment->agree != DT_AGREE_OUTER ? -EBUSY : rc;
	}
	if (!a->gathered) {
		dt_image_begin(r->lane);
		dt_image_prefetch(r->lane);
	}
	a->gathered = false;
	return dt_walk_one(r->lane, r->python, r->sampler->codes, &r->arena, &r->budget, walk);
}

static void keep_torn(const struct attempt_state *a, const struct dt_walk_thread *walk)
{
	if (a->torn)
		dt_recorded_tear(a->suspect, walk);
}

/* The stack of the suspect alone. */
static enum dt_attempt look_at_one(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	struct dt_walk_thread walk = {.address = a->suspect->address};

	dt_code_cache_begin(r->sampler->codes);
	if (read_suspect(r, moment, a, &walk) < 0)
		return a->agree ? DT_ATTEMPT_AWAY : DT_ATTEMPT_AGAIN;
	if (walk.ident != a->suspect->ident || walk.native != a->suspect->native)
		return DT_ATTEMPT_HARD;
	settle_between(r, r->lane, &r->arena, a->suspect, &walk);
	if (!is_itself(r, a, &walk))
		return DT_ATTEMPT_HARD;
	if (!stood(r, moment, a))
		return DT_ATTEMPT_AGAIN;
	if (walk.end != DT_WALK_WHOLE && !a->last)
		return DT_ATTEMPT_LATER;
	dt_recorded_stack(a->suspect, &walk);
	keep_torn(a, &walk);
	return DT_ATTEMPT_DONE;
}

/* The suspect in a walk of all threads; false if it is not there as it was. */
static bool find_in(const struct dt_walk *walk, const struct dt_recorded *suspect, struct dt_walk_thread **found)
{
	*found = NULL;
	for (size_t i = 0; i < walk->thread_count; i++)
		if (suspect && walk->threads[i].address == suspect->address)
			*found = &walk->threads[i];
	return !suspect || (*found && (*found)->ident == suspect->ident && (*found)->native == suspect->native);
}

/* The suspect among all. */
static enum dt_attempt look_at_found(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a,
				     struct dt_walk_thread *found)
{
	struct dt_sampler *s = r->sampler;
	struct dt_walk_thread running = {.address = found->address};

	if (!a->agree) {
		settle_between(r, s->image, &s->arenas[s->current], a->suspect, found);
		return is_itself(r, a, found) ? DT_ATTEMPT_DONE : DT_ATTEMPT_HARD;
	}
	dt_code_cache_go_on(s->codes);
	if (read_suspect(r, moment, a, &running) < 0)
		return DT_ATTEMPT_AWAY;
	if (running.ident != found->ident || running.native != found->native)
		return DT_ATTEMPT_AGAIN;
	*found = running;
	return DT_ATTEMPT_DONE;
}

/* Is there a thread where the last holder was, which has ended? It may take the GIL as the one that had it last, and
 * the words would not show it: it is to be watched as that one. */
static bool is_succeeded(const struct dt_walk *walk, const struct attempt_state *a)
{
	for (size_t i = 0; !a->suspect && i < walk->thread_count; i++)
		if (walk->threads[i].address == a->pulse.words.holder)
			return true;
	return false;
}

/* All of them. */
static enum dt_attempt look_at_all(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	struct dt_sampler *s = r->sampler;
	const struct dt_walk *walk = &s->look.walk;
	struct dt_walk_thread *found;
	uint64_t address = a->suspect ? a->suspect->address : 0;
	enum dt_attempt rc;

	s->threads = dt_proc_thread_count(r->proc);
	if (dt_look_once(s) < 0)
		return DT_ATTEMPT_AGAIN;
	if (!walk->lists_whole || walk->interpreters[0].address != r->interpreter.address)
		return DT_ATTEMPT_HARD;
	if (walk->interpreter_count != 1 || is_succeeded(walk, a)) /* they are known from now on */
		return dt_recorder_meet(r, walk, NULL, false) < 0 ? DT_ATTEMPT_HARD : DT_ATTEMPT_AGAIN;
	if (!same_words(&walk->interpreters[0].gil, &a->pulse.words) || !find_in(walk, a->suspect, &found))
		return DT_ATTEMPT_AGAIN;
	rc = found && a->suspect ? look_at_found(r, moment, a, found) : DT_ATTEMPT_DONE;
	if (rc != DT_ATTEMPT_DONE)
		return rc;
	if (!stood(r, moment, a))
		return DT_ATTEMPT_AGAIN;
	if (found && found->end != DT_WALK_WHOLE && !a->last)
		return DT_ATTEMPT_LATER;
	r->all_ns = s->look.window_ns;
	r->all_count = walk->thread_count;
	if (dt_recorder_meet(r, walk, NULL, true) < 0 || r->way == DT_WAY_LADDER)
		return DT_ATTEMPT_HARD;
	if (r->way != DT_WAY_GIL)
		return DT_ATTEMPT_AGAIN;
	a->suspect = address ? dt_recorder_find(r, address) : NULL;
	if (a->suspect && found)
		keep_torn(a, found);
	return DT_ATTEMPT_DONE;
}

/* Can only the suspect have run since the last look? Where nobody counts how often the GIL changes hands, others may
 * have had it meanwhile. */
static bool is_alone(const struct dt_recorder *r, const struct attempt_state *a)
{
	return a->suspect && (r->count == 1 || dt_walk_gil_counted(r->python)) && same_lists(&a->pulse, &r->pulse) &&
	       a->pulse.words.switches == r->pulse.words.switches && a->suspect->address == r->suspect;
}

static void tell_state(struct dt_recorder *r, const struct dt_moment *moment, const struct attempt_state *a,
		       struct dt_recorded *suspect)
{
	bool gil = a->pulse.words.locked == 1;

	/* That it has been put on a CPU since is for the next look. */
	dt_recorder_suspect_state(r, suspect, a->running ? NULL : &a->call, a->waking ? &a->before : &a->after,
				  a->since_ns ? a->since_ns : dt_clock_ns());
	if (a->halted)
		suspect->state = DT_STATE_STOPPED;
	else if (!a->running && !gil)
		dt_recorded_stays(r, suspect, true);
	else if (a->running && !a->stopped)
		dt_recorded_ready(r, suspect, a->waking || a->agree ? NULL : moment->seat, a->before.slices, gil);
}

/* All but the suspect, which has been seen and may go on. */
static enum dt_attempt look_at_others(struct dt_recorder *r, const struct dt_moment *moment,
				      const struct attempt_state *a)
{
	if (a->stopped)
		dt_stop_end(moment->stop);
	if (!dt_others_look(r, moment, &a->pulse, a->suspect))
		dt_recorder_refresh(r);
	return r->way == DT_WAY_GIL && !r->replaced ? DT_ATTEMPT_DONE : DT_ATTEMPT_HARD;
}

/* Looks at what can have changed, while the suspect stands. */
static enum dt_attempt look(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	bool alone = is_alone(r, a), apart = !alone && dt_recorder_has_many(r);
	enum dt_attempt rc = DT_ATTEMPT_DONE;

	/* How many codes have ended was asked while it stood: those that it uses are the ones that are known. */
	dt_code_cache_generation(r->sampler->codes, a->agree ? 0 : a->pulse.code_generation);
	if (!alone && !apart)
		rc = look_at_all(r, moment, a);
	else if (a->suspect)
		rc = look_at_one(r, moment, a);
	if (rc != DT_ATTEMPT_DONE)
		return rc;
	r->pulse = a->pulse;
	r->single = a->suspect && !a->running && r->count == 1 && dt_proc_thread_count(r->proc) == 1;
	r->blocked = a->suspect && !a->running;
	r->suspect = a->suspect ? a->suspect->address : a->pulse.words.holder;
	r->slices = a->before.slices;
	if (a->suspect)
		tell_state(r, moment, a, a->suspect);
	else
		dt_recorder_mark(r, NULL);
	learn_presumption(r, moment, a);
	return apart ? look_at_others(r, moment, a) : DT_ATTEMPT_DONE;
}

/* It was not seen where it was at the moment. That it has been put on a CPU since is for the next look. */
static enum dt_attempt lose(struct dt_recorder *r, struct dt_recorded *suspect, const struct dt_thread_sched *sched,
			    bool slept)
{
	struct dt_thread_sched then = *sched;

	then.slices = r->away.slices;
	dt_recorder_suspect_state(r, suspect, NULL, &then, dt_clock_ns());
	suspect->off = true; /* what it has run since is next to nothing */
	dt_recorded_unseen(r, suspect, false);
	if (slept)
		suspect->state = DT_STATE_SLEEPING;
	dt_recorder_ask_again(r);
	return DT_ATTEMPT_DONE;
}

/* What the suspect's stack was when it was woken on another CPU, if that is what happened. */
static enum dt_attempt look_at_waking(struct dt_recorder *r, const struct dt_moment *moment, struct attempt_state *a)
{
	enum dt_attempt rc;

	if (moment->hurry || !a->gathered || a->pulse.words.locked != 0 || !is_alone(r, a))
		return DT_ATTEMPT_AWAY;
	a->waking = true;
	rc = look(r, moment, a);
	a->waking = a->gathered = false;
	return rc == DT_ATTEMPT_DONE ? rc : DT_ATTEMPT_AWAY;
}

/* A process with one thread, which was blocked and has not been on a CPU since: nobody else is there to do anything. */
static bool sleeps_on(struct dt_recorder *r, const struct dt_moment *moment)
{
	struct dt_thread_sched now;

	if (!r->single || !r->blocked || r->count != 1 || r->threads[0].address != r->suspect)
		return false;
	if (moment->early && moment->early->tid == r->threads[0].tid)
		return moment->early->sched.slices == r->slices;
	return dt_thread_sched_now(&r->threads[0].files, &now) == 0 && now.slices == r->slices;
}

enum dt_attempt dt_short_look(struct dt_recorder *r, const struct dt_moment *moment, bool last, enum dt_taken *taken)
{
	struct attempt_state a = {.last = last};
	enum dt_attempt rc;

	*taken = DT_TAKEN_SAME;
	if (sleeps_on(r, moment))
		return DT_ATTEMPT_DONE;
	rc = find_suspect(r, moment, &a);
	if (rc != DT_ATTEMPT_DONE)
		return rc;
	*taken = DT_TAKEN_PROVEN;
	if (a.suspect && moment->seat->kind != DT_SEAT_BESIDE && dt_away_has_begun(r, a.suspect, &a.before))
		return lose(r, a.suspect, &a.before, false);
	if (is_alone(r, &a) && r->blocked && a.before.slices == r->slices &&
	    same_words(&a.pulse.words, &r->pulse.words)) {
		*taken = DT_TAKEN_SAME;
		return DT_ATTEMPT_DONE;
	}
	rc = ask_kernel(r, moment, &a);
	if (rc == DT_ATTEMPT_DONE && a.suspect && !a.running &&
	    dt_away_was(r, a.suspect)) /* it ran, and is asleep now */
		return lose(r, a.suspect, &a.before, false);
	/* Had another one the GIL meanwhile, it may have waited for that. */
	if (rc == DT_ATTEMPT_DONE && a.running && is_alone(r, &a) && dt_away_was(r, a.suspect) &&
	    dt_away_came_late(r, moment, &a.before))
		return lose(r, a.suspect, &a.before, true);
	if (rc == DT_ATTEMPT_AWAY && look_at_waking(r, moment, &a) == DT_ATTEMPT_DONE)
		return DT_ATTEMPT_DONE;
	if (rc == DT_ATTEMPT_AWAY) {
		dt_away_note(r, a.suspect, &a.before);
		rc = stop_it(r, moment, &a);
	}
	if (a.running)
		dt_away_ran_on(r, a.suspect, &a.before);
	if (a.suspect)
		r->seen_ns = dt_seen_since(r, moment, a.suspect, &a.before, a.running, r->seen_ns);
	if (rc == DT_ATTEMPT_AWAY && moment->agree) {
		a.agree = true;
		rc = DT_ATTEMPT_DONE;
	}
	if (rc == DT_ATTEMPT_DONE)
		rc = look(r, moment, &a);
	if (a.stopped)
		dt_stop_end(moment->stop);
	return rc;
}
