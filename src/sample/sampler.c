/*
 * The ladder. One attempt: who is suspect (suspects.h)? If all suspects are blocked, a look between two equal counts of
 * their time slices is proof (still). A suspect that runs is held meanwhile: by taking its CPU (perch), or by stopping
 * it (pause). In each case the GIL words must be equal before and after the look, or somebody else ran. Where nothing
 * can be held, looks must agree (agree).
 *
 * What must stay true: nothing is held when dt_sampler_look returns, whatever happens; and a thread is only called
 * proven if its evidence covers the whole look that is returned.
 */
#include "sample/sampler.h"

#include <errno.h>
#include <time.h>

#include "base/util.h"
#include "sample/look.h"

#define ATTEMPTS        200  /* before looks must agree instead */
#define INSISTING       60   /* after which any thread that has the GIL is stopped */
#define ATTEMPTS_MOVING 1000 /* the same of threads that begin and end all the time, where they can be stopped */
#define BETWEEN_TRIES   5    /* looks at a thread that is just entering; a real one is past it by then */
#define BROKEN_TRIES    12   /* looks at a thread or list that leads nowhere */
#define LABEL_TRIES     2    /* looks whose states were of another moment than their stacks */
#define AMBIGUOUS_TRIES 3    /* looks at a suspect that may be run by another thread, before everybody is suspect */
#define UNKNOWN_TRIES   8    /* attempts that meet the same suspect who cannot be told */
#define PROGRESS_NS     200000000u /* to wait for a thread to get on */
#define NAP_NS          100000

int dt_sampler_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		   const struct dt_options *options, struct dt_image_pool *pool, struct dt_sampler **sampler,
		   struct dt_error *err)
{
	struct dt_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	s->proc = proc;
	s->live = live;
	s->python = python;
	if (options)
		s->options = *options;
	s->holds.proc = proc;
	s->holds.live = live;
	s->holds.python = python;
	s->holds.perch_refused = s->options.no_perch || s->options.native; /* it tells no registers */
	s->holds.pause_refused = s->options.pause == DT_PAUSE_NEVER;
	s->holds.anybody = s->options.native;
	s->holds.most_ns = DT_HOLD_LONG;
	for (size_t i = 0; i < DT_COUNT(s->arenas); i++)
		dt_arena_init(&s->arenas[i], 0);
	dt_arena_init(&s->scratch, 0);
	s->codes = dt_code_cache_new(&python->layout);
	s->tids = dt_tids_new(proc);
	if (s->codes && s->options.native)
		s->natives = dt_natives_new(proc, live, python, s->codes, s->options.native);
	if (!s->codes || !s->tids || (s->options.native && !s->natives) ||
	    dt_mem_open_image(live, pool, &s->image) < 0) {
		dt_sampler_free(s);
		return dt_fail(err, DT_EMEMORY, "out of memory");
	}
	*sampler = s;
	return 0;
}

void dt_sampler_free(struct dt_sampler *s)
{
	if (!s)
		return;
	dt_holds_release(&s->holds);
	dt_natives_free(s->natives);
	dt_mem_free(s->image);
	dt_code_cache_free(s->codes);
	dt_tids_free(s->tids);
	for (size_t i = 0; i < DT_COUNT(s->arenas); i++)
		dt_arena_release(&s->arenas[i]);
	dt_arena_release(&s->scratch);
	free(s);
}

void dt_sampler_set_extra(struct dt_sampler *s, dt_sampler_extra_fn *extra, void *context)
{
	s->extra = extra;
	s->context = context;
}

/* Has the process one thread? Then nobody else can have run anything. */
static bool single(const struct dt_sampler *s)
{
	struct dt_proc_info info;

	return dt_proc_stat_info(s->proc, &info) == 0 && info.threads == 1;
}

/* Did everything stand still from collect() until now? */
static bool stood_still(struct dt_sampler *s)
{
	for (size_t i = 0; i < s->suspects.count; i++) {
		const struct dt_suspect *suspect = &s->suspects.list[i];

		if (!suspect->tid)
			continue; /* whose last holder is gone */
		if (!dt_holds_has(&s->holds, suspect->tid) && !dt_suspect_slept(s->proc, suspect))
			return false;
	}
	if (!dt_holds_kept(&s->holds))
		return false;
	if (!dt_suspects_equal(s->live, s->python, &s->suspects, &s->look.walk))
		return false;
	if (s->suspects.everybody || !dt_suspects_doubt(s->live, s->python, &s->suspects, &s->look.walk) || single(s))
		return true;
	/* A thread that waits for a page with the GIL in hand looks like that for a moment, too. */
	s->everybody = ++s->ambiguous >= AMBIGUOUS_TRIES;
	return false;
}

/* Is there a suspect that we cannot watch? */
static bool untold(const struct dt_sampler *s)
{
	return s->suspects.missed || (s->suspects.unknown && !s->suspects.everybody);
}

static int take_c_stacks(struct dt_sampler *s, bool may_stop)
{
	for (size_t i = 0; i < s->look.walk.thread_count; i++)
		dt_walk_places(s->image, s->python, &s->look.walk.threads[i]);
	return dt_c_stacks_take(s->proc, s->live, &s->holds, may_stop, &s->arenas[s->current], &s->look.c_stacks);
}

/* Everything that runs is held: look, and see whether it was worth it. */
static int look_held(struct dt_sampler *s, enum dt_verdict *verdict)
{
	unsigned ambiguous;
	int rc;

	*verdict = DT_AGAIN;
	if (dt_holds_any(&s->holds)) {
		rc = dt_look_collect(s); /* the words that count are those read after the hold began */
		if (rc < 0)
			return rc;
	}
	if (untold(s))
		return 0;
	for (size_t i = 0; i < s->suspects.count; i++) {
		struct dt_suspect *suspect = &s->suspects.list[i];

		if (dt_holds_has(&s->holds, suspect->tid))
			suspect->running = true; /* a stopped thread looks blocked to the kernel */
		else if (suspect->running)
			return 0;
		if (!suspect->running && suspect->tid && !suspect->counted && !dt_holds_has(&s->holds, suspect->tid)) {
			*verdict = DT_HOPELESS;
			return 0;
		}
	}
	rc = dt_look_once(s);
	if (rc == 0 && s->options.native)
		rc = take_c_stacks(s, !s->holds.pause_refused);
	ambiguous = s->ambiguous;
	if (rc == 0 && stood_still(s))
		*verdict = DT_PROVEN;
	else if (s->holds.perched && s->ambiguous == ambiguous)
		s->holds.perch_misses++; /* it was not kept */
	return rc;
}

/* A proven look may still have caught a thread between two states that no traceback would show: look again a few times.
 * *tid is a held thread that must get on before another look makes sense, if there is one. */
static bool worth_showing(struct dt_sampler *s, int *tid)
{
	bool between = false;
	bool broken = !s->look.walk.lists_whole;

	for (size_t i = 0; i < s->look.walk.thread_count; i++) {
		const struct dt_walk_thread *thread = &s->look.walk.threads[i];
		const struct dt_suspect *suspect = dt_suspects_find(&s->suspects, thread->address, i);

		bool held = suspect && dt_holds_has(&s->holds, suspect->tid);

		if (thread->end != DT_WALK_WHOLE && held)
			*tid = suspect->tid;
		broken = broken || thread->end == DT_WALK_BROKEN;
		between = between || (thread->end == DT_WALK_BETWEEN && held);
	}
	if (broken)
		return ++s->broken > BROKEN_TRIES && s->look.walk.thread_count;
	return !between || ++s->between > BETWEEN_TRIES;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Waits until a thread that was let go has been on a CPU: on a busy machine we are back sooner, and would see the same
 * again. */
static void let_it_get_on(struct dt_sampler *s, int tid, uint64_t slices)
{
	uint64_t start = dt_clock_ns();
	uint64_t now;

	do
		nap();
	while (tid && dt_thread_slices(s->proc, tid, &now) == 0 && now == slices &&
	       dt_clock_ns() - start < PROGRESS_NS);
}

/* A suspect who cannot be told is just beginning or ending as a rule. Only if the GIL does not move on from it anybody
 * may be the one. */
static bool stays_unknown(struct dt_sampler *s)
{
	uint64_t switches = dt_suspects_switches(&s->suspects);

	if (switches != s->unknown_switches)
		s->unknown = 0;
	s->unknown_switches = switches;
	return ++s->unknown > UNKNOWN_TRIES;
}

/* Were the states read while the stacks still stood? Who goes on in a call without Python changes his state alone: that
 * is as true with this stack as it was before. Where everybody is suspect somebody always moves: then it is not asked.
 */
static bool of_one_moment(struct dt_sampler *s)
{
	if (!s->labelled || !s->suspects.counted || s->suspects.everybody || s->python->layout.free_threaded)
		return true;
	return stood_still(s) || ++s->skewed > LABEL_TRIES;
}

static int attempt(struct dt_sampler *s, enum dt_verdict *verdict)
{
	uint64_t slices = 0;
	int slow = 0;
	int rc = dt_look_collect(s);

	*verdict = DT_AGAIN;
	if (rc < 0)
		return rc;
	/* If its memory is another process's as well, threads of that one may change what we see; where the GIL is not
	 * counted nothing would show it. */
	if (!s->suspects.counted && dt_proc_borrows_memory(s->proc)) {
		nap();
		return -EAGAIN;
	}
	/* The first look at a program is the slow one: names, lines and pages are not known. It is made while nothing
	 * is held, and it teaches the ids of threads before 3.11. */
	if (!s->warm && (s->suspects.running || untold(s))) {
		rc = dt_look_once(s);
		return rc;
	}
	if (untold(s)) {
		bool stays = stays_unknown(s);

		nap();
		if (stays && dt_proc_borrows_memory(s->proc))
			return -EAGAIN; /* threads of another process may change all that we see */
		s->everybody = s->everybody || stays;
		return 0;
	}
	if (s->suspects.running) {
		*verdict = dt_holds_take(&s->holds, &s->suspects, s->look.window_ns);
		if (*verdict == DT_AGAIN) {
			nap();
			/* New thread states name their maker for a moment: it may have been no more than that. */
			s->everybody = false;
			s->ambiguous = 0;
		}
		if (*verdict != DT_PROVEN)
			return 0;
	}
	rc = look_held(s, verdict);
	if (rc == 0 && *verdict == DT_PROVEN) {
		if (!worth_showing(s, &slow))
			*verdict = DT_AGAIN;
		else
			rc = dt_look_judge(s);
		if (rc == 0 && *verdict == DT_PROVEN && !of_one_moment(s)) {
			*verdict = DT_AGAIN;
			s->labelled = false;
		}
		if (slow)
			dt_thread_slices(s->proc, slow, &slices);
	}
	dt_holds_end(&s->holds);
	if (rc == 0 && *verdict == DT_AGAIN)
		let_it_get_on(s, slow, slices);
	return rc;
}

static int explain(struct dt_sampler *s, int rc, struct dt_error *err)
{
	int pid = s->proc->pid;

	if (dt_proc_ended(s->proc))
		return dt_fail(err, DT_EENDED, "process %d ended while it was being looked at", pid);
	switch (rc) {
	case -ESRCH: /* the memory that was known, or the thread that it was read through */
	case -EAGAIN:
	case -EFAULT:
		dt_fail(err, DT_EAGAIN, "Python in process %d is just starting, ending or becoming another program",
			pid);
		dt_hint(err, "try again in a moment");
		return DT_EAGAIN;
	case -EMFILE:
	case -ENFILE:
		return dt_fail_files(err, pid);
	case -EPERM:
	case -EACCES:
		return dt_fail(err, DT_EPERMISSION, "the memory of process %d may not be read", pid);
	case -ENOMEM:
		return dt_fail(err, DT_EMEMORY, "out of memory, or process %d has more frames than the limits allow",
			       pid);
	default:
		return dt_fail(err, DT_ERUNTIME, "process %d cannot be read: %s", pid, strerror(-rc));
	}
}

/* Have i attempts been enough? Those that met other threads each time may yet meet one that stands. */
static bool tried_enough(const struct dt_sampler *s, int i, uint64_t first_switches)
{
	if (i < ATTEMPTS)
		return dt_look_late(s);
	return i >= ATTEMPTS_MOVING || s->holds.pause_refused || dt_suspects_switches(&s->suspects) == first_switches ||
	       dt_look_late(s);
}

int dt_sampler_look(struct dt_sampler *s, const struct dt_look **look, struct dt_error *err)
{
	enum dt_verdict verdict = DT_AGAIN;
	uint64_t first_switches = 0;
	unsigned skewed;
	int rc = 0;

	s->look = (struct dt_look){.image = s->image};
	s->everybody = s->labelled = false;
	dt_holds_begin(&s->holds);
	dt_look_clock(s);
	s->between = s->broken = s->unknown = s->ambiguous = s->skewed = 0;
	for (int i = 0; verdict == DT_AGAIN && !tried_enough(s, i, first_switches); i++) {
		s->holds.insist = i >= INSISTING;
		skewed = s->skewed;
		rc = attempt(s, &verdict);
		if (i == 0)
			first_switches = dt_suspects_switches(&s->suspects);
		if (rc < 0 && rc != -EFAULT && rc != -EAGAIN)
			break;
		if (rc < 0)
			verdict = DT_AGAIN;
		if (verdict == DT_AGAIN && s->skewed != skewed)
			i = -1; /* that a look could be proven is no reason to give up sooner */
	}
	if (rc == 0 && verdict != DT_PROVEN) {
		rc = dt_look_until_agreed(s);
		if (rc == 0 && s->options.native) /* nothing is held: of those that run there are none */
			rc = take_c_stacks(s, false);
	}
	s->look.tracer = s->holds.tracer;
	s->look.traced = s->holds.tracer != 0;
	if (rc == 0 && !s->labelled)
		rc = dt_look_label(s);
	if (rc == 0 && s->natives)
		rc = dt_natives_add(s->natives, &s->look, &s->arenas[s->current]);
	if (rc < 0)
		return explain(s, rc, err);
	*look = &s->look;
	return 0;
}
