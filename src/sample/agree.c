/* Agreement of looks: see agree.h. */
#include "sample/agree.h"

#include <errno.h>

#include "base/util.h"

static bool same_frame(const struct dt_walk_frame *a, const struct dt_walk_frame *b)
{
	return a->address == b->address && a->ip == b->ip && a->code == b->code && a->line == b->line;
}

/* Frames that a stack shares with the one before it, counted from the outermost on. */
static size_t shared(const struct dt_walk_thread *now, const struct dt_agree_thread *then)
{
	size_t limit = DT_MIN(now->frame_count, then->frame_count);
	size_t count = 0;

	while (count < limit &&
	       same_frame(&now->frames[now->frame_count - 1 - count], &then->frames[then->frame_count - 1 - count]))
		count++;
	return count;
}

/* Threads keep their order from look to look as a rule, so the place of the last one is tried first. */
static const struct dt_agree_thread *find(const struct dt_agree *before, uint64_t address, size_t guess)
{
	if (guess < before->count && before->threads[guess].address == address)
		return &before->threads[guess];
	for (size_t i = 0; i < before->count; i++)
		if (before->threads[i].address == address)
			return &before->threads[i];
	return NULL;
}

/* The stack of the look before is in memory that the next look uses again. */
static int carry_over(struct dt_agree_thread *thread, const struct dt_agree_thread *then, struct dt_arena *arena)
{
	struct dt_walk_frame *frames = dt_arena_alloc(arena, (then->frame_count + 1) * sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	if (then->frame_count)
		memcpy(frames, then->frames, then->frame_count * sizeof(*frames));
	*thread = *then;
	thread->frames = frames;
	thread->equal = 0;
	return 0;
}

static void compare(struct dt_agree_thread *thread, const struct dt_walk_thread *now,
		    const struct dt_agree_thread *then)
{
	*thread = (struct dt_agree_thread){
	    .address = now->address, .seen = 1, .equal = 1, .frames = now->frames, .frame_count = now->frame_count};
	if (!then || !then->seen)
		return;
	thread->seen = then->seen + 1;
	thread->common = shared(now, then);
	if (thread->common == now->frame_count && now->frame_count == then->frame_count)
		thread->equal = then->equal + 1;
	if (then->seen > 1 && thread->equal < DT_AGREE_LOOKS)
		thread->common = DT_MIN(thread->common, then->common);
}

int dt_agree_step(const struct dt_agree *before, const struct dt_walk *walk, struct dt_arena *arena,
		  struct dt_agree *result)
{
	struct dt_agree_thread *threads = dt_arena_calloc(arena, walk->thread_count + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_walk_thread *now = &walk->threads[i];
		const struct dt_agree_thread *then = find(before, now->address, i);

		if (now->end != DT_WALK_BROKEN)
			compare(&threads[i], now, then);
		else if (!then)
			threads[i].address = now->address;
		else if (carry_over(&threads[i], then, arena) < 0)
			return -ENOMEM;
	}
	*result = (struct dt_agree){.threads = threads, .count = walk->thread_count};
	return 0;
}
