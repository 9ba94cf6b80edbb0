/*
 * A thread that is ready to run, and is not on a CPU: has it been put aside, or has it only just woken? The timer that
 * wakes it and ours often fire together, so who sleeps is often met like that, and sleep would be shown as work.
 *
 * One that was on our CPU until we came was put aside by us. Else it left its CPU before: of its own, or because the
 * kernel gave it to a third one. Both are counted, but not which was the last; so it is believed to have slept only if
 * it did so at all since it was last asked for, and nobody but we has put it aside since.
 */
#include "sample/recorder_inside.h"

static bool slept(struct dt_recorded *thread, const struct dt_seat *seat)
{
	const struct dt_thread_booked before = thread->booked;
	uint64_t aside = thread->aside;

	thread->aside = 0;
	if (dt_thread_booked_now(&thread->files, &thread->booked) < 0) {
		thread->booked = (struct dt_thread_booked){0};
		return false;
	}
	return before.ns && before.slept != thread->booked.slept &&
	       before.put_aside + aside == thread->booked.put_aside &&
	       !(seat && dt_seat_followed(seat, &thread->booked));
}

void dt_recorded_ready(struct dt_recorded *thread, const struct dt_seat *seat, bool gil)
{
	bool same = !thread->fresh && thread->before != DT_STATE_RUNNING && thread->before != DT_STATE_UNKNOWN;

	if (gil) { /* who has it does not sleep as a rule, and was put aside by us */
		thread->aside += seat != NULL;
		return;
	}
	if (!slept(thread, seat) || thread->unseen)
		return;
	thread->state = same ? thread->before : DT_STATE_SLEEPING;
	thread->syscall = same ? thread->call_before : NULL;
}
