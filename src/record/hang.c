/*
 * A thread that samples and does not come back from a look: how that is noticed, and how it is left behind (watcher.h).
 *
 * A look has a number, which stands in `look` as long as the look lasts. Whoever changes that number from what it was
 * has the watcher with all its processes: the thread itself when it comes back (to 0), or who leaves it behind. So one
 * that was left behind touches nothing but what the look itself works on: the recorder of its process, its image pool
 * and its stop. These are kept for ever.
 */
#include <time.h>
#include <unistd.h>

#include "base/patience.h"
#include "base/util.h"
#include "record/watcher_inside.h"

#define LONGEST_NS UINT64_C(1000000000)
#define ASKED_NS   UINT64_C(250000000) /* who looks after a recording asks more often */
#define NAP_NS     1000000

/* Kept reachable, so that checkers for leaks see them as what they are. */
static _Atomic(struct dt_watcher *) left_behind;

void dt_watcher_look_begin(struct dt_watcher *w, struct dt_subject *subject)
{
	w->at = subject;
	atomic_store_explicit(&w->look, ++w->looks, memory_order_release);
}

/* Its callers would go on with a round that is not its own any more. What it has asked to stop is let go; then it
 * sleeps, which costs nothing. */
static _Noreturn void rest_for_good(struct dt_watcher *w)
{
	atomic_store(&w->rests, true);
	for (;;) {
		dt_stop_poll(&w->stop);
		if (w->stop.tid)
			nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
		else
			pause();
	}
}

void dt_watcher_look_end(struct dt_watcher *w)
{
	uint64_t number = w->looks;

	if (!atomic_compare_exchange_strong(&w->look, &number, 0))
		rest_for_good(w);
}

/* Of the time between two questions only so much counts as is usual: who asks may have been stopped itself. */
static bool lasts(struct dt_watcher_held *held, uint64_t which, bool counts)
{
	uint64_t now = dt_clock_ns();

	if (which != held->which)
		*held = (struct dt_watcher_held){.which = which};
	else if (which && counts)
		held->seen_ns += DT_MIN(now - held->asked_ns, ASKED_NS);
	held->asked_ns = now;
	return held->seen_ns > LONGEST_NS;
}

enum dt_hang dt_watcher_hangs(struct dt_watcher *w)
{
	uint64_t began = atomic_load_explicit(&w->stop.began_ns, memory_order_relaxed);
	uint64_t look = atomic_load_explicit(&w->look, memory_order_acquire);
	bool stopped = lasts(&w->held, began, true);
	bool looks = lasts(&w->looked, look, look && look == w->looked.which && dt_thread_blocked(w->tid));

	looks = looks && !atomic_load(&w->rests); /* who has come back lets go what it has asked to stop */
	/* A thread that was asked to stop and has not yet will stand from then on. */
	if (stopped || (looks && w->stop.tid))
		return DT_HANG_HOLD;
	return looks && look != DT_LOOK_LEFT ? DT_HANG_LOOK : DT_HANG_NOT;
}

/* All that it has but the one that it looks at. */
static struct dt_subject *take_rest(struct dt_watcher *w)
{
	struct dt_subject **link = &w->subjects, *rest;

	while (*link) {
		if (*link == w->at) {
			*link = w->at->next;
			continue;
		}
		dt_image_pool_part((*link)->pool);
		link = &(*link)->next;
	}
	*link = atomic_exchange(&w->inbox, NULL);
	rest = w->subjects;
	w->subjects = NULL;
	return rest;
}

static void miss(struct dt_subject *list)
{
	uint64_t now = dt_clock_ns();

	for (; list; list = list->next)
		dt_subject_missed(list, now);
}

bool dt_watcher_leave(struct dt_watcher *w, struct dt_subject **stuck, struct dt_subject **rest)
{
	uint64_t look = w->looked.which;

	if (!look || look == DT_LOOK_LEFT || w->stop.tid ||
	    !atomic_compare_exchange_strong(&w->look, &look, DT_LOOK_LEFT))
		return false;
	pthread_detach(w->thread);
	atomic_store(&w->sits, DT_SITS_BESIDE); /* who still knows it hands nothing more to it */
	*stuck = w->at;
	(*stuck)->left = true;
	*rest = take_rest(w);
	miss(*rest);
	if ((*stuck)->last_ns)
		w->tally.lost += (uint64_t)((double)(dt_clock_ns() - (*stuck)->last_ns) * w->options.rate / 1e9);
	return true;
}

struct dt_subject *dt_watcher_strayed(struct dt_watcher *w)
{
	struct dt_subject *list = atomic_load(&w->look) == DT_LOOK_LEFT ? atomic_exchange(&w->inbox, NULL) : NULL;

	miss(list);
	return list;
}

void dt_watcher_keep(struct dt_watcher *w)
{
	dt_ring_free(w->ring);
	w->ring = NULL;
	w->older = atomic_load(&left_behind);
	while (!atomic_compare_exchange_weak(&left_behind, &w->older, w))
		;
}
