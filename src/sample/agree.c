/* Agreement of looks: see agree.h. */
#include "sample/agree.h"

#include <errno.h>

#include "base/util.h"

static bool same_frame(const struct dt_walk_frame *a, const struct dt_walk_frame *b)
{
	return a->address == b->address && a->ip == b->ip && a->code == b->code && a->line == b->line;
}

/* Frames that two stacks share, counted from the outermost on. */
static size_t shared(const struct dt_walk_thread *a, const struct dt_walk_thread *b)
{
	size_t limit = DT_MIN(a->frame_count, b->frame_count);
	size_t count = 0;

	while (count < limit &&
	       same_frame(&a->frames[a->frame_count - 1 - count], &b->frames[b->frame_count - 1 - count]))
		count++;
	return count;
}

/* Threads keep their order from look to look as a rule, so the place of the last one is tried first. */
static size_t find(const struct dt_walk *walk, uint64_t address, size_t guess)
{
	if (guess < walk->thread_count && walk->threads[guess].address == address)
		return guess;
	for (size_t i = 0; i < walk->thread_count; i++)
		if (walk->threads[i].address == address)
			return i;
	return SIZE_MAX;
}

int dt_agree_step(const struct dt_walk *previous, const struct dt_agree *before, const struct dt_walk *walk,
		  struct dt_arena *arena, struct dt_agree *result)
{
	struct dt_agree_thread *threads = dt_arena_calloc(arena, walk->thread_count + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_walk_thread *now = &walk->threads[i];
		const struct dt_walk_thread *then;
		size_t place = find(previous, now->address, i);

		threads[i] = (struct dt_agree_thread){.address = now->address, .equal = 1};
		if (now->end == DT_WALK_BROKEN)
			threads[i].equal = 0;
		if (place == SIZE_MAX)
			continue;
		then = &previous->threads[place];
		threads[i].seen = before->threads[place].seen + 1;
		threads[i].common = shared(now, then);
		if (before->threads[place].seen)
			threads[i].common = DT_MIN(threads[i].common, before->threads[place].common);
		if (now->end != DT_WALK_BROKEN && now->frame_count == then->frame_count && now->top == then->top &&
		    shared(now, then) == now->frame_count) {
			threads[i].equal = before->threads[place].equal + 1;
			if (threads[i].equal >= DT_AGREE_LOOKS)
				threads[i].common = now->frame_count;
		}
	}
	*result = (struct dt_agree){.threads = threads, .count = walk->thread_count};
	return 0;
}
