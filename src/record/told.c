/* As what a thread is told and counted: see told.h. */
#include "record/told.h"

#include <string.h>

#include "profile/profile.h"

bool dt_told_lost(const struct dt_recorded *thread)
{
	return !thread->fresh && !thread->told.stack;
}

static bool is_unseen(const struct dt_recorded *thread)
{
	return thread->unseen || dt_told_lost(thread);
}

static bool is_torn(const struct dt_recorded *thread)
{
	return !is_unseen(thread) && (thread->torn || thread->frame_count > DT_PROFILE_DEPTH);
}

uint8_t dt_told_flags(const struct dt_recorded *thread)
{
	return (uint8_t)((thread->gil ? DT_RUN_GIL : 0) | (thread->gc ? DT_RUN_GC : 0) |
			 (is_torn(thread) ? DT_RUN_TORN : 0) | (is_unseen(thread) ? DT_RUN_UNSEEN : 0));
}

bool dt_told_same(const struct dt_recorded *thread)
{
	return !thread->fresh && thread->told.state == thread->state && thread->told.flags == dt_told_flags(thread) &&
	       thread->told.call == thread->syscall;
}

static uint8_t counts_of(const struct dt_recorded *thread)
{
	bool active = thread->unseen || thread->state == DT_STATE_RUNNING;

	if (!dt_recorded_lives(thread))
		return 0;
	return (uint8_t)(1u << DT_TOLD_LIVES | (unsigned)is_unseen(thread) << DT_TOLD_UNSEEN |
			 (unsigned)is_torn(thread) << DT_TOLD_TORN | (unsigned)active << DT_TOLD_ACTIVE);
}

bool dt_told_lives(const struct dt_recorded *thread)
{
	return thread->told.counts >> DT_TOLD_LIVES & 1u;
}

bool dt_told_all(const struct dt_recorded *thread)
{
	if (counts_of(thread) != thread->told.counts)
		return false;
	return !dt_recorded_lives(thread) ||
	       (thread->told.known && thread->told.tid == thread->tid && dt_told_same(thread) && !thread->spent_ns);
}

void dt_told_count(struct dt_recorded *thread, unsigned counts[static DT_TOLD_COUNTS])
{
	uint8_t now = counts_of(thread);

	for (unsigned i = 0; i < DT_TOLD_COUNTS && now != thread->told.counts; i++)
		counts[i] += (now >> i & 1u) - (thread->told.counts >> i & 1u);
	thread->told.counts = now;
}

void dt_told_count_none(struct dt_recorded *threads, size_t count, unsigned counts[static DT_TOLD_COUNTS])
{
	memset(counts, 0, DT_TOLD_COUNTS * sizeof(*counts));
	for (size_t i = 0; i < count; i++)
		threads[i].told.counts = 0;
}
