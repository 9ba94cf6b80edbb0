/*
 * A thread that is ready to run, and is not on a CPU: has it been put aside, or has it only just woken? The timer that
 * wakes it and ours often fire together, so who sleeps is often met like that, and sleep would be shown as work.
 *
 * One that was on our CPU until we came was put aside by us. Else it left its CPU before: of its own, or because the
 * kernel gave it to a third one. Both are counted, but not which was the last. If it has not left of its own since it
 * was last asked for, it was put aside; if nobody but we has put it aside since, it slept. If both happened, it is
 * believed to have slept where it did the last time that this was known.
 *
 * Whether a thread on another CPU waits for it or has it is told by the same counts: who has it was put on a CPU once
 * more than it has left one.
 *
 * By CPU time only who had a CPU counts where it is: on a busy machine a program stands where it was put aside for much
 * longer than it computes there. Most often nothing has to be asked for that: what it ran and waited until it last got
 * a CPU is booked, so if that is all the time since the last look it has had it ever since. (Not if it waited for one
 * at the last look already: what it had waited until then is booked after it.)
 */
#include "base/util.h"
#include "sample/recorder_inside.h"

#define UNBOOKED_NS                                                                                                    \
	10000u       /* that may be missing though it ran on: from one thread to the next the kernel takes time        \
		      */
#define UNBOOKED 200 /* and one part in so many, which interrupts and other machines take */

static struct dt_stay *stay_of(struct dt_recorder *r, const struct dt_recorded *thread)
{
	return &r->stays[thread->digest[0] % DT_COUNT(r->stays)];
}

void dt_recorded_stays(struct dt_recorder *r, const struct dt_recorded *thread, bool sleeps)
{
	struct dt_stay *stay = stay_of(r, thread);

	if (thread->unseen)
		return;
	if (stay->digest != thread->digest[0])
		*stay = (struct dt_stay){.digest = thread->digest[0]};
	stay->sleeps = sleeps;
	if (!sleeps)
		return;
	stay->state = thread->state;
	stay->call = thread->syscall;
}

static bool sleeps_here(struct dt_recorder *r, const struct dt_recorded *thread)
{
	const struct dt_stay *stay = stay_of(r, thread);

	return stay->digest == thread->digest[0] && stay->sleeps;
}

/* Had somebody else the CPU that it is ready for? */
static bool waits(const struct dt_seat *seat, const struct dt_thread_booked *booked, uint64_t slices)
{
	return seat ? !dt_seat_followed(seat, booked) : slices == booked->slept + booked->put_aside;
}

static bool slept(struct dt_recorder *r, struct dt_recorded *thread, const struct dt_seat *seat, uint64_t slices)
{
	const struct dt_thread_booked before = thread->booked;
	uint64_t aside = thread->aside;

	thread->aside = 0;
	if (dt_thread_booked_now(&thread->files, &thread->booked) < 0) {
		thread->booked = (struct dt_thread_booked){0};
		return false;
	}
	thread->waits = waits(seat, &thread->booked, slices);
	if (!(before.slept || before.put_aside) || before.slept == thread->booked.slept)
		return false;
	if (!thread->waits) {
		if (seat)
			dt_recorded_stays(r, thread, false);
		return false;
	}
	return before.put_aside + aside == thread->booked.put_aside || sleeps_here(r, thread);
}

/* Is there next to no time since the last look that is not booked? A wait is booked when it is over, all of it: one
 * that had begun before that look would make up for one that is not booked yet. */
static bool is_booked(const struct dt_recorded *thread, uint64_t ready_ns, uint64_t span_ns)
{
	uint64_t missing = UNBOOKED_NS + span_ns / UNBOOKED;

	return !thread->waited && ready_ns + missing >= span_ns && ready_ns <= span_ns + missing;
}

bool dt_recorded_ran_on(const struct dt_recorded *thread, const struct dt_thread_sched *now, uint64_t now_ns)
{
	const struct dt_thread_sched *then = &thread->sched;

	return thread->counted && now->slices != then->slices &&
	       is_booked(thread, now->ran_ns - then->ran_ns + (now->waited_ns - then->waited_ns),
			 now_ns - thread->asked_ns);
}

/* Who has the GIL does not sleep as a rule: if it waits, a third one has put it aside. */
static void ask_holder(struct dt_recorded *thread, const struct dt_seat *seat, uint64_t slices)
{
	struct dt_thread_booked booked;

	if (!seat || !is_booked(thread, thread->ready_ns, thread->span_ns))
		thread->waits = dt_thread_booked_now(&thread->files, &booked) == 0 && waits(seat, &booked, slices);
	thread->aside += seat && !thread->waits;
}

/* Who has only just woken is told where it was. If it was never met blocked with this stack, it was as at the last
 * look; or, if it ran then, it has the stack with which it gave the GIL away, if another one has that now. */
static void tell_stay(struct dt_recorder *r, struct dt_recorded *thread)
{
	const struct dt_stay *stay = stay_of(r, thread);
	bool before = thread->before != DT_STATE_RUNNING && thread->before != DT_STATE_UNKNOWN;

	thread->syscall = NULL;
	if (stay->digest == thread->digest[0] && stay->state != DT_STATE_UNKNOWN) {
		thread->state = stay->state;
		thread->syscall = stay->call;
	} else if (!thread->fresh && before) {
		thread->state = thread->before;
		thread->syscall = thread->call_before;
	} else if (!thread->fresh && r->pulse.words.locked == 1 && r->pulse.words.holder != thread->address) {
		thread->state = DT_STATE_GIL_WAIT;
	} else {
		thread->state = DT_STATE_SLEEPING;
	}
}

void dt_recorded_ready(struct dt_recorder *r, struct dt_recorded *thread, const struct dt_seat *seat, uint64_t slices,
		       bool gil)
{
	if (gil) {
		ask_holder(thread, seat, slices);
		return;
	}
	if (!slept(r, thread, seat, slices) || thread->unseen)
		return;
	thread->off = true;
	tell_stay(r, thread);
}
