/* Rung 4 for a recording: a thread that runs and may not be held is looked at several times within one moment. */
#include <errno.h>

#include "base/util.h"
#include "sample/agree.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"

#define APART_NS 4000u /* two looks are up to so much apart: at equal distances a loop may be met at the same place */

static void wait_a_little(struct dt_recorder *r)
{
	uint64_t until = dt_clock_ns() + (uint64_t)(dt_recorder_chance(r) * APART_NS);

	while (dt_clock_ns() < until)
		;
}

int dt_recorder_agree(struct dt_recorder *r, struct dt_walk_thread *walk, bool *torn)
{
	const uint64_t address = walk->address;
	struct dt_agree before = {0}, now = {0};
	const struct dt_agree_thread *found;

	for (int i = 0; i < DT_AGREE_LOOKS; i++) {
		*walk = (struct dt_walk_thread){.address = address};
		if (i)
			wait_a_little(r);
		dt_image_begin(r->lane);
		dt_image_prefetch(r->lane);
		if (dt_walk_one(r->lane, r->python, r->sampler->codes, &r->arena, &r->budget, walk) < 0)
			return -EAGAIN;
		/* A thread that was put aside while it enters Python stays like that for many looks. */
		if (walk->end == DT_WALK_BETWEEN)
			walk->end = DT_WALK_BROKEN;
		if (dt_agree_step(&before, &(struct dt_walk){.threads = walk, .thread_count = 1}, &r->arena, &now) < 0)
			return -ENOMEM;
		before = now;
	}
	found = &now.threads[0];
	*torn = found->equal < DT_AGREE_LOOKS;
	walk->end = DT_WALK_WHOLE;
	if (!*torn)
		return 0;
	if (!found->common)
		return -EAGAIN;
	walk->frame_count = found->common;
	walk->frames = (struct dt_walk_frame *)found->frames + (found->frame_count - found->common);
	return 0;
}
