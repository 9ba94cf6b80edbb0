/*
 * Where calls of the interpreter's loop lie on the C stack, in 3.11: each of them has a C frame there, and they are
 * linked from the thread state on, the innermost first, as are the frames that the calls began with. From 3.12 on the
 * mark of a call lies on the C stack itself, and the walk has met it.
 */
#include "python/walk.h"

#define PLACES 1024 /* calls of the loop: more are not told */

/* The C frames of calls, without the thread state's own. */
static size_t list_places(struct dt_mem *mem, const struct dt_layout *layout, uint64_t thread, uint64_t *places)
{
	uint64_t cframe = 0, previous;
	size_t count = 0;

	if (dt_mem_read_u64(mem, thread + layout->thread.cframe, &cframe) < 0)
		return 0;
	while (cframe && cframe - thread >= layout->thread.size) {
		if (count == PLACES || dt_mem_read_u64(mem, cframe + layout->cframe.previous, &previous) < 0)
			return 0;
		places[count++] = cframe;
		cframe = previous;
	}
	return count;
}

void dt_walk_places(struct dt_mem *mem, const struct dt_python *python, struct dt_walk_thread *thread)
{
	const struct dt_layout *layout = &python->layout;
	uint64_t places[PLACES];
	size_t entries = 0, count, at;

	if (layout->thread.cframe == DT_ABSENT || layout->frame.is_entry == DT_ABSENT)
		return;
	for (size_t i = 0; i < thread->frame_count; i++)
		entries += thread->frames[i].entry;
	count = list_places(mem, layout, thread->address, places);
	/* A function that has only just begun is not shown. */
	if (!entries || (count != entries && count != entries + 1))
		return;
	at = count - entries;
	for (size_t i = 0; i < thread->frame_count && at < count; i++)
		if (thread->frames[i].entry)
			thread->frames[i].place = places[at++];
}
