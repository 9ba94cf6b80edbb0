/* Holds: see hold.h. */
#include "sample/hold.h"

#include <errno.h>
#include <time.h>

#include "base/util.h"

#define PERCH_MISSES  3           /* in a row, before pausing */
#define PAUSE_DENIALS 8           /* before pausing is believed to be forbidden */
#define WITHOUT_GIL   12          /* times in a row that the same thread runs without the GIL: it goes on so */
#define WITHOUT_NS    10000000    /* that these must last: it may have been waiting for a CPU */
#define ENDING_NS     300000      /* in which a thread that ends is gone */
#define TRACER_NS     2000000     /* to wait for a tracer to go */
#define TRACED_NS     250000000u  /* one that stays longer is no look of another darter */
#define BELIEVED_NS   1000000000u /* after which a refusal or a tracer is asked for again */

void dt_holds_begin(struct dt_holds *holds)
{
	holds->perch_misses = 0;
	holds->pause_denials = 0;
	holds->without_gil = 0;
	holds->met_count = 0;
	holds->tracer = 0;
	if (holds->seen && dt_clock_ns() - holds->seen_ns > BELIEVED_NS)
		holds->seen = 0;
	if (holds->refused_ns && dt_clock_ns() - holds->refused_ns > BELIEVED_NS) {
		holds->pause_refused = false;
		holds->refused_ns = 0;
	}
}

bool dt_holds_any(const struct dt_holds *holds)
{
	return holds->perched || holds->pause_count;
}

bool dt_holds_has(const struct dt_holds *holds, int tid)
{
	if (!tid)
		return false;
	if (holds->perched == tid)
		return true;
	for (size_t i = 0; i < holds->pause_count; i++)
		if (holds->pauses[i].tid == tid)
			return true;
	return false;
}

void dt_holds_end(struct dt_holds *holds)
{
	for (size_t i = 0; i < holds->pause_count; i++)
		dt_pause_end(&holds->pauses[i]);
	holds->pause_count = 0;
	if (holds->perched)
		dt_perch_end(&holds->perch);
	holds->perched = 0;
}

bool dt_holds_kept(const struct dt_holds *holds)
{
	for (size_t i = 0; i < holds->pause_count; i++)
		if (!dt_pause_held(&holds->pauses[i]))
			return false;
	return !holds->perched || dt_perch_held(holds->proc, holds->perched, &holds->perch);
}

static enum dt_verdict take_by_perch(struct dt_holds *holds, int tid)
{
	int rc = dt_perch_begin(holds->proc, tid, &holds->perch);

	if (rc == 0) {
		holds->perched = tid;
		return DT_PROVEN;
	}
	if (rc == -EPERM)
		holds->perch_refused = true;
	else
		holds->perch_misses++;
	return DT_AGAIN;
}

/* A refusal is final if a tracer has the thread and keeps it, or if the kernel says so several times of threads that
 * live on: one that is ending cannot be traced either, and is gone soon after. */
static enum dt_verdict denied(struct dt_holds *holds, int tid)
{
	int tracer = dt_thread_tracer(holds->proc, tid);

	if (tracer != holds->seen)
		holds->seen_ns = dt_clock_ns();
	holds->seen = tracer;
	if (tracer && dt_clock_ns() - holds->seen_ns > TRACED_NS) {
		holds->tracer = dt_thread_process(tracer);
		return DT_HOPELESS;
	}
	nanosleep(&(struct timespec){.tv_nsec = tracer ? TRACER_NS : ENDING_NS}, NULL);
	if (tracer || !dt_thread_exists(holds->proc, tid))
		return DT_AGAIN;
	if (++holds->pause_denials < PAUSE_DENIALS)
		return DT_AGAIN;
	holds->pause_refused = true;
	holds->refused_ns = dt_clock_ns();
	return DT_HOPELESS;
}

/* Notes that a thread was met with or without the GIL, and tells whether it was met with it more often lately.
 * One that was not goes in and out of calls: if it has the GIL now, the next call is about to begin. */
static bool mostly_with_gil(struct dt_holds *holds, int tid, bool with)
{
	struct dt_met *met = NULL;

	for (size_t i = 0; i < DT_MIN(holds->met_count, (size_t)DT_MET) && !met; i++)
		if (holds->met[i].tid == tid)
			met = &holds->met[i];
	if (!met) {
		met = &holds->met[holds->met_count++ % DT_MET];
		*met = (struct dt_met){.tid = tid};
	}
	/* What was long ago does not count: three meetings with it in a row are enough in any case. */
	met->balance = with ? DT_MIN(met->balance + 1, 1) : DT_MAX(met->balance - 1, -2);
	return met->balance > 0 || holds->insist;
}

/* Can all that run be stopped? */
static bool all_have_gil(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	bool all = true;

	for (size_t i = 0; i < suspects->count; i++) {
		int tid = suspects->list[i].tid;
		bool with = suspects->list[i].running && dt_suspects_has_gil(suspects, tid);

		if (suspects->list[i].running && !(mostly_with_gil(holds, tid, with) && with))
			all = false;
	}
	return all;
}

/* Is what the thread has in hand as it was? If no GIL names the thread, it is one of all those that are taken. */
static bool has_gil_still(const void *context)
{
	const struct dt_holds *holds = context;
	const struct dt_suspects *suspects = holds->asked;
	bool own = dt_suspects_names(suspects, holds->asked_tid);

	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_suspect *then = &suspects->list[i];
		struct dt_gil_words now;

		if (then->words.locked != 1 || (own && then->tid != holds->asked_tid))
			continue;
		if (dt_walk_gil(holds->live, holds->python, then->words.address, &now) < 0 || now.locked != 1 ||
		    now.holder != then->words.holder)
			return false;
	}
	return true;
}

/* Nobody who runs without the GIL is stopped. As a rule it is back in a moment, or it ends and others come; until then
 * its CPU may be had. */
static enum dt_verdict wait_for_gil(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	uint64_t switches = dt_suspects_switches(suspects);
	uint64_t now = dt_clock_ns();

	holds->perch_misses = 0;
	if (switches != holds->without_gil_switches)
		holds->without_gil = 0;
	if (!holds->without_gil)
		holds->without_gil_ns = now;
	holds->without_gil_switches = switches;
	return ++holds->without_gil > WITHOUT_GIL && now - holds->without_gil_ns > WITHOUT_NS ? DT_HOPELESS : DT_AGAIN;
}

static enum dt_verdict take_by_pause(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	if (!all_have_gil(holds, suspects))
		return wait_for_gil(holds, suspects);
	for (size_t i = 0; i < suspects->count; i++) {
		const struct dt_suspect *suspect = &suspects->list[i];
		int rc;

		if (!suspect->running || dt_holds_has(holds, suspect->tid))
			continue;
		if (holds->pause_count == DT_HOLDS)
			return DT_HOPELESS;
		holds->asked = suspects;
		holds->asked_tid = suspect->tid;
		rc = dt_pause_begin(holds->proc, suspect->tid, has_gil_still, holds,
				    &holds->pauses[holds->pause_count]);
		if (rc == -EPERM || rc == -EACCES || rc == -ENOSYS)
			return denied(holds, suspect->tid);
		if (rc < 0)
			return DT_AGAIN;
		holds->seen = 0;
		holds->pause_denials = 0;
		holds->pause_count++;
	}
	return DT_PROVEN;
}

static int first_running(const struct dt_suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->list[i].running)
			return suspects->list[i].tid;
	return 0;
}

enum dt_verdict dt_holds_take(struct dt_holds *holds, const struct dt_suspects *suspects, uint64_t window_ns)
{
	enum dt_verdict verdict;

	if (window_ns > DT_PERCH_NS)
		holds->perch_misses = PERCH_MISSES;
	/* Where nothing can be paused, a perch that was missed may be had another time. */
	if (!holds->perch_refused && suspects->running == 1 &&
	    (holds->perch_misses < PERCH_MISSES || holds->pause_refused))
		return take_by_perch(holds, first_running(suspects));
	if (holds->pause_refused)
		return DT_HOPELESS;
	verdict = take_by_pause(holds, suspects);
	if (verdict != DT_PROVEN)
		dt_holds_end(holds);
	return verdict;
}
