/*
 * All threads step down their stacks together: one gather for the frames that are next, of all threads at once. Most
 * frames of a thread lie in one page, so a few steps bring nearly everything.
 */
#include "python/walk_ahead.h"

#include "base/util.h"

#define THREADS     512 /* stepped together */
#define FEW         4   /* threads, for which it does not pay */
#define STEPS       8
#define KERNEL_PAGE 4096

struct group {
	uint64_t next[THREADS]; /* where each thread stands; 0: done */
	size_t count;
};

/* next[i] = the word at next[i] + offset, for all i, the pages being fetched together. Data stacks grow upwards: what
 * is below a frame in the same page of the kernel comes along at little cost. */
static void step(struct dt_mem *mem, struct group *group, uint32_t offset, bool below)
{
	uint64_t places[2 * THREADS];
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++) {
		uint64_t place = group->next[i] + offset;

		if (!group->next[i])
			continue;
		if (below && place % KERNEL_PAGE >= DT_IMAGE_PAGE)
			places[count++] = place - DT_IMAGE_PAGE;
		places[count++] = place;
	}
	if (count)
		dt_mem_ahead(mem, places, count);
	for (size_t i = 0; i < group->count; i++)
		if (group->next[i] && dt_mem_read_u64(mem, group->next[i] + offset, &group->next[i]) < 0)
			group->next[i] = 0;
}

static bool any(const struct group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->next[i])
			return true;
	return false;
}

void dt_walk_ahead(struct dt_mem *mem, const struct dt_layout *layout, const uint64_t *threads, size_t count)
{
	struct group group;

	if (count < FEW)
		return;
	for (size_t begin = 0; begin < count; begin += group.count) {
		group.count = DT_MIN(count - begin, (size_t)THREADS);
		memcpy(group.next, threads + begin, group.count * sizeof(*threads));
		if (layout->thread.cframe != DT_ABSENT) {
			step(mem, &group, layout->thread.cframe, false);
			step(mem, &group, layout->cframe.current_frame, false);
		} else {
			step(mem, &group, layout->thread.frame, false);
		}
		for (int i = 0; i < STEPS && any(&group); i++)
			step(mem, &group, layout->frame.previous, true);
	}
}
