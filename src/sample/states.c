/* Thread states without a GIL: see states.h. Lists may be long and forged: nothing here compares each with each. */
#include "sample/states.h"

#include <errno.h>

#include "base/util.h"

#define TIME_EVERY 64 /* thread states, each of which costs some ten microseconds */

void dt_states_collect(const struct dt_proc *proc, struct dt_mem *live, struct dt_tids *tids,
		       const struct dt_walk *walk, uint64_t cpu_end, struct dt_suspects *suspects)
{
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_walk_thread *thread = &walk->threads[i];
		struct dt_suspect *suspect = &suspects->list[suspects->count];

		if (i % TIME_EVERY == TIME_EVERY - 1 && dt_cpu_ns() > cpu_end) {
			suspects->unknown = true;
			break;
		}
		suspects->count++;

		*suspect = (struct dt_suspect){.thread = thread->address,
					       .ident = thread->ident,
					       .native = thread->native,
					       .interpreter = thread->interpreter,
					       .attached = thread->attached};
		/* One that no thread has taken yet has no frames; it gets the numbers before it gets the first. */
		suspect->unborn = !thread->ident && !thread->native;
		if (!suspect->unborn && !dt_suspect_watch(proc, live, tids, suspect))
			suspects->unknown = true;
	}
	suspects->states = suspects->count;
	suspects->unknown = suspects->unknown || !walk->lists_whole;
}

static int by_tid_then_interpreter(const void *a, const void *b)
{
	const struct dt_suspect *x = *(const struct dt_suspect *const *)a;
	const struct dt_suspect *y = *(const struct dt_suspect *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->interpreter > y->interpreter) - (x->interpreter < y->interpreter);
}

/* Thread states of one thread. It may have one in several interpreters and runs one of them at a time; two in one
 * interpreter are odd, and so are two that are attached. */
static void settle_thread(struct dt_suspect **group, size_t count)
{
	uint64_t runs = 0;
	size_t attached = 0;
	bool odd = false;

	for (size_t i = 0; i < count; i++) {
		if (group[i]->attached) {
			attached++;
			runs = group[i]->thread;
		}
		odd = odd || (i && group[i]->interpreter == group[i - 1]->interpreter);
	}
	for (size_t i = 0; i < count; i++) {
		group[i]->shared = count > 1;
		group[i]->odd = odd;
		group[i]->runs = attached == 1 && !odd ? runs : 0;
		/* They were asked for one after the other: if one of the answers was that it runs, it does. */
		group[i]->running = group[0]->running;
	}
}

int dt_states_settle(struct dt_arena *arena, struct dt_suspects *suspects)
{
	struct dt_suspect **sorted = dt_arena_alloc(arena, (suspects->states + 1) * sizeof(*sorted));
	size_t count = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < suspects->states; i++)
		if (suspects->list[i].tid)
			sorted[count++] = &suspects->list[i];
	qsort(sorted, count, sizeof(*sorted), by_tid_then_interpreter);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && sorted[end]->tid == sorted[begin]->tid; end++)
			sorted[begin]->running = sorted[begin]->running || sorted[end]->running;
		settle_thread(sorted + begin, end - begin);
		suspects->running += sorted[begin]->running;
	}
	return 0;
}

void dt_states_lend(struct dt_suspects *suspects)
{
	const struct dt_suspect *lent = NULL;
	size_t attached = 0;

	if (!suspects->everybody || suspects->running != 1)
		return;
	for (size_t i = 0; i < suspects->states; i++) {
		if (!suspects->list[i].attached)
			continue;
		attached++;
		lent = &suspects->list[i];
	}
	if (attached != 1 || lent->running)
		return;
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->list[i].running)
			suspects->list[i].runs = lent->thread;
}

bool dt_states_equal(struct dt_mem *live, const struct dt_layout *layout, const struct dt_suspects *suspects,
		     const struct dt_walk *walk)
{
	if (walk->thread_count != suspects->states)
		return false;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_walk_thread *thread = &walk->threads[i];
		const struct dt_suspect *suspect = &suspects->list[i];
		uint64_t native;

		if (thread->address != suspect->thread || thread->ident != suspect->ident ||
		    thread->native != suspect->native)
			return false;
		if (suspect->unborn &&
		    (dt_mem_read_u64(live, suspect->thread + layout->thread.native_thread_id, &native) < 0 || native))
			return false;
	}
	return true;
}
