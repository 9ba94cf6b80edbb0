/*
 * A suspect that was on another CPU when a look began. Until we get there, or have stopped it, it may go on, and would
 * be told where it was not at the moment.
 */
#include "base/util.h"
#include "sample/recorder_inside.h"

void dt_away_note(struct dt_recorder *r, const struct dt_recorded *suspect, const struct dt_thread_sched *sched)
{
	if (!r->away.address)
		r->away = (struct dt_away){suspect->address, sched->slices, sched->ran_ns, r->seen_ns};
}

bool dt_away_was(const struct dt_recorder *r, const struct dt_recorded *suspect)
{
	return r->away.address && suspect && suspect->address == r->away.address;
}

/* We take the CPU that it slept on, so when it wakes the kernel puts it on another one, where it has yet to begin. */
bool dt_away_has_begun(const struct dt_recorder *r, const struct dt_recorded *suspect,
		       const struct dt_thread_sched *now)
{
	return dt_away_was(r, suspect) && now->slices != r->away.slices;
}

/* Who sleeps when the instant comes leaves its CPU to us, and what wakes it then, while we are on our way, puts it on
 * another one, where we find it at work. (Who works at the instant is put aside by it: nobody goes the other way, so
 * that work would be seen for too much of the time, by a point and more where sleep lasts for a millisecond.) What it
 * ran there was booked when we came and it had to go: that is how long it had been there. If nothing was booked it only
 * waited there, and nobody knows since when. One that was put on a CPU no more often than the last look made necessary
 * has run on since that. */
bool dt_away_came_late(const struct dt_recorder *r, const struct dt_moment *moment, const struct dt_thread_sched *now)
{
	uint64_t ran_ns = now->ran_ns - DT_MIN(r->away.ran_ns, now->ran_ns);

	return ran_ns && r->away.slices > r->slices + !r->blocked && moment->seat->since_ns > moment->due_ns + ran_ns;
}

void dt_away_ran_on(struct dt_recorder *r, const struct dt_recorded *suspect, const struct dt_thread_sched *now)
{
	if (dt_away_was(r, suspect) && now->slices == r->away.slices)
		r->seen_ns = DT_MIN(r->seen_ns, r->away.seen_ns);
}

/* Who gave the CPU away, in whatever way, has its time booked: so one that was on it when it was first asked for, and
 * slept since, has got more. */
uint64_t dt_seen_since(const struct dt_recorder *r, const struct dt_moment *moment, const struct dt_recorded *thread,
		       const struct dt_thread_sched *now, bool runs, uint64_t seen_ns)
{
	const struct dt_early *early = moment->early;

	if (!early || r->count != 1 || thread->tid != early->tid || now->slices != early->sched.slices)
		return seen_ns;
	if (now->ran_ns != early->sched.ran_ns && (!runs || seen_ns > moment->on_ns))
		return seen_ns;
	return DT_MIN(seen_ns, early->asked_ns);
}
