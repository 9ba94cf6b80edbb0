/*
 * Of the time that a view shows: how much of it has no true stack. The base is this time, not that of all samples:
 * where most of a recording is waiting that is hidden, a share of all samples says nothing about what is shown.
 */
#include <stdlib.h>

#include "base/util.h"
#include "format/summary.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Was the stack not kept? */
static bool is_unkept(const struct dt_profile *profile, uint32_t stack)
{
	uint32_t location = dt_profile_stack_at(profile, stack)->location;

	return dt_profile_too_many(profile, dt_profile_location_at(profile, location)->function);
}

/* From the first that is told of a thread to the last, or a run. */
struct extent {
	uint64_t from, to;
};

static int by_beginning(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* The time in which there was a thread, whichever: processes may come one after the other. What a thread did between
 * two runs belongs to it, unless it was lost with a part of the file. */
static int find_watched(const struct dt_profile *profile, struct dt_summary_missing *missing)
{
	const struct dt_profile_run *runs = dt_profile_runs(profile);
	struct dt_profile_counts counts = dt_profile_counts(profile);
	bool damaged = dt_profile_meta(profile)->damaged_ns > 0;
	size_t count = (damaged ? counts.runs : (size_t)counts.threads) + 1;
	dt_auto_free struct extent *extents = calloc(count, sizeof(*extents));
	uint64_t end = 0;

	if (!extents)
		return DT_EMEMORY;
	for (size_t i = 0; i < counts.runs; i++) {
		struct extent *extent = &extents[damaged ? i : runs[i].thread];

		extent->from = extent->to ? DT_MIN(extent->from, runs[i].start_ns) : runs[i].start_ns;
		extent->to = DT_MAX(extent->to, plus(runs[i].start_ns, runs[i].wall_ns));
	}
	qsort(extents, count, sizeof(*extents), by_beginning);
	for (size_t i = 0; i < count; i++) {
		uint64_t from = DT_MAX(extents[i].from, end);

		missing->watched = plus(missing->watched, extents[i].to - DT_MIN(from, extents[i].to));
		end = DT_MAX(end, extents[i].to);
	}
	return 0;
}

int dt_summary_weigh(const struct dt_view *view, struct dt_summary_missing *missing)
{
	const struct dt_profile *profile = dt_view_profile(view);
	const struct dt_profile_run *runs = dt_profile_runs(profile);
	size_t count = dt_profile_counts(profile).runs;

	*missing = (struct dt_summary_missing){0};
	for (size_t i = 0; i < count; i++) {
		uint64_t weight = dt_view_weight(view, &runs[i]);

		missing->whole = plus(missing->whole, weight);
		missing->samples = plus(missing->samples, weight ? runs[i].samples : 0);
		if (runs[i].flags & DT_RUN_UNSEEN)
			missing->unseen = plus(missing->unseen, weight);
		else if (runs[i].flags & DT_RUN_TORN)
			missing->torn = plus(missing->torn, weight);
		else if (is_unkept(profile, runs[i].stack))
			missing->unkept = plus(missing->unkept, weight);
	}
	return find_watched(profile, missing);
}
