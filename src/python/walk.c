/*
 * Interpreters and threads of one look; walk_frames.c follows the frames of each thread.
 *
 *   runtime.interpreters_head -> newest interpreter -> ... -> main interpreter -> NULL
 *   interpreter.threads_head  -> newest thread -> ... -> oldest thread -> NULL
 *
 * New ones are put in front, so both lists are turned round: callers see them in order of creation.
 */
#include "python/walk.h"

#include <errno.h>

#include "base/util.h"
#include "python/walk_ahead.h"
#include "python/walk_frames.h"
#include "python/walk_gil.h"

/* A list of addresses that grows in the arena. */
struct addresses {
	uint64_t *items;
	size_t count, capacity;
};

static int addresses_add(struct addresses *list, struct dt_arena *arena, uint64_t address)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		uint64_t *items = dt_arena_alloc(arena, capacity * sizeof(*items));

		if (!items)
			return -ENOMEM;
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = address;
	return 0;
}

#define STRIDES 32 /* members of a list that are fetched ahead */

/* Structures that were made one after the other often lie at equal distances. Where the last three members of a list
 * did, the next ones are expected to as well and fetched together; if they lie elsewhere nothing but a little time is
 * lost. */
static void guess_ahead(struct dt_mem *mem, const struct addresses *list, uint64_t address, uint32_t next)
{
	uint64_t guesses[STRIDES];
	uint64_t stride;

	if (list->count < 2 || list->count % STRIDES != 2)
		return;
	stride = address - list->items[list->count - 1];
	if (stride != list->items[list->count - 1] - list->items[list->count - 2])
		return;
	for (size_t i = 0; i < STRIDES; i++)
		guesses[i] = address + i * stride + next;
	dt_mem_ahead(mem, guesses, STRIDES);
}

/* Of a list that went round, with so many members in the circle: drops those that were met a second time. */
static void drop_repeated(struct addresses *list, size_t begin, size_t circle)
{
	while (list->count - begin > circle && list->items[list->count - 1] == list->items[list->count - 1 - circle])
		list->count--;
}

/* Follows `next` from `first` on. *whole is false if the list leads nowhere, goes round, is longer than limit, or its
 * members do not name `owner` at owner_offset (DT_ABSENT: not asked). */
static int follow(struct dt_mem *mem, struct dt_arena *arena, uint64_t first, uint32_t next, uint32_t owner_offset,
		  uint64_t owner, size_t limit, struct addresses *list, bool *whole)
{
	uint64_t passed = 0; /* at the last power of two: a list that comes to it again goes round */
	size_t begin = list->count;
	size_t passed_at = 0;

	for (uint64_t address = first; address;) {
		uint64_t named = owner;
		uint64_t following;

		size_t steps = list->count - begin;

		if (list->count >= limit)
			goto broken;
		if (address == passed) {
			drop_repeated(list, begin, steps - passed_at);
			goto broken;
		}
		if ((steps & (steps + 1)) == 0) {
			passed = address;
			passed_at = steps;
		}
		guess_ahead(mem, list, address, next);
		if (dt_mem_read_u64(mem, address + next, &following) < 0)
			goto broken;
		if (owner_offset != DT_ABSENT &&
		    (dt_mem_read_u64(mem, address + owner_offset, &named) < 0 || named != owner))
			goto broken;
		if (addresses_add(list, arena, address) < 0)
			return -ENOMEM;
		address = following;
	}
	return 0;
broken:
	*whole = false;
	return 0;
}

/* The number is that of its place in the list, where Python gives it none. */
static int read_interpreter(struct dt_mem *mem, const struct dt_python *python, uint64_t address, size_t number,
			    struct dt_walk_interpreter *interpreter)
{
	const struct dt_layout *layout = &python->layout;
	uint64_t id = number;
	uint32_t collecting = 0;
	int rc = 0;

	interpreter->address = address;
	if (layout->interpreter.id != DT_ABSENT)
		rc = dt_mem_read_u64(mem, address + layout->interpreter.id, &id);
	if (rc < 0)
		return rc;
	interpreter->id = (int64_t)id;
	if (layout->interpreter.gc_collecting != DT_ABSENT)
		rc = dt_mem_read_u32(mem, address + layout->interpreter.gc_collecting, &collecting);
	else if (layout->runtime.gc_collecting != DT_ABSENT)
		rc = dt_mem_read_u32(mem, python->runtime + layout->runtime.gc_collecting, &collecting);
	else if (python->variables.collecting)
		rc = dt_mem_read_u32(mem, python->variables.collecting, &collecting);
	if (rc < 0)
		return rc;
	interpreter->collecting = collecting != 0;
	return dt_walk_find_gil(mem, python, interpreter);
}

int dt_walk_interpreters(struct dt_mem *mem, const struct dt_python *python, struct dt_arena *arena,
			 struct dt_walk *walk)
{
	const struct dt_layout *layout = &python->layout;
	struct addresses list = {0};
	uint64_t head;
	int rc;

	*walk = (struct dt_walk){.lists_whole = true};
	rc = dt_mem_read_u64(mem, python->runtime + layout->runtime.interpreters_head, &head);
	if (rc < 0)
		return rc;
	if (!head)
		return -EAGAIN;
	if (layout->runtime.main_thread != DT_ABSENT) {
		rc = dt_mem_read_u64(mem, python->runtime + layout->runtime.main_thread, &walk->main_ident);
		if (rc < 0)
			return rc;
	}
	rc = follow(mem, arena, head, layout->interpreter.next, DT_ABSENT, 0, DT_WALK_INTERPRETERS, &list,
		    &walk->lists_whole);
	if (rc < 0)
		return rc;
	if (!list.count)
		return -EAGAIN;
	walk->interpreters = dt_arena_calloc(arena, list.count, sizeof(*walk->interpreters));
	if (!walk->interpreters)
		return -ENOMEM;
	for (size_t i = list.count; i-- > 0;) {
		rc = read_interpreter(mem, python, list.items[i], list.count - 1 - i,
				      &walk->interpreters[walk->interpreter_count]);
		if (rc == -EFAULT)
			walk->lists_whole = false;
		else if (rc < 0)
			return rc;
		else
			walk->interpreter_count++;
	}
	return walk->interpreter_count ? 0 : -EAGAIN;
}

static int read_thread(struct dt_mem *mem, const struct dt_layout *layout, uint64_t address,
		       struct dt_walk_thread *thread)
{
	uint32_t state = 0;
	int rc;

	thread->address = address;
	rc = dt_mem_read_u64(mem, address + layout->thread.thread_id, &thread->ident);
	if (rc == 0 && layout->thread.native_thread_id != DT_ABSENT)
		rc = dt_mem_read_u64(mem, address + layout->thread.native_thread_id, &thread->native);
	if (rc == 0 && layout->thread.state != DT_ABSENT)
		rc = dt_mem_read_u32(mem, address + layout->thread.state, &state);
	thread->attached = state == DT_THREAD_ATTACHED;
	return rc;
}

/* How many thread states are believed: see dt_walk_all(). */
static size_t states_limit(const struct dt_walk *walk, size_t threads)
{
	size_t most = DT_WALK_THREADS - DT_WALK_SPARE;

	if (!threads || threads > most / walk->interpreter_count)
		return DT_WALK_THREADS;
	return threads * walk->interpreter_count + DT_WALK_SPARE;
}

/* Thread states of all interpreters, newest first in each; ends[i] is where those of interpreter i end. */
static int list_threads(struct dt_mem *mem, const struct dt_layout *layout, size_t threads, struct dt_arena *arena,
			struct dt_walk *walk, struct addresses *list, size_t **ends)
{
	size_t limit = states_limit(walk, threads);

	*ends = dt_arena_alloc(arena, walk->interpreter_count * sizeof(**ends));
	if (!*ends)
		return -ENOMEM;
	for (size_t i = 0; i < walk->interpreter_count; i++) {
		uint64_t interpreter = walk->interpreters[i].address;
		uint64_t head;
		int rc = dt_mem_read_u64(mem, interpreter + layout->interpreter.threads_head, &head);

		if (rc == 0)
			rc = follow(mem, arena, head, layout->thread.next, layout->thread.interp, interpreter, limit,
				    list, &walk->lists_whole);
		if (rc == -EFAULT)
			walk->lists_whole = false;
		else if (rc < 0)
			return rc;
		(*ends)[i] = list->count;
	}
	walk->threads = dt_arena_calloc(arena, list->count ? list->count : 1, sizeof(*walk->threads));
	return walk->threads ? 0 : -ENOMEM;
}

/* The threads of walk->interpreters; with their frames if there are codes to read them with. */
static int read_threads(struct dt_mem *mem, const struct dt_layout *layout, struct dt_code_cache *codes, size_t threads,
			struct dt_arena *arena, struct dt_walk *walk)
{
	struct addresses list = {0};
	size_t *ends;
	int rc = list_threads(mem, layout, threads, arena, walk, &list, &ends);

	if (rc < 0)
		return rc;
	if (codes)
		dt_walk_ahead(mem, layout, list.items, list.count);
	for (size_t i = 0, begin = 0; i < walk->interpreter_count; begin = ends[i++]) {
		for (size_t at = ends[i]; at-- > begin;) {
			struct dt_walk_thread *thread = &walk->threads[walk->thread_count];

			thread->interpreter = i;
			rc = read_thread(mem, layout, list.items[at], thread);
			if (rc == 0 && codes)
				rc = dt_walk_frames(mem, layout, codes, arena, &walk->budget, thread);
			if (rc == -EFAULT) {
				walk->lists_whole = false;
				continue;
			}
			if (rc < 0)
				return rc;
			walk->thread_count++;
		}
	}
	return 0;
}

int dt_walk_threads(struct dt_mem *mem, const struct dt_python *python, size_t threads, struct dt_arena *arena,
		    struct dt_walk *walk)
{
	int rc = dt_walk_interpreters(mem, python, arena, walk);

	return rc < 0 ? rc : read_threads(mem, &python->layout, NULL, threads, arena, walk);
}

int dt_walk_all(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes, size_t threads,
		struct dt_arena *arena, struct dt_walk *walk)
{
	int rc = dt_walk_interpreters(mem, python, arena, walk);

	if (rc < 0)
		return rc;
	dt_budget_begin(&walk->budget, DT_WALK_FRAMES);
	dt_code_cache_begin(codes);
	return read_threads(mem, &python->layout, codes, threads, arena, walk);
}

int dt_walk_some(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes,
		 struct dt_arena *arena, struct dt_walk *walk, const bool *wanted)
{
	struct addresses list = {0};

	dt_budget_begin(&walk->budget, DT_WALK_FRAMES);
	for (size_t i = 0; i < walk->thread_count; i++)
		if (wanted[i] && addresses_add(&list, arena, walk->threads[i].address) < 0)
			return -ENOMEM;
	dt_walk_ahead(mem, &python->layout, list.items, list.count);
	for (size_t i = 0; i < walk->thread_count; i++) {
		int rc = wanted[i]
			     ? dt_walk_frames(mem, &python->layout, codes, arena, &walk->budget, &walk->threads[i])
			     : 0;

		if (rc == -EFAULT)
			walk->threads[i].end = DT_WALK_BROKEN;
		else if (rc < 0)
			return rc;
	}
	return 0;
}

int dt_walk_one(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes, struct dt_arena *arena,
		struct dt_budget *budget, struct dt_walk_thread *thread)
{
	int rc = read_thread(mem, &python->layout, thread->address, thread);

	return rc < 0 ? rc : dt_walk_frames(mem, &python->layout, codes, arena, budget, thread);
}
