/* The inside of a view, for the files that make trees and tables of it. */
#ifndef DT_PROFILE_VIEW_INSIDE_H
#define DT_PROFILE_VIEW_INSIDE_H

#include "base/short_names.h"
#include "profile/view.h"

struct dt_view {
	const struct dt_profile *profile;
	struct dt_view_options options;
	bool *thread_out; /* by thread: filtered out */
	uint32_t only;    /* 0: all others */
	uint32_t *shown;  /* by location: the one that stands for it, 0 if it is hidden */
	/* What dt_view_frames() said last, each with room for the deepest stack. */
	uint32_t *frames;
	uint32_t *path;   /* by depth: the stacks that lead to it */
	uint32_t *counts; /* by depth: how many frames are shown down to there */
	uint32_t depth;   /* of that stack: so far the other two are true */
	struct dt_short_names names;
};

/* What a run counts, idle or not. */
uint64_t dt_view_weight_idle(const struct dt_view *view, const struct dt_profile_run *run);

/* Weights come from files: a sum that does not fit stays at the largest number. */
static inline uint64_t dt_view_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
