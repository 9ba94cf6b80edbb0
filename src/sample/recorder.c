/*
 * Looks for a recording: the short way where it will do (short_look.c), else up the ladder (sampler.h).
 *
 * What must stay true: everything that is kept of a thread is of one proven look, or of a later one in which it is
 * proven not to have run since.
 */
#include "sample/recorder.h"

#include <errno.h>
#include <time.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"

#define GET_ON_NS     100000u /* that a look takes after a thread was let get on */
#define GET_ON_NAP_NS 20000
#define TRIES         3
#define LADDER_NS     3000000 /* that the long way may take: the moment is over long before */
#define FIRST_NS      200000000
#define CLIMB_REST    4       /* times as long as the long way took there is none */
#define QUICK_NS      100000u /* from our coming to a stack that was found: the usual is a fifth of that */
#define PASSES        100     /* looks in a row for which there was no time: after them the long way is taken */

int dt_recorder_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		    const struct dt_options *options, struct dt_image_pool *pool, struct dt_recorder **recorder,
		    struct dt_error *err)
{
	struct dt_recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	r->proc = proc;
	r->live = live;
	r->python = python;
	r->cpu = -1;
	r->has_clock = dt_proc_clock(proc, &r->clock) == 0;
	dt_arena_init(&r->arena, 0);
	rc = dt_sampler_new(proc, live, python, options, pool, &r->sampler, err);
	if (rc == 0)
		r->sampler->holds.hurry = true;
	if (rc == 0 && dt_mem_open_image(live, pool, &r->lane) < 0)
		rc = dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc < 0) {
		dt_recorder_free(r);
		return rc;
	}
	*recorder = r;
	return 0;
}

void dt_recorder_free(struct dt_recorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		dt_thread_files_release(&r->threads[i].files);
	free(r->threads);
	dt_index_release(&r->by_address);
	dt_index_release(&r->by_ident);
	free(r->homes);
	dt_mem_free(r->lane);
	dt_sampler_free(r->sampler);
	dt_arena_release(&r->arena);
	free(r);
}

double dt_recorder_chance(struct dt_recorder *r)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(r->random >> 11) / 9007199254740992.0;
}

int dt_recorder_cpu(const struct dt_recorder *r)
{
	return r->cpu;
}

bool dt_recorder_real_time(struct dt_recorder *r)
{
	bool met = r->real_time;

	r->real_time = false;
	return met;
}

uint64_t dt_recorder_up_ns(const struct dt_recorder *r)
{
	return r->up_ns;
}

uint64_t dt_recorder_waited(const struct dt_recorder *r)
{
	return r->waited_ns;
}

uint64_t dt_recorder_beside(const struct dt_recorder *r)
{
	return r->beside_ns;
}

struct dt_recorded *dt_recorder_threads(struct dt_recorder *r, size_t *count)
{
	*count = r->count;
	return r->threads;
}

/* The long way, the threads of which become those of the recorder. Where there are many of them it takes its own perch,
 * if it needs one, and only then. */
static int climb(struct dt_recorder *r, const struct dt_moment *moment, enum dt_taken *taken, struct dt_error *err)
{
	bool many = dt_recorder_has_many(r);
	const struct dt_look *look;
	uint64_t began;
	int rc;

	dt_code_cache_generation(r->sampler->codes, 0);
	r->sampler->limit_ns = r->count ? LADDER_NS : FIRST_NS;
	r->sampler->holds.most_ns = moment->hold_ns;
	began = dt_clock_ns();
	if (many)
		dt_recorder_stand_up(r, moment->seat);
	rc = dt_sampler_look(r->sampler, &look, err);
	if (many)
		dt_recorder_sit_down(r, moment->seat);
	r->climb_ns = r->sampler->natives ? 0 : dt_clock_ns() + (dt_clock_ns() - began) * CLIMB_REST;
	r->passed = 0;
	if (rc < 0)
		return rc;
	*taken = DT_TAKEN_LADDER;
	r->seen_ns = dt_clock_ns() - look->window_ns;
	r->all_ns = look->window_ns;
	r->all_count = look->thread_count;
	r->blocked = false;
	r->others_ns = 0;
	r->interpreter = look->walk.interpreters[0];
	r->suspect = look->walk.interpreters[0].gil.holder;
	if (dt_recorder_meet(r, &look->walk, look, true) < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	dt_recorder_refresh(r);
	dt_recorder_account(r);
	return 0;
}

/* Is the long way worth its time? For who just does not stand it comes too late as a rule. */
static bool may_climb(const struct dt_recorder *r, enum dt_attempt rc)
{
	return dt_clock_ns() >= r->climb_ns && (rc == DT_ATTEMPT_HARD || r->passed >= PASSES);
}

static int fail_replaced(const struct dt_recorder *r, struct dt_error *err)
{
	if (dt_proc_ended(r->proc))
		return dt_fail(err, DT_EENDED, "process %d ended", r->proc->pid);
	return dt_fail(err, DT_EAGAIN, "another program has just begun in process %d", r->proc->pid);
}

/* Looks that cost little. */
static enum dt_attempt try_short_ways(struct dt_recorder *r, const struct dt_moment *moment, enum dt_taken *taken)
{
	enum dt_attempt rc = DT_ATTEMPT_HARD;

	for (int i = 0; r->way != DT_WAY_LADDER && i < TRIES; i++) {
		bool last = i == TRIES - 1 || dt_clock_ns() + GET_ON_NS > moment->late_ns;

		rc = r->way == DT_WAY_EACH ? dt_each_look(r, moment, last, taken)
					   : dt_short_look(r, moment, last, taken);
		if ((rc != DT_ATTEMPT_AGAIN && rc != DT_ATTEMPT_LATER) || r->replaced)
			break;
		if (rc == DT_ATTEMPT_LATER) /* a generator that yields has lost its caller for a moment */
			nanosleep(&(struct timespec){.tv_nsec = GET_ON_NAP_NS}, NULL);
	}
	return rc;
}

static enum dt_lateness lateness(const struct dt_recorder *r, const struct dt_moment *moment)
{
	if (r->seen_ns <= moment->late_ns)
		return DT_IN_TIME;
	return moment->overslept ? DT_OVERSLEPT : DT_LATE;
}

/* Who stood when we came has stood since the moment. That holds for a look that was as quick as any, from our seat: a
 * read that waits for something lets the CPU go meanwhile. */
static bool stands_since_moment(const struct dt_recorder *r, const struct dt_moment *moment)
{
	return moment->punctual && r->seen_ns <= moment->woke_ns + QUICK_NS && r->up_ns < moment->woke_ns;
}

static int take(struct dt_recorder *r, const struct dt_moment *moment, enum dt_taken *taken, struct dt_error *err)
{
	enum dt_attempt rc;
	int code = 0;

	if (!moment->more)
		dt_recorder_begin(r);
	/* Before the long way is asked for, the short ones have been tried. */
	if (!moment->more || !moment->ladder)
		r->attempt = try_short_ways(r, moment, taken);
	rc = r->attempt;
	if (rc == DT_ATTEMPT_DONE && r->way == DT_WAY_EACH) {
		r->passed = 0;
		return 0;
	}
	if (rc == DT_ATTEMPT_DONE) {
		r->passed = 0;
		if (!r->asked_all)
			dt_recorder_other_states(r, moment->seat);
		dt_recorder_judge(r, moment->seat, *taken == DT_TAKEN_SAME ? DT_IN_TIME : lateness(r, moment),
				  stands_since_moment(r, moment));
		return 0;
	}
	if (!r->replaced && r->count && !moment->ladder) {
		*taken = rc == DT_ATTEMPT_HARD ? DT_TAKEN_HARD : DT_TAKEN_AWAY;
		return 0;
	}
	if (!r->replaced && r->count && !may_climb(r, rc)) {
		*taken = DT_TAKEN_PROVEN;
		dt_recorder_pass(r);
		return 0;
	}
	if (!r->replaced)
		code = climb(r, moment, taken, err);
	if (r->replaced || (code != DT_EENDED && dt_live_replaced(r->live, r->python->runtime)))
		return fail_replaced(r, err);
	if (code == 0)
		dt_recorder_judge(r, moment->seat, lateness(r, moment), false);
	return code;
}

int dt_recorder_take(struct dt_recorder *r, const struct dt_moment *moment, enum dt_taken *taken, struct dt_error *err)
{
	int code = take(r, moment, taken, err);

	if (code == 0 && *taken != DT_TAKEN_AWAY && *taken != DT_TAKEN_HARD) {
		dt_recorder_settle(r);
		r->taken_ns = dt_clock_ns();
	}
	return code;
}

void dt_recorder_refresh(struct dt_recorder *r)
{
	r->pulse = (struct dt_pulse){0};
}

void dt_recorder_ask_again(struct dt_recorder *r)
{
	r->blocked = false;
	dt_recorder_refresh(r);
}

void dt_recorder_forget(struct dt_recorder *r)
{
	dt_recorder_touch_all(r);
	for (size_t i = 0; i < r->count; i++) {
		r->threads[i].digest[0] = r->threads[i].digest[1] = 0;
		r->threads[i].stands = false;
	}
	dt_recorder_ask_again(r);
}

void dt_recorder_set_extra(struct dt_recorder *r, dt_sampler_extra_fn *extra, void *context)
{
	dt_sampler_set_extra(r->sampler, extra, context);
}

void dt_recorder_pass(struct dt_recorder *r)
{
	struct dt_recorded *suspect = dt_recorder_find(r, r->suspect);

	r->passed++;
	dt_recorder_touch_all(r);
	if (r->way == DT_WAY_EACH) {
		dt_each_give_up(r);
		dt_recorder_settle(r);
		return;
	}
	dt_recorder_other_states(r, NULL);
	if (suspect)
		dt_recorded_ask(r, suspect);
	dt_recorder_judge(r, NULL, DT_NO_LOOK, false);
	dt_recorder_ask_again(r);
	dt_recorder_settle(r);
}
